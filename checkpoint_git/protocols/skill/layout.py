"""How skill checkpoints are named and where they lie. Names only: it touches no file."""

import os

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import Place, relative_path

DIRECTORY = ".checkpoints"
SUFFIX = ".checkpoint.json"
WORD = ".checkpoint."  # what a checkpoint's name holds, whatever its ending
HISTORY = "history"
MAX_NAME_BYTES = 128

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{digit}" for digit in "123456789"), *(f"lpt{digit}" for digit in "123456789")]
)
_FORBIDDEN = frozenset('/\\:*?"<>|')


def find_skill(file_name: str) -> str:
    """The skill that a file's name (or path) says, "" where the name is not one of a checkpoint."""
    name = file_name.rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""


def may_be_meant(file_name: str) -> bool:
    """Whether a file's name may be a slip of a checkpoint's: another ending, capital letters; no editor's copy."""
    name = file_name.lower()
    if find_skill(file_name) or name.startswith(".") or name.endswith(_COPIES):
        return False
    return WORD in name or name.endswith(".json")


_COPIES = ("~", ".bak", ".orig", ".rej", ".tmp", ".swp", ".lock", ".old")


def check_skill_name(name: str) -> None:
    """Raises CheckpointError where a skill's name could not be a file's name on every system, or could be a path."""
    trouble = find_name_trouble(name)
    if trouble:
        shown = escape_controls(shorten(name, 60))
        raise CheckpointError(
            f'"{shown}" cannot be the name of a skill: {trouble}', "a name looks like oc-app-architect"
        )


def find_name_trouble(name: str) -> str:
    """Why a text cannot be a skill's name, "" where it can."""
    for is_wrong, trouble in _NAME_RULES:
        if is_wrong(name):
            return trouble
    return ""


def _is_reserved(name: str) -> bool:
    return name.split(".", 1)[0].strip().lower() in _RESERVED


def _is_too_long(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES


_NAME_RULES = (
    (lambda name: not name.strip(), "it is empty"),
    (lambda name: escape_controls(name) != name, "it holds control or invisible characters"),
    (lambda name: any(letter in _FORBIDDEN for letter in name), 'it holds one of / \\ : * ? " < > |, so it is a path'),
    (lambda name: name.startswith((".", "-", "~")), "it begins with a dot, a dash or a tilde"),
    (
        lambda name: name != name.strip() or name.endswith("."),
        "a space or dot stands at its end",
    ),
    (lambda name: name.lower().endswith(SUFFIX), f"leave out the ending {SUFFIX}"),
    (_is_reserved, "Windows keeps that name for a device"),
    (_is_too_long, f"it is longer than {MAX_NAME_BYTES} bytes"),
)


def checkpoint_path(place: Place, skill: str) -> str:
    """The absolute path of a skill's active file. Raises CheckpointError for a name that is not one."""
    check_skill_name(skill)
    return os.path.join(place.directory, skill + SUFFIX)


def history_path(place: Place, skill: str, mark: str) -> str:
    """The absolute path of a file of a skill's past; mark tells it from the others, such as "2026-03-31-9f2c"."""
    check_skill_name(skill)
    check_skill_name(mark)
    return os.path.join(place.directory, HISTORY, f"{skill}.{mark}.json")


def relative_checkpoint_path(place: Place, skill: str) -> str:
    """The same as checkpoint_path, relative to the repository, as findings and messages show it."""
    return relative_path(checkpoint_path(place, skill), place.top)
