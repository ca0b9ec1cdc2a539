"""Many small histories written by one `git fast-import`: quick, and free to hold what no work tree
could.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from tests.support.repos import GitRepo


class Entry(NamedTuple):
    """A file that is no ordinary one. mode: "100755", "120000" (data: its target), "160000" (data:
    a commit's id).
    """

    mode: str
    data: bytes


Content = str | bytes | Entry | None  # None takes the file away
Files = Mapping[str, Content]


class Stream:
    """Commits in the order in which they are made; each is known by the name of its branch."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def commit(self, name: str, parents: list[str], files: Files, message: str = "") -> str:
        """A commit on a new branch, with the first parent's files but for these; its name. No
        parent: a new root.
        """
        text = (message or name).encode()
        head = f"commit refs/heads/{name}\ncommitter Ada <ada@example.org> {1767225600 + len(self.parts)} +0000\n"
        # a branch that the repository has already goes on
        again = "^0" if parents[:1] == [name] else ""
        lines = [f"from refs/heads/{parents[0]}{again}\n".encode()] if parents else []
        lines += [f"merge refs/heads/{parent}\n".encode() for parent in parents[1:]]
        if not parents:
            self.parts.append(f"reset refs/heads/{name}\n".encode())
        changes = [_change(path, content) for path, content in files.items()]
        self.parts.append(b"".join([head.encode(), _data(text), *lines, *changes, b"\n"]))
        return name

    def write(self, repo: GitRepo) -> None:
        """Everything into the repository."""
        done = repo.run("git", "fast-import", "--quiet", stdin=b"".join(self.parts))
        assert done.returncode == 0, done.stderr.decode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    return (
        b'"'
        + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        + b'"'
    )


def _change(path: str, content: Content) -> bytes:
    if content is None:
        return b"D %s\n" % _quoted(path)
    if isinstance(content, Entry):
        if content.mode == "160000":
            return b"M 160000 %s %s\n" % (content.data, _quoted(path))
        return b"M %s inline %s\n%s" % (content.mode.encode(), _quoted(path), _data(content.data))
    data = content.encode() if isinstance(content, str) else content
    return b"M 100644 inline %s\n%s" % (_quoted(path), _data(data))
