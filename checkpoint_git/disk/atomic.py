"""Whole file or not at all: every write of the package goes through here. It knows nothing of what it writes.

The merge driver imports it on git's hot path: os and nothing else of the standard library.
"""

import os

from checkpoint_git.core.errors import CheckpointError

_ENDING = ".tmp"
_NEW_FILE_MODE = 0o666  # what the user's umask leaves of it


def write_file(path: str, data: bytes, *, sync: bool = True) -> None:
    """Replaces a file's content at once: whoever reads, and whoever is left after a crash, sees the old or the new.

    A file that exists keeps its mode. A symbolic link is refused. sync: wait until the disk has it.
    Raises CheckpointError, and leaves nothing behind, where the disk is full or the folder cannot be written.
    """
    try:
        before = _read_status(path)
        temporary = _write_temporary(path, data, before, sync)
        try:
            os.replace(temporary, path)
        except BaseException:
            _remove_quietly(temporary)
            raise
        if sync:
            sync_folder(os.path.dirname(path) or ".")
    except OSError as error:
        raise write_error(path, error) from None


def create_file(path: str, data: bytes) -> bool:
    """Writes a file that must not exist yet, whole or not at all. Returns False, nothing changed, where it does."""
    try:
        temporary = _write_temporary(path, data, None, True)
        try:
            os.link(temporary, path)  # fails where the name is taken, which os.replace would not
        except FileExistsError:
            return False
        finally:
            _remove_quietly(temporary)
        sync_folder(os.path.dirname(path) or ".")
    except OSError as error:
        raise write_error(path, error) from None
    return True


def remove_file(path: str) -> None:
    """Removes a file for good. Raises CheckpointError where that is not allowed."""
    try:
        os.unlink(path)
        sync_folder(os.path.dirname(path) or ".")
    except OSError as error:
        raise write_error(path, error) from None


def make_folder(path: str) -> None:
    """Makes a folder and those above it. Raises CheckpointError where something else stands there."""
    if os.path.isdir(path):
        return
    try:
        os.makedirs(path, exist_ok=True)
        sync_folder(os.path.dirname(path) or ".")
    except OSError as error:
        raise write_error(path, error) from None


def remove_stray_files(directory: str) -> list[str]:
    """Clears the temporary files of writers that were killed; those of living processes stay. Returns their names."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    strays = [name for name in names if name.endswith(_ENDING) and _is_stray(name)]
    for name in strays:
        _remove_quietly(os.path.join(directory, name))
    return strays


def _temporary_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{os.getpid()}-{os.urandom(4).hex()}{_ENDING}")


def _is_stray(name: str) -> bool:
    """Whether a name is one that _temporary_name makes, of a process that is gone."""
    process, dash, mark = name.removesuffix(_ENDING).rpartition(".")[2].partition("-")
    if not (name.startswith(".") and dash and process.isdecimal() and process.isascii() and len(mark) == 8):
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _read_status(path: str) -> "os.stat_result | None":
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if os.path.islink(path):
        raise CheckpointError(f"{path} is a symbolic link, and writing would follow it", "put a real file in its place")
    return status


def _write_temporary(path: str, data: bytes, like: "os.stat_result | None", sync: bool) -> str:
    """A finished file beside path, with the mode and, where allowed, the owner of what stands there now."""
    temporary = _temporary_name(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW_FILE_MODE)
    try:
        try:
            if like is not None:
                _copy_status(descriptor, like)
            _write_all(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        _remove_quietly(temporary)
        raise
    return temporary


def _copy_status(descriptor: int, like: os.stat_result) -> None:
    os.fchmod(descriptor, like.st_mode & 0o7777)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except OSError:
            return  # only root may give files away; the content is what matters


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _remove_quietly(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def sync_folder(folder: str) -> None:
    """Makes the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError:
        return  # some file systems cannot sync a folder; the file itself is on disk
    finally:
        os.close(descriptor)


def write_error(path: str, error: OSError) -> CheckpointError:
    """What a failed write means for the user."""
    import errno

    hints = {
        errno.ENOSPC: "the disk is full: make room, then run the same command again",
        errno.EDQUOT: "your quota is used up: make room, then run the same command again",
        errno.EFBIG: "a limit on file sizes is in force (ulimit -f)",
        errno.EROFS: "the file system is mounted read-only",
        errno.EACCES: "check who owns the folder and whether you may write in it",
        errno.EPERM: "check who owns the folder and whether you may write in it",
        errno.ENOTDIR: "a file stands where a folder should be",
        errno.EEXIST: "a file stands where a folder should be",
        errno.EISDIR: "a folder stands where the file should be",
        errno.ENOENT: "its folder does not exist",
    }
    reason = error.strerror or str(error)
    hint = hints.get(error.errno or 0, "nothing was changed")
    return CheckpointError(f"{path} could not be written: {reason}", hint)
