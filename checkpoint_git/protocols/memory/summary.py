"""What there is of an initiative in a project: one line, from what was last read. No server is started."""

import os
from contextlib import suppress

from checkpoint_git.core.clock import age_text, read_instant
from checkpoint_git.core.outcome import Line
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.cache import load_cache
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.protocols.contract import Question, Summary

# in the git directory that all work trees share: what was last read; why the last save in the background failed
NOTE, LOG = "checkpoint/memory-initiative", "checkpoint/memory-save.log"
_OLD = 7 * 86_400


def is_present(place: Place) -> bool:
    return place.git_dir is not None and os.path.lexists(os.path.join(find_common_dir(place.git_dir), NOTE))


def summarize(question: Question) -> Summary:
    if question.reader == "completion" or question.place.git_dir is None:
        return Summary()
    folder = find_common_dir(question.place.git_dir)
    found = load_cache(os.path.join(folder, NOTE), "memory")
    known = {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
    if not known.get("initiative"):
        return Summary()
    at = ", ".join(known[key] for key in ("milestone", "phase") if known.get(key))
    text = f"initiative {known['initiative']}{f': {at}' if at else ''}"
    text += f"; next: {known['next_action']}" if known.get("next_action") else ""
    instant = read_instant(known.get("timestamp"))
    age = question.now - instant[0] if instant else 0
    text = clean(text, 170) + (f" ({age_text(age)} old{', outdated' if age > _OLD else ''})" if age >= 60 else "")
    failed = False
    with suppress(OSError):
        failed = os.stat(os.path.join(folder, LOG)).st_size > 0
    text += "; a save in the background failed: checkpoint memory doctor" if failed else "; checkpoint memory load"
    line = Line(text, "warn" if failed else "strong")
    return Summary({"initiative": known}, lead=[line, Line("")], lines=[text])
