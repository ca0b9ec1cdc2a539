"""The files of the work tree that a sync is about: which they are, what they hold, writing them
under the lock.
"""

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, command
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, find_link, is_git_name
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.disk.read import read_content
from checkpoint_git.git.objects import is_id
from checkpoint_git.git.run import run_git
from checkpoint_git.git.staged import pathspecs as registry_pathspecs
from checkpoint_git.protocols.contract import open_room, skill_layout
from checkpoint_git.protocols.registry import fixed_paths, protocol_of

_SKILL = skill_layout()
_HISTORY_FOLDER = f"{_SKILL.DIRECTORY}/{_SKILL.HISTORY}"
_LONGEST_PATH = 1_000


class WorkFiles(NamedTuple):
    """contents: by path. findings: why some were left out; refused: those paths. sparse: not
    checked out on purpose.
    """

    contents: dict[str, bytes]
    findings: list[Finding]
    refused: set[str]
    sparse: set[str]


def kind_of(path: str) -> str:
    """The registry's kinds, and "history" for a skill's past; "" for what does not sync."""
    if kind := protocol_of(path):
        return kind if open_room(kind).layout.find_skill(path) else ""
    folder = path.rpartition("/")[0]
    is_past = folder == _HISTORY_FOLDER or folder.endswith(f"/{_HISTORY_FOLDER}")
    return "history" if is_past and path.endswith(".json") else ""


def is_wanted(path: str) -> bool:
    return bool(kind_of(path))


def skill_of(path: str) -> str:
    kind = kind_of(path)
    if kind == "history":
        return path.rpartition("/")[2].removesuffix(".json").rpartition(".")[0]
    return _SKILL.find_skill(path) if kind == "skill" else ""


# A branch is untrusted: its paths are checked before one is read or written.
def find_path_trouble(path: str) -> str:
    parts = path.split("/")
    if escape_controls(path) != path or "\\" in path or len(os.fsencode(path)) > _LONGEST_PATH:
        return "its path has characters that no checkpoint's path has, or is too long"
    if not {"", ".", ".."}.isdisjoint(parts) or any(map(is_git_name, parts)):
        return "its path is outside the folders of checkpoints"
    name = _SKILL.find_skill(path) if kind_of(path) == "skill" else parts[-1].removesuffix(".json")
    return _SKILL.find_name_trouble(name)


def pathspecs() -> list[str]:
    return [*registry_pathspecs(), f":(top,glob)**/{_HISTORY_FOLDER}/*.json"]


def read_work(
    place: Place,
    top: str,
    env: Mapping[str, str],
    *,
    with_ignored: bool,
    is_asked: Callable[[str], bool] = bool,
) -> WorkFiles:
    """with_ignored: those too, of this place, that git is told to ignore, where is_asked says so of
    their paths.
    """
    work = WorkFiles({}, [], set(), set())
    words = [
        "ls-files",
        "-z",
        "-t",
        "-c",
        "-o",
        "--exclude-standard",
        "--full-name",
        "--",
        *pathspecs(),
    ]
    records = run_git(words, top, env=env).out.split(b"\0")
    known = {os.fsdecode(record[2:]): record[:1] for record in records if len(record) > 2}
    work.sparse.update(path for path, tag in known.items() if tag == b"S")
    own = [path for path in _list_own(place, top) if is_wanted(path)] if with_ignored else []
    if ignored := sorted(set(own) - known.keys()):
        work.refused.update(stays := [path for path in ignored if not is_asked(path)])
        message = (
            f"git ignores these files, so they stay here: {escape_controls(', '.join(stays[:5]))}"
        )
        hint = "--ignored syncs them, and --only NAME those of one"
        work.findings.extend(
            [Finding("sync/ignored", "warning", message, hint=hint)] if stays else []
        )
        own = sorted(set(own) - set(stays))

    for path in sorted({*known, *own}):
        if is_wanted(path):
            _take(work, top, path, is_unmerged=known.get(path) == b"M")

    return work


