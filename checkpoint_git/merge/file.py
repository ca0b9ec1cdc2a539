"""One file's three versions merged: the one way to do it, for the driver and for whatever predicts
or judges merges.
"""

from checkpoint_git.core.jsontext import (
    JsonTextError,
    Node,
    decode,
    join_pointer,
    parse,
    scan_tokens,
)
from checkpoint_git.merge.layout import Alternatives, ResultWriter, lays_out_theirs, picked
from checkpoint_git.merge.places import AUTO, CONFLICT, MergeContext, merge_place
from checkpoint_git.merge.result import BASE, OURS, THEIRS, Built, Choice, Entry
from checkpoint_git.merge.strategy import NONE, REQUIRE, Schema

LINES_ENDINGS = (".jsonl", ".ndjson")  # of the names of JSON Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from checkpoint_git.merge.result import Result
    from checkpoint_git.merge.validity import Judge

    class Ancestor(Protocol):
        """A file's bytes in one of several merge bases, None if it has none; and the same in that
        one's bases.
        """

        @property
        def data(self) -> bytes | None: ...

        @property
        def below(self) -> "Sequence[Ancestor]": ...


class Merged:
    """text: with markers where there are conflicts. conflicts: the choices left to the user, one a
    conflict (a group's members share one). result and context: what the text was laid out from; see
    conflicts.decide.
    """

    __slots__ = ("conflicts", "context", "result", "text")

    def __init__(
        self, text: str, conflicts: "list[Choice]", context: MergeContext, result: "Result"
    ) -> None:
        self.text = text
        self.conflicts = conflicts
        self.context = context
        self.result = result

    @property
    def data(self) -> bytes:
        return self.text.encode()


def merge_file(
    base: "bytes | None",
    ours: bytes,
    theirs: bytes,
    schema: "Schema" = NONE,
    *,
    narrative: str = AUTO,
    marker_size: int = 7,
    inner: bool = False,
    path: str = "",
    judge: "Judge | None" = None,
) -> Merged:
    """The three-way merge of a file; base is None, or empty as git's drivers get it, where it is
    new on both sides. schema: whose x-merge keywords say how places merge. narrative: whether
    groups that name a "superseded" list follow the newer side: "auto", "newest" or "conflict".
    inner: a merge of merge bases, which must stay valid JSON: a conflict takes base's value and is
    not marked. path: its ending may say that the file is JSON Lines. judge: of a schema that a user
    wrote, as core.user_schema makes it: no result is clean that it refuses. Raises JsonTextError,
    which names the version, where one of the three is not JSON as we accept it: an unreadable base
    is never taken for an empty one, since that would bring removed items back.
    """
    roots, in_lines = read_versions(base, ours, theirs, path)
    assert roots[1] is not None
    assert roots[2] is not None
    return merge_documents(
        roots[0], roots[1], roots[2], schema, narrative, marker_size, inner, in_lines, judge
    )


def read_versions(
    base: "bytes | None", ours: bytes, theirs: bytes, path: str = ""
) -> "tuple[list[Node | None], bool]":
    """Return the documents of base, ours and theirs as merge_file takes them, and whether they are
    JSON Lines.

    A file is JSON Lines if its name says so, or if one version is not a JSON document and each
    version begins with a line that is one. Raises JsonTextError, which names the version.
    """
    fault: JsonTextError | None = None
    if path.endswith(LINES_ENDINGS):
        try:
            return _read_lines(base, ours, theirs), True
        except JsonTextError as error:
            fault = error  # but the file may be a single document

    try:
        old = _read_version("base", base, parse) if base else None
        return [
            old,
            _read_version("ours", ours, parse),
            _read_version("theirs", theirs, parse),
        ], False
    except JsonTextError as error:
        from checkpoint_git.merge.lines import are_lines  # few merges come here

        if fault is None and are_lines([base or b"", ours, theirs]):
            return _read_lines(base, ours, theirs), True
        raise fault or error from None


def _read_lines(base: "bytes | None", ours: bytes, theirs: bytes) -> "list[Node | None]":
    from checkpoint_git.core.jsonlines import parse_lines  # few merges come here

    versions = (("base", base or b""), ("ours", ours), ("theirs", theirs))
    return [_read_version(name, data, parse_lines) for name, data in versions]


