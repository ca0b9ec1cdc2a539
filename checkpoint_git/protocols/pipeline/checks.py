"""What the doctor checks of a project's pipeline records: valid, in their places, and as they were
committed.
"""

from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Output, Word, advise, chain
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
            for error in [each for each in document.findings if each.level == "error"][:1]:
                message = f"this pipeline record is ignored: {error.message}"
                hint = advise("run the phase again, or take what git has", *RESTORE, document.path)
                yield Finding("pipeline/broken", "error", message, document.path, hint=hint)


@check("pipeline/changed", "error", remedy="`git restore PATH`")
def find_changed_records(context: Context) -> Iterator[Finding]:
    """A committed pipeline record that is changed or missing in the work tree, or since the last
    push.
    """
    if context.place.work_tree is None:
        return
    from checkpoint_git.git.pushed import read_new_losses
    from checkpoint_git.git.staged import read_losses
    from checkpoint_git.protocols.pipeline import layout
    from checkpoint_git.protocols.registry import append_only_patterns

    top, pattern = context.place.work_tree, append_only_patterns()[0]
    losses = [loss for loss in read_losses(top, pattern) if layout.find_skill(loss.path)]
    yield from (describe_loss("pipeline/changed", loss.path, loss.how) for loss in losses)
    for loss in read_new_losses(top, "HEAD", ["--remotes"], pattern):
        if layout.find_skill(loss.path) and loss not in losses:
            before = Word(
                ("--source=", Output(("git", "rev-list", "-1", "HEAD", "--", loss.path)), "^")
            )
            restore = ("git", "restore", before, "--staged", "--worktree", "--", loss.path)
            hint = chain("", (restore, ("git", "commit", "--", loss.path)))
            yield describe_loss("pipeline/changed", loss.path, f"{loss.how} in a commit")._replace(
                hint=hint
            )
