"""Whether a project may keep pipeline records: a look that is cheap enough for every start. It reads no record."""

import os

from checkpoint_git.disk.discover import Place

PROJECT_BASE = ".claude/checkpoints"  # below the top of a project
_SETTING = b"pipelinedir"
_MOST_BYTES = 1 << 20


def may_have_records(place: Place) -> bool:
    """True where the usual folder is there, or the repository's configuration speaks of another one."""
    if os.path.isdir(os.path.join(place.top, PROJECT_BASE)):
        return True
    return any(_SETTING in _read(path) for path in _config_files(place.git_dir or ""))


def _config_files(git_dir: str) -> list[str]:
    """A linked worktree shares the configuration of the repository that it was made from."""
    if not git_dir:
        return []
    shared = os.fsdecode(_read(os.path.join(git_dir, "commondir"))).strip()
    folder = os.path.join(git_dir, shared)
    return [os.path.join(folder, "config"), os.path.join(git_dir, "config.worktree")]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES).lower() if path.endswith(("config", ".worktree")) else stream.read(4096)
    except OSError:
        return b""
