"""New commits made beside the index and the work tree, and the checked-out branch moved to them."""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.git.objects import TreeEntry
from checkpoint_git.git.run import GitResult, git_error, quote_path, run_git, start_git

# path, and the file it becomes: git's, new content, or none
Change = tuple[str, TreeEntry | bytes | None]

_TRIES = 20
_NAP = 0.05  # seconds


class Draft(NamedTuple):
    parents: tuple[str | int, ...]
    changes: Sequence[Change]
    message: str


# Commits come from one `git fast-import`, which gets everything in a file that is complete before
# git starts: a kill leaves all of it or nothing.
def write_commits(
    cwd: str, drafts: Sequence[Draft], refs: Sequence[str], who: str, env: Mapping[str, str]
) -> list[str]:
    """The last of the refs is for the last draft; the first keeps the others, which a prune would
    take.
    """
    from tempfile import TemporaryFile  # late: a sync that has nothing to send needs none

    words = ["fast-import", "--quiet", "--force", "--done"]
    with TemporaryFile() as stream:
        stream.writelines(_describe(drafts, refs, who))
        for _ in range(_TRIES):
            stream.seek(0)
            # in a pack, which git keeps until the ref is there: a prune at the same time removes
            # loose objects
            with start_git(
                ["-c", "fastimport.unpackLimit=0", *words], cwd, env=env, stdin=stream.fileno()
            ) as process:
                out, err = process.communicate()
            ids = out.decode("ascii", "replace").split()
            if process.returncode == 0 and len(ids) == len(drafts):
                return ids
            _remove_report(cwd, err)
            if not _remove_keep_files(cwd, err, env):
                break

    raise git_error(words, GitResult(process.returncode, out, err), cwd)


def _remove_report(cwd: str, err: bytes) -> None:
    """Remove the report that a failed `git fast-import` writes into the git directory."""
    named = re.search(rb"dumping crash report to (\S{1,300}/fast_import_crash_[0-9]{1,20})", err)
    if named:
        with suppress(OSError):
            os.unlink(os.path.join(cwd, os.fsdecode(named[1])))


def _remove_keep_files(cwd: str, err: bytes, env: Mapping[str, str]) -> bool:
    """Remove the mark on a pack that was never finished, at which git stops; return whether to try
    again.

    A killed `git fast-import` leaves it, and one whose temporary file a prune has removed. The next
    one, which writes the same objects, would give its pack the same name.
    """
    pruned = re.search(rb"to write file ([^:]{1,300}/pack-\w{1,80})\.\w{1,8}: No such file", err)
    if pruned:
        with suppress(OSError):
            os.unlink(os.path.join(cwd, f"{os.fsdecode(pruned[1])}.keep"))
        return True

    words = ["rev-parse", "--path-format=absolute", "--git-path", "objects/pack"]
    folder = os.fsdecode(run_git(words, cwd, env=env).out).removesuffix("\n")
    found = False
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        is_finished = os.path.exists(f"{path.removesuffix('.keep')}.idx")
        if name.endswith(".keep") and not is_finished and _is_ours(path):
            with suppress(FileNotFoundError):
                os.unlink(path)
            found = True

    return found


def _is_ours(path: str) -> bool:
    """Return whether `git fast-import` wrote this mark, or was killed before it did."""
    try:
        with open(path, "rb") as stream:
            return stream.read(100) in (b"", b"fast-import")
    except OSError:
        return False


def _describe(drafts: Sequence[Draft], refs: Sequence[str], who: str) -> Iterator[bytes]:
    """In fast-import's language; drafts are marked from 1 on, new contents after them."""
    contents = {
        content for draft in drafts for _, content in draft.changes if isinstance(content, bytes)
    }
    marks = {content: mark for mark, content in enumerate(sorted(contents), len(drafts) + 1)}
    for content, mark in marks.items():
        yield b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(content), content)
    for number, draft in enumerate(drafts, 1):
        message, ref = (
            draft.message.encode("utf-8", "replace"),
            refs[-(number == len(drafts))].encode(),
        )
        yield b"reset %b\ncommit %b\nmark :%d\ncommitter %b\n" % (ref, ref, number, who.encode())
        yield b"data %d\n%b\n" % (len(message), message)
        for at, parent in enumerate(draft.parents):
            named = parent.encode() if isinstance(parent, str) else b":%d" % (parent + 1)
            yield b"%b %b\n" % (b"merge" if at else b"from", named)
        for path, become in draft.changes:
            quoted = quote_path(os.fsencode(path))
            if become is None:
                yield b"D %b\n" % quoted
            elif isinstance(become, bytes):
                yield b"M 100644 :%d %b\n" % (marks[become], quoted)
            else:
                yield b"M %b %b %b\n" % (become.mode.encode(), become.blob.encode(), quoted)
        yield b"\nget-mark :%d\n" % number

    yield b"done\n"


def stage_files(
    cwd: str, files: Sequence[tuple[str, TreeEntry | None]], env: Mapping[str, str]
) -> bool:
    """None: the index forgets the file. Returns False if it stays locked."""
    zeros = "0" * max((len(entry.blob) for _, entry in files if entry), default=40)
    named = (
        f"{entry.mode} {entry.blob}\t{path}\0" if entry else f"0 {zeros}\t{path}\0"
        for path, entry in files
    )
    lines, words = os.fsencode("".join(named)), ["update-index", "-z", "--index-info"]
    for _ in range(_TRIES):
        if run_git(words, cwd, stdin=lines, env=env, check=False).code == 0:
            return True
        time.sleep(_NAP)  # git's own commands hold the index for milliseconds

    return False


def move_branch(cwd: str, ref: str, new: str, old: str, env: Mapping[str, str]) -> bool:
    """Returns False if the branch no longer names `old` ("" for none)."""
    words = ["update-ref", "-m", "checkpoint sync", ref, new, old or "0" * len(new)]
    return run_git(words, cwd, env=env, check=False).code == 0
