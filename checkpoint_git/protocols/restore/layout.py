"""Where a restore point lies and how its names are made. It reads nothing and asks for no time and no chance."""

import os
import re

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.safetext import escape_controls, shorten

SUFFIX = "manifest.json"
FOLDER = ".checkpoints"
MANIFEST = "manifest.json"
RESTORE_SCRIPT = "restore.sh"
CONTENT = "content"  # the folder of copies, inside a point's own
AUDIT_LOG = ".audit/checkpoint-operations.log"
REF_PREFIX = "refs/checkpoints/"
OWN_PATHS = (
    ".checkpoints/chk_*",
    ".checkpoints/.new-*",
    ".audit/",
)  # what git is told to leave alone, in the words of info/exclude

_ID = re.compile(r"chk_\d{8}_\d{6}_[a-z0-9]{6}")


def make_id(now: int, mark: str) -> str:
    """A point's name: chk_20260115_143022_a7b3c9. now: seconds since 1970. mark: six random letters and digits."""
    digits = "".join(letter for letter in write_instant(now) if letter.isdigit())
    return f"chk_{digits[:8]}_{digits[8:14]}_{mark}"


def is_id(text: str) -> bool:
    """Whether a text is the name of a point; nothing else ever becomes a path or a ref."""
    return _ID.fullmatch(text) is not None


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


def find_skill(file_name: str) -> str:
    """The point that a manifest's path belongs to, "" where it is no manifest."""
    parts = file_name.split("/")
    return parts[-2] if len(parts) > 1 and parts[-1] == MANIFEST and is_id(parts[-2]) else ""
