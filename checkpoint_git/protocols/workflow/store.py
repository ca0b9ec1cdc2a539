"""A workflow's files on disk: finding and reading them, and what they name; replacing them; archiving."""

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic, discover
from checkpoint_git.disk.discover import Place, check_way
from checkpoint_git.disk.read import FileContent, read_content
from checkpoint_git.protocols.workflow import layout
from checkpoint_git.protocols.workflow.tasks import OutputFile
from checkpoint_git.protocols.write import set_apart

START_HINT = "`checkpoint workflow start ID` begins one"
_MOST_LISTED = 1_000
_MOST_NAMES = 1_000


def find_workflow_place(start: str) -> Place | None:
    """The nearest folder upward, no higher than its repository's root, that holds memory/state; None without one."""
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
        raise CheckpointError(f"no workflow found: no {layout.DIRECTORY}/phase.json in {cwd} or above it", START_HINT)
    return place


def read_state(place: Place, file: str) -> FileContent | None:
    path = layout.state_path(place, file)
    return read_content(path, place.top) if os.path.lexists(path) else None


def read_output(place: Place, path: str) -> OutputFile:
    """A file of any size, or a folder with anything in it; only JSON of a size that is read is looked into."""
    value = None
    try:
        if os.path.isabs(path):  # as agents like to write it
            path = discover.path_below(place.root, os.path.normpath(path)) or path
        full = _full_path(place, path)
        status = os.stat(full)
        own = [os.path.realpath(layout.state_path(place, file)) for file in layout.FILES]
        if any(f"{one}/".startswith(f"{os.path.realpath(full)}/") for one in own):
            raise ValueError("it is or holds the workflow's own state")
        digest = _digest(full, status)
        if stat.S_ISREG(status.st_mode) and status.st_size <= jsontext.MAX_BYTES and path.endswith(".json"):
            content = read_content(full, place.top)
            if isinstance(content, OSError):
                raise content
            value = jsontext.load(jsontext.decode(content))
            why = "it contains null" if value is None else ""
        else:
            is_empty = not os.listdir(full) if stat.S_ISDIR(status.st_mode) else not status.st_size
            why = "it is empty" if is_empty else ""
    except ValueError as error:
        return OutputFile(path, "outside", str(error))
    except (FileNotFoundError, NotADirectoryError):
        return OutputFile(path)
    except OSError as error:
        return OutputFile(path, "unreadable", error.strerror or str(error), written=float("inf"))
    except jsontext.JsonTextError as error:
        return OutputFile(path, "unreadable", f"line {error.line}: {error.message}", None, status.st_mtime, digest)
    return OutputFile(path, "unreadable" if why else "good", why, value, status.st_mtime, digest)


def _digest(full: str, status: os.stat_result) -> str:
    """SHA-256 of a file's bytes; of a folder, of its files' names and digests."""
    if stat.S_ISREG(status.st_mode):
        with open(full, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    if not stat.S_ISDIR(status.st_mode):
        raise OSError("it is neither a file nor a folder")
    paths, parts = sorted(os.path.join(parent, name) for parent, _, names in os.walk(full) for name in names), []
    for path in paths[:_MOST_LISTED]:
        inner = os.lstat(path)
        own = _digest(path, inner) if stat.S_ISREG(inner.st_mode) else ""
        parts.append(f"{os.path.relpath(path, full)}\0{own}")
    return hashlib.sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).hexdigest()


def _full_path(place: Place, path: str) -> str:
    """Raises ValueError for a path that leaves the project."""
    is_odd = not path or "\0" in path or os.path.isabs(path) or len(os.fsencode(path)) > 4_000
    full = "" if is_odd else os.path.normpath(os.path.join(place.root, path))
    if is_odd or not full.startswith(place.root.rstrip(os.sep) + os.sep) or not discover.is_inside(full, place.top):
        raise ValueError("it is not in the project")
    if any(
        map(discover.is_git_name, os.path.relpath(os.path.realpath(full), os.path.realpath(place.top)).split(os.sep))
    ):
        raise ValueError("it is git's own")
    return full


