"""What there is of restore points in a project."""

import os
from typing import TYPE_CHECKING

from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary

if TYPE_CHECKING:
    from checkpoint_git.core.html import PageParts, Tone

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
        return Summary(page=_draw(question))
    points = list_ids(question.place.root)
    if not points:
        return Summary()
    return Summary(lines=[f"restore points: {len(points)}, the newest {points[-1]}; checkpoint restore-point list"])


def _draw(question: Question) -> "PageParts":
    from checkpoint_git.core.html import PageParts, badge, code, grid
    from checkpoint_git.protocols.restore.store import find_state, read_manifests

    points = list(read_manifests(question.place.top))
    rows: list[list[str]] = []
    for manifest in reversed(points[-_MOST_SHOWN:]):
        state = find_state(manifest, question.now)
        reason, made = (str(manifest.value.get(key) or "") for key in ("reason", "created_at"))
        tone: Tone = "good" if state == "active" else "bad" if state == "damaged" else ""
        sign = badge(state, tone)
        rows.append([code(shorten(manifest.id, 80)), sign, shorten(reason, 200), made[:16].replace("T", " ")])
    headers = ("Point", "State", "Why", "Made")
    return PageParts(beside=[grid("Restore points", headers, rows, len(points) - len(rows))] if rows else [])
