"""What merges prove to a checkpoint: only those that came after it had begun to ask for them."""

import re
from collections.abc import Iterable, Mapping

from checkpoint_git.core import jsontext
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.references import find_references, spell_ranges
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.git.history.claims import CLOSES_RULE, MERGE_RULE, SQUASH_RULE, TICKET_RULE
from checkpoint_git.git.history.evidence import Evidence
from checkpoint_git.git.history.history import read_versions
from checkpoint_git.protocols.skill.document_summary import DocumentSummary
from checkpoint_git.protocols.skill.next_action import Proof
from checkpoint_git.protocols.skill.requests import find_resolution, find_shipped, find_uses
from checkpoint_git.protocols.skill.views import list_requests

_APART = re.compile(r"Merged (?:in|PR) |Merge pull request #\d+ in |Pull request #")  # they number issues apart
_MOST_PATHS = 200  # checkpoints whose earlier versions are looked at

Merged = Mapping[str, Evidence]  # by reference


def prove(work_tree: str, asking: Iterable[DocumentSummary], merged: Merged) -> dict[str, dict[str, Evidence]]:
    """By path and reference."""
    proofs, doubtful = dict[str, dict[str, Evidence]](), dict[str, int]()
    for each in asking:
        known = ((one, merged[one]) for one in each.references if one in merged)
        own = proofs[each.path] = {one: found for one, found in known if found.when >= (each.created_at or 0)}
        between = [one.when for one in own.values() if each.updated_at is None or one.when <= each.updated_at]
        if between and len(doubtful) < _MOST_PATHS:
            doubtful[each.path] = min(between)
    for path, data in read_versions(work_tree, [*doubtful], min(doubtful.values())) if doubtful else ():
        written, named = _read_version(data)
        for reference in [one for one, evidence in proofs[path].items() if evidence.when < written]:
            if reference not in named:  # merged by then, and asked for only afterwards
                del proofs[path][reference]
    return proofs


def _read_version(data: bytes) -> tuple[int, set[str]]:
    """(when it was written, what it names); (-1, nothing) where it cannot be read."""
    try:
        value = jsontext.load(jsontext.decode(data))
    except jsontext.JsonTextError:
        return -1, set()
    instant = read_instant(value.get("updated_at")) if isinstance(value, dict) else None
    texts = (text for texts in list_requests(value) for text in texts) if instant else ()
    return instant[0] if instant else -1, {one for text in texts for one in find_references(spell_ranges(text))}


def judge_texts(
    actions: Iterable[str], proposals: Iterable[str], merged: Merged
) -> tuple[dict[str, Proof], dict[str, str]]:
    """What the history proves of next actions and of what blockers propose, by their texts."""
    resolved = {text: f"{one} by {merged[one]}" for text in proposals if (one := find_resolution(text, merged))}
    return {text: proof for text in actions if (proof := judge_action(text, merged))}, resolved


def find_closed(merged: Merged, text: str) -> list[str]:
    """What to fix or implement is done: commits closed it, are about it, or merged it (#9 may count a list)."""
    merges = () if "clos" in text.lower() else (MERGE_RULE, SQUASH_RULE)  # "close #12" asks for no merge
    return [
        one
        for one, found in merged.items()
        if found.rule == CLOSES_RULE
        or ("#" in one and found.rule == TICKET_RULE)
        or (found.rule in merges and re.search(r"#\d\d", one) and not _APART.match(found.subject))
    ]


def judge_action(text: str, merged: Merged) -> Proof | None:
    """What the history proves of a next action, None for nothing."""
    shipped = find_shipped(text, merged, closed := find_closed(merged, text))
    uses = find_uses(text, closed)
    names = [use.reference for use in uses if use.role != "mentioned" and use.reference in merged]
    if not names:
        return None
    is_sure = shipped is not None and all(merged[name].sure for name in names)
    note = f"{join_some(names)} {'is' if len(names) == 1 else 'are'} merged"
    return Proof(is_sure, note, str(shipped or merged[names[0]]))
