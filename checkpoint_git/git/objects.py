"""Read blobs and trees, and how trees differ. Raises CheckpointError if git fails.

Paths are relative to the top of the work tree, with "/"; ids are full.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, join_hints
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git.run import LACKING, Env, run_git, start_git

if TYPE_CHECKING:
    import subprocess

FILE_MODES = ("100644", "100755")
SYMLINK = "120000"
GITLINK = "160000"

# what git keeps beside branches and tags (gitrevisions)
_GITS_OWN = frozenset((
    "HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "REBASE_HEAD", "REVERT_HEAD",
    "CHERRY_PICK_HEAD", "BISECT_HEAD", "AUTO_MERGE",
))  # fmt: skip

_PIECE = 1 << 20  # bytes
_AT_ONCE = 400  # names
# bytes of them: they fit into a pipe that holds 64 KB, so neither side waits for the other; longer
# ones are asked one by one
_MOST_ASKED = 32_768
_MOST_ENDS = 20  # times that git may end over an object that a partial clone lacks
_DAMAGED = join_hints(
    advise("the repository may be damaged", "git", "fsck"),
    advise("or lack too much", "git", "fetch", "--refetch"),
)


class TreeEntry(NamedTuple):
    mode: str  # such as "100644"
    blob: str

    @property
    def is_file(self) -> bool:
        return self.mode in FILE_MODES


class IndexEntry(NamedTuple):
    path: str
    mode: str
    blob: str
    stage: int  # 0, or 1 to 3 (base, ours, theirs) while a merge is unresolved


class Header(NamedTuple):
    id: str
    kind: str  # git's word for it, or "missing" or "ambiguous"; then id is "" and size 0
    size: int


class Change(NamedTuple):
    path: str
    # what each tree that it is compared with has, None for nothing
    before: tuple[TreeEntry | None, ...]
    after: TreeEntry | None
    came_from: str = ""  # the path before a rename

    @property
    def old(self) -> TreeEntry | None:
        return self.before[0]


class Blobs:
    """Reads contents, by any name of an object; one that does not fit in a line is missing.

    limit: bytes; of a larger content only the size is read.
    """

    _process: "subprocess.Popen[bytes]"
    _asked: int  # answers that have not begun
    _left: int  # bytes of the current answer that nobody has read, the line feed behind it included

    def __init__(self, cwd: str, env: Env = None, limit: int | None = None) -> None:
        self._cwd, self._env, self._limit = cwd, env, limit
        self._ends = 0
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()  # what it would still write is not waited for
        self._process.communicate()

    def read(self, name: str) -> bytes | int | None:
        """Return a content, its size if that is beyond the limit; None if it is missing."""
        return next(self.read_all([name]))

    def read_all(self, names: Sequence[str]) -> Iterator[bytes | int | None]:
        for size in self._ask_all(names):
            if size is None:
                yield None
            elif self._limit is not None and size > self._limit:
                yield size
            else:
                yield b"".join(self._pieces())

    def stream_all(self, names: Sequence[str]) -> Iterator[Iterator[bytes] | None]:
        """Yield each content in pieces, None if it is missing. What is not read is skipped."""
        for size in self._ask_all(names):
            if size is None:
                yield None
            else:
                yield self._pieces()

    def _ask_all(self, names: Sequence[str]) -> Iterator[int | None]:
        """Yield the size of each content, with git ready to give it; None if it is missing."""
        done = 0
        while done < len(names):
            some = [_write_line(name) for name in names[done : done + _AT_ONCE]]
            if sum(map(len, some)) > _MOST_ASKED:
                some = some[:1]
            self._ask(some)
            for _ in some:
                done += 1
                # git before 2.44 ends over an object that it may not fetch
                if not self._read_header():
                    self._process.communicate()
                    self._ends += 1
                    if self._ends > _MOST_ENDS:
                        message = "git cat-file exited repeatedly before it answered"
                        raise CheckpointError(message, _DAMAGED)
                    self._start()
                    yield None
                    break  # the rest is asked again
                yield self._left - 1 if self._left else None

    def _ask(self, lines: Sequence[bytes]) -> None:
        """Ask git for several contents. If it has ended, the first header shows that."""
        while self._asked and self._read_header():
            pass  # the caller did not read all earlier answers
        self._skip()
        self._asked = len(lines)
        assert self._process.stdin
        with suppress(OSError):
            self._process.stdin.write(b"".join(lines))
            self._process.stdin.flush()

    def _read_header(self) -> list[bytes]:
        """Return the words of an answer's first line, [] if git has ended."""
        self._skip()
        assert self._process.stdout
        self._asked -= 1
        words = self._process.stdout.readline().split()
        self._left = 0
        if len(words) == 3 and words[2].isdigit():
            self._left = int(words[2]) + 1
        return words

    def _pieces(self) -> Iterator[bytes]:
        assert self._process.stdout
        while self._left > 1:
            piece = self._process.stdout.read(min(self._left - 1, _PIECE))
            if not piece:
                raise CheckpointError("git cat-file ended in the middle of an object", _DAMAGED)
            self._left -= len(piece)
            yield piece

    def _skip(self) -> None:
        assert self._process.stdout
        for _ in self._pieces():
            pass
        if self._left:
            self._process.stdout.read(1)  # the line feed behind every content
            self._left = 0

    def _start(self) -> None:
        self._asked = self._left = 0
        # subprocess.DEVNULL
        self._process = start_git(["cat-file", "--batch"], self._cwd, env=self._env, stderr=-3)


