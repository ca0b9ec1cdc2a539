"""New commits made beside the index and the work tree, and the checked-out branch moved to them.

Commits come from one `git fast-import`, which gets everything in a file that is complete before git starts: a kill
leaves all of it or nothing.
"""

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.git.objects import Entry
from checkpoint_git.git.run import GitResult, git_error, quote_path, run_git, start_git

Change = tuple[str, Entry | bytes | None]  # path, and the file it becomes: git's, new content, or none

_TRIES = 20
_NAP = 0.05  # seconds


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
    """Makes the commits, and lets the ref name the last one; their ids."""
    with tempfile.TemporaryFile() as stream:
        stream.write(b"".join(_describe(drafts, ref.encode(), who)))
        stream.seek(0)
        words = ["fast-import", "--quiet", "--force", "--done"]
        with start_git(words, cwd, env=env, stdin=stream.fileno()) as process:
            out, err = process.communicate()
    ids = out.decode("ascii", "replace").split()
    if process.returncode != 0 or len(ids) != len(drafts):
        raise git_error(words, GitResult(process.returncode, out, err), cwd)
    return ids


def _describe(drafts: Sequence[Draft], ref: bytes, who: Identity) -> list[bytes]:
    """In fast-import's language. Drafts are marked from 1 on, new contents after them."""
    words: list[bytes] = []
    contents = {content for draft in drafts for _, content in draft.changes if isinstance(content, bytes)}
    marks = {content: mark for mark, content in enumerate(sorted(contents), len(drafts) + 1)}
    for content, mark in marks.items():
        words += [b"blob\nmark :%d\n" % mark, _data(content)]
    person = f"{_plain(who.name)} <{_plain(who.email)}> {who.now} +0000".encode("utf-8", "replace")
    for number, draft in enumerate(drafts, 1):
        words += [b"reset %s\n" % ref, b"commit %s\nmark :%d\n" % (ref, number)]
        words += [b"committer %s\n" % person, _data(draft.message.encode("utf-8", "replace"))]
        for at, parent in enumerate(draft.parents):
            named = parent.encode() if isinstance(parent, str) else b":%d" % (parent + 1)
            words.append((b"merge " if at else b"from ") + named + b"\n")
        for path, become in draft.changes:
            name = quote_path(os.fsencode(path))
            if become is None:
                words.append(b"D %s\n" % name)
            elif isinstance(become, bytes):
                words.append(b"M 100644 :%d %s\n" % (marks[become], name))
            else:
                words.append(b"M %s %s %s\n" % (become.mode.encode(), become.blob.encode(), name))
        words.append(b"\nget-mark :%d\n" % number)
    return [*words, b"done\n"]


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _plain(name: str) -> str:
    return "".join(letter for letter in name if letter.isprintable() and letter not in "<>").strip()


def stage_files(cwd: str, files: Sequence[tuple[str, Entry | None]], env: Mapping[str, str]) -> bool:
    """Lets the index name these files, or forget them where they are None. Returns False where it stays locked."""
    zeros = "0" * max((len(entry.blob) for _, entry in files if entry), default=40)
    named = (f"{entry.mode} {entry.blob}\t{path}\0" if entry else f"0 {zeros}\t{path}\0" for path, entry in files)
    lines, words = os.fsencode("".join(named)), ["update-index", "-z", "--index-info"]
    for _ in range(_TRIES):
        if run_git(words, cwd, stdin=lines, env=env, check=False).code == 0:
            return True
        time.sleep(_NAP)  # git's own commands hold the index for milliseconds
    return False


def move_branch(cwd: str, ref: str, new: str, old: str, env: Mapping[str, str]) -> bool:
    """Lets the branch name the new commit if it still names the old one ("" where it had none)."""
    words = ["update-ref", "-m", "checkpoint sync", ref, new, old or "0" * len(new)]
    return run_git(words, cwd, env=env, check=False).code == 0
