"""What the hooks of a server ask: of a push that arrives, the files to judge. verb.py judges them."""

from collections.abc import Iterator, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.git.objects import SYMLINK
from checkpoint_git.git.received import (
    Arrival,
    Received,
    parse_received,
    read_arrivals,
    read_contents,
    read_received_losses,
    read_tips,
    server_env,
)
from checkpoint_git.git.repository import read_flag
from checkpoint_git.git.staged import Loss, Staged

ALLOW_OPTION = "checkpoint.allowPushOption"
PUSH_OPTION = "checkpoint-skip"
_MOST_OPTIONS = 100

Part = tuple[str, Staged, list[Loss], list[Finding]]


def read_parts(lines: Sequence[Received], invocation: Invocation, records: str) -> Iterator[Part]:
    """(title, files, lost records, findings that need no content) of each part of a push, in the order of its refs.

    records: the paths of what may only be added, as git's pathspecs spell them.
    """
    place, env = invocation.cwd, server_env(invocation.env)
    tips = read_tips(place, lines, env)
    names = {tips[line.new]: _title(line) for line in reversed(lines) if line.new in tips}
    for tip, arrivals in read_arrivals(place, [tips[line.new] for line in lines if line.new in tips], env):
        refused = [finding for one in arrivals for finding in _refuse(one)]
        if refused:
            yield names[tip], Staged([], [], []), [], refused
        for group in read_contents(place, [one for one in arrivals if 0 <= one.size <= MAX_BYTES], env):
            yield names[tip], _stage(group), [], []
    for line, losses in read_received_losses(place, lines, tips, records, env):
        yield _title(line), Staged([], [], []), losses, []


def read_lines(words: Sequence[str], invocation: Invocation) -> list[Received]:
    """The lines of a push: update has them as its words (ref, old, new), pre-receive on its standard input."""
    if not words:
        return parse_received(invocation.stdin.read())
    if len(words) != 3:
        raise CheckpointError("update is called with a ref and two ids", "git calls it; it is not for typing")
    return [Received(words[1], words[2], words[0])]


def is_waved_through(invocation: Invocation) -> bool:
    """Whether the pusher asked for it (`git push -o checkpoint-skip`) and this server's configuration allows it."""
    count = invocation.env.get("GIT_PUSH_OPTION_COUNT", "")
    most = min(int(count), _MOST_OPTIONS) if count.isdecimal() else 0
    options = [invocation.env.get(f"GIT_PUSH_OPTION_{at}", "") for at in range(most)]
    return PUSH_OPTION in options and read_flag(ALLOW_OPTION, invocation.cwd)


def _title(line: Received) -> str:
    return f"{escape_controls(line.ref)} ({line.new[:12]})"


def _stage(group: list[tuple[Arrival, bytes]]) -> Staged:
    return Staged(
        files=[(one.path, data) for one, data in group if one.mode != SYMLINK],
        unmerged=[],
        links=[(one.path, data) for one, data in group if one.mode == SYMLINK],
    )


def _refuse(one: Arrival) -> list[Finding]:
    if one.size < 0:
        message = "a submodule stands where a checkpoint belongs"
        return [Finding("file/not-a-file", "error", message, one.path, hint="put a real file in its place")]
    if one.size > MAX_BYTES:
        message = f"the file has {one.size} bytes; the limit is {MAX_BYTES // 1024 // 1024} MiB"
        hint = "a checkpoint is a summary; move its past to .checkpoints/history"
        return [Finding("json/too-large", "error", message, one.path, hint=hint)]
    return []
