"""Files of commits by path, and their contents, bounded: of files it knows only which paths the caller wants."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git.run import run_git, start_git

Wanted = Callable[[str], bool]
MOST_BYTES = 512 * 1024 * 1024  # of all contents that one sync reads
FILE_MODES = ("100644", "100755")


class Leaf(NamedTuple):
    """A file of a tree. mode: as git has it; what is no plain file is a leaf too, and the caller refuses it."""

    mode: str
    blob: str


Leaves = dict[str, Leaf]


def read_leaves(cwd: str, commit: str, wanted: Wanted, env: Mapping[str, str]) -> Leaves:
    """The wanted files of a commit, {} for ""."""
    if not commit:
        return {}
    leaves = {}
    for record in run_git(["ls-tree", "-r", "-z", "--full-tree", commit], cwd, env=env).out.split(b"\0"):
        facts, tab, name = record.partition(b"\t")
        path = os.fsdecode(name)
        if tab and wanted(path):
            mode, _, blob = facts.decode().split()
            leaves[path] = Leaf(mode, blob)
    return leaves


def read_differing(
    cwd: str, leaves: Leaves, commit: str, other: str, wanted: Wanted, pathspecs: Sequence[str], env: Mapping[str, str]
) -> Leaves:
    """The wanted files of `other`, found from those of `commit` and from what differs between the two."""
    if not commit or not other:
        return read_leaves(cwd, other, wanted, env)
    if commit == other:
        return leaves
    words = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-relative", "--full-index"]
    fields = run_git([*words, commit, other, "--", *pathspecs], cwd, env=env).out.split(b"\0")
    found = dict(leaves)
    for facts, name in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, status = facts.decode().lstrip(":").split()
        path = os.fsdecode(name)
        if not wanted(path):
            continue
        if status == "D":
            found.pop(path, None)
        else:
            found[path] = Leaf(mode, blob)
    return found


def differs_elsewhere(cwd: str, one: str, other: str, wanted: Wanted, env: Mapping[str, str]) -> bool:
    """Whether two commits differ in a file that is not wanted."""
    if one == other:
        return False
    words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other]
    return any(name and not wanted(os.fsdecode(name)) for name in run_git(words, cwd, env=env).out.split(b"\0"))


def had_blob(cwd: str, commit: str, path: str, blob: str, env: Mapping[str, str]) -> bool:
    """Whether a file was this blob somewhere in a commit's history."""
    words = [
        "log",
        "-1",
        "-m",
        "--full-history",
        "--format=%h",
        "--no-renames",
        "--no-ext-diff",
        f"--find-object={blob}",
    ]
    return bool(run_git([*words, commit, "--", f":(top,literal){path}"], cwd, env=env, check=False).out.strip())


def read_contents(cwd: str, blobs: Iterable[str], env: Mapping[str, str]) -> dict[str, bytes | None]:
    """Blobs by their ids; None for one that is larger than a checkpoint may be.

    Raises CheckpointError where an object is missing, or all of them together are too much.
    """
    asked = sorted(set(blobs))
    if not asked:
        return {}
    found: dict[str, bytes | None] = {}
    left = MOST_BYTES
    with start_git(["cat-file", "--batch"], cwd, env=env, stderr=-3) as process:  # -3: subprocess.DEVNULL
        assert process.stdin is not None
        assert process.stdout is not None
        for blob in asked:  # one after another: neither side waits for the other with a full pipe
            process.stdin.write(f"{blob}\n".encode())
            process.stdin.flush()
            header = process.stdout.readline().split()
            if len(header) != 3:
                process.kill()
                raise CheckpointError(f"git has no object {blob}", "the repository is damaged: git fsck")
            size = int(header[2])
            left -= size
            if left < 0 or size > 8 * MAX_BYTES:
                process.kill()
                raise CheckpointError("the checkpoints of the branch are larger than all that a sync may read")
            data = process.stdout.read(size + 1)[:size]
            found[blob] = data if size <= MAX_BYTES else None
        process.stdin.close()
    return found


def blob_id(data: bytes, like: str) -> str:
    """The name that git gives to a blob. like: any name of an object in the same repository, which tells the hash."""
    import hashlib

    make = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return make(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_object_format(cwd: str, env: Mapping[str, str]) -> str:
    """How this repository names its objects: "sha1" or "sha256"."""
    return run_git(["rev-parse", "--show-object-format"], cwd, env=env).out.decode().strip()
