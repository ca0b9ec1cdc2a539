"""A workflow's files on disk: finding and reading them, and what they name; replacing them; archiving."""

import os
import stat
from contextlib import suppress
from fnmatch import fnmatchcase

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, find_repository, folders_upward, is_inside
from checkpoint_git.disk.read import FileContent, read_content
from checkpoint_git.protocols.workflow import layout
from checkpoint_git.protocols.workflow.tasks import OutputFile

START_HINT = "checkpoint workflow start ID begins one"
_MOST_LISTED = 1_000
_MOST_NAMES = 1_000


def find_workflow_place(start: str) -> Place | None:
    """The nearest folder upward, no higher than its repository's root, that holds memory/state; None without one."""
    start = os.path.abspath(start)
    repository = find_repository(start)
    for folder in folders_upward(start, repository[0] if repository else None):
        if os.path.lexists(os.path.join(folder, layout.DIRECTORY)):
            return _place_at(folder, repository)
    return None


def plan_workflow_place(start: str) -> Place:
    start = os.path.abspath(start)
    repository = find_repository(start)
    return find_workflow_place(start) or _place_at(repository[0] if repository else start, repository)


def _place_at(root: str, repository: tuple[str, str] | None) -> Place:
    work_tree, git_dir = repository or (None, None)
    place = Place(root, os.path.join(root, *layout.DIRECTORY.split("/")), work_tree, git_dir)
    if os.path.lexists(place.directory) and not is_inside(place.directory, place.top):
        hint = "put a real folder in its place: the state belongs to the project"
        raise CheckpointError(f"{place.directory} is reached through a link that leads out of {place.top}", hint)
    return place


def has_state(place: Place) -> bool:
    return os.path.lexists(layout.state_path(place, layout.PHASE))


def open_place(cwd: str) -> Place:
    place = find_workflow_place(cwd)
    if place is None or not has_state(place):
        message = f"no workflow found: no {layout.DIRECTORY}/phase.json in {cwd} or above it"
        raise CheckpointError(message, START_HINT)
    return place


def read_state(place: Place, file: str) -> FileContent | None:
    path = layout.state_path(place, file)
    return read_content(path, place.top) if os.path.lexists(path) else None


# outputs


def read_output(place: Place, path: str) -> OutputFile:
    try:
        full = _full_path(place, path)
        os.lstat(full)
    except ValueError as error:
        return OutputFile(path, "outside", str(error))
    except (FileNotFoundError, NotADirectoryError):
        return OutputFile(path)
    except OSError:
        pass  # the next look says what is wrong
    try:
        written = os.stat(full).st_mtime
        content = read_content(full, place.top)
    except OSError as error:
        content = error
    if isinstance(content, OSError):
        return OutputFile(path, "unreadable", content.strerror or str(content), written=float("inf"))
    if not path.endswith(".json"):
        why = "" if content else "it is empty"
        return OutputFile(path, "unreadable" if why else "good", why, None, written)
    try:
        return OutputFile(path, "good", "", jsontext.load(jsontext.decode(content)), written)
    except jsontext.JsonTextError as error:
        return OutputFile(path, "unreadable", f"line {error.line}: {error.message}", None, written)


def written_at(place: Place, path: str) -> float | None:
    try:
        status = os.stat(_full_path(place, path))
    except (OSError, ValueError):
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None


def _full_path(place: Place, path: str) -> str:
    """Raises ValueError for a path that leaves the project."""
    is_odd = not path or "\0" in path or os.path.isabs(path) or len(os.fsencode(path)) > 4_000
    full = "" if is_odd else os.path.normpath(os.path.join(place.root, path))
    if is_odd or not full.startswith(place.root.rstrip(os.sep) + os.sep) or not is_inside(full, place.top):
        raise ValueError("it is not in the project")
    if ".git" in os.path.relpath(os.path.realpath(full), os.path.realpath(place.top)).lower().split(os.sep):
        raise ValueError("it is git's own")
    return full


