"""Which parts of a checkpoint are past, and the history document they move to. Pure.

Past is what is closed and what nothing open names any more: an entry that an open action, blocker or row still names
stays, and so does a pull request that the history reverted. The history document depends on the moved entries alone,
not on who moves them or when, so that two branches that rotate the same entries write the same bytes. Values are token
values (jsontext); the find_ functions take plain ones too.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.references import find_references, unqualify
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill.views import action_text, open_blockers, read_list, read_objects

KEPT_RUNS = 5
KEPT_DECISIONS = 20

_MERGED_LISTS = "merged_prs"  # prefixes of skill_state's keys
_CLOSED_LISTS = (_MERGED_LISTS, "closed_unmerged_prs")
_CLOSED_RECORDS = ("reconciliation_",)
_OVER = frozenset(["complete", "skipped", "deferred"])  # statuses of rows that ask for nothing


class Moved(NamedTuple):
    """Entries of one place that move: a list's in their order, or the one value that was there."""

    where: str
    items: list[Any]


class Kept(NamedTuple):
    """A closed entry that stays."""

    where: str
    entry: str
    why: str


class Rotation(NamedTuple):
    """value: what is left of the document."""

    value: dict[str, Any]
    moved: list[Moved]
    kept: list[Kept]


class Due(NamedTuple):
    """How many entries of one place a rotation would move."""

    where: str
    entries: int


def plan_rotation(value: dict[str, Any], reverted: Mapping[str, str] | None = None) -> Rotation:
    """The document without its past; planned again on the rest, nothing more moves.

    reverted: merged pull requests that the history reverted (as references, "#12") -> the evidence; they stay.
    """
    rest = dict(value)
    keeper = _Keeper(find_named(value), dict(reverted or {}), [])
    moved = []
    superseded = read_list(rest, "superseded")
    if superseded:
        rest["superseded"] = []
        moved.append(Moved("/superseded", superseded))
    moved += _take_decisions(rest, keeper)
    moved += _take_state(rest, keeper)
    return Rotation(rest, moved, keeper.kept)


def find_due(value: dict[str, Any], reverted: Mapping[str, str] | None = None) -> list[Due]:
    return [Due(part.where, len(part.items)) for part in plan_rotation(value, reverted).moved]


def find_merged(value: dict[str, Any]) -> set[str]:
    """The references of the merged pull requests that a rotation would move."""
    lists = (part for part in plan_rotation(value).moved if part.where.startswith(f"/skill_state/{_MERGED_LISTS}"))
    return {reference for part in lists for item in part.items for reference in find_entry_references(item)}


def history_document(skill: str, moved: list[Moved]) -> str:
    entries = [{"where": part.where, "items": part.items} for part in moved]
    return jsonwrite.render({"skill": skill, "entries": entries})


def history_marks(day: str, past: bytes) -> list[str]:
    """Names for a history file, of which the first free one is taken: the day (2026-03-02) and a digest of its text."""
    from hashlib import sha256

    mark = f"{day}-{sha256(past).hexdigest()[:12]}"
    # the numbered names are for a file of the first name that was changed by hand since
    return [mark, *(f"{mark}-{number}" for number in range(2, 10))]


# what is still needed


class Named(NamedTuple):
    """What the open parts of a checkpoint name: references or single words -> the part, in words."""

    references: Mapping[str, str]
    words: Mapping[str, str]


class _Keeper(NamedTuple):
    """Decides which entries stay, and notes which did."""

    named: Named
    reverted: Mapping[str, str]
    kept: list[Kept]

    def find_reason(self, item: Any, *, is_merged: bool = False) -> str:
        references = find_entry_references(item)
        places = [self.named.references[one] for one in references if one in self.named.references]
        name = item.get("id") if isinstance(item, dict) else None
        if isinstance(name, str) and name in self.named.words:
            places.append(self.named.words[name])
        if places:
            return f"{places[0]} names it"
        reverted = [self.reverted[one] for one in references if is_merged and one in self.reverted]
        return f"it was reverted: {reverted[0]}" if reverted else ""

    def split(self, where: str, items: list[Any], *, is_merged: bool = False) -> tuple[list[Any], list[Any]]:
        reasons = [self.find_reason(item, is_merged=is_merged) for item in items]
        pairs = list(zip(items, reasons, strict=True))
        self.kept.extend(Kept(where, _describe(item), why) for item, why in pairs if why)
        return [item for item, why in pairs if why], [item for item, why in pairs if not why]


def find_named(value: dict[str, Any]) -> Named:
    references: dict[str, str] = {}
    words: dict[str, str] = {}
    for place, text in _open_texts(value):
        for reference in find_references(text):
            references.setdefault(unqualify(reference, frozenset()), place)
        for word in "".join(letter if letter.isalnum() or letter in "_-" else " " for letter in text).split():
            words.setdefault(word, place)
    return Named(references, words)


