"""Read `.checkpoints/doctor.toml`, in which a project sets thresholds and suppressions.

The text is untrusted: it comes with the branch.
"""

import os
import re
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import read_content

MAX_BYTES = 64 * 1024
_NAME = "doctor.toml"
_MOST_DOTS = 1_000  # of one line: tomllib takes quadratic time for a key of many parts


class ProjectFileError(Exception):
    """Say that the file cannot be read, or is not TOML. line: where, 0 if that is unknown."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def find_path(place: Place) -> str:
    """Return the absolute path of the file, whether it exists or not."""
    return os.path.join(place.directory, _NAME)


def read_text(place: Place) -> str:
    """Return the text of the file, "" without a file. Raises ProjectFileError."""
    path = find_path(place)
    if not os.path.lexists(path):
        return ""

    content = read_content(path, place.top, MAX_BYTES)
    if isinstance(content, OSError):
        raise ProjectFileError(f"it cannot be read: {content.strerror}")
    try:
        return jsontext.decode(content).removeprefix(jsontext.BYTE_ORDER_MARK)
    except jsontext.JsonTextError as error:
        raise ProjectFileError(error.message) from None


def parse_table(text: str) -> dict[str, Any]:
    """Return the table in a TOML text. Raises ProjectFileError."""
    for number, row in enumerate(text.split("\n"), 1):
        if row.count(".") > _MOST_DOTS:
            raise ProjectFileError("a key has too many parts", number)

    import tomllib  # most projects have no such file

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ProjectFileError("it is nested too deeply") from None
    except ValueError as error:  # of a number with too many digits, a plain ValueError
        found = re.search(r"line (\d+)", str(error))
        line = 0
        if found:
            line = int(found[1])
        raise ProjectFileError(f"this is not TOML: {error}", line) from None
