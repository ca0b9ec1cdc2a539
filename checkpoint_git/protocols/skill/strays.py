"""Files beside the checkpoints that were probably meant as some: by their names and beginnings. It judges none."""

import os

from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import layout

_HEAD = 1 << 16  # bytes of a file that are looked at


def list_strays(place: Place) -> list[str]:
    """The absolute paths of files beside the checkpoints that look like some, but for the ending of their names."""
    try:
        names = sorted(name for name in os.listdir(place.directory) if layout.may_be_meant(name))
    except OSError:
        return []
    paths = [os.path.join(place.directory, name) for name in names]
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path) and _is_meant(path)]


def _is_meant(path: str) -> bool:
    """Whether a name says checkpoint, or the file says of which skill it is."""
    if layout.WORD in os.path.basename(path).lower():
        return True
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    return b'"skill"' in head and b'"status"' in head
