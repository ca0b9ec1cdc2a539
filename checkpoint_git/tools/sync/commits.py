"""Write commits without the index and the work tree, and move the checked-out branch to them."""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from checkpoint_git.git.objects import TreeEntry
from checkpoint_git.git.run import GitResult, git_error, quote_path, run_git, start_git

# a path, and its new file: one that git has, new content, or None
Change = tuple[str, TreeEntry | bytes | None]

_TRIES = 20
_NAP = 0.05  # seconds


class Draft(NamedTuple):
    parents: tuple[str | int, ...]
    changes: Sequence[Change]
    message: str


def write_commits(
    cwd: str, drafts: Sequence[Draft], refs: Sequence[str], who: str, env: Mapping[str, str]
) -> list[str]:
    """Write commits, and return their ids.

    refs: the last one gets the last draft; the first keeps the other drafts from a prune.
    One `git fast-import` gets everything in a file that is complete before git starts: a kill
    leaves all of it or nothing. Raises CheckpointError if git cannot write them.
    """
    from tempfile import TemporaryFile  # late: a sync that has nothing to send needs none

    words = ["fast-import", "--quiet", "--force", "--done"]
    with TemporaryFile() as stream:
        stream.writelines(_describe(drafts, refs, who))
        for _ in range(_TRIES):
            stream.seek(0)
            # in a pack, which git keeps until the ref exists: a prune at the same time removes
            # loose objects
            packed = ["-c", "fastimport.unpackLimit=0", *words]
            with start_git(packed, cwd, env=env, stdin=stream.fileno()) as process:
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

    It is left by a killed `git fast-import`, and by one whose temporary file a prune removed. The
    next one writes the same objects, so its pack gets the same name.
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
    """Whether `git fast-import` wrote this mark, or was killed before it did."""
    try:
        with open(path, "rb") as stream:
            return stream.read(100) in (b"", b"fast-import")
    except OSError:
        return False


def _describe(drafts: Sequence[Draft], refs: Sequence[str], who: str) -> Iterator[bytes]:
    """Yield the drafts in fast-import's language; drafts are marked from 1 on, new contents after
    them.
    """
    contents = {
        content for draft in drafts for _, content in draft.changes if isinstance(content, bytes)
    }
    marks = {content: mark for mark, content in enumerate(sorted(contents), len(drafts) + 1)}
    for content, mark in marks.items():
        yield b"blob\nmark :%d\ndata %d\n%b\n" % (mark, len(content), content)

    for number, draft in enumerate(drafts, 1):
        ref = refs[0].encode()
        if number == len(drafts):
            ref = refs[-1].encode()
        message = draft.message.encode("utf-8", "replace")
        yield b"reset %b\ncommit %b\nmark :%d\ncommitter %b\n" % (ref, ref, number, who.encode())
        yield b"data %d\n%b\n" % (len(message), message)
        keyword = b"from"
        for parent in draft.parents:
            if isinstance(parent, str):
                yield b"%b %b\n" % (keyword, parent.encode())
            else:
                yield b"%b :%d\n" % (keyword, parent + 1)
            keyword = b"merge"
        for path, becomes in draft.changes:
            quoted = quote_path(os.fsencode(path))
            if becomes is None:
                yield b"D %b\n" % quoted
            elif isinstance(becomes, bytes):
                yield b"M 100644 :%d %b\n" % (marks[becomes], quoted)
            else:
                yield b"M %b %b %b\n" % (becomes.mode.encode(), becomes.blob.encode(), quoted)
        yield b"\nget-mark :%d\n" % number

    yield b"done\n"


def stage_files(
    cwd: str, files: Sequence[tuple[str, TreeEntry | None]], env: Mapping[str, str]
) -> bool:
    """Write entries into the index, None to remove one; return False if the index stays locked."""
    zeros = "0" * max((len(entry.blob) for _, entry in files if entry), default=40)
    lines = []
    for path, entry in files:
        if entry:
            lines.append(f"{entry.mode} {entry.blob}\t{path}\0")
        else:
            lines.append(f"0 {zeros}\t{path}\0")

    words = ["update-index", "-z", "--index-info"]
    for _ in range(_TRIES):
        result = run_git(words, cwd, stdin=os.fsencode("".join(lines)), env=env, check=False)
        if result.code == 0:
            return True
        time.sleep(_NAP)  # git's own commands hold the index for milliseconds

    return False


def move_branch(cwd: str, ref: str, new: str, old: str, env: Mapping[str, str]) -> bool:
    """Move a branch; return False if it no longer names `old` ("" for none)."""
    words = ["update-ref", "-m", "checkpoint sync", ref, new, old or "0" * len(new)]
    return run_git(words, cwd, env=env, check=False).code == 0
