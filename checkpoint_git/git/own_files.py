"""What git's own files say of ours: to start git takes as long as all the rest of a run."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.platform import NO_WAIT
from checkpoint_git.protocols.registry import KINDS

_LONGEST_INDEX = 1 << 28  # bytes


def find_common_dir(git_dir: str) -> str:
    """Return the git directory that all work trees share.

    disk.discover reads it too, but packages of one layer do not know one another.
    """
    line = read_start(os.path.join(git_dir, "commondir"), 4096).replace(b"\0", b"").strip()
    if not line:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, os.fsdecode(line)))


def find_unmerged(work_tree: str, git_dir: str, env: Mapping[str, str]) -> list[str]:
    """Return the files of ours that git's index has as unresolved.

    A merge leaves them there, or what merges as it does: a stash, a patch.
    """
    if not (_is_packed(index := _read_index(git_dir)) or _may_be_unmerged(index)):
        return []
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_unmerged

    return read_unmerged(work_tree, clean_env(env))


def has_nested_folders(git_dir: str) -> bool:
    """Return whether git's index lists checkpoints below the top."""
    return _is_packed(index := _read_index(git_dir)) or b"/.checkpoints/" in index


def find_unlisted(git_dir: str, paths: Sequence[str]) -> list[str]:
    """Return the paths that git's index does not seem to list.

    Asking git is sure, and takes a process.
    """
    # a name in the index has its length in the 12 bits before it, and a NUL behind it
    # (gitformat-index, versions 2, 3)
    index = _read_index(git_dir)
    names = {path: os.fsencode(path) for path in paths}
    entries = {
        path: min(len(name), 0xFFF).to_bytes(2, "big") + name + b"\0"
        for path, name in names.items()
    }
    return [path for path, entry in entries.items() if entry not in index]


def read_tag(work_tree: str | None, git_dir: str | None, path: str) -> str:
    """Return the letter that git has for a path, else "".

    H: in the index. M: unmerged. S: left out by a sparse checkout.
    """
    if not git_dir or not work_tree:
        return ""
    if not find_unlisted(git_dir, [path]):
        return "H"
    from checkpoint_git.git.run import clean_env, run_git

    words = ["--literal-pathspecs", "ls-files", "-t", "-z", "--", path]
    with suppress(CheckpointError):  # git is missing: what needs it says so
        return run_git(words, work_tree, env=clean_env(os.environ)).out[:1].decode()
    return ""


def _may_be_unmerged(index: bytes) -> bool:
    """Return whether an entry of ours may have a stage.

    Asking git is sure, and takes a process.
    """
    for ending in {kind.parts[-1].encode() for kind in KINDS}:
        for before in index.split(ending + b"\0")[:-1]:
            # in the two bytes before an entry's name are its stage and, in 12 bits, its length
            text = before + ending
            for start in range(len(before), before.rfind(b"\0"), -1):
                flags = int.from_bytes(text[start - 2 : start], "big")
                if flags & 0x3000 and flags & 0xFFF == len(text) - start:
                    return True

    return False


def _is_packed(index: bytes) -> bool:
    """Return whether the index does not spell names out, or most of them are in another file.

    Version 4 shortens a name by what it shares with the name before.
    """
    return index[4:8] == b"\0\0\0\4" or b"link\0\0" in index


def _read_index(git_dir: str) -> bytes:
    return read_start(os.path.join(git_dir, "index"), _LONGEST_INDEX)


def read_start(path: str, most: int) -> bytes:
    """Return the first bytes of a file, none if there is no file.

    A pipe in its place is not waited for.
    """
    opener = lambda name, flags: os.open(name, flags | NO_WAIT)  # noqa: E731
    with suppress(OSError), open(path, "rb", opener=opener) as stream:
        return stream.read(most) or b""
    return b""
