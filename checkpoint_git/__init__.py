"""State that survives sessions: checkpoints that live inside a git repository.

The names below are the Python API. Each is imported on first use, because git starts the merge
driver of this package for every file, and that process must not pay for what it does not need, and
a protocol loads no other.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api import Checkpoints as Checkpoints
    from checkpoint_git.core.errors import CheckpointError as CheckpointError
    from checkpoint_git.core.finding import Finding as Finding
    from checkpoint_git.protocols.memory.api import MemoryCheckpoint as MemoryCheckpoint
    from checkpoint_git.protocols.pipeline.api import Pipeline as Pipeline
    from checkpoint_git.protocols.restore.api import RestorePoints as RestorePoints
    from checkpoint_git.protocols.restore.savepoint import savepoint as savepoint
    from checkpoint_git.protocols.workflow.api import Workflow as Workflow
    from checkpoint_git.version import __version__ as __version__

# name -> its module
_HOMES = {
    "CheckpointError": "core.errors",
    "Checkpoints": "api",
    "Finding": "core.finding",
    "MemoryCheckpoint": "protocols.memory.api",
    "Pipeline": "protocols.pipeline.api",
    "RestorePoints": "protocols.restore.api",
    "Workflow": "protocols.workflow.api",
    "__version__": "version",
    "savepoint": "protocols.restore.savepoint",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'checkpoint_git' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"checkpoint_git.{_HOMES[name]}"), name)