def read_blob(cwd: str, name: str, env: Env = None) -> bytes | None:
    """Return a blob; None if there is none, and if it is larger than a checkpoint may be."""
    with Blobs(cwd, env, MAX_BYTES) as blobs:
        data = blobs.read(name)
    return data if isinstance(data, bytes) else None


def read_bounded(cwd: str, blobs: Sequence[str], env: Env = None) -> Iterator[bytes | int]:
    """Yield blobs in the order of their names; the size of one larger than a checkpoint may be.

    Raises CheckpointError for a missing one.
    """
    if not blobs:
        return
    with Blobs(cwd, env, MAX_BYTES) as reader:
        for blob, content in zip(blobs, reader.read_all(blobs), strict=True):
            if content is None:
                _raise_missing(blob)
            yield content


def read_beginnings(cwd: str, names: Sequence[str], env: Env = None) -> Iterator[bytes]:
    """Yield the first MiB of each object, which is all that is read of a commit.

    Raises CheckpointError for a missing one.
    """
    if not names:
        return
    with Blobs(cwd, env) as reader:
        for name, pieces in zip(names, reader.stream_all(names), strict=True):
            if pieces is None:
                _raise_missing(name)
            yield next(pieces, b"")


def _raise_missing(name: str) -> NoReturn:
    raise CheckpointError(f"git has no object {name}", LACKING)


def read_headers(cwd: str, names: Sequence[str | bytes], env: Env = None) -> list[Header]:
    if not names:
        return []
    stdin = b"".join(map(_write_line, names))
    out = run_git(["cat-file", "--batch-check"], cwd, stdin=stdin, env=env).out
    return [_parse_header(line) for line in out.split(b"\n")[: len(names)]]


def _write_line(name: str | bytes) -> bytes:
    """Return the line that asks git for an object.

    It is empty, which names none, for a name that git would read as two or without its end: a path
    in an untrusted commit may have a line break.
    """
    line = os.fsencode(name)
    if b"\n" in line or line.endswith(b"\r"):
        line = b""
    return line + b"\n"


def _parse_header(line: bytes) -> Header:
    words = line.decode("utf-8", "replace").split(" ")
    if len(words) == 3 and words[2].isdigit():
        return Header(words[0], words[1], int(words[2]))
    return Header("", words[-1], 0)


