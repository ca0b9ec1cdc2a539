"""How skill checkpoints are named and where they are. Names only: it touches no file."""

import os

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import Place, relative_path

DIRECTORY = ".checkpoints"
SUFFIX = ".checkpoint.json"
WORD = ".checkpoint."  # in a checkpoint's name, whatever its ending
HISTORY = "history"
# below .checkpoints, where a project keeps the schema for its editors
SCHEMA_FILE = "schemas/skill.schema.json"
MAX_NAME_BYTES = 128
HERE = "."  # a project_dir that is the folder around .checkpoints, wherever it was cloned to

_DEVICES = frozenset(
    [
        "con",
        "prn",
        "aux",
        "nul",
        *(f"com{digit}" for digit in "123456789"),
        *(f"lpt{digit}" for digit in "123456789"),
    ]
)
_FORBIDDEN = frozenset('/\\:*?"<>|')
_COPIES = ("~", ".bak", ".orig", ".rej", ".tmp", ".swp", ".lock", ".old")


def find_skill(file_name: str) -> str:
    """The skill that a file's name (or path) says, "" if the name is not one of a checkpoint."""
    name = file_name.rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""


def is_nearly_a_name(file_name: str) -> bool:
    """Return whether a name looks like a misspelt checkpoint's: wrong ending or capital letters; no
    editor's backup.
    """
    name = file_name.lower()
    if find_skill(file_name) or name.startswith(".") or name.endswith(_COPIES):
        return False
    return WORD in name or name.endswith(".json")


def right_name(path: str) -> str:
    """What a file with nearly a checkpoint's name should be called."""
    folder, slash, name = path.rpartition("/")
    end = name.lower().find(WORD)
    return f"{folder}{slash}{name[: end if end > 0 else -len('.json')]}{SUFFIX}"


def check_skill_name(name: str) -> None:
    """Raises CheckpointError if a skill's name could not be a file's name on every system, or could
    be a path.
    """
    trouble = find_name_trouble(name)
    if trouble:
        close = "".join(
            "-" if letter in _FORBIDDEN else letter for letter in find_skill(name) or name
        ).strip(" .-~")
        hint = "a name looks like oc-app-architect" if find_name_trouble(close) else f"try {close}"
        raise CheckpointError(
            f'invalid name "{escape_controls(shorten(name, 60))}": {trouble}', hint
        )


def find_name_trouble(name: str) -> str:
    """Why a text cannot be a skill's name, "" if it can."""
    if not name.strip():
        return "it is empty"
    if not (name.isascii() and name.isprintable()) and escape_controls(name) != name:
        return "it has control or invisible characters"
    forbidden = next((letter for letter in name if letter in _FORBIDDEN), "")
    if forbidden:
        return f'"{forbidden}" is not allowed'
    if name.startswith((".", "-", "~")):
        return "it begins with a dot, a dash or a tilde"
    if name != name.strip() or name.endswith("."):
        return "it begins or ends with a space, or ends with a dot"
    if name.lower().endswith(SUFFIX):
        return f"leave out the ending {SUFFIX}"
    if name.split(".", 1)[0].strip().lower() in _DEVICES:
        return "Windows reserves it for a device"
    if len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    return ""


def find_project_dir(named: str, root: str) -> str:
    """Return the folder that a project_dir names. root: the folder that holds .checkpoints."""
    return root if named == HERE else named


def checkpoint_path(place: Place, skill: str) -> str:
    """The absolute path of a skill's active file. Raises CheckpointError for an invalid name."""
    check_skill_name(skill)
    return os.path.join(place.directory, skill + SUFFIX)


def history_path(place: Place, skill: str, mark: str) -> str:
    """The absolute path of a file of a skill's past; mark sets it apart from the others, such as
    "2026-03-31-9f2c".
    """
    check_skill_name(skill)
    check_skill_name(mark)
    return os.path.join(place.directory, HISTORY, f"{skill}.{mark}.json")


def is_history_of(file_name: str, skill: str) -> bool:
    """Return whether a file of the history folder is of that skill's past. No mark has a dot in
    it.
    """
    start, end = f"{skill}.", ".json"
    mark = file_name[len(start) : -len(end)]
    return (
        file_name.startswith(start) and file_name.endswith(end) and bool(mark) and "." not in mark
    )


def relative_checkpoint_path(place: Place, skill: str) -> str:
    """As findings and messages show it, from the repository's top."""
    return relative_path(checkpoint_path(place, skill), place.top)
