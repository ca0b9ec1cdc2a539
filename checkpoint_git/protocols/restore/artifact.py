"""What a point holds besides files: one state or one database is a part. Values only, and what a mechanism must do."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from checkpoint_git.protocols.restore.mechanism import Held, Tell

FOLDER = "parts"  # below a point's own folder
TYPES = {"state": "state_snapshot", "sqlite": "database_savepoint", "postgresql": "database_savepoint"}
RESTORE_ORDER = ("databases", "files", "states")  # databases first: they alone may refuse, and nothing is changed then


class Part(NamedTuple):
    """What was kept.

    kind: a key of TYPES. name: as a scope names it ("state:run", "sqlite:///app.db"). content: the file that keeps it,
    below the point's folder; "" where nothing was there. size, sha256: of that file. details: the mechanism's own.
    """

    kind: str
    name: str
    content: str
    size: int
    sha256: str
    details: Mapping[str, Any] = {}


class Wanted(NamedTuple):
    """What is to be kept. details: the mechanism's own; never written down. may_lack: nothing being there is no error,
    and something that cannot be understood is kept as it lies there: so a state before a rollback is kept.
    """

    kind: str
    name: str
    details: Mapping[str, Any] = {}
    may_lack: bool = False


class Means(NamedTuple):
    """What the caller of a rollback brings along.

    state_to: key -> absolute path of the file that takes the state. hand_over: takes (key, value) instead of files.
    passwords: name of a database -> its password.
    """

    state_to: Mapping[str, str] = {}
    hand_over: Callable[[str, Any], object] | None = None
    passwords: Mapping[str, str] = {}


class PartMechanism(Protocol):
    """A module that keeps one kind of part."""

    def capture(self, held: Held, wanted: Wanted, content: str, tell: Tell) -> Part:
        """Keeps it, and proves that it can be given back. content: the file's path below the point's folder."""

    def find_damage(self, held: Held, part: Part) -> str:
        """What is wrong with the kept content, "" where nothing is."""

    def check_ready(self, held: Held, part: Part, means: Means) -> None:
        """Raises CheckpointError where a rollback could not be done now."""

    def is_as_kept(self, held: Held, part: Part, means: Means) -> bool:
        """Whether what is there now is what was kept."""

    def want_present(self, held: Held, part: Part, means: Means) -> Wanted | None:
        """How to keep what is there now; None where that cannot be known."""

    def restore(self, held: Held, part: Part, means: Means) -> list[str]:
        """Puts it back. Returns sentences on what the user should know."""

    def write_lines(self, part: Part) -> str:
        """Its lines of restore.sh."""

    def find_prerequisites(self, part: Part) -> list[str]:
        """What must hold before it is put back, as sentences."""


def write_part(part: Part) -> dict[str, Any]:
    """A part as the manifest holds it."""
    return {
        "kind": part.kind,
        "name": part.name,
        "content": part.content,
        "size": part.size,
        "sha256": part.sha256,
        "details": dict(part.details),
    }


def read_part(value: Mapping[str, Any]) -> Part:
    """A part from a manifest that its schema accepts."""
    return Part(value["kind"], value["name"], value["content"], value["size"], value["sha256"], value["details"])


def is_within(name: str, within: Sequence[str] | None) -> bool:
    """Whether a rollback of these scopes takes a part along. within: None for everything."""
    return within is None or name in within


def is_part_name(word: str) -> bool:
    """Whether a scope names a part and no file: `state:KEY` or a database's URL."""
    return word.startswith("state:") or "://" in word


def add_parts(files_hash: str, parts: Sequence[Part]) -> str:
    """The hash over files and parts. files_hash: over the files alone, which is the answer where there are no parts."""
    if not parts:
        return files_hash
    digest = sha256(files_hash.encode())
    for part in sorted(parts, key=lambda one: (one.kind, one.name)):
        digest.update(f"\n{part.kind} {len(part.name)} {part.name} {part.sha256}".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"
