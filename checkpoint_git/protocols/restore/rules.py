"""Decide what may be kept and for how long, and check a manifest before it is used."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, MINUTE, read_duration, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import is_git_name
from checkpoint_git.disk.read import open_plain
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.restore import layout

# Secrets: names, beginnings and endings of names, and ends of paths; code and documents have such
# names because they are about secrets, public keys and templates are committed on purpose
_SECRETS = {
    key: tuple(words) for key, words in load_document(__file__, "secret_names.json").items()
}
_MOST_READ = 1 << 20  # bytes of a file that are searched for keys and tokens


def is_sensitive(path: str) -> bool:
    """Return whether a name suggests a secret, of code and documents too.

    is_doubtful: more than the name decides.
    """
    name = path.rpartition("/")[2].lower()
    if name.endswith(_SECRETS["harmless_endings"]):
        return False
    if name.startswith(_SECRETS["json_only"]):
        return name.endswith(".json")
    if name in _SECRETS["names"] or name.startswith(_SECRETS["beginnings"]):
        return True
    return name.endswith(_SECRETS["endings"]) or f"/{path.lower()}".endswith(_SECRETS["paths"])


def is_doubtful(path: str) -> bool:
    """Return whether a sensitive path may be kept.

    Its name is also that of code, or of plain data that projects commit.
    """
    name = path.rpartition("/")[2].lower()
    is_certain = name in _SECRETS["names"] or name.startswith(".env.")
    return not is_certain and not name.endswith(_SECRETS["endings"])


def is_harmless(full: str) -> bool:
    """Return whether a file is code or a document, and nothing in it looks like a key or token.

    A file that is too long to be read whole is not.
    """
    from checkpoint_git.core.redact import holds_secret

    if not full.lower().endswith(_SECRETS["code"]):
        return False
    with suppress(OSError), open_plain(full) as stream:
        data = stream.read(_MOST_READ)
        return len(data) < _MOST_READ and not holds_secret(data.decode("utf-8", "replace"))
    return False


def check_not_sensitive(path: str, shown: str) -> None:
    """Raise CheckpointError if a name suggests a secret. shown: what the user wrote."""
    if is_sensitive(path):
        message = f"{escape_controls(shorten(shown, 100))} looks like a secret by its name"
        raise CheckpointError(message, "secrets are never copied into a restore point")


_LONGEST = 100 * 366 * DAY


def read_expiry(text: str | None, now: int) -> int | None:
    """Return seconds since 1970, None for never.

    text: 30m, 24h, 7d, 2w, never. Raises CheckpointError for anything else.
    """
    if text is None or text.strip().lower() == "never":
        return None
    seconds = read_duration(text)
    if seconds is not None and MINUTE <= seconds <= _LONGEST:
        return now + seconds
    shown = escape_controls(shorten(text, 40))
    raise CheckpointError(f'"{shown}" is not an expiry', "write 30m, 24h, 7d, 2w or never")


def is_expired(expires_at: object, now: int) -> bool:
    """Return whether gc may remove a point.

    expires_at: RFC 3339 as in its manifest, None for never; an invalid one counts as expired.
    """
    return expires_at is not None and now >= (read_instant(expires_at) or (0, ""))[0]


_FORBIDDEN = frozenset(("", ".", "..", ".audit"))
_HINT = "do not use this point: its manifest was edited by hand or damaged"


# A manifest can come with an untrusted branch: whatever it names is checked here, and again when
# it is written.
def is_plain_path(path: str) -> bool:
    """Return whether a path, by its text, is below the workspace.

    It must not be in git, nor in a restore point, nor a lock of this tool.
    """
    folded = path.lower()  # some file systems take capitals for small letters
    if "\0" in path or folded in layout.LOCKS:
        return False
    if folded.startswith(("/", f"{layout.FOLDER}/chk_")):
        return False
    parts = folded.split("/")
    return not (_FORBIDDEN.intersection(parts) or any(map(is_git_name, parts)))


# members of a connection to PostgreSQL -> variables of the client programs
_PLAIN = ("host", "port", "user", "sslmode", "sslrootcert", "sslcert", "sslkey")
CONNECTION = {**{name: f"PG{name.upper()}" for name in _PLAIN}, "dbname": "PGDATABASE"}


def is_connection(value: Any) -> bool:
    """Return whether a value is a connection to PostgreSQL that client programs cannot misread.

    They read a name such as "host=evil dbname=x" as a whole connection string.
    """
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return False
    name = value.get("dbname", "")
    if not name or "=" in name or "://" in name or "," in value.get("host", ""):
        return False
    if not CONNECTION.keys() >= value.keys():
        return False
    return all(ord(letter) >= 32 for letter in "".join(value.values()))


class _Trouble(NamedTuple):
    """A fault of a manifest. where: a JSON Pointer."""

    code: str
    message: str
    where: str


_LEADS_OUT = "a path that leads out of the workspace, or into git"


def check(value: dict[str, Any], point: str) -> list[Finding]:
    """Return what is wrong with a manifest that has the right shape.

    point: the id that its folder has.
    """
    troubles = list(_check_head(value, point))
    troubles += _check_entries(value["entries"])
    troubles += _check_parts(value.get("parts", []))
    if not troubles and value["hash"] != _hash(value):
        message = "the hash is not that of the entries"
        troubles.append(_Trouble("restore/manifest-hash", message, "/hash"))

    return [
        Finding(trouble.code, "error", trouble.message, where=trouble.where, hint=_HINT)
        for trouble in troubles
    ]


def _check_head(value: dict[str, Any], point: str) -> Iterator[_Trouble]:
    if value.get("id") != point:
        message = "the manifest is of another restore point"
        yield _Trouble("restore/manifest-id", message, "/id")
    for key in ("created_at", "expires_at"):
        if value.get(key) is not None and read_instant(value[key]) is None:
            message = f"{key} is not a valid timestamp"
            yield _Trouble("restore/manifest-time", message, f"/{key}")


def _check_entries(entries: list[dict[str, Any]]) -> Iterator[_Trouble]:
    files = {entry["path"]: entry.get("sha256") for entry in entries if entry["kind"] == "file"}
    for index, entry in enumerate(entries):
        if not is_plain_path(entry["path"]):
            yield _Trouble("restore/manifest-path", _LEADS_OUT, f"/entries/{index}/path")
        if "twin" in entry and files.get(entry["twin"], "") != files.get(entry["path"]):
            where = f"/entries/{index}/twin"
            yield _Trouble("restore/manifest-path", "a twin is another file", where)


def _check_parts(parts: list[dict[str, Any]]) -> Iterator[_Trouble]:
    for index, part in enumerate(parts):
        where = f"/parts/{index}"
        details = part["details"]
        for key in ("file", "path"):
            path = details.get(key)
            if path is not None and not (isinstance(path, str) and is_plain_path(path)):
                yield _Trouble("restore/manifest-path", _LEADS_OUT, where)
                break
        if part["content"] and not _is_content_path(str(part["content"])):
            message = "a part is kept outside the point's own folder"
            yield _Trouble("restore/manifest-path", message, where)
        if not _has_whole_details(part["kind"], details):
            message = "the details of a part are not whole"
            yield _Trouble("restore/manifest-shape", message, where)


def _is_content_path(path: str) -> bool:
    folder, _, name = path.partition("/")
    return folder == layout.PARTS and "/" not in name and name not in _FORBIDDEN


def _hash(value: dict[str, Any]) -> str:
    """Return the hash that a manifest should have, "" for names that no file can have."""
    # The guard reads these rules at every tool call, which must not import hashlib and OpenSSL.
    from checkpoint_git.protocols.restore.contents import hash_contents, read_entry, read_part

    entries = [read_entry(entry) for entry in value["entries"]]
    parts = [read_part(part) for part in value.get("parts", [])]
    try:
        return hash_contents(entries, parts)
    except UnicodeEncodeError:
        return ""


_DETAILS = {
    "state": frozenset(("file", "mode")),
    "sqlite": frozenset(("path", "mode", "logical")),
    "postgresql": frozenset(("tables", "held", "logical", "server_version", "connection")),
}


def _has_whole_details(kind: str, details: dict[str, Any]) -> bool:
    """Return whether the details of a part have what its mechanism reads."""
    if not _DETAILS[kind].issubset(details):
        return False
    if kind == "state":
        return True
    if kind == "sqlite":
        return isinstance(details["path"], str)

    if not is_connection(details["connection"]):
        return False
    tables = details["tables"]
    return _is_list_of_relations(details["held"]) and (
        tables is None or _is_list_of_relations(tables)
    )


def _is_list_of_relations(value: Any) -> bool:
    """Return whether a value is a list of (schema, name, kind)."""
    if not isinstance(value, list):
        return False
    for row in value:
        if not isinstance(row, list) or [type(text) for text in row] != [str, str, str]:
            return False
    return True
