"""`checkpoint restore-point guard`: a hook that agents run before each tool call to let through what can be undone."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import tee
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_common_dir, find_place, find_repository
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.rules import is_expired, is_plain_path, is_sensitive

ALLOWED, STOPPED = 0, 2
_MAX_CALL = 64 << 20  # bytes: a tool call holds the whole content of a file


# Tools that look, ask or plan. Names are matched whole: a file that is called after a tool means nothing.
_READING = frozenset(
    (
        "Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
        "ListMcpResourcesTool", "NotebookRead", "Read", "ReadMcpResourceTool", "Skill", "SlashCommand", "Task",
        "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite",
        "ToolSearch", "WebFetch", "WebSearch",
        # the same by the names that other agents give them
        "glob", "google_web_search", "grep_search", "list_directory", "read_file", "read_many_files",
        "search_file_content", "web_fetch", "write_todos",
    )
)  # fmt: skip
# Tools that change one file, and the member of their input that names it.
_CHANGING = dict.fromkeys(("Edit", "MultiEdit", "Write", "replace", "write_file"), "file_path")
_CHANGING["NotebookEdit"] = "notebook_path"
_SHELLS = frozenset(("Bash", "Shell", "run_shell_command"))
# Programs that only look, whatever their arguments.
_LOOKING = frozenset(
    (
        "basename", "cat", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "false", "grep", "head",
        "id", "ls", "md5sum", "pwd", "readlink", "realpath", "sha256sum", "stat", "tail", "true",
        "uname", "wc", "which", "whoami",
    )
)  # fmt: skip
_GIT_LOOKING = frozenset(
    ("status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe", "shortlog", "cat-file", "rev-list")
)
# options that write a file or run a program, and what git takes for their beginning
_GIT_WRITING = ("--ou", "--op", "-o", "--ext", "--te", "--fi", "-O")
_OURS_PROVING = frozenset(("create", "list", "show", "verify", "rollback", "audit"))  # never drop, never gc
_OURS_LOOKING = frozenset(("status", "next", "resume", "validate", "doctor", "list", "show", "refs", "explain-merge"))
_CONTROL = frozenset(";&|<>`$(){}\n\r\\!*?[]~#")


class Call(NamedTuple):
    tool: str
    reads: bool
    path: str = ""  # what it changes, absolute; "" for what cannot be known from the call, so anything
    cwd: str = ""


class Cover(NamedTuple):
    asked: tuple[str, ...]  # its scopes below the workspace, "" for all of it
    paths: frozenset[str]  # what it holds


class Verdict(NamedTuple):
    allowed: bool
    reason: str = ""
    needs: str = ""  # the scope of a point that would change the answer


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reader", metavar="TOOL", action="append", help="a further tool that only reads")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    stream: Any = getattr(invocation.stdin, "buffer", invocation.stdin)
    data = stream.read(_MAX_CALL + 1)
    if len(data) > _MAX_CALL:
        return _stop("the tool call on stdin is too long")
    try:
        value = load(decode(data if isinstance(data, bytes) else data.encode()))
    except JsonTextError:
        return _stop("the tool call on stdin is not JSON")
    call = read_call(value, invocation.cwd, args.reader or ())
    if call is None:
        return _stop("the tool call on stdin makes no sense")
    return Answer((), ALLOWED) if call.reads else _judge(call, invocation)


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    return _stop(error.message)


def _stop(reason: str, needs: str = "") -> Answer:
    hint = f"; make one first: checkpoint restore-point create {needs} --expiry 8h" if needs else ""
    return Answer((), STOPPED, f"stopped: {shorten(escape_controls(reason), 500)}{hint}")


def _judge(call: Call, invocation: Invocation) -> Answer:
    path = os.path.realpath(call.path) if call.path else ""  # what a tool writes through a link must be covered
    here = call.cwd if os.path.isdir(call.cwd) else invocation.cwd
    repository = find_repository(os.path.dirname(path) if path and os.path.isdir(os.path.dirname(path)) else here)
    root, git_dir = repository or (here, "")
    if repository is None:
        with suppress(CheckpointError):
            root = find_place(here).root
    root = os.path.realpath(root)
    # read no further than needed, and once: a manifest of thousands of files takes its time
    covers, again = tee(_read_covers(root, git_dir, invocation.now))
    verdict = decide(call._replace(path=path), root, covers)
    if not verdict.allowed:
        return _stop(verdict.reason, verdict.needs)
    relative = path[len(root.rstrip("/")) + 1 :]
    # a file that is there already and that git ignores is in no point, unless it was named
    if repository and path and os.path.lexists(path) and not any(relative in cover.paths for cover in again):
        from checkpoint_git.git.run import clean_env, run_git

        words = ["check-ignore", "-q", "--no-index", "--", relative]
        if run_git(words, root, env=clean_env(invocation.env), check=False).code != 1:
            return _stop(f"git ignores {path}, so no restore point holds it (name it in the scope)", "SCOPE")
    return Answer((), ALLOWED)


# what a call does


def read_call(value: Any, cwd: str, more_readers: Iterable[str] = ()) -> Call | None:
    """None where it makes no sense. more_readers: tools that only look, too."""
    if not isinstance(value, Mapping):
        return None
    tool, given = value.get("tool_name"), value.get("tool_input", {})
    if not isinstance(tool, str) or not tool or not isinstance(given, Mapping):
        return None
    if tool in _READING or tool in frozenset(more_readers):
        return Call(tool, True)
    here = value.get("cwd")
    here = here if isinstance(here, str) and os.path.isabs(here) and "\0" not in here else cwd
    if tool in _CHANGING:
        path = given.get(_CHANGING[tool])
        if not isinstance(path, str) or not path or "\0" in path:
            return None
        return Call(tool, False, os.path.normpath(os.path.join(here, path)), here)
    if tool in _SHELLS:
        command = given.get("command")
        return None if not isinstance(command, str) else Call(tool, is_looking(command), cwd=here)
    return Call(tool, False, cwd=here)


def is_looking(command: str) -> bool:
    """One plain command of a known program, without redirection or expansion."""
    if not _CONTROL.isdisjoint(command):
        return False
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or "=" in words[0]:
        return False
    if words[:2] == ["git", "checkpoint"]:
        del words[0]
    program, verb, rest = words[0], words[1] if len(words) > 1 else "", words[2:]
    if program == "git":
        return verb in _GIT_LOOKING and not any(word.startswith(_GIT_WRITING) for word in rest)
    if program != "checkpoint":
        return program in _LOOKING
    if verb in ("restore-point", "rp"):  # making a restore point must never need one, and going back makes one
        return bool(rest) and rest[0] in _OURS_PROVING
    if verb == "doctor":
        return not any(word.startswith("--f") for word in rest)
    return len(words) == 1 or verb in _OURS_LOOKING


# what points cover


# Reading always passes; a change passes only where a live restore point covers it. It fails closed: a tool that it does
# not know counts as one that changes things, and whatever goes wrong stops the call. Exit code 0 lets the call go on, 2
# stops it with the reason on stderr.
def decide(call: Call, root: str, covers: Iterable[Cover]) -> Verdict:
    """root: the workspace, absolute, its links followed, as the call's path is."""
    if call.reads:
        return Verdict(True)
    if not call.path:
        if any("" in cover.asked for cover in covers):
            return Verdict(True)
        reason = f"{call.tool} may change anything, and no live restore point covers the whole workspace"
        return Verdict(False, reason, ".")
    wall = root.rstrip("/") + "/"
    if not call.path.startswith(wall):
        return Verdict(False, f"{call.path} is outside the workspace, where no restore point can cover it")
    path = call.path[len(wall) :]
    if not is_plain_path(path):
        return Verdict(False, f"{path} belongs to git or to the restore points themselves")
    if is_sensitive(path):
        return Verdict(False, f"{path} holds secrets by its name, which no restore point ever keeps")
    for cover in covers:
        if path in cover.paths or any(scope in ("", path) or path.startswith(f"{scope}/") for scope in cover.asked):
            return Verdict(True)
    return Verdict(False, f"no live restore point covers {path}", "SCOPE")


