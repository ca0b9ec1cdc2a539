"""Names of pipeline records, and their places below their base. It touches no file."""

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
_MAX_FOLDER_NAME = 200  # bytes
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
    # the folders that the path does not name are ""
    folder_names = [folder.rpartition("/")[2] for folder in folders]
    ticket_id, run_id = ["", "", *folder_names][-2:]
    return RecordName(ticket_id, run_id, int(match[1]), match[2], int(match[3]))


def find_skill(file_name: str) -> str:
    """Return the last three parts of a record's path.

    "" if it is not a record's: it has another name, or is not in a run's folder.
    """
    name = parse_path(file_name)
    if name is None or not is_run_folder(name.run_id):
        return ""
    return "/".join(file_name.rsplit("/", 3)[-3:])


def looks_like_record(name: str) -> bool:
    return name.startswith("phase_") and name.endswith((SUFFIX, ".yml"))


def is_run_folder(name: str) -> bool:
    return re.fullmatch(_UUID, name) is not None


def earlier_phases(phase: str, known: Collection[str]) -> list[str]:
    """Return the phases that must be over before this one, in order.

    phase: "" for the end. known: the phases of the pipeline.
    """
    earlier = []
    for name in READ_PHASES:
        if name == phase:
            break
        # not every pipeline knows pr_release_ready
        if name in PHASES or name in known:
            earlier.append(name)

    return earlier


def number_phases(text: str) -> dict[str, int]:
    """Return the phases of a pipeline and their ordinals. Raises CheckpointError.

    text: their names in order, "" for the usual ones.
    """
    numbered = {name: number for number, name in enumerate(text.replace(",", " ").split(), 1)}
    if not numbered.items() <= _PAIRS:
        message = "checkpoint.pipelinePhases does not list phases in their order"
        raise CheckpointError(message, ", ".join(READ_PHASES))
    return numbered or PHASES


def normalize_run_id(run_id: str) -> str:
    """Return the canonical UUID of a run.

    What uuid.UUID accepts is kept; any other text becomes its name-based UUID.
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
    if len(ticket_id.encode()) > _MAX_FOLDER_NAME:
        return "it is too long for a folder's name"
    return ""


def find_run_trouble(run_id: str) -> str:
    """Return why a text cannot name a run, "" if it can.

    Any text that is not a UUID is only ever hashed.
    """
    if not run_id.strip():
        return "it is empty"
    if any("\ud800" <= letter <= "\udfff" for letter in run_id):
        return "it is not Unicode text"
    return ""


def find_base_trouble(base: str) -> str:
    if "\0" in base:
        return "it contains a NUL"
    if not base.startswith("/"):
        return "it is not absolute"
    if ".." in base.split("/"):
        return "it contains .."
    return ""
