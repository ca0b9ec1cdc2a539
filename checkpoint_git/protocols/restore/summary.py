"""What there is of restore points in a project."""

import os
from collections.abc import Iterator

from checkpoint_git.core.outcome import Block, Line, Table
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary

_MOST_SHOWN = 20


def is_present(place: Place) -> bool:
    try:
        return any(name.startswith("chk_") for name in os.listdir(place.directory))
    except OSError:
        return False


def summarize(question: Question) -> Summary:
    from checkpoint_git.protocols.restore.layout import list_ids  # most projects have no restore points

    if question.reader == "completion":
        newest_first = list_ids(question.place.top)[::-1]
        return Summary(names={"restore-point OPERAND": newest_first, "restore-point OPERAND create": [":files"]})
    if question.reader == "report":
        return Summary(blocks=list(_list_points(question)))
    points = list_ids(question.place.root)
    if not points:
        return Summary()
    return Summary(lines=[f"restore points: {len(points)}, the newest {points[-1]}; checkpoint restore-point list"])


def _list_points(question: Question) -> Iterator[Block]:
    from checkpoint_git.protocols.restore.store import find_state, read_manifests

    points, rows = list(read_manifests(question.place.top)), list[tuple[str, ...]]()
    for manifest in reversed(points[-_MOST_SHOWN:]):
        reason, made = (str(manifest.value.get(key) or "") for key in ("reason", "created_at"))
        state = find_state(manifest, question.now)
        rows.append((manifest.id, state, shorten(reason, 200), made[:16].replace("T", " ")))
    if rows:
        yield Table(("restore point", "state", "why", "made"), rows)
    if len(points) > len(rows):
        yield Line(f"and {len(points) - len(rows)} older restore points")
