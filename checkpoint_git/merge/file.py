"""Merge three versions of a file, for the driver and for what predicts or judges merges."""

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
        """A file in one of several merge bases."""

        @property
        def data(self) -> bytes | None:
            """Return its bytes, None if that commit has no such file."""

        @property
        def below(self) -> "Sequence[Ancestor]":
            """Return the file in the merge bases of that merge base's parents."""


class Merged:
    """A merge.

    text: with markers around the conflicts. conflicts: the choices that are left to the user, one
    for each conflict (the members of a group share one). result and context: what the text was laid
    out from, see conflicts.decide.
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
    """Merge a file three-way.

    base: None, or empty as git's drivers get it, if the file is new on both sides.
    schema: its x-merge keywords say how places merge.
    narrative: whether groups that name a "superseded" list follow the newer side: "auto", "newest"
    or "conflict".
    inner: a merge of merge bases, which must stay valid JSON: a conflict takes base's value and is
    not marked.
    path: its ending may say that the file is JSON Lines.
    judge: of a schema that a user wrote, as core.user_schema makes it. A result that it refuses is
    not clean.

    Raises JsonTextError, which names the version, if one of the three is not JSON as we accept it.
    An unreadable base is never taken for an empty one, since that would bring removed items back.
    """
    (old, left, right), in_lines = read_versions(base, ours, theirs, path)
    assert left is not None
    assert right is not None
    return merge_documents(old, left, right, schema, narrative, marker_size, inner, in_lines, judge)


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
        roots: list[Node | None] = [None]
        if base:
            roots = [_read_version("base", base, parse)]
        roots.append(_read_version("ours", ours, parse))
        roots.append(_read_version("theirs", theirs, parse))
        return roots, False
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
    """Merge three documents that were read already, as merge_file does.

    in_lines: they are lists of the records of JSON Lines.
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
    """Merge three documents whose text both sides changed."""
    # While places are merged, the side whose layout the result gets is called ours.
    swapped = lays_out_theirs(base, ours, theirs)
    context = MergeContext(schema, base, ours, theirs, CONFLICT if inner else narrative)
    context.in_lines = in_lines
    if swapped:
        context.target = theirs
        context.ours, context.theirs = theirs, ours

    requirements = schema.get(REQUIRE) or ()
    for requirement in requirements:
        if "same" in requirement and _identity_diverged(requirement["same"][1:], context):
            return write_result(context, Choice("", ours, base, theirs), marker_size, inner)

    root = context.strategies.resolve(schema)
    result = merge_place(context, root, "", base, context.ours, context.theirs)
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
    """Return the side whose text is the result, because the other side has the same or base's."""
    if theirs.text == ours.text:
        return ours
    if base is not None and theirs.text == base.text:
        return ours
    if base is not None and ours.text == base.text:
        return theirs
    return None


def _swap_sides(result: "Any") -> "Any":
    """Return a result with ours and theirs exchanged in its conflicts."""
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
    """Return the virtual base of a criss-cross merge, as git makes it.

    The merge bases are merged one after the other: each with the result of those before it, over
    the merge of their bases. Conflicts take that base's value. None if there is no base, or it has
    no such file.
    """
    if not bases:
        return None
    merged = bases[0].data
    for other in bases[1:]:
        below = merge_bases(other.below, schema, path)
        merged = _merge_two_bases(below, merged, other.data, schema, path)
    return merged


def _merge_two_bases(
    below: "bytes | None",
    ours: "bytes | None",
    theirs: "bytes | None",
    schema: "Schema",
    path: str,
) -> "bytes | None":
    if ours is None or theirs is None:
        present = theirs if ours is None else ours
        if present == below:  # one removed what the other left as it was
            return None
        return present
    try:
        return merge_file(below, ours, theirs, schema, inner=True, path=path).data
    except JsonTextError:
        if theirs == below:
            return ours
        return theirs


def write_result(
    context: MergeContext, result: "Result", marker_size: int = 7, inner: bool = False
) -> Merged:
    """Return a result as text, which is read again before it is called clean."""
    writer = _make_writer(context)
    segments = writer.lay_out_document(result)
    before, after = _surroundings(context, writer.style.eol)
    check: Any = scan_tokens
    if context.in_lines:
        from checkpoint_git.core.jsonlines import parse_lines as check
        from checkpoint_git.merge.lines import fit_end

        after = fit_end(segments, after)

    if not inner and any(isinstance(segment, Alternatives) for segment in segments):
        from checkpoint_git.merge.markers import write_marked

        for side in (OURS, THEIRS):
            check(before + picked(segments, side) + after)
        text = write_marked([before, *segments, after], marker_size, writer.style.eol)
        return Merged(text, _list_choices(result), context, result)

    side = BASE
    if context.base is None and isinstance(result, Choice):
        side = OURS  # there is no other document
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
    """Return what is before and after the value of the merged document, three-way.

    That is a byte order mark, and the final newline. eol: the line end of the result.
    """
    other = context.theirs if context.target is context.ours else context.ours
    before, after = _around(context.target)
    before_other, after_other = _around(other)
    if context.base is not None:
        before_base, after_base = _around(context.base)
        if before == before_base:
            before = before_other
        is_one_line = "\n" not in context.target.source and "\n" not in before
        if is_one_line:
            if after == after_base:
                after = after_other
        else:  # a line end belongs to the layout, which is the target's
            kept, old, new = [
                text.replace("\r\n", "\n") for text in (after, after_base, after_other)
            ]
            if kept == old != new:
                after = new.replace("\n", eol)

    return before, after


def _around(root: Node) -> "tuple[str, str]":
    return root.text[: root.start], root.text[root.end :]


def _list_choices(result: "Any") -> "list[Choice]":
    """Return a choice for each conflict, in the order of the document.

    For a group it is the choice at the place that the conflict is named after.
    """
    found: dict[str, Choice] = {}
    for where, choice in placed_choices(result):
        if choice.group not in found or choice.where == where:
            found[choice.group or choice.where] = choice
    return list(found.values())


def placed_choices(result: "Any") -> "list[tuple[str, Choice]]":
    """Return the outermost choices of a result with their places, in the document's order."""
    found: list[tuple[str, Choice]] = []
    stack: list[tuple[str, Any]] = [("", result)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, Choice):
            found.append((where, part))
        elif isinstance(part, Built):
            below = []
            for number, entry in enumerate(part.entries):
                name = number if entry.key is None else entry.key
                below.append((join_pointer(where, name), entry.result))
            stack += reversed(below)

    return found


def _identity_diverged(name: str, context: MergeContext) -> bool:
    """Whether the sides are records of two things by now.

    They are if both changed, and the member that names the thing differs.
    """
    base, ours, theirs = context.base, context.ours, context.theirs
    if base is not None and (ours.value == base.value or theirs.value == base.value):
        return False
    return bool(_name_of(ours, name) != _name_of(theirs, name))


def _name_of(root: Node, name: str) -> "Any":
    if type(root.value) is dict:
        return root.value.get(name)
    return None


def ask_questions(result: "Result", context: MergeContext) -> None:
    """Make a conflict of each list of the result that is empty and must not be: what is next?

    Such a requirement is {"where": "/list", "non_empty_when": {"/field": value}}. {"steps": ...} is
    enforced in steps.py, and {"same": "/field"} was checked before the sides were merged.
    """
    if not isinstance(result, Built):
        return  # a side as it is
    for requirement in context.strategies.root.get(REQUIRE) or ():
        if "where" in requirement:
            from checkpoint_git.merge.questions import ask_what_is_next  # few merges come here

            ask_what_is_next(requirement, result, context)
