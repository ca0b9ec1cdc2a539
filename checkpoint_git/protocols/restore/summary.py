"""Show how many restore points a project has, and list them in the report."""

import os
from collections.abc import Iterator
from contextlib import suppress

from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Line, Table
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.protocols.contract import StatusQuestion, Summary

_MOST_SHOWN = 20


def is_present(place: Place) -> bool:
    bases = [place.directory]
    if place.git_dir:
        bases.append(os.path.join(find_common_dir(place.git_dir), "checkpoint-restore"))
    for base in bases:
        with suppress(OSError):
            if any(name.startswith("chk_") for name in os.listdir(base)):
                return True
    return False


def summarize(question: StatusQuestion) -> Summary:
    # most projects have no restore points
    from checkpoint_git.protocols.restore.layout import find_base, list_ids

    place = question.place
    points = list_ids(find_base(place.top, place.git_dir))
    if question.reader == "completion":
        return Summary(
            names={
                "restore-point OPERAND": points[::-1],
                "restore-point OPERAND create": [":files"],
            }
        )

    if question.reader == "report":
        return Summary(blocks=list(_list_points(question)))
    if not points:
        return Summary()
    hint = advise("to see them", "checkpoint", "restore-point", "list")
    line = Line(f"restore points: {len(points)}, the newest {points[-1]}", hint=hint)
    return Summary(lines=[line.whole])


def _list_points(question: StatusQuestion) -> Iterator[Block]:
    from checkpoint_git.protocols.restore.layout import open_workspace
    from checkpoint_git.protocols.restore.store import find_state, read_manifests

    points = read_manifests(open_workspace(question.place.top, question.now, {}))
    rows: list[tuple[str, ...]] = []
    for manifest in reversed(points[-_MOST_SHOWN:]):
        reason = str(manifest.value.get("reason") or "")
        created_at = str(manifest.value.get("created_at") or "")
        minute = created_at[:16].replace("T", " ")
        state = find_state(manifest, question.now)
        rows.append((manifest.id, state, shorten(reason, 200), minute))

    if rows:
        yield Table(("restore point", "state", "why", "made"), rows)
    if len(points) > len(rows):
        yield Line(f"and {len(points) - len(rows)} older restore points")
