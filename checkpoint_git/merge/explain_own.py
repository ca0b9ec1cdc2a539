"""What our own merge of the same versions would have done: no result is blamed for what the schema's rules ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkpoint_git.core.jsontext import parse
from checkpoint_git.core.jsonwrite import OURS, THEIRS
from checkpoint_git.merge.decide import decide
from checkpoint_git.merge.document import merge_texts
from checkpoint_git.merge.explain import Entry, Explaining, Place, explain_place
from checkpoint_git.merge.verdict import FAILURES, OTHER, Sides, Verdict

if TYPE_CHECKING:
    from checkpoint_git.merge.strategy import Schema

_BY_RULE = "as the schema merges it"
Key = tuple[str, str, str | None, str | None]


def excuse_own(
    entries: list[Entry], base: str | None, first: str, second: str, schema: Schema, narrative: str
) -> list[Entry]:
    """The entries; of the failures among them, those that our own merge has too become what they are by its rules.

    Where it has conflicts, both ways to decide all of them count, and the entry is one that somebody decided.
    """
    merged = merge_texts(base, first, second, schema, narrative)
    texts = [merged.text]
    if merged.conflicts:
        texts = [decide(merged, {one.where: side for one in merged.conflicts}).text for side in (OURS, THEIRS)]
    nodes = (None if base is None else parse(base), parse(first), parse(second))
    own: set[Key] = set()
    for text in texts:
        work = Explaining(schema, Sides(nodes[0], nodes[1], nodes[2], parse(text)))
        explain_place(work, Place(work.strategies.resolve(schema), "", ""), work.roots)
        own.update(_key(entry) for entry in work.entries if entry.verdict in FAILURES)
    return [_excused(entry, bool(merged.conflicts)) if _key(entry) in own else entry for entry in entries]


def _key(entry: Entry) -> Key:
    return (entry.name, entry.verdict, entry.first, entry.second)


def _excused(entry: Entry, decided: bool) -> Entry:
    winner = OTHER[entry.side] if entry.verdict == "lost" else ""
    if winner not in ("first", "second"):
        return entry._replace(verdict="combined", side="", note=_BY_RULE)
    taken: Verdict = "first" if winner == "first" else "second"
    return entry._replace(verdict="decided" if decided else taken, side=winner, note=_BY_RULE)