def _read_version(name: str, data: bytes, read: "Callable[[str], Node]") -> Node:
    try:
        return read(decode(data))
    except JsonTextError as error:
        error.version = name
        raise


def merge_documents(
    base: "Node | None",
    ours: Node,
    theirs: Node,
    schema: "Schema",
    narrative: str = AUTO,
    marker_size: int = 7,
    inner: bool = False,
    in_lines: bool = False,
    judge: "Judge | None" = None,
) -> Merged:
    """Return the merge of three documents that were read already. in_lines: as lists of the records
    of JSON Lines.
    """
    changed = _find_only_changed(base, ours, theirs)
    if changed is not None:
        return Merged(changed.text, [], MergeContext(schema, base, changed, changed), changed)
    return _merge_changed(
        base, ours, theirs, schema, narrative, marker_size, inner, in_lines, judge
    )


def _merge_changed(
    base: "Node | None",
    ours: Node,
    theirs: Node,
    schema: "Schema",
    narrative: str,
    marker_size: int,
    inner: bool,
    in_lines: bool,
    judge: "Judge | None",
) -> Merged:
    # both sides changed the text
    swapped = lays_out_theirs(base, ours, theirs)
    sides = (theirs, ours) if swapped else (ours, theirs)
    context = MergeContext(schema, base, *sides, CONFLICT if inner else narrative)
    context.in_lines = in_lines
    requirements = schema.get(REQUIRE) or ()
    if any(
        "same" in each and _identity_diverged(each["same"][1:], context) for each in requirements
    ):
        return write_result(context, Choice("", ours, base, theirs), marker_size, inner)

    result = merge_place(
        context, context.strategies.resolve(schema), "", base, context.ours, context.theirs
    )
    assert result is not None  # both sides are there
    if context.superseded:
        from checkpoint_git.merge.superseded import append_superseded

        result = append_superseded(result, context)

    if isinstance(result, Built) and isinstance(result.anchor.value, dict):
        for requirement in requirements:
            if "steps" in requirement:
                from checkpoint_git.merge.steps import enforce_steps

                enforce_steps(requirement, {entry.key: entry for entry in result.entries}, context)
        ask_questions(result, context)

    if judge is not None:
        from checkpoint_git.merge.validity import enforce_schema  # few merges come here

        result = enforce_schema(judge, result, context)

    if swapped:
        context.ours, context.theirs = ours, theirs
        result = _swap_sides(result)

    return write_result(context, result, marker_size, inner)


def _find_only_changed(base: "Node | None", ours: Node, theirs: Node) -> "Node | None":
    """Return the side whose text is the result as it is, because the other side's is the same, or
    base's.
    """
    if theirs.text == ours.text or (base is not None and theirs.text == base.text):
        return ours
    return theirs if base is not None and ours.text == base.text else None


def _swap_sides(result: "Any") -> "Any":
    if isinstance(result, Choice):
        ours, base, theirs = map(_swap_sides, result.sides)
        return Choice(result.where, theirs, base, ours, result.group, result.note)
    if isinstance(result, Built):
        entries = [
            Entry(entry.key, _swap_sides(entry.result), entry.source) for entry in result.entries
        ]
        return Built(result.anchor, entries, result.like, result.base)
    return result


def merge_bases(bases: "Sequence[Ancestor]", schema: "Schema", path: str = "") -> "bytes | None":
    """The virtual base of a criss-cross merge, as git makes it: the merge bases merged one after
    the other. Each is merged with the result of those before it, over the merge of their own bases;
    conflicts take that base's value. None if there is no base, or it has no such file.
    """
    merged = bases[0].data if bases else None
    for other in bases[1:]:
        below, theirs = merge_bases(other.below, schema, path), other.data
        if merged is None or theirs is None:
            present = theirs if merged is None else merged
            merged = None if present == below else present
            continue
        try:
            merged = merge_file(below, merged, theirs, schema, inner=True, path=path).data
        except JsonTextError:
            merged = merged if theirs == below else theirs

    return merged


