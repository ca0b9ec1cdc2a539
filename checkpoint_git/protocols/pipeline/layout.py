"""How pipeline records are named and where they lie below their base. Names only: it touches no file."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

SUFFIX = ".yaml"
FILE_MODE = 0o600
FOLDER_MODE = 0o700
DEFAULT_BASE = ".claude/checkpoints"  # below the home folder

# phase -> the ordinal in its files' names; these are written
PHASES = {"implement": 1, "local_review": 2, "create_pr": 3, "ready_for_merge": 4}
# (phase, ordinal) of other numberings, which are read as well
_READ_TOO = (("pr_release_ready", 4), ("ready_for_merge", 5))
READ_PHASES = tuple(dict.fromkeys((*list(PHASES)[:3], "pr_release_ready", "ready_for_merge")))
_PAIRS = frozenset((*PHASES.items(), *_READ_TOO))

MAX_TICKET = 64  # characters
MAX_ATTEMPT = 999_999
_NAMESPACE = bytes.fromhex("e176b05ff7615a9d9a51ac6d5a3566ee")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FILE_NAME = re.compile(r"phase_([1-9])_([a-z]+(?:_[a-z]+)*)_a([1-9][0-9]{0,5})\.yaml")


class RecordName(NamedTuple):
    """What the place of a record's file says. ticket_id, run_id: its folders' names, "" where they are not known."""

    ticket_id: str
    run_id: str
    ordinal: int
    phase: str
    attempt: int

    @property
    def file_name(self) -> str:
        """phase_<ordinal>_<phase>_a<attempt>.yaml."""
        return f"phase_{self.ordinal}_{self.phase}_a{self.attempt}{SUFFIX}"

    @property
    def path(self) -> str:
        """Relative to the base, "/" between its parts."""
        return f"{self.ticket_id}/{self.run_id}/{self.file_name}"


def parse_path(path: str) -> RecordName | None:
    """What a path's last three parts say; None where the file's name is not one of a record."""
    *folders, name = path.rsplit("/", 2)
    match = _FILE_NAME.fullmatch(name)
    if match is None or (match[2], int(match[1])) not in _PAIRS:
        return None
    ticket_id, run_id = (["", ""] + [folder.rpartition("/")[2] for folder in folders])[-2:]
    return RecordName(ticket_id, run_id, int(match[1]), match[2], int(match[3]))


def find_skill(file_name: str) -> str:
    """The last three parts of a record's path, "" where it is none: another name, or not in a run's folder."""
    name = parse_path(file_name)
    return "/".join(file_name.rsplit("/", 3)[-3:]) if name is not None and is_run_folder(name.run_id) else ""


def looks_like_record(name: str) -> bool:
    """Whether a file of this name was probably meant as a record."""
    return name.startswith("phase_") and name.endswith((SUFFIX, ".yml"))


def is_run_folder(name: str) -> bool:
    """Whether a folder of this name can hold a run's records."""
    return _UUID.fullmatch(name) is not None


def order_key(name: RecordName) -> tuple[str, int, str, int]:
    """Sorts records by run, ordinal and attempt."""
    return name.run_id, name.ordinal, name.phase, name.attempt


def earlier_phases(phase: str, present: Iterable[str]) -> list[str]:
    """The phases that must be over before this one, in order.

    pr_release_ready is among them only where the run has records of it: not every pipeline knows it.
    """
    before = READ_PHASES[: READ_PHASES.index(phase)]
    known = set(present)
    return [name for name in before if name in PHASES or name in known]


# identifiers


def normalize_run_id(run_id: str) -> str:
    """The canonical UUID of a run: what uuid.UUID accepts is kept, any other text becomes its name-based UUID."""
    bare = run_id.replace("urn:", "").replace("uuid:", "").strip("{}").replace("-", "")
    try:
        number = int(bare, 16) if len(bare) == 32 else None
    except ValueError:
        number = None
    return write_uuid(_name_based(run_id) if number is None else number)


def _name_based(name: str) -> int:
    """Version 5 of RFC 9562."""
    from hashlib import sha1

    digest = sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest()
    return _stamp(int.from_bytes(digest[:16], "big"), 5)


def random_uuid(random: bytes) -> str:
    """Version 4 from sixteen random bytes."""
    return write_uuid(_stamp(int.from_bytes(random, "big"), 4))


def _stamp(number: int, version: int) -> int:
    """The number with RFC 9562's variant and the version written into it."""
    return number & ~(0xC000 << 48) & ~(0xF000 << 64) | 0x8000 << 48 | version << 76


def write_uuid(number: int) -> str:
    """A number below 2**128 as a canonical UUID."""
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def find_ticket_trouble(ticket_id: str) -> str:
    """Why a text cannot be a ticket's identifier, which names a folder; "" where it can."""
    return next((trouble for is_wrong, trouble in _TICKET_RULES if is_wrong(ticket_id)), "")


def find_run_trouble(run_id: str) -> str:
    """Why a text cannot name a run, "" where it can. Any text that is no UUID is only ever hashed."""
    if not run_id.strip():
        return "it is empty"
    return "" if _is_text(run_id) else "it is not Unicode text"


def _is_text(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


_TICKET_RULES: tuple[tuple[Callable[[str], bool], str], ...] = (
    (lambda text: not text.strip(), "it is empty"),
    (lambda text: len(text) > MAX_TICKET, f"it is longer than {MAX_TICKET} characters"),
    (lambda text: not _is_text(text), "it is not Unicode text"),
    (lambda text: "/" in text or "\\" in text, "it is a path: one plain name is meant"),
    (
        lambda text: text in (".", "..") or text.lower() == ".git" or text.startswith("~"),
        "it is a path: one plain name is meant",
    ),
    (lambda text: not text.isprintable(), "it holds control or invisible characters"),
    (lambda text: text != text.strip(), "a space stands at its end"),
    (lambda text: len(text.encode()) > 200, "it is too long for a folder's name"),
)


def find_base_trouble(base: str) -> str:
    """Why a path cannot be the base of the records, "" where it can."""
    if "\0" in base:
        return "it holds a NUL"
    if not base.startswith("/"):
        return "it is not absolute"
    return "it holds .." if ".." in base.split("/") else ""