def _list_own(place: Place, top: str) -> list[str]:
    names = [os.path.join(place.root, *path.split("/")) for path in fixed_paths()]
    for folder in (place.directory, os.path.join(place.directory, _SKILL.HISTORY)):
        with suppress(OSError):
            names += [
                os.path.join(folder, name)
                for name in ([] if os.path.islink(folder) else os.listdir(folder))
            ]
    return [
        os.path.relpath(name, top).replace(os.sep, "/") for name in names if os.path.isfile(name)
    ]


def _take(work: WorkFiles, top: str, path: str, *, is_unmerged: bool) -> None:
    full = os.path.join(top, path)
    trouble = find_path_trouble(path)
    if is_unmerged:
        trouble = "a merge has left it unresolved"
    elif not trouble and not os.path.lexists(full):
        return
    elif not trouble and find_link(path, top):
        trouble = "a symbolic link leads to it, and git sees no files behind one"

    content = b"" if trouble else read_content(full, top)
    if isinstance(content, OSError):
        if content.errno == errno.ENOENT:
            return
        trouble = content.strerror or "it cannot be read"

    if trouble:
        work.refused.add(path)
        hint: AnyHint = "put a regular file in its place"
        if is_unmerged:
            hint = command("checkpoint", "resolve", more=", then sync again")
        work.findings.append(
            Finding("sync/not-readable", "error", f"it is skipped: {trouble}", path, hint=hint)
        )
    elif isinstance(content, bytes):
        work.contents[path] = content


class FileArrival(NamedTuple):
    """was: as the sync read it, None for no file; becomes: the same."""

    path: str
    was: bytes | None
    becomes: bytes | None


Merge = Callable[[str, "bytes | None", bytes, bytes], "bytes | None"]


# What another process writes meanwhile is merged, never lost. The journal shows the sync after a
# killed one which files have it: those were changed since from what came, the others from what was
# there before.
def write_arrivals(
    lock: str,
    top: str,
    arrivals: Iterable[FileArrival],
    merge: Merge,
    tell: Callable[[], None],
    journal: str,
    commit: str,
) -> tuple[list[str], list[Finding]]:
    """(the paths that have it now, why others do not). merge: (path, base, as it is now, as it
    comes) -> content, None for a conflict; asked where a file has changed since the sync read it.
    commit: what they come from.
    """
    taken: list[str] = []
    findings: list[Finding] = []
    atomic.make_folder(os.path.dirname(journal))
    with hold_lock(lock, on_wait=tell):
        atomic.write_file(journal, f"{commit}\n".encode())
        with open(journal, "ab", buffering=0) as notes:

            def note(path: str) -> None:
                with suppress(OSError):  # a full disk: the file is there all the same
                    notes.write(os.fsencode(path) + b"\0")

            for arrival in arrivals:
                if trouble := _write_arrival(top, arrival, merge, partial(note, arrival.path)):
                    hint = "run the sync again"
                    findings.append(
                        Finding("sync/not-written", "error", trouble, arrival.path, hint=hint)
                    )
                else:
                    taken.append(arrival.path)

    return taken, findings


def read_journal(journal: str) -> tuple[str, set[str]]:
    """The commit and the paths that a sync noted which did not come to its end; "" if none is
    known.
    """
    content = read_content(journal, os.sep)
    commit, _, paths = os.fsdecode(content if isinstance(content, bytes) else b"").partition("\n")
    return commit if is_id(commit) else "", set(paths.split("\0"))


def _write_arrival(top: str, arrival: FileArrival, merge: Merge, note: Callable[[], object]) -> str:
    full = os.path.join(top, arrival.path)
    if find_link(arrival.path, top):
        return "a symbolic link is in its place"
    now = read_content(full, top) if os.path.lexists(full) else None
    if isinstance(now, OSError):
        return now.strerror or "it cannot be read"
    becomes = arrival.becomes
    if now not in (arrival.was, becomes):
        if now is None or becomes is None:
            return "it was written or removed meanwhile"
        becomes = merge(arrival.path, arrival.was, now, becomes)
        if becomes is None:
            return "it was changed meanwhile, and the two changes contradict each other"

    try:
        if becomes is not None and becomes != now:
            atomic.make_folder(os.path.dirname(full))
            atomic.replace_known(full, now, becomes, note)
            return ""
        if becomes is None and now is not None:
            atomic.remove_known(full, now)
        note()
    except CheckpointError as error:
        return f"{error.message}; {error.hint}"

    return ""
