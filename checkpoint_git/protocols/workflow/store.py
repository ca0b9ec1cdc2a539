"""Find, read, replace and archive a workflow's files, and read the files that they name."""

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, command
from checkpoint_git.disk import atomic, discover
from checkpoint_git.disk.discover import Place, check_way
from checkpoint_git.disk.read import FileContent, read_content
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.workflow import layout
from checkpoint_git.protocols.workflow.tasks import OutputFile
from checkpoint_git.protocols.write import set_apart

START_HINT = command("checkpoint", "workflow", "start", Blank("id", "ID"), more=" begins one")
_MOST_LISTED = 1_000
_MOST_NAMES = 1_000
_LONGEST_PATH = 4_000  # bytes


def find_workflow_place(start: str) -> Place | None:
    """Return the nearest folder upward that has memory/state, None without one.

    It is no higher than its repository's root.
    """
    with suppress(discover.MissingPlaceError):
        return discover.find_place(start, layout.DIRECTORY)
    return None


def plan_workflow_place(start: str) -> Place:
    place = find_workflow_place(start) or discover.plan_place(start, layout.DIRECTORY)
    check_way(place.directory, place.top)
    return place


def has_state(place: Place) -> bool:
    return any(os.path.lexists(layout.state_path(place, file)) for file in layout.FILES)


def open_place(cwd: str) -> Place:
    place = find_workflow_place(cwd)
    if place is None or not has_state(place):
        message = f"no workflow found: no {layout.DIRECTORY}/phase.json in {cwd} or above it"
        raise CheckpointError(message, START_HINT)
    return place


def read_state(place: Place, file: str) -> FileContent | None:
    path = layout.state_path(place, file)
    if not os.path.lexists(path):
        return None
    return read_content(path, place.top)


def read_output(place: Place, path: str) -> OutputFile:
    """Return what is known of a file of any size, or of a folder.

    The content of a JSON file is read up to the usual limit.
    """
    written = float("inf")
    digest = ""
    try:
        if os.path.isabs(path):  # as agents like to write it
            path = discover.path_below(place.root, os.path.normpath(path)) or path
        full = _full_path(place, path)
        status = os.stat(full)
        _check_not_state(place, full)
        digest = _digest(full, status)
        written = status.st_mtime
        value, why = _read_value(place, full, status, is_json=path.endswith(".json"))
    except ValueError as error:
        return OutputFile(path, "outside", str(error))
    except (FileNotFoundError, NotADirectoryError):
        return OutputFile(path)
    except OSError as error:
        why = error.strerror or str(error)
        return OutputFile(path, "unreadable", why, written=float("inf"))
    except jsontext.JsonTextError as error:
        why = f"line {error.line}: {error.message}"
        return OutputFile(path, "unreadable", why, None, written, digest)

    return OutputFile(path, "unreadable" if why else "good", why, value, written, digest)


def _check_not_state(place: Place, full: str) -> None:
    """Raise ValueError for the workflow's own state, and for a folder around it."""
    for file in layout.FILES:
        state = os.path.realpath(layout.state_path(place, file))
        if f"{state}/".startswith(f"{os.path.realpath(full)}/"):
            raise ValueError("it is or contains the workflow's state")


def _read_value(
    place: Place,
    full: str,
    status: os.stat_result,
    *,
    is_json: bool,
) -> tuple[Any, str]:
    """Return (the value of a JSON file, why the file counts as unreadable).

    Raises OSError, JsonTextError.
    """
    is_file = stat.S_ISREG(status.st_mode)
    if is_file and is_json and status.st_size <= jsontext.MAX_BYTES:
        content = read_content(full, place.top)
        if isinstance(content, OSError):
            raise content
        value = jsontext.load(jsontext.decode(content))
        if value is None:
            return None, "it contains null"
        return value, ""

    is_empty = not status.st_size
    if stat.S_ISDIR(status.st_mode):
        is_empty = not os.listdir(full)
    if is_empty:
        return None, "it is empty"
    return None, ""


