"""Find, read and write the files of the work tree that a sync exchanges."""

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
    """contents: by path. refused: paths that cannot be read or stay here, findings say why.
    sparse: paths that are not checked out on purpose.
    """

    contents: dict[str, bytes]
    findings: list[Finding]
    refused: set[str]
    sparse: set[str]


def kind_of(path: str) -> str:
    """Return the registry's kind of a file, or "history" for a skill's past; "" for a file that
    does not sync.
    """
    kind = protocol_of(path)
    if kind and open_room(kind).layout.find_skill(path):
        return kind
    if kind:
        return ""

    folder = path.rpartition("/")[0]
    is_past = folder == _HISTORY_FOLDER or folder.endswith(f"/{_HISTORY_FOLDER}")
    if is_past and path.endswith(".json"):
        return "history"
    return ""


def is_wanted(path: str) -> bool:
    return bool(kind_of(path))


def skill_of(path: str) -> str:
    """Return the skill of a checkpoint or of its history; "" for other files."""
    kind = kind_of(path)
    if kind == "history":
        return path.rpartition("/")[2].removesuffix(".json").rpartition(".")[0]
    if kind == "skill":
        return _SKILL.find_skill(path)
    return ""


def find_path_trouble(path: str) -> str:
    """Return why a path must not be read or written, "" if it may be: a branch is untrusted."""
    parts = path.split("/")
    if escape_controls(path) != path or "\\" in path or len(os.fsencode(path)) > _LONGEST_PATH:
        return "its path has characters that no checkpoint's path has, or is too long"
    if not {"", ".", ".."}.isdisjoint(parts) or any(map(is_git_name, parts)):
        return "its path is outside the folders of checkpoints"
    name = parts[-1].removesuffix(".json")
    if kind_of(path) == "skill":
        name = _SKILL.find_skill(path)
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
    """Read the files of the work tree.

    with_ignored: those of this place that git ignores too, if is_asked is true for their paths.
    """
    work = WorkFiles({}, [], set(), set())
    options = ["-z", "-t", "-c", "-o", "--exclude-standard", "--full-name"]
    records = run_git(["ls-files", *options, "--", *pathspecs()], top, env=env).out.split(b"\0")
    known = {os.fsdecode(record[2:]): record[:1] for record in records if len(record) > 2}
    work.sparse.update(path for path, tag in known.items() if tag == b"S")

    paths = {*known}
    if with_ignored:
        ignored = sorted(set(_list_place(place, top)) - known.keys())
        stays = [path for path in ignored if not is_asked(path)]
        work.refused.update(stays)
        if stays:
            shown = escape_controls(", ".join(stays[:5]))
            message = f"git ignores these files, so they stay here: {shown}"
            hint = "--ignored syncs them, and --only NAME those of one"
            work.findings.append(Finding("sync/ignored", "warning", message, hint=hint))
        paths.update(set(ignored) - set(stays))

    for path in sorted(paths):
        if is_wanted(path):
            _read_file(work, top, path, is_unmerged=known.get(path) == b"M")

    return work


def _list_place(place: Place, top: str) -> list[str]:
    """Return the paths of all files of a place that sync, whether git ignores them or not."""
    names = [os.path.join(place.root, *path.split("/")) for path in fixed_paths()]
    for folder in (place.directory, os.path.join(place.directory, _SKILL.HISTORY)):
        if os.path.islink(folder):
            continue
        with suppress(OSError):
            names += [os.path.join(folder, name) for name in os.listdir(folder)]

    files = [name for name in names if os.path.isfile(name)]
    paths = [os.path.relpath(name, top).replace(os.sep, "/") for name in files]
    return [path for path in paths if is_wanted(path)]


def _read_file(work: WorkFiles, top: str, path: str, *, is_unmerged: bool) -> None:
    """Add one file to the contents, or to those that are refused."""
    full = os.path.join(top, path)
    trouble = find_path_trouble(path)
    if is_unmerged:
        trouble = "a merge has left it unresolved"
    elif not trouble and not os.path.lexists(full):
        return
    elif not trouble and find_link(path, top):
        trouble = "a symbolic link leads to it, and git sees no files behind one"

    if not trouble:
        content = read_content(full, top)
        if isinstance(content, bytes):
            work.contents[path] = content
            return
        if content.errno == errno.ENOENT:
            return
        trouble = content.strerror or "it cannot be read"

    work.refused.add(path)
    hint: AnyHint = "put a regular file in its place"
    if is_unmerged:
        hint = command("checkpoint", "resolve", more=", then sync again")
    message = f"it is skipped: {trouble}"
    work.findings.append(Finding("sync/not-readable", "error", message, path, hint=hint))


class FileArrival(NamedTuple):
    """A file to write. was: its content when the sync read it. becomes: its new content. Both:
    None for no file.
    """

    path: str
    was: bytes | None
    becomes: bytes | None


Merge = Callable[[str, "bytes | None", bytes, bytes], "bytes | None"]
Note = Callable[[], object]


def write_arrivals(
    lock: str,
    top: str,
    arrivals: Iterable[FileArrival],
    merge: Merge,
    tell: Callable[[], None],
    journal: str,
    commit: str,
) -> tuple[list[str], list[Finding]]:
    """Write files, and return the paths that have their new content, and why others do not.

    What another process writes meanwhile is merged, never lost. The journal shows the next sync
    which files were written, if this one is killed: later changes of those start from what came,
    of the others from what was there before.
    merge: (path, base, content now, new content) -> content, None for a conflict; called if a file
    has changed since the sync read it. commit: where the new contents come from.
    """
    taken: list[str] = []
    findings: list[Finding] = []
    atomic.make_folder(os.path.dirname(journal))
    with hold_lock(lock, on_wait=tell):
        atomic.write_file(journal, f"{commit}\n".encode())
        with open(journal, "ab", buffering=0) as notes:

            def note(path: str) -> None:
                # the file is written even if the note cannot be, on a full disk
                with suppress(OSError):
                    notes.write(os.fsencode(path) + b"\0")

            for arrival in arrivals:
                path = arrival.path
                trouble = _write_arrival(top, arrival, merge, partial(note, path))
                if trouble:
                    hint = "run the sync again"
                    found = Finding("sync/not-written", "error", trouble, path, hint=hint)
                    findings.append(found)
                else:
                    taken.append(path)

    return taken, findings


def read_journal(journal: str) -> tuple[str, set[str]]:
    """Return the commit and the paths that a sync noted before it was killed; "" and no paths if
    no sync was.
    """
    content = read_content(journal, os.sep)
    if not isinstance(content, bytes):
        return "", set()
    commit, _, paths = os.fsdecode(content).partition("\n")
    if not is_id(commit):
        commit = ""
    return commit, set(paths.split("\0"))


def _write_arrival(top: str, arrival: FileArrival, merge: Merge, note: Note) -> str:
    """Write one file, and return why it was not written; "" if it was. note: notes that it was."""
    full = os.path.join(top, arrival.path)
    if find_link(arrival.path, top):
        return "a symbolic link is in its place"
    now: bytes | None = None
    if os.path.lexists(full):
        content = read_content(full, top)
        if isinstance(content, OSError):
            return content.strerror or "it cannot be read"
        now = content

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
