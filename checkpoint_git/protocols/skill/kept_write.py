"""Keep what the last write of a checkpoint replaced, in git's folder, so that it can be undone."""

import os
from contextlib import suppress

from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW, NO_WAIT
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import read_plain


def keep_write(
    place: Place, shown: str, before: bytes | None, after: bytes | None, *, is_undone: bool = False
) -> None:
    """Keep for undo what the last write replaced and wrote, None for no file.

    is_undone: it was an undo.
    """
    if not place.git_dir:
        return
    mark = b"yes" if is_undone else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | CLOSE_ON_EXEC | NO_FOLLOW | NO_WAIT
    with suppress(OSError):  # the write itself is done
        os.makedirs(os.path.dirname(_kept_path(place, shown, "")), exist_ok=True)
        for part, data in (("before", before), ("after", after), ("undone", mark)):
            with open(os.open(_kept_path(place, shown, part), flags, 0o666), "wb") as stream:
                stream.write(data or b"")
                stream.flush()
                # after a power failure undo must not find half of what it restores
                os.fsync(stream.fileno())


def read_kept(place: Place, shown: str) -> tuple[bytes | None, bytes | None, bool] | None:
    """Return what the last write replaced, what it wrote, and whether it was an undo.

    None if nothing is kept; a part is None for no file.
    """
    with suppress(OSError):
        before = read_plain(_kept_path(place, shown, "before"))
        after = read_plain(_kept_path(place, shown, "after"))
        mark = read_plain(_kept_path(place, shown, "undone"))
        return before or None, after or None, bool(mark)
    return None


def forget_write(place: Place, shown: str) -> None:
    """Remove what is kept for undo."""
    for part in ("before", "after", "undone"):
        with suppress(OSError):
            os.unlink(_kept_path(place, shown, part))


def _kept_path(place: Place, shown: str, which: str) -> str:
    name = shown.replace("%", "%25").replace("/", "%2F")
    return os.path.join(place.git_dir or "", "checkpoint", "undo", f"{name}.{which}")