def _open_texts(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for at, action in enumerate(read_list(value, "next_actions")):
        yield f"next action {at + 1}", action_text(action)
    for blocker in open_blockers(value):
        for text in _texts_of(blocker, ("description", "proposed_resolution")):
            yield f"blocker {shorten(str(blocker.get('id', '?')), 40)}", text
    for row in read_objects(value, "progress_table"):
        if str(row.get("status")) not in _OVER:
            for text in _texts_of(row, ("id", "label", "notes")):
                yield f"row {shorten(str(row.get('id', '?')), 40)}", text


def _texts_of(item: dict[str, Any], keys: tuple[str, ...]) -> list[str]:
    return [item[key] for key in keys if isinstance(item.get(key), str)]


_ENTRY_KEYS = ("number", "pr", "pr_number", "id", "ref", "url")


def find_entry_references(item: Any) -> list[str]:
    """What one entry of a list is about: 12, "#12", "owner/app#12", {"number": 12}, {"id": "ABC-3"}.

    Without the repository. Of an object only the fields that name it count: a title may mention others.
    """
    if isinstance(item, dict):
        return [one for key in _ENTRY_KEYS if key in item for one in find_entry_references(item[key])]
    text = item.decode("ascii", "replace") if isinstance(item, bytes) else item
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str):
        return []
    bare = text.strip().removeprefix("#")
    if bare.isascii() and bare.isdigit() and len(bare) < 10:
        return [f"#{int(bare)}"]
    return [unqualify(reference, frozenset()) for reference in find_references(text)]


def _describe(item: Any) -> str:
    named = find_entry_references(item)
    name = item.get("id") if isinstance(item, dict) else item
    return named[0] if named else shorten(name, 60) if isinstance(name, str) else "an entry"


# what goes


def _take_decisions(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    primer = rest.get("context_primer")
    decisions = read_list(primer, "key_decisions") if isinstance(primer, dict) else []
    if not isinstance(primer, dict) or len(decisions) <= KEPT_DECISIONS:
        return []
    # of the twenty places, what is still named takes the first
    newest = range(len(decisions) - 1, -1, -1)
    by_need = sorted(newest, key=lambda at: not keeper.find_reason(decisions[at]))
    left, past = _split_at(decisions, set(by_need[:KEPT_DECISIONS]))
    rest["context_primer"] = {**primer, "key_decisions": left}
    return [Moved("/context_primer/key_decisions", past)]


def _split_at(items: list[Any], staying: Collection[int]) -> tuple[list[Any], list[Any]]:
    left = [item for at, item in enumerate(items) if at in staying]
    return left, [item for at, item in enumerate(items) if at not in staying]


def _take_state(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    state = rest.get("skill_state")
    if not isinstance(state, dict):
        return []
    left: dict[str, Any] = {}
    moved = []
    for key, member in state.items():
        where = jsontext.join_pointer("/skill_state", key)
        keeps, past = _split_member(key, member, where, keeper)
        if past:
            moved.append(Moved(where, past))
        if keeps is not _GONE:
            left[key] = keeps
    if moved:
        rest["skill_state"] = left
    return moved


_GONE: Any = object()


def _split_member(key: str, member: Any, where: str, keeper: _Keeper) -> tuple[Any, list[Any]]:
    """What stays of one member of skill_state (_GONE: nothing, not even the key) and what is past."""
    if key.startswith(_CLOSED_RECORDS) and isinstance(member, dict):
        if key not in keeper.named.words:
            return _GONE, [member]
        keeper.kept.append(Kept(where, key, f"{keeper.named.words[key]} names it"))
        return member, []
    if key.startswith(_CLOSED_LISTS + _CLOSED_RECORDS) and isinstance(member, list):
        return keeper.split(where, member, is_merged=key.startswith(_MERGED_LISTS))
    if key == "run_history" and isinstance(member, list):
        return _split_runs(member, where, keeper)
    return member, []


def _split_runs(runs: list[Any], where: str, keeper: _Keeper) -> tuple[list[Any], list[Any]]:
    newest = set(sorted(range(len(runs)), key=lambda at: _run_age(runs, at), reverse=True)[:KEPT_RUNS])
    older = [at for at in range(len(runs)) if at not in newest]
    reasons = {at: why for at in older if (why := keeper.find_reason(runs[at]))}
    keeper.kept.extend(Kept(where, _describe(runs[at]), why) for at, why in reasons.items())
    return _split_at(runs, newest | reasons.keys())


def _run_age(runs: list[Any], at: int) -> tuple[tuple[int, str], int]:
    run = runs[at]
    instant = read_instant(run.get("at")) if isinstance(run, dict) else None
    return instant or (-(10**12), ""), at
