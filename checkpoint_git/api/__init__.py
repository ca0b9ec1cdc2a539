"""The same verbs for Python: one object for each system, in a module of its own. They print nothing and ask nobody.

Every method may raise CheckpointError: no folder of checkpoints, no such skill, a disk that is full. Trouble with the
content of a checkpoint is never raised, but returned as findings. The names are imported when they are first used, so
that who needs one system loads no other.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api.checkpoints import Checkpoints
    from checkpoint_git.core.errors import CheckpointError
    from checkpoint_git.core.finding import Finding
    from checkpoint_git.protocols.memory.api import MemoryCheckpoint
    from checkpoint_git.protocols.pipeline.api import Pipeline
    from checkpoint_git.protocols.pipeline.records import Resumption
    from checkpoint_git.protocols.restore.api import RestorePoints, savepoint
    from checkpoint_git.protocols.skill.next_action import NextAction
    from checkpoint_git.protocols.skill.resume_brief import Plan
    from checkpoint_git.protocols.skill.status import StatusResult
    from checkpoint_git.protocols.skill.verbs.done import DoneResult
    from checkpoint_git.protocols.skill.verbs.next import NextResult
    from checkpoint_git.protocols.skill.verbs.resume import ResumeResult
    from checkpoint_git.protocols.skill.verbs.rotate import RotateResult
    from checkpoint_git.protocols.skill.verbs.update import UpdateResult
    from checkpoint_git.protocols.workflow.api import Workflow

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
    "DoneResult": "protocols.skill.verbs.done",
    "Finding": "core.finding",
    "MemoryCheckpoint": "protocols.memory.api",
    "NextAction": "protocols.skill.next_action",
    "NextResult": "protocols.skill.verbs.next",
    "Pipeline": "protocols.pipeline.api",
    "Plan": "protocols.skill.resume_brief",
    "RestorePoints": "protocols.restore.api",
    "ResumeResult": "protocols.skill.verbs.resume",
    "Resumption": "protocols.pipeline.records",
    "RotateResult": "protocols.skill.verbs.rotate",
    "StatusResult": "protocols.skill.status",
    "UpdateResult": "protocols.skill.verbs.update",
    "Workflow": "protocols.workflow.api",
    "savepoint": "protocols.restore.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'checkpoint_git.api' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"checkpoint_git.{_HOMES[name]}"), name)
