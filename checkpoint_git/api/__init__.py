"""The same verbs for Python: one object for each system, in a module of its own. They print nothing and ask nobody.

Every method may raise CheckpointError: no folder of checkpoints, no such skill, a disk that is full. Trouble with the
content of a checkpoint is never raised, but returned as findings. The names are imported when they are first used, so
that who needs one system loads no other.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api.checkpoints import Checkpoints
    from checkpoint_git.api.memory import MemoryCheckpoint
    from checkpoint_git.api.pipeline import Pipeline
    from checkpoint_git.api.restore import RestorePoints, savepoint
    from checkpoint_git.api.workflow import Workflow
    from checkpoint_git.checks.next_action import NextAction
    from checkpoint_git.checks.phases import Resumption
    from checkpoint_git.checks.resume import Plan
    from checkpoint_git.commands.done import DoneResult
    from checkpoint_git.commands.next import NextResult
    from checkpoint_git.commands.resume import ResumeResult
    from checkpoint_git.commands.rotate import RotateResult
    from checkpoint_git.commands.status import StatusResult
    from checkpoint_git.commands.update import UpdateResult
    from checkpoint_git.core.errors import CheckpointError
    from checkpoint_git.core.finding import Finding

__all__ = [
    "CheckpointError",
    "Checkpoints",
    "DoneResult",
    "Finding",
    "MemoryCheckpoint",
    "NextAction",
    "NextResult",
    "Pipeline",
    "Plan",
    "RestorePoints",
    "ResumeResult",
    "Resumption",
    "RotateResult",
    "StatusResult",
    "UpdateResult",
    "Workflow",
    "savepoint",
]

_HOMES = {
    "CheckpointError": "core.errors",
    "Checkpoints": "api.checkpoints",
    "DoneResult": "commands.done",
    "Finding": "core.finding",
    "MemoryCheckpoint": "api.memory",
    "NextAction": "checks.next_action",
    "NextResult": "commands.next",
    "Pipeline": "api.pipeline",
    "Plan": "checks.resume",
    "RestorePoints": "api.restore",
    "ResumeResult": "commands.resume",
    "Resumption": "checks.phases",
    "RotateResult": "commands.rotate",
    "StatusResult": "commands.status",
    "UpdateResult": "commands.update",
    "Workflow": "api.workflow",
    "savepoint": "api.restore",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'checkpoint_git.api' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"checkpoint_git.{_HOMES[name]}"), name)
