"""New commits made beside the index and the work tree, several in one process of git; it judges nothing.

Everything is handed over in a file that is complete before git starts, so that a kill leaves all of it or nothing.
"""

import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.git.run import GitResult, git_error, quote_path, start_git
from checkpoint_git.tools.sync.trees import Leaf

Change = tuple[str, Leaf | bytes | None]  # path, and the file it becomes: git's, new content, or none


class Draft(NamedTuple):
    """A commit to be made. parents: commits, or numbers of earlier drafts; its tree is the first one's, changed."""

    parents: tuple[str | int, ...]
    changes: Sequence[Change]
    message: str


class Identity(NamedTuple):
    """Who commits, and when in seconds since 1970."""

    name: str
    email: str
    now: int


def write_commits(cwd: str, drafts: Sequence[Draft], ref: str, who: Identity, env: Mapping[str, str]) -> list[str]:
    """Makes the commits, and lets the ref name the last one; their ids. Raises CheckpointError: a full disk."""
    with tempfile.TemporaryFile() as stream:
        stream.write(b"".join(_describe(drafts, ref, who)))
        stream.seek(0)
        words = ["fast-import", "--quiet", "--force", "--done"]
        with start_git(words, cwd, env=env, stdin=stream.fileno()) as process:
            out, err = process.communicate()
    result = GitResult(process.returncode, out, err)
    ids = result.out.decode("ascii", "replace").split()
    if result.code != 0 or len(ids) != len(drafts):
        raise git_error(["fast-import"], result, cwd)
    return ids


def _describe(drafts: Sequence[Draft], ref: str, who: Identity) -> list[bytes]:
    words: list[bytes] = []
    marks: dict[bytes, int] = {}
    for draft in drafts:
        for _, content in draft.changes:
            if isinstance(content, bytes) and content not in marks:
                marks[content] = len(drafts) + len(marks) + 1
                words += [b"blob\nmark :%d\n" % marks[content], _data(content)]
    person = f"{_plain(who.name)} <{_plain(who.email)}> {who.now} +0000".encode("utf-8", "replace")
    for number, draft in enumerate(drafts, 1):
        words += [b"reset %s\n" % ref.encode(), b"commit %s\nmark :%d\n" % (ref.encode(), number)]
        words += [b"committer %s\n" % person, _data(draft.message.encode("utf-8", "replace"))]
        for at, parent in enumerate(draft.parents):
            named = parent.encode() if isinstance(parent, str) else b":%d" % (parent + 1)
            words.append((b"merge " if at else b"from ") + named + b"\n")
        words += [_change(path, content, marks) for path, content in draft.changes]
        words.append(b"\nget-mark :%d\n" % number)
    return [*words, b"done\n"]


def _change(path: str, content: Leaf | bytes | None, marks: Mapping[bytes, int]) -> bytes:
    name = quote_path(path.encode("utf-8", "surrogateescape"))
    if content is None:
        return b"D " + name + b"\n"
    if isinstance(content, bytes):
        return b"M 100644 :%d " % marks[content] + name + b"\n"
    return f"M {content.mode} {content.blob} ".encode() + name + b"\n"


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _plain(name: str) -> str:
    """A name as a commit's header can hold it."""
    return "".join(letter for letter in name if letter.isprintable() and letter not in "<>").strip()
