"""The doctor's checks of restore points, which are silent if there are none."""

import os
from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check, fact
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, FOLDER, find_base, list_ids


class PointFacts:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.is_deep = "restore/content" in context.codes
        top = context.place.top
        bases = {find_base(top, context.place.git_dir), os.path.join(top, FOLDER)}
        has_log = os.path.lexists(os.path.join(top, AUDIT_LOG))
        has_folders = any(list_ids(base) for base in bases)
        self.has_points = not context.skill and (has_log or has_folders)

    @fact("the content of restore points", (), needs_git=False)
    def findings(self) -> "list[Finding]":
        if not self.has_points:
            return []
        from checkpoint_git.protocols.restore.damage import read_troubles

        context = self.context
        return read_troubles(context.place, context.env, context.now, deep=self.is_deep)


@check("restore", "error", remedy="as each finding says")
def find_point_trouble(facts: PointFacts) -> Iterator[Finding]:
    """Restore points that are damaged, expired, or do not match their log.

    ([list](restore-points.md#findings))
    """
    for finding in facts.findings:
        if finding.code != "restore/content" or not facts.is_deep:
            yield finding


@check(
    "restore/content",
    "error",
    remedy="make a new one, then `checkpoint restore-point drop ID`",
    when="named",
)
def find_content_trouble(facts: PointFacts) -> list[Finding]:
    """Restore points whose stored content is missing or damaged.

    Missing content is always reported; every byte is read only with `--check restore`.
    """
    return [finding for finding in facts.findings if finding.code == "restore/content"]
