"""What a push brings to the repository that receives it: the checkpoint files that no ref of it holds yet."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from checkpoint_git.git import objects
from checkpoint_git.git.pushed import is_zero, read_losses_between, read_new_losses
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import Loss, find_losses, pathspecs, top_glob
from checkpoint_git.protocols.registry import protocol_of

_TIPS_AT_ONCE = 5_000
_MOST_LISTED = 1_000  # tips whose trees are listed for what cannot be asked by name
_MOST_NEW_REFS = 200  # new refs whose lost records are looked for one by one


class Received(NamedTuple):
    old: str
    new: str
    ref: str


class Arrival(NamedTuple):
    path: str
    mode: str  # as in a tree
    blob: str
    size: int  # bytes, -1 for a submodule


def parse_received(text: str) -> list[Received]:
    return [Received(*three) for three in (line.split(" ", 2) for line in text.split("\n")) if len(three) == 3]


# It runs inside git's own hook, so the quarantine's variables reach every git that it starts. A whole push costs the
# same few processes however many refs it has.
def server_env(env: Mapping[str, str]) -> dict[str, str]:
    # No ref that somebody pushed (refs/replace) shows other objects than are sent
    return {**env, "GIT_NO_REPLACE_OBJECTS": "1"}


def read_tips(repository: str, received: Sequence[Received], env: Mapping[str, str]) -> dict[str, str]:
    """What names no commit, such as a tag on a file, is left out."""
    ids = list(dict.fromkeys(name for line in received for name in line[:2] if not is_zero(name)))
    headers = objects.read_headers(repository, [f"{name}^{{commit}}" for name in ids], env)
    return {name: header.id for name, header in zip(ids, headers, strict=True) if header.id}


def read_arrivals(
    repository: str, commits: Sequence[str], env: Mapping[str, str]
) -> Iterator[tuple[str, list[Arrival]]]:
    """(pushed commit, the files in it that new commits brought), each file once, at the first commit that has it. A
    file counts as brought when a commit that no ref of the repository holds changed it against all its parents, and the
    pushed commit still has it as it was brought: what a later commit fixed, and what a merge took over from a branch
    that is here already, is left out.
    """
    tips = list(dict.fromkeys(commits))
    new_commits = _list_new_commits(repository, tips, ["--full-history", "--", *pathspecs()], env)
    changes = objects.diff_parents(repository, new_commits, pathspecs(), env, combined=True)
    brought = {(one.path, *one.after) for one in changes if one.after and protocol_of(one.path)}
    odd = {path for path, mode, _ in brought if mode == objects.GITLINK or "\n" in path}
    plain = sorted({path for path, _, _ in brought} - odd)
    told: set[tuple[str, str, str]] = set()
    for start in range(0, len(tips), _TIPS_AT_ONCE) if brought else ():
        names = [(tip, path) for tip in tips[start : start + _TIPS_AT_ONCE] for path in plain]
        headers = objects.read_headers(repository, [f"{tip}:{path}" for tip, path in names], env)
        for (tip, path), header in zip(names, headers, strict=True):
            modes = (*objects.FILE_MODES, objects.SYMLINK) if header.kind == "blob" else ()
            new = [one for one in ((path, mode, header.id) for mode in modes) if one in brought and one not in told]
            told.update(new)
            if new:
                yield tip, [Arrival(*one, header.size) for one in new]
    for tip in tips[:_MOST_LISTED] if odd else ():
        tree = objects.read_tree(repository, tip, env, sorted(odd)[:_MOST_LISTED])
        listed = [one for one in ((path, *entry) for path, entry in tree.items()) if one in brought and one not in told]
        told.update(listed)
        if listed:
            headers = objects.read_headers(repository, [blob for _, _, blob in listed], env)
            pairs = zip(listed, headers, strict=True)
            yield tip, [Arrival(*one, -1 if one[1] == objects.GITLINK else header.size) for one, header in pairs]


def read_received_losses(
    repository: str, received: Sequence[Received], tips: Mapping[str, str], pattern: str, env: Mapping[str, str]
) -> Iterator[tuple[Received, list[Loss]]]:
    """(line, the append-only files that it changes or drops). pattern: theirs, as git's pathspecs spell it."""
    specs = [top_glob(pattern)]
    moved = [line for line in received if line.new in tips and line.old in tips]
    pairs = dict.fromkeys((tips[line.old], tips[line.new]) for line in moved)
    losses: dict[tuple[str, str], list[Loss]] = {}
    # one process for all of them says, as a rule, that nothing is lost
    if find_losses(objects.diff_parents(repository, [f"{new} {old}" for old, new in pairs], specs, env)):
        found_losses = ((pair, read_losses_between(repository, pair, ["--all"], pattern, env)) for pair in pairs)
        losses.update(islice(((pair, found) for pair, found in found_losses if found), _MOST_NEW_REFS))
    for line in moved:
        if found := losses.get((tips[line.old], tips[line.new])):
            yield line, found
    fresh = [line for line in received if line.new in tips and line.old not in tips]
    # not narrowed to the paths: by path, git leaves out merges that took one side's
    new_commits = _list_new_commits(repository, [tips[line.new] for line in fresh], [], env)
    if find_losses(objects.diff_parents(repository, new_commits, specs, env)):
        for line in fresh[:_MOST_NEW_REFS]:
            if found := read_new_losses(repository, tips[line.new], ["--all"], pattern, env):
                yield line, found


def _list_new_commits(repository: str, tips: Sequence[str], only: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Those that no ref has. only: words that narrow them to paths, or none."""
    words = ["rev-list", "--stdin", "--not", "--all", *only]
    stdin = "".join(f"{tip}\n" for tip in tips).encode()
    return run_git(words, repository, stdin=stdin, env=env).out.decode().split() if tips else []
