"""State that survives sessions: checkpoints that live inside a git repository.

The names below are the Python API. They are imported on first use, because git starts the merge driver of this package
for every file, and that process must not pay for what it does not need.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api import (
        CheckpointError,
        Checkpoints,
        Finding,
        MemoryCheckpoint,
        Pipeline,
        RestorePoints,
        Workflow,
        savepoint,
    )
    from checkpoint_git.version import __version__

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "Finding",
    "MemoryCheckpoint",
    "Pipeline",
    "RestorePoints",
    "Workflow",
    "__version__",
    "savepoint",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'checkpoint_git' has no attribute {name!r}")
    import importlib

    home = "checkpoint_git.version" if name == "__version__" else "checkpoint_git.api"
    return getattr(importlib.import_module(home), name)
