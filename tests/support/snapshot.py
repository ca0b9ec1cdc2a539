"""Every byte below a folder, to see that something left no trace."""

import os
from pathlib import Path


def take_snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Each file, link and folder by its relative path: its mode, and its content, its target or
    nothing.
    """
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = (
            os.fsencode(os.readlink(path))
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else b""
        )
        found[str(path.relative_to(folder))] = (mode, content)
    return found
