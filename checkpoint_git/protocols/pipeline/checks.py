"""What the doctor checks of a project's pipeline records: valid, in their places, and as they were committed."""

from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import quote_path
from checkpoint_git.protocols.check import Context, check
from checkpoint_git.protocols.pipeline.summary import is_present
from checkpoint_git.protocols.validate import advise_loss


@check("pipeline/broken", "error", remedy="`git restore PATH`, or run the phase again")
def find_broken_records(context: Context) -> Iterator[Finding]:
    """A pipeline record that is invalid or in the wrong place.

    ([list](pipeline.md#in-a-repository))
    """
    if not is_present(context.place):
        return
    from checkpoint_git.protocols.pipeline.records import read_broken

    for broken in read_broken(context.place, context.env, context.now):
        hint = f"run the phase again, or take what git has: git restore -- {quote_path(broken.path)}"
        message = f"this pipeline record is ignored: {broken.reason}"
        yield Finding("pipeline/broken", "error", message, broken.path, hint=hint)


@check("pipeline/changed", "error", remedy="`git restore PATH`")
def find_changed_records(context: Context) -> Iterator[Finding]:
    """A committed pipeline record that is changed or missing in the work tree."""
    if context.place.work_tree is None:
        return
    from checkpoint_git.git.staged import read_losses
    from checkpoint_git.protocols.pipeline import layout
    from checkpoint_git.protocols.registry import append_only_patterns

    for loss in read_losses(context.place.work_tree, append_only_patterns()[0]):
        if layout.find_skill(loss.path):
            message = f"this pipeline record was {loss.how}, and records are only ever added"
            yield Finding("pipeline/changed", "error", message, loss.path, hint=advise_loss(loss.path))
