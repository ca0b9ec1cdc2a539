"""Names and places of a workflow's files, and its five phases. It touches no file."""

import os
import re
from typing import Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import Place

DIRECTORY = "memory/state"
SUFFIX = ".json"
PHASE, EXECUTION = "phase", "execution"
FILES = (PHASE, EXECUTION)
EXECUTION_FILE = EXECUTION + SUFFIX
ARCHIVE = ".archive"
KEPT_ARCHIVES = 5
MAX_ID = 200  # characters
_MAX_SAFE = 80
_ARCHIVE = re.compile(r".+_([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,5}))?", re.DOTALL)

PHASES = ("REQUIREMENTS", "ARCHITECTURE", "IMPLEMENTATION", "VERIFICATION", "REFLECTION")
LAST = PHASES[-1]
TASK_STATUSES = ("pending", "running", "complete", "failed", "blocked")
MAX_ATTEMPTS = 3
GRACE = 2  # seconds: file systems round what a clock says


class Phase(NamedTuple):
    """The files that a phase leaves behind, and who works on it."""

    outputs: tuple[str, ...]  # where its result may be, the usual place first; one "*" at most
    agent: str  # who makes the result
    drafts: str = ""  # a folder of preliminary results, "" for none
    drafter: str = ""  # who makes the drafts


TABLE = {
    "REQUIREMENTS": Phase(("memory/reports/demand.json",), "PM"),
    "ARCHITECTURE": Phase(
        ("memory/reports/final_design.json", "memory/reports/designs/final_design.json"),
        "Roundtable",
        "memory/reports/designs",
        "Architects",
    ),
    "IMPLEMENTATION": Phase(("memory/state/execution.json",), "Executor"),
    "VERIFICATION": Phase(("memory/reports/verification.json",), "QA"),
    "REFLECTION": Phase(
        ("memory/reports/reflection*.json", "memory/reflections/*.json"), "Reflector"
    ),
}


def next_phase(phase: str) -> str:
    """Return the phase after one, "" after the last."""
    if phase == LAST:
        return ""
    return PHASES[PHASES.index(phase) + 1]


def check_phase(name: str) -> str:
    if name.upper() not in PHASES:
        raise CheckpointError(f"{name!r} is not a phase", f"the phases are {', '.join(PHASES)}")
    return name.upper()


def parse_approvals(text: str) -> tuple[str, ...]:
    """Return the phases that a text names, with commas or blanks between them.

    text: "none" for none. Raises CheckpointError for an unknown phase.
    """
    names = text.replace(",", " ").split()
    return tuple(check_phase(name) for name in names if name.lower() != "none")


def find_skill(file_name: str) -> str:
    """Return "phase" or "execution" for the path of one of the two files, "" for any other."""
    name = file_name.rpartition("/")[2].removesuffix(SUFFIX)
    if name in FILES and file_name.endswith(SUFFIX):
        return name
    return ""


def state_path(place: Place, file: str) -> str:
    return os.path.join(place.directory, file + SUFFIX)


def relative_state_path(file: str) -> str:
    return f"{DIRECTORY}/{file}{SUFFIX}"


def archive_name(workflow_id: str, instant: str, number: int = 1) -> str:
    """Return the name of an archive, {workflow_id}_{timestamp}, safe for a path.

    instant: RFC 3339 in UTC. number: of several archives of one second.
    """
    # an id may hold anything, "../.." too
    letters = re.sub(r"[^A-Za-z0-9._-]", "_", workflow_id)[:_MAX_SAFE]
    safe = re.sub(r"^[.-]", "_", letters) or "workflow"
    stamp = instant.replace("-", "").replace(":", "")
    if number > 1:
        stamp += f"-{number}"
    return f"{safe}_{stamp}"


def archive_order(name: str) -> tuple[str, int]:
    """Return what archives are ordered by: (timestamp, number); ("", 0) for another name."""
    match = _ARCHIVE.fullmatch(name)
    if match is None:
        return "", 0
    return match[1], int(match[2] or 1)


def check_id(name: str, example: Literal["login-2026", "task-001"]) -> None:
    if not name.strip() or name != name.strip():
        trouble = "it is empty, or starts or ends with a space"
    elif escape_controls(name) != name:
        trouble = "it contains control or invisible characters"
    elif len(name) > MAX_ID:
        trouble = f"it is longer than {MAX_ID} characters"
    else:
        return

    what = "task" if example == "task-001" else "workflow"
    message = f'"{escape_controls(shorten(name, 60))}" cannot be the name of a {what}: {trouble}'
    raise CheckpointError(message, f"a {what}'s name looks like {example}")
