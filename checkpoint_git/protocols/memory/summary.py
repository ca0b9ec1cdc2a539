"""What there is of an initiative in a project: one line, from what was last read. No server is
started.
"""

import os
from collections.abc import Callable, Mapping

from checkpoint_git.core.clock import age_text, read_instant
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place, shared_path
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.memory.state import read_state

# in the git directory that all work trees share: what was last read
NOTE = "checkpoint/memory-initiative"
_OLD = 7 * 86_400


def is_present(place: Place) -> bool:
    return os.path.lexists(shared_path(place.top, NOTE))


def summarize(question: StatusQuestion) -> Summary:
    if question.reader == "completion":
        return Summary()
    found = read_state(shared_path(question.place.top, NOTE))
    known = (
        {key: value for key, value in found.items() if isinstance(value, str)}
        if isinstance(found, dict)
        else {}
    )
    if not known.get("initiative"):
        return Summary()
    at = ", ".join(known[key] for key in ("milestone", "phase") if known.get(key))
    text = f"initiative {known['initiative']}{f': {at}' if at else ''}"
    text += f"; next: {known['next_action']}" if known.get("next_action") else ""
    instant = read_instant(known.get("timestamp"))
    age = question.now - instant[0] if instant else 0
    text = clean(text, 170) + (
        f" ({age_text(age)} old{', outdated' if age > _OLD else ''})" if age >= 60 else ""
    )
    # most projects have no initiative
    from checkpoint_git.protocols.memory.save_log import (
        read_log,
    )

    failed = bool(read_log(question.place.top).why)
    hint = advise("to continue", "checkpoint", "memory", "load")
    if failed:
        hint = advise("a save in the background failed", "checkpoint", "memory", "doctor")
    line = Line(text, "warn" if failed else "strong", hint=hint)
    return Summary({"initiative": known}, lead=[line, Line("")], lines=[line.whole])


def after_turn(cwd: str, env: Mapping[str, str], has_worked: Callable[[int], bool]) -> None:
    """Nothing later than the end of a turn happens in an idle session: that is when its state is
    saved.
    """
    try:
        saved = os.stat(shared_path(cwd, NOTE)).st_mtime_ns
    except OSError:  # no initiative is known
        return

    from checkpoint_git.git.settings import MEMORY_ON_IDLE, read_flag

    if read_flag(MEMORY_ON_IDLE, cwd) and has_worked(saved):
        from checkpoint_git.protocols.memory.hooks import start_save

        start_save("idle", cwd, env)
