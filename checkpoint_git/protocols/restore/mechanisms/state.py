"""Keep states as JSON, from a file, a program's output or a caller, and restore them as well."""

import json
import os
import stat
from hashlib import sha256
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import refuse_constant
from checkpoint_git.core.terminal_text import escape_controls, quote_word, shorten
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.disk.discover import check_way
from checkpoint_git.disk.read import open_plain, read_plain
from checkpoint_git.protocols.restore.contents import ContentEntry, Location, Part
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms.contract import Means, PartRequest, content_path
from checkpoint_git.protocols.restore.rules import check_not_sensitive

PREFIX = "state:"
MAX_SIZE = 64 << 20
_KEY_LENGTH = 64
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_key(key: str) -> str:
    """Return a key. Raises CheckpointError if it is not one."""
    if key and len(key) <= _KEY_LENGTH and _LETTERS.issuperset(key) and key[0] not in ".-":
        return key
    message = f'"{escape_controls(shorten(key, 60))}" is not a key of a state'
    raise CheckpointError(message, "a key is a name of letters, digits, dots, _ and -")


def request_state(
    key: str,
    data: bytes,
    file: str | None = None,
    mode: int = 0o600,
) -> PartRequest:
    """Return a request for a state. data: JSON. file: where it came from, below the workspace."""
    parse_state(check_key(key), data)
    if file is not None:
        check_not_sensitive(file, file)
    return PartRequest("state", PREFIX + key, {"data": data, "file": file, "mode": mode})


def parse_state(key: str, data: bytes) -> Any:
    """Return the value of a state's JSON. Raises CheckpointError."""
    if len(data) > MAX_SIZE:
        message = f"the state {key} is larger than {MAX_SIZE >> 20} MB"
        raise CheckpointError(message, "keep large data in a file")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"the state {key} is not JSON: {error}"
        raise CheckpointError(message, "write it as JSON in UTF-8") from None


def _key_of(part: Part) -> str:
    return part.name.removeprefix(PREFIX)


def capture(location: Location, request: PartRequest, content: str) -> Part:
    data = request.details["data"]
    details = {"file": request.details["file"], "mode": f"{request.details['mode']:04o}"}
    if data is None:
        return Part("state", request.name, "", 0, "", details)

    path = os.path.join(location.folder, content)
    create_file(path, data, 0o600)
    if read_plain(path, MAX_SIZE) != data:
        message = f"{request.name} was not kept as it is"
        raise CheckpointError(message, "is the disk healthy? try again")
    return Part("state", request.name, content, len(data), sha256(data).hexdigest(), details)


def _read_kept(location: Location, part: Part) -> bytes | None:
    """Return the content of a part, None if it has none, or if it is lost or changed."""
    if not part.content:
        return None
    try:
        data = read_plain(content_path(location, part), MAX_SIZE)
    except OSError:
        return None
    if len(data) != part.size or sha256(data).hexdigest() != part.sha256:
        return None
    return data


def _find_file(location: Location, part: Part, means: Means) -> tuple[str, str] | None:
    """Return (trusted folder, path below it) of the file that takes the state.

    None if the state is handed over, or has no file.
    """
    if means.hand_over is not None:
        return None
    target = means.state_to.get(_key_of(part))
    if target is not None:
        return os.path.split(target)
    file = part.details.get("file")
    if file is None:
        return None
    return location.root, file


def check_ready(location: Location, part: Part, means: Means) -> None:
    place = _find_file(location, part, means)
    if place is not None:
        check_way(os.path.dirname(place[1]), place[0])
        file_writes.check_not_folder(*place)
    elif means.hand_over is None:
        key = _key_of(part)
        hint = f"name its destination: --state-to {key}=FILE; "
        hint += "or leave it out by naming the other parts with --scope"
        raise CheckpointError(f"the state {key} came from no file of the workspace", hint)


def _read_present(place: tuple[str, str]) -> tuple[bytes | None, int]:
    """Return (content, mode) of the file at a place; None for no file."""
    check_way(os.path.dirname(place[1]), place[0])
    try:
        with open_plain(os.path.join(*place)) as stream:
            data = stream.read(MAX_SIZE + 1)
            return data, stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    except FileNotFoundError:
        return None, 0o600
    except OSError as error:
        message = f"{escape_controls(place[1])} cannot be read: {error.strerror}"
        raise CheckpointError(message, "put a file there") from None


def is_as_kept(location: Location, part: Part, means: Means) -> bool:
    place = _find_file(location, part, means)
    if place is None:
        return False  # what is handed over is never known to be there already
    present, _ = _read_present(place)
    return present == _read_kept(location, part)


def request_present(location: Location, part: Part, means: Means) -> PartRequest | None:
    place = _find_file(location, part, means)
    if place is None:
        return None
    data, mode = _read_present(place)
    file = None
    if _key_of(part) not in means.state_to:
        file = part.details.get("file")
    details = {"data": data, "file": file, "mode": mode}
    return PartRequest("state", part.name, details, may_lack=True)


def restore(location: Location, part: Part, means: Means) -> list[str]:
    data = _read_kept(location, part)
    if part.content and data is None:
        raise CheckpointError(f"the content of {part.name} is lost", "verify the point")

    if means.hand_over is not None:
        key = _key_of(part)
        value = None
        if data is not None:
            value = parse_state(key, data)
        means.hand_over(key, value)
        return []

    place = _find_file(location, part, means)
    if place is not None and data is None:
        file_writes.remove_path(*place)
    elif place is not None and data is not None:
        entry = ContentEntry(place[1], "file", int(part.details["mode"], 8))
        with file_writes.workshop(location.folder) as folder:
            file_writes.write_path(place[0], entry, iter([data]), folder)

    return []


def write_lines(part: Part) -> str:
    content = quote_word(part.content)
    file = part.details.get("file")
    if file is not None:
        target = quote_word(f"./{file}")
        return f"part {part.details['mode']} {part.sha256} {target} {content}\n"

    key = _key_of(part)
    target = f'"$point"/given-back/{key}.json'
    say = f'say "the state {key} is in" {target}'
    return f"part 0600 {part.sha256} {target} {content} && {say}\n"


def find_prerequisites(part: Part) -> list[str]:
    key = _key_of(part)
    sentences = [f"programs that have the state {key} in memory must read it again"]
    if not part.details.get("file"):
        target = f"the state {key} came from no file: --state-to {key}=FILE names its destination"
        sentences.insert(0, target)
    return sentences
