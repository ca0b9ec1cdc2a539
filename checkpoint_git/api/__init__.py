"""The Python API: one object for each system, in a module of its own. They print nothing and ask nobody.

Every method may raise CheckpointError: no folder of checkpoints, no such skill, a full disk. Problems in the content of
a checkpoint are never raised, but returned as findings. Names are imported when they are first used, so that using one
system loads no other.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.api.checkpoints import Checkpoints as Checkpoints
    from checkpoint_git.core.errors import CheckpointError as CheckpointError
    from checkpoint_git.core.finding import Finding as Finding
    from checkpoint_git.protocols.memory.api import MemoryCheckpoint as MemoryCheckpoint
    from checkpoint_git.protocols.pipeline.api import Pipeline as Pipeline
    from checkpoint_git.protocols.pipeline.records import Resumption as Resumption
    from checkpoint_git.protocols.restore.api import RestorePoints as RestorePoints
    from checkpoint_git.protocols.restore.api import savepoint as savepoint
    from checkpoint_git.protocols.skill.next_action import NextAction as NextAction
    from checkpoint_git.protocols.skill.resume_brief import Plan as Plan
    from checkpoint_git.protocols.skill.status import StatusResult as StatusResult
    from checkpoint_git.protocols.skill.verbs.done import DoneResult as DoneResult
    from checkpoint_git.protocols.skill.verbs.next import NextResult as NextResult
    from checkpoint_git.protocols.skill.verbs.record import EntryResult as EntryResult
    from checkpoint_git.protocols.skill.verbs.resume import ResumeResult as ResumeResult
    from checkpoint_git.protocols.skill.verbs.rotate import RotateResult as RotateResult
    from checkpoint_git.protocols.skill.verbs.update import UpdateResult as UpdateResult
    from checkpoint_git.protocols.workflow.api import Workflow as Workflow

# name -> its module
HOMES = {
    "CheckpointError": "core.errors",
    "Checkpoints": "api.checkpoints",
    "DoneResult": "protocols.skill.verbs.done",
    "EntryResult": "protocols.skill.verbs.record",
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
__all__ = [*HOMES]


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'checkpoint_git' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"checkpoint_git.{HOMES[name]}"), name)
