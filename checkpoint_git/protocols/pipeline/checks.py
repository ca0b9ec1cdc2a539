"""What the doctor says about pipeline records: whole, where they belong, and as they were committed. Pure."""

from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor.context import World


def find_broken_records(world: World) -> list[Finding]:
    """Files among the records that none can be read from."""
    hint = "restore it from git, or run the phase again: `checkpoint pipeline validate` says all that is wrong"
    return [
        Finding("pipeline/broken", "error", f"this pipeline record is passed over: {each.reason}", each.path, hint=hint)
        for each in world.records
        if each.kind == "broken"
    ]


def find_changed_records(world: World) -> list[Finding]:
    """Committed records that the work tree has otherwise, or no longer."""
    hint = "git restore PATH brings it back; what is new goes into another attempt"
    return [
        Finding(
            "pipeline/changed",
            "error",
            f"this pipeline record was {each.kind}, and records are only ever added",
            each.path,
            hint=hint,
        )
        for each in world.records
        if each.kind != "broken"
    ]
