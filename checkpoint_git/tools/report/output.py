"""Where a page is kept: which paths are fit for it, and the write that never takes anything else's place."""

import os

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import write_file
from checkpoint_git.disk.discover import Place, is_inside, relative_path
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.protocols.registry import protocol_of

NAME = "checkpoint-report.html"
_MARK = b'<meta name="generator" content="checkpoint-git report">'
_LOOKED_AT = 1_000  # bytes


def plan_path(place: Place, wished: str | None, cwd: str) -> str:
    """The absolute path for the page: as wished, else in the git directory, which no commit takes along. Outside git it
    is the current folder. Raises CheckpointError for a path that cannot hold it.
    """
    if wished is None:
        return os.path.join(place.git_dir or cwd, NAME)
    if not wished.strip() or "\0" in wished:
        raise CheckpointError("-o: that is no path", "name a file, or - for the terminal")
    path = os.path.normpath(os.path.join(cwd, wished))
    if os.path.isdir(path):
        path = os.path.join(path, NAME)
    shown = escape_controls(path)
    if protocol_of(relative_path(path, place.top)) or os.path.basename(path).endswith(".json"):
        raise CheckpointError(f"{shown} is a name for data", "name a file that ends in .html")
    if is_inside(path, place.directory) and os.path.basename(path) != os.path.basename(NAME):
        raise CheckpointError(f"{shown} lies among the checkpoints", "name a file elsewhere")
    if not os.path.isdir(os.path.dirname(path)):
        raise CheckpointError(f"{escape_controls(os.path.dirname(path))} is not a folder", "make it first")
    return path


def write_page(path: str, text: str, *, force: bool) -> None:
    """Writes the page whole or not at all. force: also over a file that is no page of ours. Raises CheckpointError."""
    shown = escape_controls(path)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise CheckpointError(f"{shown} is not a plain file", "name another one")
    if os.path.exists(path) and not force:
        try:
            with open(path, "rb") as stream:
                is_ours = _MARK in stream.read(_LOOKED_AT)
        except OSError:
            is_ours = False
        if not is_ours:
            raise CheckpointError(f"{shown} is there already, and is not a report", "name another file, or use --force")
    write_file(path, text.encode("utf-8"))


def find_exposure(place: Place, path: str) -> list[Finding]:
    work_tree = place.work_tree
    if work_tree is None or not is_inside(path, work_tree) or (place.git_dir and is_inside(path, place.git_dir)):
        return []
    name = relative_path(path, work_tree)
    ignored = run_git(["check-ignore", "-q", "--", name], work_tree, env=clean_env(os.environ), check=False)
    if ignored.code == 0:
        return []
    hint = f"without -o it goes into the git directory; or: echo /{escape_controls(name)} >> .gitignore"
    message = "the report lies in the work tree, where git add takes it along"
    return [Finding("report/not-ignored", "note", message, name, hint=hint)]
