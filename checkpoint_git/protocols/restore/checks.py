"""What the doctor checks of restore points; silent if there are none."""

import os
from collections.abc import Iterator

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check, fact
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, FOLDER, find_base, list_ids


class PointFacts:
    def __init__(self, context: Context) -> None:
        self.context = context
        top, git_dir = context.place.top, context.place.git_dir
        bases = {find_base(top, git_dir), os.path.join(top, FOLDER)}
        has_log = os.path.lexists(os.path.join(top, AUDIT_LOG))
        self.has_points = not context.skill and (has_log or any(map(list_ids, bases)))

    @fact("the content of restore points", (), needs_git=False)
    def findings(self) -> "list[Finding]":
        if not self.has_points:
            return []
        from checkpoint_git.protocols.restore.damage import read_troubles

        context = self.context
        return read_troubles(
            context.place, context.env, context.now, deep="restore/content" in context.codes
        )


@check("restore", "error", remedy="as each finding says")
def find_point_trouble(facts: PointFacts) -> Iterator[Finding]:
    """Restore points that are damaged, expired, or do not match their log.

    ([list](restore-points.md#findings))
    """
    deep = "restore/content" in facts.context.codes
    return (one for one in facts.findings if not (deep and one.code == "restore/content"))


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
    return [one for one in facts.findings if one.code == "restore/content"]
