"""What there is of restore points in a project."""

import os

from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary


def is_present(place: Place) -> bool:
    """Whether a folder looks like that of a restore point."""
    try:
        return any(name.startswith("chk_") for name in os.listdir(place.directory))
    except OSError:
        return False


def summarize(question: Question) -> Summary:
    """How many there are, and the newest. No manifest is opened."""
    from checkpoint_git.protocols.restore.layout import list_ids  # most projects have no restore points

    if question.reader == "completion":
        newest_first = list_ids(question.place.top)[::-1]
        return Summary(names={"restore-point OPERAND": newest_first, "restore-point OPERAND create": [":files"]})
    points = list_ids(question.place.root)
    if not points:
        return Summary()
    return Summary(lines=[f"restore points: {len(points)}, the newest {points[-1]}; checkpoint restore-point list"])
