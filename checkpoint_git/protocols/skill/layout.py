"""Name skill checkpoints and find their paths. It touches no file."""

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
    """Return the skill that a file's name or path contains, "" if it is not a checkpoint's."""
    name = file_name.rpartition("/")[2]
    if not name.endswith(SUFFIX):
        return ""
    return name.removesuffix(SUFFIX)


def is_nearly_a_name(file_name: str) -> bool:
    """Whether a name is a checkpoint's except for its ending or capitals; no editor's backup is."""
    name = file_name.lower()
    if find_skill(file_name) or name.startswith(".") or name.endswith(_COPIES):
        return False
    return WORD in name or name.endswith(".json")


def right_name(path: str) -> str:
    """Return the path that a file with nearly a checkpoint's name should have."""
    folder, slash, name = path.rpartition("/")
    end = name.lower().find(WORD)
    if end <= 0:
        end = -len(".json")
    return f"{folder}{slash}{name[:end]}{SUFFIX}"


def check_skill_name(name: str) -> None:
    """Raise CheckpointError if a skill's name could not be a file's name on every system, or could
    be a path.
    """
    trouble = find_name_trouble(name)
    if not trouble:
        return
    close = find_skill(name) or name
    for letter in _FORBIDDEN:
        close = close.replace(letter, "-")
    close = close.strip(" .-~")
    hint = f"try {close}"
    if find_name_trouble(close):
        hint = "a name looks like oc-app-architect"
    message = f'invalid name "{escape_controls(shorten(name, 60))}": {trouble}'
    raise CheckpointError(message, hint)


def find_name_trouble(name: str) -> str:
    """Return why a text cannot be a skill's name, "" if it can."""
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
    """Return the folder that a project_dir names. root: the folder that contains .checkpoints."""
    if named == HERE:
        return root
    return named


def checkpoint_path(place: Place, skill: str) -> str:
    """Return the absolute path of a skill's checkpoint.

    Raises CheckpointError for an invalid name.
    """
    check_skill_name(skill)
    return os.path.join(place.directory, skill + SUFFIX)


def history_path(place: Place, skill: str, mark: str) -> str:
    """Return the absolute path of a history file of a skill.

    mark: distinguishes it from the skill's other history files, such as "2026-03-31-9f2c".
    """
    check_skill_name(skill)
    check_skill_name(mark)
    return os.path.join(place.directory, HISTORY, f"{skill}.{mark}.json")


def is_history_of(file_name: str, skill: str) -> bool:
    """Whether a file of the history folder belongs to a skill. No mark contains a dot."""
    start, end = f"{skill}.", ".json"
    if not file_name.startswith(start) or not file_name.endswith(end):
        return False
    mark = file_name[len(start) : -len(end)]
    return bool(mark) and "." not in mark


def relative_checkpoint_path(place: Place, skill: str) -> str:
    """Return the path of a skill's checkpoint from the repository's top, as messages show it."""
    return relative_path(checkpoint_path(place, skill), place.top)
