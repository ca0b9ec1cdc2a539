"""Split a checkpoint into what stays and the history document of its past. Pure.

An entry is past if it is closed and nothing open names it. The document depends on the moved
entries alone: two branches that rotate the same entries write the same bytes. Values are token
values (jsontext); the find_ functions take plain ones too.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import jsonwrite
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.references import find_references, unqualify
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill import views

KEPT_RUNS = 5
KEPT_DECISIONS = 20

_MERGED_LISTS = "merged_prs"  # prefixes of skill_state's keys
_CLOSED_LISTS = (_MERGED_LISTS, "closed_unmerged_prs")
_CLOSED_RECORDS = ("reconciliation_",)


class Moved(NamedTuple):
    """Entries of one place that move: those of a list in their order, or the place's one value."""

    where: str
    items: list[Any]


class Kept(NamedTuple):
    """A closed entry that stays."""

    where: str
    entry: str
    why: str


class Rotation(NamedTuple):
    """A plan to rotate a document. value: the document without what moves."""

    value: dict[str, Any]
    moved: list[Moved]
    kept: list[Kept]


def plan_rotation(value: dict[str, Any], reverted: Mapping[str, str] | None = None) -> Rotation:
    """Plan to move the past of a document.

    reverted: merged requests ("#12") that the history reverted -> the evidence.
    """
    rest = dict(value)
    keeper = _Keeper(value, reverted or {})
    moved = []
    superseded = views.read_list(rest, "superseded")
    if superseded:
        rest["superseded"] = []
        moved.append(Moved("/superseded", superseded))

    moved += _take_decisions(rest, keeper)
    moved += _take_state(rest, keeper)
    return Rotation(rest, moved, keeper.kept)


def find_merged(value: dict[str, Any]) -> set[str]:
    """Return the references of the merged pull requests that a rotation would move."""
    found = set[str]()
    for part in plan_rotation(value).moved:
        if part.where.startswith(f"/skill_state/{_MERGED_LISTS}"):
            for item in part.items:
                found.update(find_entry_references(item))
    return found


def history_document(skill: str, moved: list[Moved]) -> str:
    entries = [{"where": part.where, "items": part.items} for part in moved]
    return jsonwrite.render({"skill": skill, "entries": entries})


def history_marks(day: str, past: bytes) -> list[str]:
    """Return the marks for a history file by preference: the day (2026-03-02) and its digest."""
    from hashlib import sha256

    mark = f"{day}-{sha256(past).hexdigest()[:12]}"
    # the numbered names are for a file of the first name that was changed by hand since
    return [mark, *(f"{mark}-{number}" for number in range(2, 10))]


