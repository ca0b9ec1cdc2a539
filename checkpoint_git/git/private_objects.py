"""Content kept in git's object database under a ref of its own, behind the user's back: it never touches the index,
the work tree, HEAD, a branch or the stash, and it knows nothing of restore points.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.run import GitResult, clean_env, git_error, quote_path, run_git, start_git

_CHUNK = 1 << 20
_UNSTABLE = (b"unstable object", b"short read", b"could not open")  # in git's own words, LC_ALL=C
_BUS_ERROR = -7  # the signal that a process gets when what it has mapped is not there any more
# What is written is on the disk before the ref that needs it: a power cut leaves no point without its content.
_LASTING = ("-c", "core.fsync=all")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")  # a hook on refs is for the user's own
_AUTHOR = {f"GIT_{role}_{what}": "checkpoint" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class CutShortError(Exception):
    """A file became shorter while git read it, which ends git."""


class Leaf(NamedTuple):
    """One file of a tree. path: as bytes, "/" between its parts. mode: git's own (0o100644, 0o100755, 0o120000)."""

    path: bytes
    mode: int
    blob: str


def quiet_env(env: Mapping[str, str]) -> dict[str, str]:
    """Git's surroundings for work that leaves no trace in the user's index; hooks' own variables are taken out."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    return {**clean_env(env), **quiet}


def write_files(work_tree: str, paths: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The blob ids of files, their bytes as they are: no filter, no change of line ends. paths: absolute, no links.

    Raises CheckpointError where git cannot read one of them or the disk is full, CutShortError.
    """
    if not paths:
        return []
    # Compressing costs most of the time, and `git gc` does it for all that lasts.
    words = [*_LASTING, "-c", "core.looseCompression=0", "hash-object", "-w", "--no-filters", "--stdin-paths"]
    stdin = b"".join(quote_path(os.fsencode(path)) + b"\n" for path in paths)
    result = run_git(words, work_tree, stdin=stdin, env=quiet_env(env), check=False)
    if result.code == _BUS_ERROR or any(sign in result.err for sign in _UNSTABLE):
        raise CutShortError
    if result.code != 0:
        raise git_error(["hash-object"], result, work_tree)
    ids = result.out.decode("ascii").split()
    if len(ids) != len(paths):
        raise CheckpointError("git did not keep every file", "try again; `git fsck` looks at the repository")
    return ids


def write_contents(work_tree: str, contents: Sequence[bytes], env: Mapping[str, str]) -> list[str]:
    """The same for content that lies in no file, such as the target of a symbolic link."""
    if not contents:
        return []
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            with open(path, "wb") as stream:
                stream.write(content)
        return write_files(work_tree, paths, env)


def write_commit(work_tree: str, leaves: Sequence[Leaf], message: str, env: Mapping[str, str]) -> str:
    """A commit without parents whose tree holds the leaves; its id. It is nobody's until a ref names it."""
    with tempfile.TemporaryDirectory(prefix="checkpoint-index-") as folder:
        private = {**quiet_env(env), **_AUTHOR, "GIT_INDEX_FILE": os.path.join(folder, "index")}
        lines = b"".join(b"%o %s\t%s\0" % (leaf.mode, leaf.blob.encode(), leaf.path) for leaf in leaves)
        run_git(["update-index", "-z", "--index-info"], work_tree, stdin=lines, env=private)
        tree = run_git([*_LASTING, "write-tree"], work_tree, env=private).out.decode().strip()
    words = [*_LASTING, "commit-tree", "--no-gpg-sign", tree]
    return (
        run_git(words, work_tree, stdin=message.encode("utf-8", "replace"), env={**quiet_env(env), **_AUTHOR})
        .out.decode()
        .strip()
    )


def create_ref(work_tree: str, ref: str, commit: str, env: Mapping[str, str]) -> bool:
    """Names a commit by a new ref. Returns False, nothing changed, where the ref is there already."""
    zero = "0" * len(commit)
    words = [*_LASTING, *_NO_HOOKS, "update-ref", "--no-deref", ref, commit, zero]
    result = run_git(words, work_tree, env={**quiet_env(env), **_AUTHOR}, check=False)
    if result.code == 0:
        return True
    if read_ref(work_tree, ref, env):
        return False
    raise git_error(["update-ref"], result, work_tree)


def remove_ref(work_tree: str, ref: str, commit: str, env: Mapping[str, str]) -> bool:
    """Takes a ref away if it still names this commit. Returns False where it names another one or is gone."""
    words = [*_LASTING, *_NO_HOOKS, "update-ref", "--no-deref", "-d", ref, commit]
    result = run_git(words, work_tree, env=quiet_env(env), check=False)
    return result.code == 0


