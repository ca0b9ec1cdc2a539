"""Notes that memory keeps in the git directory: small JSON files. Losing one costs a question,
never a checkpoint.
"""

import os
from contextlib import suppress
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic
from checkpoint_git.disk.read import read_plain

# the first line that earlier versions wrote above the JSON
_FORMER_HEADER = b"checkpoint-git cache "


def read_state(path: str) -> Any:
    """Return the value of a file, None if there is none that can be read."""
    try:
        data = read_plain(path)
        if data.startswith(_FORMER_HEADER):
            data = data.partition(b"\n")[2]
        return jsontext.load(data.decode())
    except (OSError, ValueError, jsontext.JsonTextError):
        return None


def write_state(path: str, value: Any) -> None:
    """Write a value, or keep what is there: a command that did its work does not fail for a note
    about it.
    """
    import json  # prime only reads

    data = json.dumps(value, separators=(",", ":")).encode() + b"\n"
    with suppress(CheckpointError):
        atomic.make_folder(os.path.dirname(path))
        atomic.write_file(path, data)
