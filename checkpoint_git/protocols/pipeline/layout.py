"""How pipeline records are named and where they lie below their base. Names only: it touches no
file.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import is_git_name

SUFFIX = ".yaml"
FILE_MODE = 0o600
FOLDER_MODE = 0o700
BASE = ".claude/checkpoints"  # below the home folder, or the top of a project

# phase -> the ordinal in its files' names; these are written
PHASES = {"implement": 1, "local_review": 2, "create_pr": 3, "ready_for_merge": 4}
# (phase, ordinal) of other numberings, which are in use and read as well
_READ_TOO = (("pr_release_ready", 4), ("ready_for_merge", 5))
READ_PHASES = tuple(dict.fromkeys((*list(PHASES)[:3], "pr_release_ready", "ready_for_merge")))
_PAIRS = frozenset((*PHASES.items(), *_READ_TOO))

MAX_TICKET = 64  # characters
MAX_ATTEMPT = 999_999
_NAMESPACE = "e176b05f-f761-5a9d-9a51-ac6d5a3566ee"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_FILE_NAME = r"phase_([1-9])_([a-z]+(?:_[a-z]+)*)_a([1-9][0-9]{0,5})\.yaml"


class RecordName(NamedTuple):
    ticket_id: str
    run_id: str
    ordinal: int
    phase: str
    attempt: int

    @property
    def file_name(self) -> str:
        return f"phase_{self.ordinal}_{self.phase}_a{self.attempt}{SUFFIX}"

    @property
    def path(self) -> str:
        return f"{self.ticket_id}/{self.run_id}/{self.file_name}"


def parse_path(path: str) -> RecordName | None:
    *folders, name = path.rsplit("/", 2)
    match = re.fullmatch(_FILE_NAME, name)
    if match is None or (match[2], int(match[1])) not in _PAIRS:
        return None
    ticket_id, run_id = (["", ""] + [folder.rpartition("/")[2] for folder in folders])[-2:]
    return RecordName(ticket_id, run_id, int(match[1]), match[2], int(match[3]))


def find_skill(file_name: str) -> str:
    """The last three parts of a record's path, "" if it is none: another name, or not in a run's
    folder.
    """
    name = parse_path(file_name)
    return (
        "/".join(file_name.rsplit("/", 3)[-3:])
        if name is not None and is_run_folder(name.run_id)
        else ""
    )


def looks_like_record(name: str) -> bool:
    return name.startswith("phase_") and name.endswith((SUFFIX, ".yml"))


def is_run_folder(name: str) -> bool:
    return re.fullmatch(_UUID, name) is not None


def earlier_phases(phase: str, known: Collection[str]) -> list[str]:
    """The phases that must be over before this one ("": before the end), in order. known: those of
    the pipeline.
    """
    # not every pipeline knows pr_release_ready
    end = READ_PHASES.index(phase) if phase else None
    return [name for name in READ_PHASES[:end] if name in PHASES or name in known]


def number_phases(text: str) -> dict[str, int]:
    """The phases of a pipeline and their ordinals: "" for the usual ones, else their names in
    order.
    """
    numbered = {name: at for at, name in enumerate(text.replace(",", " ").split(), 1)}
    if not numbered.items() <= _PAIRS:
        raise CheckpointError(
            "checkpoint.pipelinePhases does not list phases in their order", ", ".join(READ_PHASES)
        )
    return numbered or PHASES


def normalize_run_id(run_id: str) -> str:
    """The canonical UUID of a run: what uuid.UUID accepts is kept, any other text becomes its
    name-based UUID.
    """
    # not at the top: validate and hooks ask this module about every path, and never need it
    import uuid

    try:
        return str(uuid.UUID(run_id))
    except ValueError:
        return str(uuid.uuid5(uuid.UUID(_NAMESPACE), run_id))


def find_ticket_trouble(ticket_id: str) -> str:
    if not ticket_id.strip():
        return "it is empty"
    if len(ticket_id) > MAX_TICKET:
        return f"it is longer than {MAX_TICKET} characters"
    is_path = "/" in ticket_id or "\\" in ticket_id or ticket_id.startswith("~")
    if is_path or ticket_id in (".", "..") or is_git_name(ticket_id):
        return "it is a path; give one plain name"
    if not ticket_id.isprintable():
        return "it contains control or invisible characters"
    if ticket_id != ticket_id.strip():
        return "it begins or ends with a space"
    return "it is too long for a folder's name" if len(ticket_id.encode()) > 200 else ""


def find_run_trouble(run_id: str) -> str:
    """Why a text cannot name a run, "" if it can. Any text that is not a UUID is only ever
    hashed.
    """
    if not run_id.strip():
        return "it is empty"
    return (
        "it is not Unicode text" if any("\ud800" <= letter <= "\udfff" for letter in run_id) else ""
    )


def find_base_trouble(base: str) -> str:
    if "\0" in base:
        return "it contains a NUL"
    if not base.startswith("/"):
        return "it is not absolute"
    return "it contains .." if ".." in base.split("/") else ""
