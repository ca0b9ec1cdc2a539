"""State kept as JSON: from a file, another program's output or a caller, and back the same way."""

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
from checkpoint_git.protocols.restore.contents import Artifact, Entry, Location, Means, Request
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.rules import check_not_sensitive

PREFIX = "state:"
MAX_SIZE = 64 << 20
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_key(key: str) -> str:
    if key and len(key) <= 64 and _LETTERS.issuperset(key) and key[0] not in ".-":
        return key
    shown = escape_controls(shorten(key, 60))
    raise CheckpointError(f'"{shown}" is not a key of a state', "a key is a name of letters, digits, dots, _ and -")


def request_state(key: str, data: bytes, file: str | None = None, mode: int = 0o600) -> Request:
    """data: JSON. file: where it came from, below the workspace."""
    parse_state(check_key(key), data)
    if file is not None:
        check_not_sensitive(file, file)
    return Request("state", PREFIX + key, {"data": data, "file": file, "mode": mode})


def parse_state(key: str, data: bytes) -> Any:
    if len(data) > MAX_SIZE:
        raise CheckpointError(f"the state {key} is larger than {MAX_SIZE >> 20} MB", "keep large data in a file")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"the state {key} is not JSON: {error}", "write it as JSON in UTF-8") from None


def _key_of(artifact: Artifact) -> str:
    return artifact.name.removeprefix(PREFIX)


def capture(location: Location, request: Request, content: str) -> Artifact:
    data, file, mode = (request.details[name] for name in ("data", "file", "mode"))
    details = {"file": file, "mode": f"{mode:04o}"}
    if data is None:
        return Artifact("state", request.name, "", 0, "", details)
    path = os.path.join(location.folder, content)
    create_file(path, data, 0o600)
    if read_plain(path, MAX_SIZE) != data:
        raise CheckpointError(f"{request.name} was not kept as it is", "is the disk healthy? try again")
    return Artifact("state", request.name, content, len(data), sha256(data).hexdigest(), details)


def _read_kept(location: Location, artifact: Artifact) -> bytes | None:
    try:
        data = read_plain(os.path.join(location.folder, artifact.content), MAX_SIZE)
    except OSError:
        return None
    return data if len(data) == artifact.size and sha256(data).hexdigest() == artifact.sha256 else None


def _find_file(location: Location, artifact: Artifact, means: Means) -> tuple[str, str] | None:
    """(trusted folder, path below it) of the file that takes the state, None where it is handed over or has no file."""
    target, file = means.state_to.get(_key_of(artifact)), artifact.details.get("file")
    if means.hand_over is not None:
        return None
    if target is not None:
        return os.path.split(target)
    return None if file is None else (location.root, file)


def check_ready(location: Location, artifact: Artifact, means: Means) -> None:
    place, key = _find_file(location, artifact, means), _key_of(artifact)
    if place is not None:
        check_way(os.path.dirname(place[1]), place[0])
        file_writes.check_not_folder(*place)
    elif means.hand_over is None:
        hint = f"say where it goes: --state-to {key}=FILE; or leave it out by naming the other parts with --scope"
        raise CheckpointError(f"the state {key} came from no file of the workspace", hint)


def _read_present(place: tuple[str, str]) -> tuple[bytes | None, int]:
    check_way(os.path.dirname(place[1]), place[0])
    try:
        with open_plain(os.path.join(*place)) as stream:
            return stream.read(MAX_SIZE + 1), stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    except FileNotFoundError:
        return None, 0o600
    except OSError as error:
        message = f"{escape_controls(place[1])} cannot be read: {error.strerror}"
        raise CheckpointError(message, "put a file there") from None


def is_as_kept(location: Location, artifact: Artifact, means: Means) -> bool:
    place = _find_file(location, artifact, means)
    if place is None:
        return False  # what is handed over is never known to be there already
    return _read_present(place)[0] == (_read_kept(location, artifact) if artifact.content else None)


def request_present(location: Location, artifact: Artifact, means: Means) -> Request | None:
    place = _find_file(location, artifact, means)
    if place is None:
        return None
    data, mode = _read_present(place)
    file = artifact.details.get("file") if _key_of(artifact) not in means.state_to else None
    return Request("state", artifact.name, {"data": data, "file": file, "mode": mode}, may_lack=True)


def restore(location: Location, artifact: Artifact, means: Means) -> list[str]:
    data = _read_kept(location, artifact) if artifact.content else None
    if artifact.content and data is None:
        raise CheckpointError(f"the content of {artifact.name} is lost", "verify the point")
    place = _find_file(location, artifact, means)
    if means.hand_over is not None:
        key = _key_of(artifact)
        means.hand_over(key, None if data is None else parse_state(key, data))
    elif place is not None and data is None:
        file_writes.remove_path(*place)
    elif place is not None and data is not None:
        entry = Entry(place[1], "file", int(artifact.details["mode"], 8))
        with file_writes.workshop(location.folder) as folder:
            file_writes.write_path(place[0], entry, iter([data]), folder)
    return []


def write_lines(artifact: Artifact) -> str:
    file, content = artifact.details.get("file"), quote_word(artifact.content)
    if file is not None:
        return f"part {artifact.details['mode']} {artifact.sha256} {quote_word(f'./{file}')} {content}\n"
    key = _key_of(artifact)
    target = f'"$point"/given-back/{key}.json'
    return f'part 0600 {artifact.sha256} {target} {content} && say "the state {key} is in" {target}\n'


def find_prerequisites(artifact: Artifact) -> list[str]:
    key, file = _key_of(artifact), artifact.details.get("file")
    texts = [f"whoever holds the state {key} in memory reads it again afterwards"]
    return texts if file else [f"the state {key} came from no file: --state-to {key}=FILE says where it goes", *texts]
