"""State that survives sessions: checkpoints that live inside a git repository.

The names below are the Python interface. They are imported on first use, because git starts the merge
driver of this package for every file, and that process must not pay for what it does not need.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api import Checkpoints, MemoryCheckpoint, Pipeline, RestorePoints, Workflow, savepoint
    from checkpoint_git.core.errors import CheckpointError
    from checkpoint_git.core.finding import Finding

__version__ = "0.1.0"
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

_HOMES = {
    "CheckpointError": "checkpoint_git.core.errors",
    "Checkpoints": "checkpoint_git.api.checkpoints",
    "Finding": "checkpoint_git.core.finding",
    "MemoryCheckpoint": "checkpoint_git.protocols.memory.api",
    "Pipeline": "checkpoint_git.protocols.pipeline.api",
    "RestorePoints": "checkpoint_git.protocols.restore.api",
    "Workflow": "checkpoint_git.protocols.workflow.api",
    "savepoint": "checkpoint_git.protocols.restore.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'checkpoint_git' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