def read_outputs(place: Place, pattern: str) -> list[OutputFile]:
    """Those that fit a path whose name may hold one "*", by name."""
    folder, _, name = pattern.rpartition("/")
    names = [name]
    if "*" in name:
        try:
            names = sorted(os.listdir(_full_path(place, folder)))
        except (OSError, ValueError):
            return []
    fitting = [each for each in names if fnmatchcase(each, name) and not each.startswith(".")]
    found = (read_output(place, f"{folder}/{each}") for each in fitting[:_MOST_LISTED])
    return [output for output in found if output.state != "missing"]


def find_committed_before(place: Place, paths: Sequence[str], instant: int) -> set[str]:
    """Those that are as HEAD has them, and that no commit wrote since. instant: seconds since 1970."""
    from checkpoint_git.git.history.log import PLAIN_LOG
    from checkpoint_git.git.run import read_names

    def ask(*words: str) -> set[str]:
        words = ("--literal-pathspecs", *words, "--name-only", "-z", "--", *paths)
        return {name.lstrip("\n") for name in read_names(words, place.root, check=False)}

    since = f"--since=@{max(instant, 10**8)}"  # git takes a smaller number for another time
    older = ask("ls-tree", "-r", "HEAD") - ask(*PLAIN_LOG, "-c", "--root", "--relative", "--format=", since)
    return older and older - ask("diff", "--relative", "HEAD")


def write_state(place: Place, file: str, data: bytes) -> None:
    path = layout.state_path(place, file)
    if os.path.isdir(path) and not os.path.islink(path):
        hint = "`checkpoint workflow archive` moves it away"
        raise CheckpointError(f"{path} is a folder, and a file belongs there", hint)
    atomic.write_file(path, data)


def archive_state(place: Place, workflow_id: str, instant: str, *, apart: bool = False) -> str | None:
    """Moves what is in the places of the two files into an archive of its own; None where there is nothing. Returns the
    archive's path relative to the project. instant: RFC 3339 in UTC. apart: as set_apart has it. Nothing is deleted
    except archives beyond the newest five. A kill in between leaves phase.json in its place, which joins the other
    file's archive the next time.
    """
    present = [path for path in (layout.state_path(place, file) for file in layout.FILES) if os.path.lexists(path)]
    if not present:
        return None
    folder = os.path.join(place.directory, layout.ARCHIVE)
    check_way(folder, place.top)
    atomic.make_folder(folder)
    name = _claim_archive(folder, workflow_id, instant, is_rest=len(present) == 1)
    target = os.path.join(folder, name)
    for path in reversed(present):
        content = read_content(path, place.top) if apart else None
        if isinstance(content, bytes):
            with suppress(CheckpointError):  # on a full disk it is moved as it is
                atomic.write_file(path, set_apart(content))
        with atomic.reporting(path):
            os.rename(path, os.path.join(target, os.path.basename(path)))
    for changed in (target, place.directory):
        atomic.sync_folder(changed)
    _remove_old_archives(folder, name)
    return f"{layout.DIRECTORY}/{layout.ARCHIVE}/{name}"


def _claim_archive(folder: str, workflow_id: str, instant: str, *, is_rest: bool) -> str:
    begun = max(list_archives(folder), key=layout.archive_order, default="") if is_rest else ""
    start = layout.archive_name(workflow_id, instant).rpartition("_")[0]
    if begun.rpartition("_")[0] == start and os.listdir(os.path.join(folder, begun)) == [layout.EXECUTION_FILE]:
        return begun
    names = (layout.archive_name(workflow_id, instant, number) for number in range(1, _MOST_NAMES))
    return os.path.basename(atomic.make_new_folder(folder, names))


def list_archives(folder: str) -> list[str]:
    names = os.listdir(folder) if os.path.isdir(folder) and not os.path.islink(folder) else ()
    paths = {name: os.path.join(folder, name) for name in names if layout.archive_order(name)[0]}
    return [name for name, path in paths.items() if os.path.isdir(path) and not os.path.islink(path)]


def _remove_old_archives(folder: str, newest: str) -> None:
    # Keeps the newest five, and none that is empty; whatever has another name, or is a link, is left alone
    import shutil

    for name in list_archives(folder):
        with suppress(OSError):  # what is left of a process that was killed; rmdir takes empty folders only
            os.rmdir(os.path.join(folder, name))
    others = [name for name in list_archives(folder) if name != newest]
    for name in sorted(others, key=lambda name: (layout.archive_order(name), name))[: -(layout.KEPT_ARCHIVES - 1)]:
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
