"""Where a restore point lies and how its names are made. It asks for no time and no chance."""

import os

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten

FOLDER = ".checkpoints"
MANIFEST = "manifest.json"
RESTORE_SCRIPT = "restore.sh"
CONTENT = "content"  # the folder of copies, inside a point's own
AUDIT_LOG = ".audit/checkpoint-operations.log"
REF_PREFIX = "refs/checkpoints/"

_MARK = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def make_id(now: int, mark: str) -> str:
    """A point's name: chk_20260115_143022_a7b3c9. now: seconds since 1970. mark: six random letters and digits."""
    digits = "".join(letter for letter in write_instant(now) if letter.isdigit())
    return f"chk_{digits[:8]}_{digits[8:14]}_{mark}"


def is_id(text: str) -> bool:
    """Whether a text is the name of a point; nothing else ever becomes a path or a ref."""
    start, day, time, mark = parts if len(parts := text.split("_")) == 4 else ("", "", "", "")
    digits = day + time
    is_time = (len(day), len(time)) == (8, 6) and digits.isascii() and digits.isdigit()
    return start == "chk" and is_time and len(mark) == 6 and _MARK.issuperset(mark)


def check_id(text: str) -> str:
    """The name itself. Raises CheckpointError where it is none."""
    if is_id(text):
        return text
    shown = escape_controls(shorten(text, 60))
    raise CheckpointError(f'"{shown}" is not the name of a restore point', "`checkpoint restore-point list` shows them")


def point_folder(root: str, point: str) -> str:
    """The folder of a point. root: the workspace, absolute."""
    return os.path.join(root, FOLDER, check_id(point))


def manifest_path(root: str, point: str) -> str:
    """The file that says what a point holds."""
    return os.path.join(point_folder(root, point), MANIFEST)


def restore_command(point: str) -> str:
    """The command that brings a point back without this package, run in the workspace."""
    return f"sh {FOLDER}/{check_id(point)}/{RESTORE_SCRIPT}"


def ref_name(point: str) -> str:
    """The ref that keeps a point's content in git."""
    return REF_PREFIX + check_id(point)


def list_ids(root: str) -> list[str]:
    """The points that have a folder, oldest first."""
    try:
        names = os.listdir(os.path.join(root, FOLDER))
    except OSError:
        return []
    return sorted(name for name in names if is_id(name))
