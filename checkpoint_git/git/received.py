"""What a push brings to the repository that receives it: the checkpoint files that no ref of it holds yet.

It judges nothing. It runs inside git's own hook, so the quarantine's variables reach every git that it starts, and a
whole push costs the same few processes however many refs it has.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.git.append_only import Loss, parse_losses, read_new_losses
from checkpoint_git.git.pushed import is_zero
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import GITLINK, SYMLINK, pathspecs, read_blobs
from checkpoint_git.protocols.registry import protocol_of

_TIPS_AT_ONCE = 5_000
_MOST_LISTED = 1_000  # tips whose trees are listed for what cannot be asked by name
_READ_AT_ONCE = 32 << 20  # bytes of contents held at a time
_MOST_NEW_REFS = 200  # new refs whose lost records are looked for one by one


class Received(NamedTuple):
    """One line that git gives to pre-receive; an id of zeros means that the ref is not there before or after."""

    old: str
    new: str
    ref: str


class Arrival(NamedTuple):
    """One file that a push brings. mode: as in a tree. size: bytes, -1 for what is no file of this repository."""

    path: str
    mode: str
    blob: str
    size: int


def parse_received(text: str) -> list[Received]:
    """The lines of pre-receive's standard input."""
    words = (line.split(" ", 2) for line in text.split("\n"))
    return [Received(*three) for three in words if len(three) == 3]


def server_env(env: Mapping[str, str]) -> dict[str, str]:
    """The hook's environment, in which no ref that somebody pushed (refs/replace) shows other objects than are sent."""
    return {**env, "GIT_NO_REPLACE_OBJECTS": "1"}


def read_tips(repository: str, received: Sequence[Received], env: Mapping[str, str]) -> dict[str, str]:
    """The commit of every id that the lines name; what names none, such as a tag on a file, is left out."""
    ids = dict.fromkeys(name for line in received for name in line[:2] if not is_zero(name))
    stdin = "".join(f"{name}^{{commit}}\n" for name in ids).encode()
    lines = run_git(["cat-file", "--batch-check=%(objectname)"], repository, stdin=stdin, env=env).out.split(b"\n")
    answers = zip(ids, (line.decode("ascii", "replace") for line in lines), strict=False)
    return {name: answer for name, answer in answers if " " not in answer}


def read_arrivals(
    repository: str, commits: Sequence[str], env: Mapping[str, str]
) -> Iterator[tuple[str, list[Arrival]]]:
    """(pushed commit, the files in it that new commits brought), each file once, at the first commit that has it.

    A file counts as brought when a commit that no ref of the repository holds changed it against all its parents, and
    the pushed commit still has it as it was brought: what a later commit mended, and what a merge took over from a
    branch that is here already, is left out.
    """
    tips = list(dict.fromkeys(commits))
    brought = _read_brought(repository, tips, env)
    odd = {path for path, mode, _ in brought if mode == GITLINK or "\n" in path}
    plain = sorted({path for path, _, _ in brought} - odd)
    told: set[tuple[str, str, str]] = set()
    for start in range(0, len(tips), _TIPS_AT_ONCE) if brought else ():
        some = tips[start : start + _TIPS_AT_ONCE]
        sizes = _read_sizes(repository, [(tip, path) for tip in some for path in plain], env)
        for tip, path, blob, size in sizes:
            found = [(path, mode, blob) for mode in ("100644", "100755", SYMLINK) if (path, mode, blob) in brought]
            new = [one for one in found if one not in told]
            told.update(new)
            if new:
                yield tip, [Arrival(*one, size) for one in new]
    for tip in tips[:_MOST_LISTED] if odd else ():
        listed = [one for one in _list_tree(repository, tip, odd, env) if one in brought and one not in told]
        told.update(listed)
        if listed:
            yield tip, [Arrival(*one, _read_size(repository, one, env)) for one in listed]


def read_contents(
    repository: str, arrivals: Sequence[Arrival], env: Mapping[str, str]
) -> Iterator[list[tuple[Arrival, bytes]]]:
    """The files with their contents, in groups that fit into memory."""
    group: list[Arrival] = []
    for at, arrival in enumerate(arrivals):
        group.append(arrival)
        if at + 1 == len(arrivals) or sum(one.size for one in group) + arrivals[at + 1].size > _READ_AT_ONCE:
            yield list(zip(group, read_blobs(repository, [one.blob for one in group], env), strict=True))
            group = []


def read_received_losses(
    repository: str, received: Sequence[Received], tips: Mapping[str, str], pattern: str, env: Mapping[str, str]
) -> Iterator[tuple[Received, list[Loss]]]:
    """(line, the files that may only be added and that it changes or leaves out of what the repository has).

    pattern: theirs, as git's pathspecs spell it.
    """
    moved = [line for line in received if line.new in tips and line.old in tips]
    losses = _read_moved_losses(repository, [(tips[line.old], tips[line.new]) for line in moved], pattern, env)
    for line in moved:
        if found := losses.get((tips[line.old], tips[line.new])):
            yield line, found
    fresh = [line for line in received if line.new in tips and line.old not in tips]
    if fresh and _may_lose(repository, [tips[line.new] for line in fresh], pattern, env):
        for line in fresh[:_MOST_NEW_REFS]:
            if found := read_new_losses(repository, tips[line.new], ["--all"], pattern, env):
                yield line, found


