"""Files of our own among an agent's. The last line holds a checksum: what a person changed is theirs. Pure."""

import hashlib
import re
from typing import Literal, NamedTuple

State = Literal["ours", "changed", "foreign"]

_STAMP = re.compile(rb"(?:<!--|#) checkpoint-git ([0-9a-f]{16})((?: [a-z]+=[0-9]+)*)(?: -->)?\r?\n?\Z")
_NEWLINES = re.compile(rb"\r\n?")


class Stamped(NamedTuple):
    """A file taken apart. text: without the stamp, with plain line ends. folders: how many were made for it."""

    state: State
    text: bytes
    folders: int = 0


def render_stamped(path: str, text: str, folders: int) -> bytes:
    """The file with its stamp, in a comment of the file's kind."""
    body = text.encode()
    words = f"checkpoint-git {_checksum(body)} folders={folders}"
    return body + (f"# {words}\n" if path.endswith(".toml") else f"<!-- {words} -->\n").encode()


def read_stamped(data: bytes) -> Stamped:
    """What a file is to us. A clone may have given it other line ends."""
    found = _STAMP.search(data)
    if found is None:
        return Stamped("foreign", data)
    text = _NEWLINES.sub(b"\n", data[: found.start()])
    notes = dict(word.split("=") for word in found[2].decode().split())
    state: State = "ours" if _checksum(text).encode() == found[1] else "changed"
    return Stamped(state, text, int(notes.get("folders", "0")))


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
