"""Take the step under every write: a temporary file beside the target, then a rename over it."""

# The merge driver imports it on git's hot path, and os alone costs a tenth of an empty
# interpreter: so it stands on posix, the interpreter's own module beneath os, if there is one.
try:
    import posix as system
except ImportError:
    import os as system  # type: ignore[no-redef]  # the same functions by the same names

__all__ = ["TEMPORARY_ENDING", "remove_quietly", "replace_file", "system", "write_temporary"]

TEMPORARY_ENDING = ".tmp"
_NEW_FILE_MODE = 0o666  # what the user's umask leaves of it
_IS_WINDOWS = getattr(system, "sep", "/") == "\\"  # posix knows no separator
_CREATE = system.O_WRONLY | system.O_CREAT | system.O_EXCL
# Windows has the second alone
_CREATE |= getattr(system, "O_CLOEXEC", 0) | getattr(system, "O_BINARY", 0)


def replace_file(path: str, data: bytes) -> None:
    """Replace a file without waiting for the disk. Raises OSError: the old file stays."""
    temporary = write_temporary(path, data, system.lstat(path), sync=False)
    try:
        system.replace(temporary, path)
    except BaseException:
        remove_quietly(temporary)
        raise


def write_temporary(
    path: str,
    data: bytes,
    like: "system.stat_result | None",
    *,
    sync: bool,
    mode: int = _NEW_FILE_MODE,
) -> str:
    """Write a finished file beside path, and return its path.

    Its name is `.NAME.PROCESS-RANDOM.tmp`, which shows whether its writer still lives. like: the
    status of the file that it will replace: it has that mode and, where allowed, that owner.
    """
    if _IS_WINDOWS:
        path = path.replace("\\", "/")
    folder, slash, name = path.rpartition("/")
    writer = f"{system.getpid()}-{system.urandom(4).hex()}"
    temporary = f"{folder}{slash}.{name}.{writer}{TEMPORARY_ENDING}"
    descriptor = system.open(temporary, _CREATE, mode)
    try:
        try:
            if like is not None:
                _copy_status(descriptor, like)
            rest = memoryview(data)
            while rest:
                rest = rest[system.write(descriptor, rest) :]
            if sync:
                system.fsync(descriptor)
        finally:
            system.close(descriptor)
    except BaseException:
        remove_quietly(temporary)
        raise

    return temporary


def _copy_status(descriptor: int, like: "system.stat_result") -> None:
    if not hasattr(system, "fchmod"):
        return  # Windows has neither modes nor owners
    system.fchmod(descriptor, like.st_mode & 0o7777)
    if (like.st_uid, like.st_gid) != (system.geteuid(), system.getegid()):
        try:
            system.fchown(descriptor, like.st_uid, like.st_gid)
        except OSError:
            return  # only root may give files away; the content is what matters


def remove_quietly(path: str) -> None:
    try:
        system.unlink(path)
    except OSError:
        return