def _read_covers(root: str, git_dir: str, now: int) -> Iterator[Cover]:
    # a manifest that makes no sense covers nothing, nor does one that came with a branch: git keeps no content for it
    for point in reversed(layout.list_ids(root)):
        try:
            value = load(decode(layout.read_manifest(root, point)))
        except (OSError, JsonTextError):
            continue
        if not isinstance(value, dict) or value.get("id") != point or value.get("state") not in ("active", "restored"):
            continue
        scope, entries = value.get("scope"), value.get("entries")
        asked = scope.get("asked") if isinstance(scope, dict) else None
        if not isinstance(asked, list) or not isinstance(entries, list) or is_expired(value.get("expires_at"), now):
            continue
        if value.get("type") == "git_stash" and not _is_kept(git_dir, point):
            continue
        paths = [entry.get("path") for entry in entries if isinstance(entry, dict)]
        held = frozenset(path for path in paths if isinstance(path, str))
        yield Cover(tuple(one for one in asked if isinstance(one, str)), held)


def _is_kept(git_dir: str, point: str) -> bool:
    # a look at the files in which git keeps refs: a process takes too long at every tool call
    if not git_dir:
        return False
    common = find_common_dir(git_dir)
    ref = layout.ref_name(point)
    if os.path.isfile(os.path.join(common, ref)) or os.path.isdir(os.path.join(common, "reftable")):
        return True
    return f" {ref}\n" in _read_text(os.path.join(common, "packed-refs"))


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MAX_CALL).decode("utf-8", "replace")
    except OSError:
        return ""