def find_missing(cwd: str, names: Sequence[str], env: Env = None) -> frozenset[str]:
    return frozenset(
        name
        for name, header in zip(names, read_headers(cwd, names, env), strict=True)
        if not header.id
    )


def read_commit(cwd: str, rev: str, env: Env = None) -> str:
    commit = find_commit(cwd, rev, env)
    if not commit:
        check_readable(cwd, env)
        raise CheckpointError(f"{rev!r} names no commit", "give a branch, a tag or a commit id")
    return commit


def check_readable(cwd: str, env: Env = None) -> None:
    """Raise what git says if it reads no repository here, such as another owner's."""
    run_git(["rev-parse", "--git-dir"], cwd, env=env)


def has_commit(cwd: str, rev: str, env: Env = None) -> bool:
    return bool(find_commit(cwd, rev, env))


def is_id(name: str) -> bool:
    return len(name) in (40, 64) and {*name} <= {*"0123456789abcdef"}


def find_commit(cwd: str, rev: str, env: Env = None) -> str:
    """Return the full id of a commit, "" for none.

    The name of a branch means the branch: for git, a tag of that name comes first, and anybody may
    have pushed one.
    """
    name = rev.partition("^")[0].partition("~")[0].partition("@")[0]
    folders = [""]
    if name and not name.startswith("refs/") and name not in _GITS_OWN and not is_id(name):
        folders = ["refs/remotes/", "refs/heads/", "refs/remotes/origin/", ""]
    for above in folders:
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{above}{rev}^{{commit}}"]
        result = run_git(words, cwd, env=env, check=False)
        if result.code == 0:
            return result.out.decode().split()[-1]

    return ""


