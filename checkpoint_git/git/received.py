"""What a push brings to the repository that receives it: the checkpoint files that no ref of it
holds yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
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


class ReceivedFile(NamedTuple):
    path: str
    mode: str  # as in a tree
    blob: str
    size: int  # bytes, -1 for a submodule


def parse_received(text: str) -> list[Received]:
    """Parse the lines that git gives a pre-receive hook."""
    received = []
    for line in text.split("\n"):
        words = line.split(" ", 2)
        if len(words) == 3:
            received.append(Received(*words))
    return received


# It runs inside git's own hook, so the quarantine's variables reach every git that it starts. A
# whole push costs the same few processes however many refs it has.
def server_env(env: Mapping[str, str]) -> dict[str, str]:
    # No ref that somebody pushed (refs/replace) shows other objects than are sent
    return {**env, "GIT_NO_REPLACE_OBJECTS": "1"}


def read_tips(
    repository: str, received: Sequence[Received], env: Mapping[str, str]
) -> dict[str, str]:
    """Return the commit that each old and new id names.

    What names no commit, such as a tag on a file, is left out.
    """
    names: dict[str, None] = {}
    for line in received:
        names |= {line.old: None, line.new: None}
    ids = [name for name in names if not is_zero(name)]
    headers = objects.read_headers(repository, [f"{name}^{{commit}}" for name in ids], env)
    return {name: header.id for name, header in zip(ids, headers, strict=True) if header.id}


def read_arrivals(
    repository: str,
    commits: Sequence[str],
    env: Mapping[str, str],
) -> Iterator[tuple[str, list[ReceivedFile]]]:
    """Yield (pushed commit, the files in it that new commits brought).

    Each file comes once, at the first commit that has it. A file counts as brought if a commit
    that no ref of the repository holds changed it against all its parents, and the pushed commit
    still has it as it was brought: what a later commit fixed, and what a merge took over from a
    branch that is here already, is left out.
    """
    tips = list(dict.fromkeys(commits))
    words = ["--full-history", "--", *pathspecs()]
    new_commits = _list_new_commits(repository, tips, words, env)
    changes = objects.diff_parents(repository, new_commits, pathspecs(), env, combined=True)
    brought = set[_Content]()
    for change in changes:
        if change.after and protocol_of(change.path):
            brought.add(_Content(change.path, *change.after))

    # those that git cannot be asked about by name
    odd = {found.path for found in brought if found.mode == objects.GITLINK or "\n" in found.path}
    plain = sorted({found.path for found in brought} - odd)
    if plain:
        yield from _read_plain_arrivals(repository, tips, plain, brought, env)
    if odd:
        yield from _read_odd_arrivals(repository, tips, sorted(odd), brought, env)


class _Content(NamedTuple):
    """A file in a tree."""

    path: str
    mode: str
    blob: str


def _read_plain_arrivals(
    repository: str,
    tips: Sequence[str],
    paths: Sequence[str],
    brought: set[_Content],
    env: Mapping[str, str],
) -> Iterator[tuple[str, list[ReceivedFile]]]:
    """Yield arrivals at some paths. brought: what counts, from which what was found is removed."""
    for start in range(0, len(tips), _TIPS_AT_ONCE):
        names = []
        for tip in tips[start : start + _TIPS_AT_ONCE]:
            names += [(tip, path) for path in paths]
        headers = objects.read_headers(repository, [f"{tip}:{path}" for tip, path in names], env)
        for (tip, path), header in zip(names, headers, strict=True):
            modes = (*objects.FILE_MODES, objects.SYMLINK)
            found = [_Content(path, mode, header.id) for mode in modes]
            found = [content for content in found if content in brought]
            brought.difference_update(found)
            if found:
                yield tip, [ReceivedFile(*content, header.size) for content in found]


def _read_odd_arrivals(
    repository: str,
    tips: Sequence[str],
    paths: Sequence[str],
    brought: set[_Content],
    env: Mapping[str, str],
) -> Iterator[tuple[str, list[ReceivedFile]]]:
    """Yield arrivals at paths that are read from the trees of tips. brought: as above.

    Raises CheckpointError behind the last that is read, if there are more.
    """
    for tip in tips[:_MOST_LISTED]:
        tree = objects.read_tree(repository, tip, env, list(paths[:_MOST_LISTED]))
        listed = [_Content(path, *entry) for path, entry in tree.items()]
        found = [content for content in listed if content in brought]
        brought.difference_update(found)
        if not found:
            continue
        arrivals = []
        headers = objects.read_headers(repository, [content.blob for content in found], env)
        for content, header in zip(found, headers, strict=True):
            size = header.size
            if content.mode == objects.GITLINK:
                size = -1
            arrivals.append(ReceivedFile(*content, size))
        yield tip, arrivals

    if max(len(tips), len(paths)) > _MOST_LISTED:
        message = "too many refs or files to check for submodules and names with a line break"
        raise CheckpointError(message, f"push at most {_MOST_LISTED} refs and such files at once")


def read_received_losses(
    repository: str,
    received: Sequence[Received],
    tips: Mapping[str, str],
    pattern: str,
    env: Mapping[str, str],
) -> Iterator[tuple[Received, list[Loss]]]:
    """Yield (line, the append-only files that it changes or drops).

    pattern: of those files, as git's pathspecs spell it. Raises CheckpointError behind the last new
    ref that is looked at, if there are more.
    """
    known = [line for line in received if line.new in tips]
    moved = [line for line in known if line.old in tips]
    created = [line for line in known if line.old not in tips]
    losses = _read_moved_losses(repository, moved, tips, pattern, env)
    for line in moved:
        found = losses.get((tips[line.old], tips[line.new]))
        if found:
            yield line, found

    # not narrowed to the paths: by path, git leaves out merges that took one side's
    new_commits = _list_new_commits(repository, [tips[line.new] for line in created], [], env)
    changes = objects.diff_parents(repository, new_commits, [top_glob(pattern)], env)
    if not find_losses(changes) or not _has_refs(repository, env):
        return
    for line in created[:_MOST_NEW_REFS]:
        found = read_new_losses(repository, tips[line.new], ["--all"], pattern, env)
        if found:
            yield line, found
    if len(created) > _MOST_NEW_REFS:
        message = "too many new refs to check for changed or removed records"
        raise CheckpointError(message, f"push at most {_MOST_NEW_REFS} new refs at once")


def _has_refs(repository: str, env: Mapping[str, str]) -> bool:
    # without any there is nothing to lose
    return bool(run_git(["for-each-ref", "--count=1"], repository, env=env).out)


def _read_moved_losses(
    repository: str,
    moved: Sequence[Received],
    tips: Mapping[str, str],
    pattern: str,
    env: Mapping[str, str],
) -> dict[tuple[str, str], list[Loss]]:
    """Return what refs that were moved lose, by (old commit, new commit)."""
    pairs = dict.fromkeys((tips[line.old], tips[line.new]) for line in moved)
    commits = [f"{new} {old}" for old, new in pairs]
    # one process for all of them says, as a rule, that nothing is lost
    if not find_losses(objects.diff_parents(repository, commits, [top_glob(pattern)], env)):
        return {}
    losses = dict[tuple[str, str], list[Loss]]()
    for pair in pairs:
        found = read_losses_between(repository, pair, ["--all"], pattern, env)
        if found:
            losses[pair] = found
        if len(losses) == _MOST_NEW_REFS:
            break

    return losses


def _list_new_commits(
    repository: str, tips: Sequence[str], only: Sequence[str], env: Mapping[str, str]
) -> list[str]:
    """Return the commits that no ref has. only: words that narrow them to paths, or none."""
    if not tips:
        return []
    words = ["rev-list", "--stdin", "--not", "--all", *only]
    stdin = "".join(f"{tip}\n" for tip in tips).encode()
    return run_git(words, repository, stdin=stdin, env=env).out.decode().split()
