"""What the doctor checks of restore points; silent where there are none."""

import os
from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check, fact
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, list_ids


class PointFacts:
    def __init__(self, context: Context) -> None:
        self.context = context
        top = context.place.top
        self.has_points = not context.skill and (bool(list_ids(top)) or os.path.lexists(os.path.join(top, AUDIT_LOG)))

    @fact("the content of restore points", (), needs_git=False)
    def content_findings(self) -> "list[Finding]":
        from checkpoint_git.protocols.restore.damage import read_content_troubles

        context = self.context
        return read_content_troubles(context.place, context.env, context.now) if self.has_points else []


@check("restore", "error", remedy="as each finding says")
def find_point_trouble(facts: PointFacts) -> Iterator[Finding]:
    """Restore points that are damaged, have expired, or are not as their log tells.

    ([list](restore-points.md#findings))
    """
    if not facts.has_points:
        return
    from checkpoint_git.protocols.restore.damage import read_troubles

    # what the other check has read every byte for, it reports better
    reported = facts.content_findings if "restore/content" in facts.context.codes else ()
    covered = {(finding.code, finding.path) for finding in reported}
    for finding in read_troubles(facts.context.place, facts.context.env, facts.context.now):
        if (finding.code, finding.path) not in covered:
            yield finding


@check("restore/content", "error", remedy="make a new one, then `checkpoint restore-point drop ID`", when="named")
def find_content_trouble(facts: PointFacts) -> list[Finding]:
    """Restore points that do not hold what was kept.

    What is not there at all is always reported; every byte is read only with `--check restore`.
    """
    return list(facts.content_findings)