def _read_brought(repository: str, tips: Sequence[str], env: Mapping[str, str]) -> set[tuple[str, str, str]]:
    """(path, mode, blob) of every checkpoint file that a commit which is new here made so."""
    commits = _list_new_commits(repository, tips, ["--full-history", "--", *pathspecs()], env)
    words = ["diff-tree", "--stdin", "-r", "-c", "--root", "--raw", "--no-commit-id", "--no-abbrev", "--no-renames"]
    out = run_git([*words, "-z", "--", *pathspecs()], repository, stdin=commits, env=env).out if commits else b""
    return {one for one in _parse_raw(out) if protocol_of(one[0])}


def _list_new_commits(repository: str, tips: Sequence[str], only: Sequence[str], env: Mapping[str, str]) -> bytes:
    """The ids, a line each, of the commits that no ref holds. only: words that narrow them to paths, or none."""
    words = ["rev-list", "--stdin", "--not", "--all", *only]
    return run_git(words, repository, stdin="".join(f"{tip}\n" for tip in tips).encode(), env=env).out if tips else b""


def _parse_raw(out: bytes) -> Iterator[tuple[str, str, str]]:
    """Records ":MODE MODE ID ID STATUS", NUL, path, NUL, with one colon, mode and id more for each further parent."""
    fields = out.split(b"\0")
    for facts, path in zip(fields[::2], fields[1::2], strict=False):
        parents = len(facts) - len(facts.lstrip(b":"))
        words = facts.lstrip(b":").decode("ascii").split(" ")
        mode, blob = words[parents], words[2 * parents + 1]
        if not is_zero(blob):
            yield os.fsdecode(path), mode, blob


def _read_sizes(
    repository: str, names: Sequence[tuple[str, str]], env: Mapping[str, str]
) -> Iterator[tuple[str, str, str, int]]:
    """(commit, path, blob, size) of the files that are there."""
    stdin = b"".join(b"%s:%s\n" % (tip.encode(), os.fsencode(path)) for tip, path in names)
    words = ["cat-file", "--batch-check=%(objecttype) %(objectname) %(objectsize)"]
    lines = run_git(words, repository, stdin=stdin, env=env).out.split(b"\n")
    for (tip, path), line in zip(names, lines, strict=False):
        if line.startswith(b"blob ") and not line.endswith(b" missing"):
            _, blob, size = line.decode("ascii").split(" ")
            yield tip, path, blob, int(size)


def _list_tree(
    repository: str, tip: str, paths: Iterable[str], env: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    words = ["ls-tree", "-z", "--full-tree", tip, "--", *sorted(paths)[:_MOST_LISTED]]
    for record in run_git(words, repository, env=env).out.split(b"\0"):
        facts, _, path = record.partition(b"\t")
        if path:
            mode, _, blob = facts.decode("ascii").split(" ")
            yield os.fsdecode(path), mode, blob


def _read_size(repository: str, one: tuple[str, str, str], env: Mapping[str, str]) -> int:
    _, mode, blob = one
    return -1 if mode == GITLINK else int(run_git(["cat-file", "-s", blob], repository, env=env).out)


def _read_moved_losses(
    repository: str, pairs: Sequence[tuple[str, str]], pattern: str, env: Mapping[str, str]
) -> dict[tuple[str, str], list[Loss]]:
    """What each pair (old, new) loses; only pairs that lose something are in it."""
    if not pairs:
        return {}
    unique = dict.fromkeys(pairs)
    stdin = "".join(f"{new} {old}\n" for old, new in unique).encode()
    words = ["diff-tree", "--stdin", "-r", "-z", "--name-status", "--no-renames", "--no-commit-id"]
    spec = f":(top,glob){pattern}"
    quick = run_git([*words, "--diff-filter=MTD", "--", spec], repository, stdin=stdin, env=env).out
    if not quick:
        return {}
    found = {}
    for old, new in unique:
        pair = run_git([*words[:1], *words[2:6], "--diff-filter=MTD", old, new, "--", spec], repository, env=env).out
        if pair:
            found[old, new] = parse_losses(pair)
        if len(found) >= _MOST_NEW_REFS:
            break
    return found


def _may_lose(repository: str, tips: Sequence[str], pattern: str, env: Mapping[str, str]) -> bool:
    """Whether any new commit changes or leaves out such a file of any of its parents."""
    spec = f":(top,glob){pattern}"
    commits = _list_new_commits(repository, tips, [], env)  # by path, git leaves out merges that took one side's
    words = ["diff-tree", "--stdin", "-r", "-m", "--name-only", "--no-commit-id", "--no-renames", "--diff-filter=MTD"]
    return bool(commits and run_git([*words, "--", spec], repository, stdin=commits, env=env).out)
