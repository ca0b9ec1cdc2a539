"""Which parts of a checkpoint are past, and the history document they move to. Pure.

Past is what is closed and what nothing open names. The document depends on the moved entries alone:
two branches that rotate the same ones write the same bytes. Values are token values (jsontext); the
find_ functions take plain ones too.
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


def plan_rotation(value: dict[str, Any], reverted: Mapping[str, str] | None = None) -> Rotation:
    """What is left without its past. reverted: merged requests ("#12") that the history took back
    -> the evidence.
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
    """The references of the merged pull requests that a rotation would move."""
    lists = (
        part
        for part in plan_rotation(value).moved
        if part.where.startswith(f"/skill_state/{_MERGED_LISTS}")
    )
    return {
        reference
        for part in lists
        for item in part.items
        for reference in find_entry_references(item)
    }


def history_document(skill: str, moved: list[Moved]) -> str:
    entries = [{"where": part.where, "items": part.items} for part in moved]
    return jsonwrite.render({"skill": skill, "entries": entries})


def history_marks(day: str, past: bytes) -> list[str]:
    """Names for a history file, of which the first free one is taken: the day (2026-03-02) and a
    digest of its text.
    """
    from hashlib import sha256

    mark = f"{day}-{sha256(past).hexdigest()[:12]}"
    # the numbered names are for a file of the first name that was changed by hand since
    return [mark, *(f"{mark}-{number}" for number in range(2, 10))]


class _Keeper:
    """Decides which entries stay. references, words: what the open parts name -> the part, in
    words.
    """

    def __init__(self, value: dict[str, Any], reverted: Mapping[str, str]) -> None:
        self.reverted, self.kept = reverted, list[Kept]()
        self.references, self.words = dict[str, str](), dict[str, str]()
        for place, text in _open_texts(value):
            for reference in find_references(text):
                self.references.setdefault(unqualify(reference, frozenset()), place)
            for word in "".join(
                letter if letter.isalnum() or letter in "_-" else " " for letter in text
            ).split():
                self.words.setdefault(word, place)

    def find_reason(self, item: Any, *, is_merged: bool = False) -> str:
        references = find_entry_references(item)
        places = [self.references[one] for one in references if one in self.references]
        name = item.get("id") if isinstance(item, dict) else None
        if isinstance(name, str) and name in self.words:
            places.append(self.words[name])
        if places:
            return f"{places[0]} names it"
        reverted = [self.reverted[one] for one in references if is_merged and one in self.reverted]
        return f"it was reverted: {reverted[0]}" if reverted else ""

    def split(
        self, where: str, items: list[Any], *, is_merged: bool, newest: Collection[int] = ()
    ) -> tuple[list[Any], list[Any]]:
        """What stays and what is past. newest: the items that stay in any case, by index."""
        stays, past = list[Any](), list[Any]()
        for at, item in enumerate(items):
            why = "" if at in newest else self.find_reason(item, is_merged=is_merged)
            if why:
                name = item.get("id") if isinstance(item, dict) else item
                named = find_entry_references(item) or [
                    shorten(name, 60) if isinstance(name, str) else "an entry"
                ]
                self.kept.append(Kept(where, named[0], why))
            if why or at in newest:
                stays.append(item)
            else:
                past.append(item)

        return stays, past


def _open_texts(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(the open part of a checkpoint, what it says)."""
    for at, action in enumerate(views.read_list(value, "next_actions")):
        yield f"next action {at + 1}", views.action_text(action)
    for blocker in views.open_blockers(value):
        for key in ("description", "proposed_resolution"):
            yield (
                f"blocker {shorten(str(blocker.get('id', '?')), 40)}",
                views.text_field(blocker, key),
            )

    for row in views.open_rows(value):
        for key in ("id", "label", "notes"):
            yield f"row {shorten(str(row.get('id', '?')), 40)}", views.text_field(row, key)


_ENTRY_KEYS = ("number", "pr", "pr_number", "id", "ref", "url")


def find_entry_references(item: Any) -> list[str]:
    """Without the repository: of 12, "#12", "owner/app#12", {"id": "ABC-3"}; of an object its
    naming fields alone.
    """
    if isinstance(item, dict):
        return [
            one for key in _ENTRY_KEYS if key in item for one in find_entry_references(item[key])
        ]

    text = item.decode("ascii", "replace") if isinstance(item, bytes) else item
    if isinstance(text, int) and not isinstance(text, bool):
        text = str(text)
    if not isinstance(text, str):
        return []
    bare = text.strip().removeprefix("#")
    if bare.isascii() and bare.isdigit() and len(bare) < 10:
        return [f"#{int(bare)}"]
    return [unqualify(reference, frozenset()) for reference in find_references(text)]


def _take_decisions(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    decisions = views.read_primer(rest, "key_decisions")
    if len(decisions) <= KEPT_DECISIONS:
        return []
    # of the twenty places, what is still named takes the first
    newest = range(len(decisions) - 1, -1, -1)
    staying = set(
        sorted(newest, key=lambda at: not keeper.find_reason(decisions[at]))[:KEPT_DECISIONS]
    )
    left = [item for at, item in enumerate(decisions) if at in staying]
    rest["context_primer"] = {**rest["context_primer"], "key_decisions": left}
    return [
        Moved(
            "/context_primer/key_decisions",
            [item for at, item in enumerate(decisions) if at not in staying],
        )
    ]


def _take_state(rest: dict[str, Any], keeper: _Keeper) -> list[Moved]:
    state = rest.get("skill_state")
    left: dict[str, Any] = {}
    moved = []
    for key, member in state.items() if isinstance(state, dict) else ():
        where, past = join_pointer("/skill_state", key), list[Any]()
        left[key] = member
        if key.startswith(_CLOSED_RECORDS) and isinstance(member, dict):
            if key in keeper.words:
                keeper.kept.append(Kept(where, key, f"{keeper.words[key]} names it"))
            else:
                past = [left.pop(key)]
        elif key.startswith(_CLOSED_LISTS + _CLOSED_RECORDS) and isinstance(member, list):
            left[key], past = keeper.split(where, member, is_merged=key.startswith(_MERGED_LISTS))
        elif key == "run_history" and isinstance(member, list):
            by_age = sorted(
                range(len(member)), key=lambda at: (views.read_when(member[at]), at), reverse=True
            )
            left[key], past = keeper.split(
                where, member, is_merged=False, newest=set(by_age[:KEPT_RUNS])
            )
        if past:
            moved.append(Moved(where, past))

    if moved:
        rest["skill_state"] = left
    return moved
