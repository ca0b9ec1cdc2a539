"""What may be kept, for how long, and what a manifest must be before anything in it is used as a path."""

from contextlib import suppress
from typing import Any

from checkpoint_git.core.clock import DAY, MINUTE, read_duration, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import is_git_name
from checkpoint_git.disk.read import open_plain
from checkpoint_git.protocols.contract import load_document
from checkpoint_git.protocols.restore import layout

# Secrets: names, beginnings and endings of names, and ends of paths; code and documents have such names because they
# are about secrets, public keys and templates are committed on purpose
_SECRETS = {key: tuple(words) for key, words in load_document(__file__, "secret_names.json").items()}
_MOST_READ = 1 << 20


def is_sensitive(path: str) -> bool:
    """By its name, code and documents too; is_doubtful says whether more than the name decides."""
    name = path.rpartition("/")[2].lower()
    if name.endswith(_SECRETS["harmless_endings"]):
        return False
    if name.startswith(_SECRETS["json_only"]):
        return name.endswith(".json")
    if name in _SECRETS["names"] or name.startswith(_SECRETS["beginnings"]) or name.endswith(_SECRETS["endings"]):
        return True
    return f"/{path.lower()}".endswith(_SECRETS["paths"])


def is_doubtful(path: str) -> bool:
    """A sensitive path that may be kept: one whose name is that of code too, or of plain data that projects commit."""
    name = path.rpartition("/")[2].lower()
    return name not in _SECRETS["names"] and not name.startswith(".env.") and not name.endswith(_SECRETS["endings"])


def is_harmless(full: str) -> bool:
    """Code or a document without anything that looks like a key or a token."""
    from checkpoint_git.core.redact import holds_secret

    if not full.lower().endswith(_SECRETS["code"]):
        return False
    with suppress(OSError), open_plain(full) as stream:
        return not holds_secret(stream.read(_MOST_READ).decode("utf-8", "replace"))
    return False


def check_not_sensitive(path: str, shown: str) -> None:
    if is_sensitive(path):
        message = f"{escape_controls(shorten(shown, 100))} looks like a secret by its name"
        raise CheckpointError(message, "secrets are never copied into a restore point")


_LONGEST = 100 * 366 * DAY


def read_expiry(text: str | None, now: int) -> int | None:
    """Seconds since 1970, None for never. text: 30m, 24h, 7d, 2w, never. Raises CheckpointError for anything else."""
    if text is None or text.strip().lower() == "never":
        return None
    seconds = read_duration(text) or 0
    if MINUTE <= seconds <= _LONGEST:
        return now + seconds
    shown = escape_controls(shorten(text, 40))
    raise CheckpointError(f'"{shown}" is not an expiry', "write 30m, 24h, 7d, 2w or never")


def is_expired(expires_at: object, now: int) -> bool:
    """Whether gc may remove a point. expires_at: RFC 3339 as in its manifest, None for never; damage is expired."""
    return expires_at is not None and now >= (read_instant(expires_at) or (0, ""))[0]


_FORBIDDEN = frozenset(("", ".", "..", ".audit"))
_HINT = "do not use this point: its manifest was edited by hand or damaged"


# A manifest can come with an untrusted branch: whatever it names is checked here, and again where it is written.
def is_plain_path(path: str) -> bool:
    """By its text it stays below the workspace, and out of what belongs to git and to restore points."""
    if "\0" in path or path.startswith(("/", f"{layout.FOLDER}/chk_")):
        return False
    parts = path.split("/")
    return not (_FORBIDDEN.intersection(parts) or any(map(is_git_name, parts)))


# A connection to PostgreSQL: what it is made of -> the variable by which the client programs learn it.
_PLAIN = ("host", "port", "user", "sslmode", "sslrootcert", "sslcert", "sslkey")
CONNECTION = {**{name: f"PG{name.upper()}" for name in _PLAIN}, "dbname": "PGDATABASE"}


def is_connection(value: Any) -> bool:
    # The client programs read a name such as "host=evil dbname=x" as a whole connection string, so it must be plain.
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        return False
    name = value.get("dbname", "")
    if not name or "=" in name or "://" in name or "," in value.get("host", ""):
        return False
    return CONNECTION.keys() >= value.keys() and all(ord(letter) >= 32 for text in value.values() for letter in text)


def check(value: dict[str, Any], point: str) -> list[Finding]:
    """point: the id that its folder says."""
    troubles = list[tuple[str, str, str]]()  # code, message, JSON Pointer
    if value.get("id") != point:
        troubles.append(("restore/manifest-id", "the manifest is of another restore point", "/id"))
    for key in ("created_at", "expires_at"):
        if value.get(key) is not None and read_instant(value[key]) is None:
            troubles.append(("restore/manifest-time", f"{key} is not a valid timestamp", f"/{key}"))
    leads_out = "a path that leads out of the workspace, or into git"
    files = {entry["path"]: entry.get("sha256") for entry in value["entries"] if entry["kind"] == "file"}
    for at, entry in enumerate(value["entries"]):
        if not is_plain_path(entry["path"]):
            troubles.append(("restore/manifest-path", leads_out, f"/entries/{at}/path"))
        if "twin" in entry and files.get(entry["twin"], "") != files.get(entry["path"]):
            troubles.append(("restore/manifest-path", "a twin is another file", f"/entries/{at}/twin"))
    for at, part in enumerate(value.get("parts", [])):
        where, details, content = f"/parts/{at}", part["details"], str(part["content"]).split("/")
        paths = [details[key] for key in ("file", "path") if details.get(key) is not None]
        if not all(isinstance(path, str) and is_plain_path(path) for path in paths):
            troubles.append(("restore/manifest-path", leads_out, where))
        if part["content"] and not (len(content) == 2 and content[0] == layout.PARTS and content[1] not in _FORBIDDEN):
            troubles.append(("restore/manifest-path", "a part is kept outside the point's own folder", where))
        if not _has_whole_details(part["kind"], details):
            troubles.append(("restore/manifest-shape", "the details of a part are not whole", where))
    if not troubles:
        # The guard reads these rules at every tool call, and hashlib with its OpenSSL is no part of that.
        from checkpoint_git.protocols.restore.contents import hash_contents, read_artifact, read_entry

        artifacts, found = [read_artifact(one) for one in value.get("parts", [])], ""
        with suppress(UnicodeEncodeError):  # of a name that no file can have
            found = hash_contents([read_entry(one) for one in value["entries"]], artifacts)
        if value["hash"] != found:
            troubles.append(("restore/manifest-hash", "the hash is not that of the entries", "/hash"))
    return [Finding(code, "error", text, where=where, hint=_HINT) for code, text, where in troubles]


_DETAILS = {
    "state": frozenset(("file", "mode")),
    "sqlite": frozenset(("path", "mode", "logical")),
    "postgresql": frozenset(("tables", "held", "logical", "server_version", "connection")),
}


def _has_whole_details(kind: str, details: dict[str, Any]) -> bool:
    if not _DETAILS[kind].issubset(details):
        return False
    if kind != "postgresql":
        return kind == "state" or isinstance(details["path"], str)
    lists = [details["held"], [] if details["tables"] is None else details["tables"]]
    if not all(isinstance(rows, list) for rows in lists) or not is_connection(details["connection"]):
        return False
    rows = [row for rows in lists for row in rows]
    return all(isinstance(row, list) and [type(text) for text in row] == [str, str, str] for row in rows)
