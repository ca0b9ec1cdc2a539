"""State kept as JSON: it came from a file, from another program's output or from a caller, and goes back the same way.

It knows keys and bytes; what a state means is its owner's.
"""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.protocols.restore import file_writes
from checkpoint_git.protocols.restore.artifact import Means, Part, Wanted
from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.mechanism import Held, Tell
from checkpoint_git.protocols.restore.script import quote
from checkpoint_git.protocols.restore.sensitive import is_sensitive

PREFIX = "state:"
MAX_SIZE = 64 << 20
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_key(key: str) -> str:
    """A state's key: a name, no path. Raises CheckpointError."""
    if key and len(key) <= 64 and _LETTERS.issuperset(key) and key[0] not in ".-":
        return key
    shown = escape_controls(shorten(key, 60))
    raise CheckpointError(f'"{shown}" is no key of a state', "a key is a name of letters, digits, dots, _ and -")


def want_state(key: str, data: bytes, file: str | None = None, mode: int = 0o600) -> Wanted:
    """A state to keep. data: JSON. file: where it came from, below the workspace. Raises CheckpointError."""
    check_key(key)
    parse_state(key, data)
    if file is not None and is_sensitive(file):
        shown = escape_controls(file)
        raise CheckpointError(f"{shown} holds secrets by its name", "secrets are never copied into a restore point")
    return Wanted("state", PREFIX + key, {"data": data, "file": file, "mode": mode})


def parse_state(key: str, data: bytes) -> Any:
    """The value of a state. Raises CheckpointError where it is no JSON, or too much."""
    if len(data) > MAX_SIZE:
        raise CheckpointError(f"the state {key} is larger than {MAX_SIZE >> 20} MB", "keep large data in a file")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise CheckpointError(f"the state {key} is not JSON", "write it as JSON in UTF-8") from None


def _refuse(text: str) -> None:
    raise ValueError(text)


def key_of(part: Part) -> str:
    """The key of a part that is a state."""
    return part.name.removeprefix(PREFIX)


def capture(held: Held, wanted: Wanted, content: str, tell: Tell) -> Part:
    """Writes the state beside the manifest, and reads it back."""
    data = wanted.details["data"]
    details = {"file": wanted.details["file"], "mode": f"{wanted.details['mode']:04o}"}
    if data is None:
        return Part("state", wanted.name, "", 0, "", details)
    path = os.path.join(held.folder, content)
    create_file(path, data, 0o600)
    with open(path, "rb") as stream:
        if stream.read() != data:
            raise CheckpointError(f"{wanted.name} was not kept as it is", "is the disk healthy? try again")
    tell(len(data))
    return Part("state", wanted.name, content, len(data), sha256(data).hexdigest(), details)


def _read_kept(held: Held, part: Part) -> bytes | None:
    try:
        path = os.path.join(held.folder, part.content)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            data = stream.read(MAX_SIZE + 1)
    except OSError:
        return None
    return data if len(data) == part.size and sha256(data).hexdigest() == part.sha256 else None


def find_damage(held: Held, part: Part) -> str:
    """The kept bytes against their hash."""
    return "its content is lost or damaged" if part.content and _read_kept(held, part) is None else ""


def _find_place(held: Held, part: Part, means: Means) -> tuple[str, str] | None:
    """(folder that is trusted, path below it) of the file that takes the state."""
    target = means.state_to.get(key_of(part))
    if target is not None:
        return os.path.dirname(target), os.path.basename(target)
    file = part.details.get("file")
    return None if file is None else (held.root, file)


def check_ready(held: Held, part: Part, means: Means) -> None:
    """A state needs somewhere to go."""
    place = _find_place(held, part, means)
    if means.hand_over is None and place is None:
        key = key_of(part)
        hint = f"say where it goes: --state-to {key}=FILE; or leave it out by naming the other parts with --scope"
        raise CheckpointError(f"the state {key} came from no file of the workspace", hint)
    if means.hand_over is None and place is not None:
        file_writes.check_way(*place)
        if os.path.isdir(os.path.join(*place)):
            raise CheckpointError(f"a folder stands where {escape_controls(place[1])} belongs", "move it away")


def _read_present(place: tuple[str, str]) -> tuple[bytes | None, int]:
    file_writes.check_way(*place)
    path = os.path.join(*place)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            return stream.read(MAX_SIZE + 1), os.fstat(stream.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        return None, 0o600
    except OSError as error:
        raise CheckpointError(
            f"{escape_controls(place[1])} cannot be read: {error.strerror}", "put a file there"
        ) from None


def is_as_kept(held: Held, part: Part, means: Means) -> bool:
    """The file against what was kept; what is handed over is never known to be there already."""
    place = _find_place(held, part, means)
    if means.hand_over is not None or place is None:
        return False
    return _read_present(place)[0] == (_read_kept(held, part) if part.content else None)


def want_present(held: Held, part: Part, means: Means) -> Wanted | None:
    """The file as it is, JSON or not."""
    place = _find_place(held, part, means)
    if means.hand_over is not None or place is None:
        return None
    data, mode = _read_present(place)
    file = part.details.get("file") if key_of(part) not in means.state_to else None
    return Wanted("state", part.name, {"data": data, "file": file, "mode": mode}, may_lack=True)


def restore(held: Held, part: Part, means: Means) -> list[str]:
    """Writes the file, or calls the one who takes the state."""
    data = _read_kept(held, part) if part.content else None
    if part.content and data is None:
        raise CheckpointError(f"the content of {part.name} is lost", "verify the point")
    if means.hand_over is not None:
        means.hand_over(key_of(part), None if data is None else parse_state(key_of(part), data))
        return []
    place = _find_place(held, part, means)
    assert place is not None
    if data is None:
        file_writes.remove_path(*place)
        return []
    workshop = os.path.join(held.folder, ".workshop")
    os.makedirs(workshop, exist_ok=True)
    try:
        file_writes.write_path(place[0], _entry_of(part, place[1], data), _once(data), workshop)
    finally:
        os.rmdir(workshop)
    return []


def _entry_of(part: Part, path: str, data: bytes) -> Entry:
    return Entry(path, "file", int(part.details["mode"], 8), len(data), part.sha256)


def _once(data: bytes) -> Iterator[bytes]:
    yield data


def write_lines(part: Part) -> str:
    """restore.sh: back to its file; a state without one is laid down beside the point."""
    if not part.content:
        return ""
    file, content = part.details.get("file"), quote(part.content)
    if file is not None:
        return f"part {part.details['mode']} {part.sha256} {quote(f'./{file}')} {content}\n"
    target = quote(f"/given-back/{key_of(part)}.json")
    return (
        f'part 0600 {part.sha256} "$point"{target} {content} && say "the state {key_of(part)} lies in $point"{target}\n'
    )


def find_prerequisites(part: Part) -> list[str]:
    """What its owner must do."""
    key, file = key_of(part), part.details.get("file")
    texts = [f"whoever holds the state {key} in memory reads it again afterwards"]
    return texts if file else [f"the state {key} came from no file: --state-to {key}=FILE says where it goes", *texts]