def read_ref(work_tree: str, ref: str, env: Mapping[str, str]) -> str:
    """The commit that a ref names, "" where there is no such ref."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", ref]
    return run_git(words, work_tree, env=quiet_env(env), check=False).out.decode().strip()


def read_refs(work_tree: str, prefix: str, env: Mapping[str, str]) -> dict[str, str]:
    """Every ref below a prefix that ends in "/", without the prefix: name -> commit."""
    words = ["for-each-ref", "--format=%(objectname) %(refname)", prefix]
    lines = run_git(words, work_tree, env=quiet_env(env)).out.decode("utf-8", "replace").splitlines()
    pairs = (line.partition(" ") for line in lines)
    return {name.removeprefix(prefix): commit for commit, _, name in pairs}


def find_missing(work_tree: str, objects: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Those objects that the repository lacks; only their heads are read."""
    asked = "".join(f"{name}\n" for name in objects).encode()
    words = ["cat-file", "--batch-check=%(objecttype)"]
    lines = run_git(words, work_tree, stdin=asked, env=quiet_env(env)).out.split(b"\n")
    return [name for name, line in zip(objects, lines, strict=False) if line.endswith(b"missing")]


def read_leaves(work_tree: str, commit: str, folder: str, env: Mapping[str, str]) -> list[Leaf]:
    """The files of a commit's tree below a folder, their paths without it."""
    words = ["ls-tree", "-r", "-z", "--full-tree", f"{commit}:{folder}"]
    result = run_git(words, work_tree, env=quiet_env(env), check=False)
    if result.code != 0:
        return []
    leaves = []
    for record in result.out.split(b"\0"):
        head, tab, path = record.partition(b"\t")
        if tab:
            mode, _, blob = head.split()
            leaves.append(Leaf(path, int(mode, 8), blob.decode()))
    return leaves


def read_file_of(work_tree: str, commit: str, path: str, env: Mapping[str, str]) -> bytes | None:
    """One file of a commit's tree, None where it is not there."""
    result = run_git(["cat-file", "blob", f"{commit}:{path}"], work_tree, env=quiet_env(env), check=False)
    return result.out if result.code == 0 else None


Chunks = Iterator[bytes]


def read_blobs(
    work_tree: str, blobs: Sequence[str], env: Mapping[str, str], take: Callable[[int, Chunks | None], None]
) -> None:
    """Hands over the content of blobs one after another, in pieces, without holding a whole one.

    take: called with the place in `blobs` and the content, None where the repository lacks it; it may leave off early.
    Raises CheckpointError when git cannot run, or ends in the middle.
    """
    import threading

    words = ["cat-file", "--batch"]
    with start_git(words, work_tree, env=quiet_env(env), stderr=-3) as process:  # -3: subprocess.DEVNULL
        assert process.stdin is not None
        assert process.stdout is not None
        asked = "".join(f"{blob}\n" for blob in blobs).encode()
        writer = threading.Thread(target=_feed, args=(process.stdin, asked), daemon=True)
        writer.start()
        try:
            for at in range(len(blobs)):
                _take_blob(process.stdout, at, take, work_tree)
        except BaseException:
            process.kill()
            raise
        writer.join()


def _feed(stream: object, data: bytes) -> None:
    try:
        stream.write(data)  # type: ignore[attr-defined]  # a pipe; typing calls it IO[bytes]
        stream.close()  # type: ignore[attr-defined]  # the same
    except OSError:
        return  # git is gone, which its reader notices


def _take_blob(stream: object, at: int, take: Callable[[int, Chunks | None], None], work_tree: str) -> None:
    read = stream.read  # type: ignore[attr-defined]  # a pipe, as above
    header = stream.readline().split()  # type: ignore[attr-defined]  # the same
    if len(header) == 2 and header[1] == b"missing":
        take(at, None)
        return
    if len(header) != 3:
        raise git_error(["cat-file"], GitResult(1, b"", b"it ended before it had told everything"), work_tree)
    left = int(header[2])

    def pieces() -> Chunks:
        nonlocal left
        while left:
            chunk = read(min(left, _CHUNK))
            if not chunk:
                raise CheckpointError("git ended before it had told everything", "is the repository whole? git fsck")
            left -= len(chunk)
            yield chunk

    content = pieces()
    take(at, content)
    for _ in content:  # what the taker did not want
        continue
    read(1)  # the newline behind it


def read_ignored(work_tree: str, env: Mapping[str, str]) -> list[str]:
    """The files and folders (with "/" at their end) that git ignores, relative to the work tree."""
    words = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory", "--full-name"]
    out = run_git(words, work_tree, env=quiet_env(env)).out
    return [os.fsdecode(path) for path in out.split(b"\0") if path]


def read_changed(work_tree: str, env: Mapping[str, str]) -> list[str]:
    """The files that are not as HEAD has them: changed, staged or untracked; relative to the work tree."""
    words = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"]
    out = run_git(words, work_tree, env=quiet_env(env)).out
    return [os.fsdecode(record[3:]) for record in out.split(b"\0") if len(record) > 3]
