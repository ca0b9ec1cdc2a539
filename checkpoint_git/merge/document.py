"""Two versions of a document and their base, as texts, made one text: clean, or with conflicts marked in it."""

from checkpoint_git.core.jsontext import Node, join_pointer, parse, scan_tokens
from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS, Alternatives, Built, Choice, Entry, Writer, picked
from checkpoint_git.merge.places import CONFLICT, Merging, append_superseded, merge_place
from checkpoint_git.merge.strategy import NONE, REQUIRE, Strategies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from checkpoint_git.core.jsonwrite import Result
    from checkpoint_git.merge.strategy import Schema


class Merged:
    """What a merge made.

    text: the merged document; where there are conflicts, with markers. conflicts: the choices left to a person, one a
    conflict (a group's members share one), empty for a clean merge. result and merging: what the text was laid out
    from; see decide.py.
    """

    __slots__ = ("conflicts", "merging", "result", "text")

    def __init__(self, text: str, conflicts: "list[Choice]", merging: Merging, result: "Result") -> None:
        self.text = text
        self.conflicts = conflicts
        self.merging = merging
        self.result = result


def merge_texts(
    base: "str | None",
    ours: str,
    theirs: str,
    schema: "Schema" = NONE,
    narrative: str = CONFLICT,
    marker_size: int = 7,
    inner: bool = False,
) -> Merged:
    """The three-way merge of JSON texts; base is None where the file is new on both sides.

    schema: whose x-merge keywords say how places merge. narrative: "newest" lets groups that name a "superseded" list
    follow the newer side. inner: a merge of merge bases, which must stay valid JSON: a conflict takes base's value
    and is not marked. Raises JsonTextError where one of the three is not JSON as we accept it.
    """
    roots = (None if base is None else parse(base), parse(ours), parse(theirs))
    merging = Merging(Strategies(schema), roots[0], roots[1], roots[2], narrative)
    requirements = schema.get(REQUIRE) or ()
    if any("same" in each and _became_two(each["same"][1:], roots) for each in requirements):
        return write_result(merging, Choice("", roots[1], roots[0], roots[2]), marker_size, inner)
    result = merge_place(merging, merging.strategies.resolve(schema), "", roots[0], roots[1], roots[2])
    assert result is not None  # both sides are there
    if merging.superseded:
        result = append_superseded(result, merging)
    if isinstance(result, Built) and isinstance(result.anchor.value, dict):
        _enforce(requirements, result, merging)
    return write_result(merging, result, marker_size, inner)


def write_result(merging: Merging, result: "Result", marker_size: int = 7, inner: bool = False) -> Merged:
    """A result as text, read again before it is called clean."""
    writer = Writer(merging.ours, merging.base, merging.theirs)
    segments = writer.lay_out(result, "")
    before, after = _surroundings(merging)
    if not inner and any(isinstance(segment, Alternatives) for segment in segments):
        for side in (OURS, THEIRS):
            scan_tokens(before + picked(segments, side) + after)
        text = _marked([before, *segments, after], marker_size, writer.style.eol)
        return Merged(text, _choices(result), merging, result)
    side = OURS if merging.base is None and isinstance(result, Choice) else BASE
    text = before + picked(segments, side) + after
    scan_tokens(text)
    return Merged(text, [], merging, result)


def _marked(segments: "list[str | Alternatives]", size: int, eol: str) -> str:
    from checkpoint_git.core.terminal_text import escape_controls
    from checkpoint_git.merge.markers import split_regions, write_markers

    return write_markers(split_regions(segments), size, eol, lambda where: escape_controls(where) or "/")


def _choices(result: "Any") -> "list[Choice]":
    """Every conflict in the result once, in the document's order."""
    found: dict[str, Choice] = {}
    stack: list[tuple[str, Any]] = [("", result)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, Choice):
            if part.group not in found or part.where == where:
                found[part.group or part.where] = part
        elif isinstance(part, Built):
            names = [number if entry.key is None else entry.key for number, entry in enumerate(part.entries)]
            stack += [
                (join_pointer(where, name), entry.result)
                for name, entry in zip(reversed(names), reversed(part.entries), strict=True)
            ]
    return list(found.values())


def _surroundings(merging: Merging) -> "tuple[str, str]":
    """What stands before and after the document's value, three-way: a byte order mark, the final newline."""
    ours, theirs = merging.ours, merging.theirs
    before, after = _before(ours), _after(ours)
    if merging.base is None:
        return before, after
    return (
        _before(theirs) if before == _before(merging.base) else before,
        _after(theirs) if after == _after(merging.base) else after,
    )


def _before(root: Node) -> str:
    return root.text[: root.start]


def _after(root: Node) -> str:
    return root.text[root.end :]


def _became_two(name: str, roots: "tuple[Node | None, Node, Node]") -> bool:
    """Whether the sides are records of two things by now: both changed, and the member that names them differs."""
    base, ours, theirs = roots
    if base is not None and (ours.value == base.value or theirs.value == base.value):
        return False
    named = [side.value.get(name) if type(side.value) is dict else None for side in (ours, theirs)]
    return bool(named[0] != named[1])


def _enforce(requirements: "Any", root: Built, merging: Merging) -> None:
    """Places that two valid sides can only make invalid together are given back to a person.

    A requirement is {"where": "/list", "non_empty_when": {"/field": value}}: two sides that each took another item off
    a list must not leave it empty while the field says that there is work. {"steps": ...} is told in steps.py, and
    {"same": "/field"} was looked at before the sides were merged.
    """
    entries = {entry.key: entry for entry in root.entries}
    sides = [merging.ours.value, merging.theirs.value]
    for requirement in requirements:
        if "steps" in requirement:
            from checkpoint_git.merge.steps import enforce_steps

            enforce_steps(requirement, entries, merging)
        if "where" not in requirement:
            continue
        entry = entries.get(requirement["where"][1:])
        if entry is None or not _is_empty(entry.result) or any(_breaks(requirement, side) for side in sides):
            continue
        conditions = requirement["non_empty_when"].items()
        if all(_may_be(entries.get(field[1:]), expected) for field, expected in conditions):
            _give_back(entry, requirement["where"], merging)


def _breaks(requirement: "Any", value: "Any") -> bool:
    """Whether a document breaks the requirement already: then the merge is not to blame."""
    conditions = requirement["non_empty_when"].items()
    return value.get(requirement["where"][1:]) == [] and all(value.get(field[1:]) == want for field, want in conditions)


def _is_empty(result: "Result") -> bool:
    return not result.entries if isinstance(result, Built) else isinstance(result, Node) and result.value == []


def _may_be(entry: "Entry | None", expected: "Any") -> bool:
    result = None if entry is None else entry.result
    if isinstance(result, Choice):
        return any(side is not None and side.value == expected for side in result.sides)
    return isinstance(result, Node) and bool(result.value == expected)


def _give_back(entry: Entry, where: str, merging: Merging) -> None:
    name = entry.key or ""
    sides = [
        node.members.get(name) if node is not None and isinstance(node.members, dict) else None
        for node in (merging.ours, merging.base, merging.theirs)
    ]
    entry.result = Choice(where, sides[0], sides[1], sides[2])