def _digest(full: str, status: os.stat_result) -> str:
    """Return the SHA-256 of a file's bytes; for a folder, of its files' names and digests."""
    if stat.S_ISREG(status.st_mode):
        with open(full, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    if not stat.S_ISDIR(status.st_mode):
        raise OSError("it is neither a file nor a folder")

    paths: list[str] = []
    for folder, _, names in os.walk(full):
        paths += [os.path.join(folder, name) for name in names]

    parts = []
    for path in sorted(paths)[:_MOST_LISTED]:
        inner = os.lstat(path)
        digest = ""
        if stat.S_ISREG(inner.st_mode):
            digest = _digest(path, inner)
        parts.append(f"{os.path.relpath(path, full)}\0{digest}")

    text = "\n".join(sorted(parts))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _full_path(place: Place, path: str) -> str:
    """Return the absolute path of an output. Raises ValueError for one outside the project."""
    if not path or "\0" in path or os.path.isabs(path) or len(os.fsencode(path)) > _LONGEST_PATH:
        raise ValueError("it is not in the project")
    full = os.path.normpath(os.path.join(place.root, path))
    is_below = full.startswith(place.root.rstrip(os.sep) + os.sep)
    if not is_below or not discover.is_inside(full, place.top):
        raise ValueError("it is not in the project")

    below_top = os.path.relpath(os.path.realpath(full), os.path.realpath(place.top))
    if any(discover.is_git_name(name) for name in below_top.split(os.sep)):
        raise ValueError("it is git's own")
    return full


def read_outputs(place: Place, pattern: str) -> list[OutputFile]:
    """Return the outputs that fit a path whose name may have one "*", by name."""
    folder, _, name = pattern.rpartition("/")
    names = [name]
    if "*" in name:
        try:
            names = sorted(os.listdir(_full_path(place, folder)))
        except (OSError, ValueError):
            return []

    found = []
    fitting = [file for file in names if fnmatchcase(file, name) and not file.startswith(".")]
    for file in fitting[:_MOST_LISTED]:
        output = read_output(place, f"{folder}/{file}")
        if output.state != "missing":
            found.append(output)

    return found


def find_committed_before(place: Place, paths: Sequence[str], instant: int) -> set[str]:
    """Return the paths that are as HEAD has them, and that no commit wrote since an instant.

    instant: seconds since 1970.
    """
    from checkpoint_git.git.history.log import PLAIN_LOG
    from checkpoint_git.git.run import read_names

    def ask(*words: str) -> set[str]:
        words = ("--literal-pathspecs", *words, "--name-only", "-z", "--", *paths)
        return {name.lstrip("\n") for name in read_names(words, place.root, check=False)}

    since = f"--since=@{max(instant, 10**8)}"  # git takes a smaller number for another time
    older = ask("ls-tree", "-r", "HEAD") - ask(
        *PLAIN_LOG, "-c", "--root", "--relative", "--format=", since
    )
    return older and older - ask("diff", "--relative", "HEAD")


def write_state(place: Place, file: str, before: Document | None, data: bytes) -> None:
    """Write one of the two files. Raises CheckpointError if it changed since it was read.

    before: as it was read, None if it was missing.
    """
    path = layout.state_path(place, file)
    if os.path.isdir(path):
        hint = command("checkpoint", "workflow", "archive", more=" moves it away")
        raise CheckpointError(f"{path} is a folder, and a file belongs there", hint)
    if before is None:
        atomic.replace_known(path, None, data)
    elif before.text is None:  # it could not be read, so it cannot be compared
        atomic.write_file(path, data)
    else:
        atomic.replace_known(path, before.text.encode(), data)


def archive_state(
    place: Place, workflow_id: str, instant: str, *, apart: bool = False
) -> str | None:
    """Move the two files into a new archive, and return its path relative to the project.

    None if there is nothing to archive. instant: RFC 3339 in UTC. apart: as set_apart has it.
    Nothing is deleted except archives beyond the newest five. A kill in between leaves phase.json
    in its place, which joins the other file's archive the next time.
    """
    paths = [layout.state_path(place, file) for file in layout.FILES]
    present = [path for path in paths if os.path.lexists(path)]
    if not present:
        return None
    folder = os.path.join(place.directory, layout.ARCHIVE)
    check_way(folder, place.top)
    atomic.make_folder(folder)
    name = _claim_archive(folder, workflow_id, instant, is_rest=len(present) == 1)
    target = os.path.join(folder, name)

    for path in reversed(present):
        if apart:
            _set_apart(path, place)
        with atomic.reporting(path):
            os.rename(path, os.path.join(target, os.path.basename(path)))

    for changed in (target, place.directory):
        atomic.sync_folder(changed)
    _remove_old_archives(folder, name)
    return f"{layout.DIRECTORY}/{layout.ARCHIVE}/{name}"


def _set_apart(path: str, place: Place) -> None:
    content = read_content(path, place.top)
    if isinstance(content, bytes):
        with suppress(CheckpointError):  # on a full disk it is moved as it is
            atomic.write_file(path, set_apart(content))


def _claim_archive(folder: str, workflow_id: str, instant: str, *, is_rest: bool) -> str:
    """Make the archive for the state, and return its name.

    is_rest: the other file was archived before.
    """
    begun = ""
    if is_rest:
        begun = max(list_archives(folder), key=layout.archive_order, default="")
    start = layout.archive_name(workflow_id, instant).rpartition("_")[0]
    is_its_own = begun.rpartition("_")[0] == start
    if is_its_own and os.listdir(os.path.join(folder, begun)) == [layout.EXECUTION_FILE]:
        return begun
    names = (layout.archive_name(workflow_id, instant, number) for number in range(1, _MOST_NAMES))
    return os.path.basename(atomic.make_new_folder(folder, names))


def list_archives(folder: str) -> list[str]:
    """Return the names of archives in a folder."""
    if not _is_real_folder(folder):
        return []
    names = [name for name in os.listdir(folder) if layout.archive_order(name)[0]]
    return [name for name in names if _is_real_folder(os.path.join(folder, name))]


def _is_real_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove_old_archives(folder: str, newest: str) -> None:
    """Remove empty archives, and all but the newest five.

    What has another name, or is a link, stays.
    """
    import shutil

    for name in list_archives(folder):
        with suppress(OSError):  # of a process that was killed; rmdir takes empty folders only
            os.rmdir(os.path.join(folder, name))

    others = [name for name in list_archives(folder) if name != newest]
    others.sort(key=lambda name: (layout.archive_order(name), name))

    for name in others[: -(layout.KEPT_ARCHIVES - 1)]:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