def write_result(
    context: MergeContext, result: "Result", marker_size: int = 7, inner: bool = False
) -> Merged:
    writer = _make_writer(context)
    segments = writer.lay_out_document(result)
    before, after = _surroundings(context, writer.style.eol)
    check: Any = scan_tokens
    if context.in_lines:
        from checkpoint_git.core.jsonlines import parse_lines as check
        from checkpoint_git.merge.lines import fit_end

        after = fit_end(segments, after)

    # the whole text is read again before it is called clean
    if not inner and any(isinstance(segment, Alternatives) for segment in segments):
        from checkpoint_git.merge.markers import write_marked

        for side in (OURS, THEIRS):
            check(before + picked(segments, side) + after)
        text = write_marked([before, *segments, after], marker_size, writer.style.eol)
        return Merged(text, _list_choices(result), context, result)

    side = OURS if context.base is None and isinstance(result, Choice) else BASE
    text = before + picked(segments, side) + after
    check(text)
    return Merged(text, [], context, result)


def _make_writer(context: MergeContext) -> ResultWriter:
    versions = (context.base, context.ours, context.theirs)
    if context.in_lines:
        from checkpoint_git.merge.lines import LineWriter  # few merges come here

        return LineWriter(context.target, *versions)
    return ResultWriter(context.target, *versions)


def _surroundings(context: MergeContext, eol: str) -> "tuple[str, str]":
    # what is before and after the document's value, three-way: a byte order mark, the final newline
    other = context.theirs if context.target is context.ours else context.ours
    (before, after), base, (before_other, after_other) = [
        ("", "") if root is None else (root.text[: root.start], root.text[root.end :])
        for root in (context.target, context.base, other)
    ]
    if context.base is not None:
        before = before_other if before == base[0] else before
        texts = [after, base[1], after_other]
        is_one_line = "\n" not in context.target.source and "\n" not in before
        if not is_one_line:  # in more lines a line end belongs to the layout, which is the target's
            texts = [text.replace("\r\n", "\n") for text in texts]
        kept, old, new = texts
        if kept == old != new:
            after = new if is_one_line else new.replace("\n", eol)

    return before, after


def _list_choices(result: "Any") -> "list[Choice]":
    # every conflict once, in the document's order; for a group the choice at the place that names
    # it
    found: dict[str, Choice] = {}
    for where, choice in placed_choices(result):
        if choice.group not in found or choice.where == where:
            found[choice.group or choice.where] = choice
    return list(found.values())


def placed_choices(result: "Any") -> "list[tuple[str, Choice]]":
    """(place, choice) of the outermost choices of a result, in the document's order."""
    found: list[tuple[str, Choice]] = []
    stack: list[tuple[str, Any]] = [("", result)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, Choice):
            found.append((where, part))
        elif isinstance(part, Built):
            names = [
                number if entry.key is None else entry.key
                for number, entry in enumerate(part.entries)
            ]
            pairs = zip(reversed(names), reversed(part.entries), strict=True)
            stack += [(join_pointer(where, name), entry.result) for name, entry in pairs]

    return found


def _identity_diverged(name: str, context: MergeContext) -> bool:
    # the sides are records of two things by now: both changed, and the member that names them
    # differs
    base, ours, theirs = context.base, context.ours, context.theirs
    if base is not None and (ours.value == base.value or theirs.value == base.value):
        return False
    named = [side.value.get(name) if type(side.value) is dict else None for side in (ours, theirs)]
    return bool(named[0] != named[1])


def ask_questions(result: "Result", context: MergeContext) -> None:
    """Make a conflict of each list of the result that must not be empty as the result is, and is:
    what is next? A requirement is {"where": "/list", "non_empty_when": {"/field": value}}.
    {"steps": ...} is enforced in steps.py, and {"same": "/field"} was looked at before the sides
    were merged.
    """
    if not isinstance(result, Built):
        return  # a side as it is
    for requirement in context.strategies.root.get(REQUIRE) or ():
        if "where" in requirement:
            # many schemas require nothing
            from checkpoint_git.merge.questions import (
                ask_what_is_next,
            )

            ask_what_is_next(requirement, result, context)
