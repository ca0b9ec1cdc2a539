"""Read the answer of one `git log` as a stream of bounded blocks, whatever they say."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.own_files import read_start
from checkpoint_git.git.run import GitResult, git_error, offline_env, run_git, stream_git

MAX_RECORD = 1 << 20  # bytes of one record that are kept

PLAIN_LOG = ("log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8")


def read_blocks(work_tree: str, words: Sequence[str], stdin: bytes = b"") -> Iterator[bytes]:
    """Yield what `git WORDS` prints, in blocks of whole NUL-ended records; nothing without commits.

    A record is cut beyond MAX_RECORD.
    """
    begun = b""  # the record that the next chunk goes on with
    try:
        for chunk in stream_git(words, work_tree, env=environment(), stdin=stdin):
            whole, end, rest = chunk.rpartition(b"\0")
            if end:
                yield begun + whole + end
                begun = rest
            elif len(begun) < MAX_RECORD:
                begun += chunk
    except CheckpointError:
        if has_commits(work_tree):
            raise


def read_fields(work_tree: str, words: Sequence[str], stdin: bytes = b"") -> Iterator[bytes]:
    """Yield the records that read_blocks reads, one by one, without the NULs."""
    for block in read_blocks(work_tree, words, stdin):
        yield from block.split(b"\0")[:-1]


# Replacement objects and grafts are left aside, so that a commit's id says for good which history
# is behind it. Where a shallow clone ends is respected.
def environment() -> dict[str, str]:
    # No other repository, no flush after every commit, no network, no translation
    return {
        **offline_env(os.environ),
        "GIT_FLUSH": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }


def read_boundary(work_tree: str, env: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the commits at which a shallow clone was cut off."""
    words = ["rev-parse", "--path-format=absolute", "--git-path", "shallow"]
    result = run_git(words, work_tree, env=env or environment(), check=False)
    ends = read_start(os.fsdecode(result.out.removesuffix(b"\n")), 1 << 24)
    return frozenset(ends.decode("ascii", "replace").split())


def read_words(work_tree: str, words: Sequence[str]) -> list[str]:
    """Return a short answer of git, split at blanks; [] if git fails."""
    with suppress(CheckpointError):
        out = b"".join(stream_git(words, work_tree, env=environment()))
        return [os.fsdecode(word) for word in out.split()]  # a blank of Unicode may be in a name
    return []


def run(words: Sequence[str], work_tree: str, stdin: bytes = b"", check: bool = True) -> GitResult:
    return run_git(words, work_tree, stdin=stdin, env=environment(), check=check)


def has_commits(work_tree: str) -> bool:
    """Return whether HEAD names a commit.

    Raises CheckpointError if git cannot answer: it does not trust the repository.
    """
    words = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]
    result = run(words, work_tree, check=False)
    if result.code not in (0, 1) and b"not a git repository" not in result.err:
        raise git_error(words, result, work_tree)
    return result.code == 0
