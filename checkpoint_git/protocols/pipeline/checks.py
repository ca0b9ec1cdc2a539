"""The doctor's checks of a project's pipeline records.

They are valid, in their places, and as they were committed.
"""

from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Hint, Output, Word, advise, chain
from checkpoint_git.disk.discover import relative_path
from checkpoint_git.disk.read import read_content
from checkpoint_git.protocols.check import Context, check
from checkpoint_git.protocols.pipeline.summary import is_present
from checkpoint_git.protocols.validate import RESTORE, describe_loss, iterate_checked


@check("pipeline/broken", "error", remedy="`git restore PATH`, or run the phase again")
def find_broken_records(context: Context) -> Iterator[Finding]:
    """A pipeline record that is invalid or in the wrong place.

    ([list](pipeline.md#in-a-repository))
    """
    if not is_present(context.place):
        return
    from checkpoint_git.protocols.pipeline.store import find_bases
    from checkpoint_git.protocols.pipeline.validate import find_files

    top = context.place.top
    for base in find_bases(context.place, context.env):
        files = ((relative_path(path, top), read_content(path, base)) for path in find_files(base))
        for document in iterate_checked(files, context.now):
            errors = [finding for finding in document.findings if finding.level == "error"]
            if errors:
                message = f"this pipeline record is ignored: {errors[0].message}"
                hint = advise("run the phase again, or take what git has", *RESTORE, document.path)
                yield Finding("pipeline/broken", "error", message, document.path, hint=hint)


@check("pipeline/changed", "error", remedy="`git restore PATH`")
def find_changed_records(context: Context) -> Iterator[Finding]:
    """A committed pipeline record that is changed or missing in the work tree, or since the last
    push.
    """
    if context.place.work_tree is None:
        return
    from checkpoint_git.git.objects import find_commit
    from checkpoint_git.git.pushed import read_new_losses
    from checkpoint_git.git.staged import read_losses
    from checkpoint_git.protocols.pipeline import layout
    from checkpoint_git.protocols.registry import append_only_patterns

    top = context.place.work_tree
    pattern = append_only_patterns()[0]
    losses = [loss for loss in read_losses(top, pattern) if layout.find_skill(loss.path)]
    for loss in losses:
        yield describe_loss("pipeline/changed", loss.path, loss.how)

    head = find_commit(top, "HEAD")
    if not head:
        return
    for loss in read_new_losses(top, head, ["--remotes"], pattern):
        if layout.find_skill(loss.path) and loss not in losses:
            finding = describe_loss("pipeline/changed", loss.path, f"{loss.how} in a commit")
            yield finding._replace(hint=_restore_committed(loss.path))


def _restore_committed(path: str) -> Hint:
    """Return how to restore a file from before the last commit that changed it."""
    last_change = Output(("git", "rev-list", "-1", "HEAD", "--", path))
    before = Word(("--source=", last_change, "^"))
    restore = ("git", "restore", before, "--staged", "--worktree", "--", path)
    return chain("", (restore, ("git", "commit", "--", path)))