def list_files(place: Place, pattern: str) -> list[str]:
    folder, _, name = pattern.rpartition("/")
    if "*" not in name:
        return [pattern] if os.path.lexists(os.path.join(place.root, *pattern.split("/"))) else []
    try:
        names = sorted(os.listdir(_full_path(place, folder)))
    except (OSError, ValueError):
        return []
    fitting = [each for each in names if fnmatchcase(each, name) and not each.startswith(".")]
    return [f"{folder}/{each}" for each in fitting[:_MOST_LISTED]]


def is_movable(place: Place, path: str) -> bool:
    full = os.path.realpath(_full_path(place, path))
    return not os.path.isdir(full) and not is_inside(full, place.directory)


def keep_aside(place: Place, path: str, instant: str) -> str:
    """Moves an untrusted output away; its new path, relative to the project like the old one."""
    full = _full_path(place, path)
    for number in range(1, _MOST_NAMES):
        ending = f".orphaned-{layout.file_stamp(instant)}" + (f"-{number}" if number > 1 else "")
        if not os.path.lexists(full + ending):
            _move(full, full + ending)
            atomic.sync_folder(os.path.dirname(full))
            return path + ending
    raise CheckpointError(f"{path} was kept aside {_MOST_NAMES} times in this second", "try again in a second")


def _move(path: str, target: str) -> None:
    try:
        os.rename(path, target)
    except OSError as error:
        raise atomic.write_error(path, error) from None


# writing


def write_state(place: Place, file: str, data: bytes) -> None:
    path = layout.state_path(place, file)
    if os.path.isdir(path) and not os.path.islink(path):
        hint = "checkpoint workflow archive moves it away"
        raise CheckpointError(f"{path} is a folder, and a file belongs there", hint)
    atomic.write_file(path, data)


def archive_state(place: Place, workflow_id: str, instant: str) -> str | None:
    """Moves what is in the places of the two files into an archive of its own; None where there is nothing. Returns the
    archive's path relative to the project. instant: RFC 3339 in UTC. Nothing is deleted except archives beyond the
    newest five. A kill in between leaves phase.json archived and execution.json in its place, or both.
    """
    present = [path for path in (layout.state_path(place, file) for file in layout.FILES) if os.path.lexists(path)]
    if not present:
        return None
    folder = os.path.join(place.directory, layout.ARCHIVE)
    if os.path.islink(folder) and not is_inside(folder, place.top):
        raise CheckpointError(f"{folder} is a symbolic link that leads out of {place.top}", "put a folder in its place")
    atomic.make_folder(folder)
    name = _claim_archive(folder, workflow_id, instant)
    target = os.path.join(folder, name)
    for path in present:
        _move(path, os.path.join(target, os.path.basename(path)))
    for changed in (target, folder, place.directory):
        atomic.sync_folder(changed)
    _remove_old_archives(folder, name)
    return f"{layout.DIRECTORY}/{layout.ARCHIVE}/{name}"


def _claim_archive(folder: str, workflow_id: str, instant: str) -> str:
    for number in range(1, _MOST_NAMES):
        name = layout.archive_name(workflow_id, instant, number)
        try:
            os.mkdir(os.path.join(folder, name))
            return name
        except FileExistsError:
            continue
        except OSError as error:
            raise atomic.write_error(os.path.join(folder, name), error) from None
    raise CheckpointError(f"{folder} holds {_MOST_NAMES} archives of this second", "try again in a second")


def _remove_old_archives(folder: str, newest: str) -> None:
    # Keeps the newest five, and none that is empty; whatever has another name, or is a link, is left alone
    import shutil

    names = [name for name in os.listdir(folder) if layout.archive_order(name) is not None]
    for name in names:
        with suppress(OSError):  # what is left of a process that was killed; rmdir takes empty folders only
            os.rmdir(os.path.join(folder, name))
    paths = {name: os.path.join(folder, name) for name in names if name != newest}
    folders = [name for name, path in paths.items() if os.path.isdir(path) and not os.path.islink(path)]
    old = sorted(folders, key=lambda name: (layout.archive_order(name), name))[: -(layout.KEPT_ARCHIVES - 1)]
    for name in old:
        shutil.rmtree(paths[name], ignore_errors=True)