class _Keeper:
    """Decides which entries stay.

    references, words: what the open parts name -> the name of the part.
    """

    def __init__(self, value: dict[str, Any], reverted: Mapping[str, str]) -> None:
        self.reverted = reverted
        self.kept = list[Kept]()
        self.references = dict[str, str]()
        self.words = dict[str, str]()
        for place, text in _open_texts(value):
            for reference in find_references(text):
                self.references.setdefault(unqualify(reference, frozenset()), place)
            for word in _split_words(text):
                self.words.setdefault(word, place)

    def find_reason(self, item: Any, *, is_merged: bool = False) -> str:
        """Return why an entry stays, "" if it does not. is_merged: of a list of merged requests."""
        references = find_entry_references(item)
        for reference in references:
            if reference in self.references:
                return f"{self.references[reference]} names it"
        if isinstance(item, dict) and isinstance(item.get("id"), str) and item["id"] in self.words:
            return f"{self.words[item['id']]} names it"

        if is_merged:
            for reference in references:
                if reference in self.reverted:
                    return f"it was reverted: {self.reverted[reference]}"
        return ""

    def split(
        self, where: str, items: list[Any], *, is_merged: bool, newest: Collection[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """Return the items that stay and those that are past.

        newest: the indexes of items that stay in any case.
        """
        staying = list[Any]()
        past = list[Any]()
        for index, item in enumerate(items):
            if index in newest:
                staying.append(item)
                continue
            reason = self.find_reason(item, is_merged=is_merged)
            if reason:
                self.kept.append(Kept(where, _name_entry(item), reason))
                staying.append(item)
            else:
                past.append(item)

        return staying, past


def _split_words(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() or letter in "_-" else " " for letter in text).split()


def _name_entry(item: Any) -> str:
    """Return a name of an entry for a message: its first reference, its id or its text."""
    references = find_entry_references(item)
    if references:
        return references[0]
    name = item.get("id") if isinstance(item, dict) else item
    if isinstance(name, str):
        return shorten(name, 60)
    return "an entry"


def _open_texts(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each open part of a checkpoint."""
    for number, action in enumerate(views.read_list(value, "next_actions"), start=1):
        yield f"next action {number}", views.action_text(action)

    for blocker in views.open_blockers(value):
        name = shorten(str(blocker.get("id", "?")), 40)
        for key in ("description", "proposed_resolution"):
            yield f"blocker {name}", views.text_field(blocker, key)

    for row in views.open_rows(value):
        name = shorten(str(row.get("id", "?")), 40)
        for key in ("id", "label", "notes"):
            yield f"row {name}", views.text_field(row, key)


_ENTRY_KEYS = ("number", "pr", "pr_number", "id", "ref", "url")


def find_entry_references(item: Any) -> list[str]:
    """Return the references in an entry, without the repository.

    An entry is 12, "#12", "owner/app#12" or {"id": "ABC-3"}; of an object only the members that
    name it are read.
    """
    if isinstance(item, dict):
        found = []
        for key in _ENTRY_KEYS:
            if key in item:
                found += find_entry_references(item[key])
        return found

    text = item
    if isinstance(item, bytes):
        text = item.decode("ascii", "replace")
    elif isinstance(item, int) and not isinstance(item, bool):
        text = str(item)
    if not isinstance(text, str):
        return []
    bare = text.strip().removeprefix("#")
    if bare.isascii() and bare.isdigit() and len(bare) < 10:
        return [f"#{int(bare)}"]
    return [unqualify(reference, frozenset()) for reference in find_references(text)]


def _take_decisions(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    """Take the key decisions above the limit out of the document, and return them."""
    decisions = views.read_primer(rest, "key_decisions")
    if len(decisions) <= KEPT_DECISIONS:
        return []

    # those that an open part names stay before newer ones
    indexes = range(len(decisions) - 1, -1, -1)
    ranked = sorted(indexes, key=lambda index: not keeper.find_reason(decisions[index]))
    chosen = set(ranked[:KEPT_DECISIONS])
    staying = [item for index, item in enumerate(decisions) if index in chosen]
    past = [item for index, item in enumerate(decisions) if index not in chosen]
    rest["context_primer"] = {**rest["context_primer"], "key_decisions": staying}
    return [Moved("/context_primer/key_decisions", past)]


def _take_state(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    """Take the closed entries of skill_state out of the document, and return them."""
    state = rest.get("skill_state")
    if not isinstance(state, dict):
        return []

    staying: dict[str, Any] = {}
    moved = []
    for key, member in state.items():
        where = join_pointer("/skill_state", key)
        past = list[Any]()
        staying[key] = member
        if key.startswith(_CLOSED_RECORDS) and isinstance(member, dict):
            if key in keeper.words:
                keeper.kept.append(Kept(where, key, f"{keeper.words[key]} names it"))
            else:
                past = [staying.pop(key)]
        elif key.startswith(_CLOSED_LISTS + _CLOSED_RECORDS) and isinstance(member, list):
            is_merged = key.startswith(_MERGED_LISTS)
            staying[key], past = keeper.split(where, member, is_merged=is_merged)
        elif key == "run_history" and isinstance(member, list):
            newest = _find_newest(member, KEPT_RUNS)
            staying[key], past = keeper.split(where, member, is_merged=False, newest=newest)

        if past:
            moved.append(Moved(where, past))

    if moved:
        rest["skill_state"] = staying
    return moved


def _find_newest(records: list[Any], count: int) -> set[int]:
    """Return the indexes of the newest records; of those with one time, the last in the list."""
    by_age = sorted(
        range(len(records)),
        key=lambda index: (views.read_when(records[index]), index),
        reverse=True,
    )
    return set(by_age[:count])
