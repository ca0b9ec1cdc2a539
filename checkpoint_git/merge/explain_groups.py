"""What a merge did to members that belong together: a group comes from one parent as a whole, or is a mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checkpoint_git.merge.explain import Explaining, Place, judge_record
from checkpoint_git.merge.places import is_same, members_of, newer_side
from checkpoint_git.merge.strategy import merge_rule
from checkpoint_git.merge.verdict import OTHER, Judgement, Side, Sides, Verdict, changed_by_both, is_unchanged, judge

if TYPE_CHECKING:
    from checkpoint_git.core.jsontext import Node
    from checkpoint_git.merge.strategy import Schema


def explain_groups(work: Explaining, place: Place, sides: Sides) -> set[str]:
    """The members that belong together, each group explained as one; the names of all of them."""
    members = [members_of(node) for node in sides]
    groups: dict[str, list[str]] = {}
    for key, schema in (place.schema.get("properties") or {}).items():
        rule = merge_rule(schema)
        if rule.get("strategy") == "group" and any(key in version for version in members):
            groups.setdefault(rule["name"], []).append(key)
    for keys in groups.values():
        leaves = {key: Sides(*(version.get(key) for version in members)) for key in keys}
        _explain_group(work, place, leaves)
    return {key for keys in groups.values() for key in keys}


def _explain_group(work: Explaining, place: Place, leaves: dict[str, Sides]) -> None:
    contested = [key for key, sides in leaves.items() if changed_by_both(sides)]
    winners = {found.side for key in contested if (found := judge(leaves[key])).verdict == "decided"}
    if {"first", "second"} <= winners:
        _note_blend(work, place, leaves, contested)
        return
    whole = _find_whole_side(leaves) if contested else ""
    rule = merge_rule(place.schema["properties"][next(iter(leaves))])
    for key, sides in leaves.items():
        found = judge_record(sides) if key in contested else judge(sides)
        if whole and found.verdict in ("lost", "decided"):
            found = _judge_group(work, rule, leaves, whole, found)
        if not is_unchanged(sides):
            work.note(place.member(work.strategies, key), sides, found)


def _find_whole_side(leaves: dict[str, Sides]) -> Side:
    """The parent that a group comes from as a whole, but for what was written in the merge; "" for neither."""
    for side in ("first", "second"):
        if all(is_same(sides.result, getattr(sides, side)) or judge(sides).verdict == "edited"
               for sides in leaves.values()):  # fmt: skip
            return "first" if side == "first" else "second"
    return ""


def _judge_group(work: Explaining, rule: Schema, leaves: dict[str, Sides], whole: Side, alone: Judgement) -> Judgement:
    """A leaf of which one parent's value is gone, in a group that comes from the other as a whole.

    alone: what it would be called outside of its group.
    """
    newer: Side = ""
    if "newest" in rule:
        name, _, rest = rule["newest"][1:].partition("/")
        found = newer_side(leaves[name].first, leaves[name].second, f"/{rest}") if name in leaves else 0
        newer = "first" if found > 0 else "second" if found < 0 else ""
    if not newer:
        kept = _is_set_aside(work, rule, {key: getattr(sides, OTHER[whole]) for key, sides in leaves.items()})
        if kept:
            return Judgement(_taken(whole), whole, f"the other is kept in {rule['superseded']}")
        return Judgement("decided", whole, "" if alone.verdict == "decided" else f"with the rest of {rule['name']}")
    if newer == whole:
        return Judgement(_taken(whole), whole, f"the newer {rule['name']}")
    return Judgement("lost", newer, f"the older {rule['name']} was taken")


def _taken(side: Side) -> Verdict:
    return "first" if side == "first" else "second"


def _is_set_aside(work: Explaining, rule: Schema, leaves: dict[str, Node | None]) -> bool:
    aside = members_of(work.roots.result).get(str(rule.get("superseded", "")))
    records = aside.members if aside is not None and type(aside.members) is list else []
    return any(all(is_same(members_of(record).get(key), leaf) for key, leaf in leaves.items()) for record in records)


def _note_blend(work: Explaining, place: Place, leaves: dict[str, Sides], contested: list[str]) -> None:
    """A group whose parts contradict each other: some say what one parent said, some what the other said."""
    taken: dict[Side, list[str]] = {"first": [], "second": []}
    for key in contested:
        found = judge(leaves[key])
        if found.verdict == "decided":
            taken[found.side].append(key)
    note = f"{', '.join(taken['first'])} from the first parent, {', '.join(taken['second'])} from the second"
    for key, sides in leaves.items():
        if key == contested[0]:
            work.note(place.member(work.strategies, key), sides, Judgement("blended", "both", note))
        elif not is_unchanged(sides):
            work.note(place.member(work.strategies, key), sides, judge(sides))
