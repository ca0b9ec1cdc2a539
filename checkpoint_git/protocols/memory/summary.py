"""Show a project's initiative in one line, from what was last read. No server is started."""

import os
from collections.abc import Callable, Mapping

from checkpoint_git.core.clock import DAY, MINUTE, age_text, read_instant
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place, shared_path
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.limits import read_stale_days
from checkpoint_git.protocols.memory.state import read_state

# in the git directory that all work trees share: what was last read
NOTE = "checkpoint/memory-initiative"


def is_present(place: Place) -> bool:
    return os.path.lexists(shared_path(place.top, NOTE))


def summarize(question: StatusQuestion) -> Summary:
    if question.reader == "completion":
        return Summary()
    known = _read_note(question.place)
    if not known.get("initiative"):
        return Summary()
    # most projects have no initiative
    from checkpoint_git.protocols.memory.save_log import read_log

    text = _describe(known) + _describe_age(known, question)
    if read_log(question.place.top).why:
        hint = advise("a save in the background failed", "checkpoint", "memory", "doctor")
        line = Line(text, "warn", hint=hint)
    else:
        line = Line(text, "strong", hint=advise("to continue", "checkpoint", "memory", "load"))
    return Summary({"initiative": known}, lead=[line, Line("")], lines=[line.whole])


def _read_note(place: Place) -> dict[str, str]:
    """Return the fields that were last read, {} if there are none."""
    found = read_state(shared_path(place.top, NOTE))
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _describe(known: Mapping[str, str]) -> str:
    text = f"initiative {known['initiative']}"
    position = ", ".join(known[key] for key in ("milestone", "phase") if known.get(key))
    if position:
        text += f": {position}"
    if known.get("next_action"):
        text += f"; next: {known['next_action']}"
    return clean(text, 170)


def _describe_age(known: Mapping[str, str], question: StatusQuestion) -> str:
    """Return the age of the checkpoint in brackets, "" if it is new or has no timestamp."""
    instant = read_instant(known.get("timestamp"))
    if instant is None or question.now - instant[0] < MINUTE:
        return ""

    age = question.now - instant[0]
    stale_days = read_stale_days(question.place.root, question.env)
    if age > stale_days * DAY:
        return f" ({age_text(age)} old, outdated)"
    return f" ({age_text(age)} old)"


def after_turn(cwd: str, env: Mapping[str, str], has_worked: Callable[[int], bool]) -> None:
    """Start a save of an idle session: nothing happens in it after the end of a turn."""
    try:
        saved = os.stat(shared_path(cwd, NOTE)).st_mtime_ns
    except OSError:  # no initiative is known
        return

    from checkpoint_git.git.settings import MEMORY_ON_IDLE, read_flag

    if read_flag(MEMORY_ON_IDLE, cwd) and has_worked(saved):
        from checkpoint_git.protocols.memory.hooks import start_save

        start_save("idle", cwd, env)