def read_tree(
    cwd: str, tree: str, env: Env = None, paths: Sequence[str] = ()
) -> dict[str, TreeEntry]:
    """Return the files of a tree by path. paths: literal, of files or folders; none means all."""
    words = ["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths]
    return {path: TreeEntry(mode, blob) for (mode, _, blob), path in _list_files(words, cwd, env)}


def read_index(
    cwd: str,
    pathspecs: Sequence[str] = (),
    env: Env = None,
    *,
    unmerged: bool = False,
    resolved: bool = False,
) -> list[IndexEntry]:
    """Return the entries of the index, an unmerged file once for each of its stages.

    unmerged: only those. resolved: the stages that resolved files had before.
    """
    which = "-s"
    if unmerged:
        which = "-u"
    elif resolved:
        which = "--resolve-undo"
    words = ["ls-files", which, "-z", "--full-name", "--", *pathspecs]
    return [
        IndexEntry(path, mode, blob, int(stage))
        for (mode, blob, stage), path in _list_files(words, cwd, env)
    ]


def _list_files(words: Sequence[str], cwd: str, env: Env) -> Iterator[tuple[list[str], str]]:
    for record in run_git(words, cwd, env=env).out.split(b"\0"):
        facts, tab, path = record.partition(b"\t")
        if tab:
            yield facts.decode().split(), os.fsdecode(path)


_RAW = ("-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-relative")
_RENAMES = {False: "--no-renames", True: "-M"}


def diff_trees(
    cwd: str,
    old: str,
    new: str,
    pathspecs: Sequence[str] = (),
    env: Env = None,
    *,
    renames: bool = False,
) -> list[Change]:
    if old == new:
        return []
    return parse_changes(
        run_git(
            ["diff-tree", *_RAW, _RENAMES[renames], old, new, "--", *pathspecs], cwd, env=env
        ).out
    )


def diff_tree_pairs(
    cwd: str,
    pairs: Iterable[tuple[str, str]],
    pathspecs: Sequence[str] = (),
    env: Env = None,
    *,
    renames: bool = False,
) -> dict[tuple[str, str], list[Change]]:
    """Many pairs in one process. pairs: ids of trees, not of commits (see read_headers)."""
    changes: dict[tuple[str, str], list[Change]] = {pair: [] for pair in sorted(set(pairs))}
    if not changes:
        return {}
    stdin = "".join(f"{old} {new}\n" for old, new in changes).encode()
    words = ["diff-tree", "--stdin", *_RAW, _RENAMES[renames], "--", *pathspecs]
    fields = iter(run_git(words, cwd, env=env, stdin=stdin).out.split(b"\0"))
    pair = ("", "")
    for field in fields:
        # git ends the header of a pair with a line feed, also with -z: what follows it is the first
        # record
        header, _, facts = field.rpartition(b"\n")
        if header:
            old, new = header.rpartition(b"\n")[2].decode().split()
            pair = (old, new)
        if facts:
            changes[pair].append(parse_change(facts, fields))

    return changes


def diff_parents(
    cwd: str,
    commits: Sequence[str],
    pathspecs: Sequence[str] = (),
    env: Env = None,
    *,
    combined: bool = False,
) -> list[Change]:
    """Return what commits changed against each parent, or (combined) what no parent has.

    A text "COMMIT OTHER" asks for what COMMIT changed against OTHER.
    """
    if not commits:
        return []
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    words = ["diff-tree", "--stdin", *_RAW, "--root", "--no-commit-id", "--no-renames"]
    words.append("-c" if combined else "-m")
    return parse_changes(run_git([*words, "--", *pathspecs], cwd, stdin=stdin, env=env).out)


def diff_index(
    cwd: str, since: str, pathspecs: Sequence[str] = (), env: Env = None, *, renames: bool = False
) -> list[Change]:
    start = [since] if has_commit(cwd, since, env) else []
    words = ["diff", "--cached", *_RAW[1:], _RENAMES[renames], *start, "--", *pathspecs]
    return parse_changes(run_git(words, cwd, env=env).out)


def diff_work_tree(cwd: str, since: str, pathspecs: Sequence[str] = ()) -> list[Change]:
    """Return what the work tree changed. A file that is not checked out counts as unchanged."""
    words = ["diff", *_RAW[1:], "--no-renames", since, "--", *pathspecs]
    return parse_changes(run_git(words, cwd).out)


def parse_changes(out: bytes) -> list[Change]:
    fields = iter(out.split(b"\0"))
    return [parse_change(field, fields) for field in fields if field.startswith(b":")]


def parse_change(facts: bytes, fields: Iterator[bytes]) -> Change:
    """Return the change of a record that git prints with --raw -z.

    facts: `:MODE MODE ID ID STATUS`, with a colon, a mode and an id more for each further parent.
    fields: one or two paths are taken from it.
    """
    parents = len(facts) - len(facts.lstrip(b":"))
    words = facts.lstrip(b":").decode("ascii", "replace").split()
    pairs = zip(words[: parents + 1], words[parents + 1 : 2 * parents + 2], strict=True)
    # a file that the work tree has and the index does not has a mode and no id yet
    entries = [TreeEntry(mode, blob) if mode.strip("0") else None for mode, blob in pairs]
    came_from = ""
    if parents == 1 and words[-1][:1] in ("R", "C"):
        came_from = os.fsdecode(next(fields, b""))
    return Change(os.fsdecode(next(fields, b"")), tuple(entries[:-1]), entries[-1], came_from)


def read_object_format(cwd: str, env: Env = None) -> str:
    """Return "sha1" or "sha256"."""
    return run_git(["rev-parse", "--show-object-format"], cwd, env=env).out.decode().strip()


def blob_id(data: bytes, like: str) -> str:
    """Return the id that git gives to a blob. like: the id of any object in the repository."""
    try:  # hashlib brings OpenSSL along: 5 ms of every sync
        from _sha1 import sha1  # type: ignore[import-not-found]  # typeshed leaves it out
    except ImportError:
        from hashlib import sha1
    if len(like) == 64:
        from hashlib import sha256 as sha1
    digest: str = sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return digest
