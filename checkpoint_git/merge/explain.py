"""What a merge that was made did to each entry of a document, found from the parents, their base and the result."""

from collections.abc import Iterator

from checkpoint_git.core.jsontext import JsonTextError, Node, decode, join_pointer, parse
from checkpoint_git.core.jsonwrite import OURS, THEIRS
from checkpoint_git.merge.conflicts import decide
from checkpoint_git.merge.explain_places import explain_place
from checkpoint_git.merge.explanation import THE_FILE, Comparison, Entry, ExplainContext, Explanation, Place
from checkpoint_git.merge.file import Merged, merge_documents
from checkpoint_git.merge.places import AUTO, is_same
from checkpoint_git.merge.strategy import Schema
from checkpoint_git.merge.verdict import FAILURES, OTHER, Sides, Verdict

VERSIONS = ("base", "first", "second", "result")
_BY_RULE = "as the schema merges it"
_EXCUSABLE = (*FAILURES, "resurrected")


def explain(
    base: bytes | None,
    first: bytes | None,
    second: bytes | None,
    result: bytes | None,
    schema: "Schema",
    narrative: str = AUTO,
) -> Explanation:
    """What the merge of the parents `first` and `second` did, given what was committed as its result. None: a version
    has no such file. narrative: the policy for the comparison with our own merge. Raises nothing: what is not JSON is
    in `unreadable`, and such a result is a failure.
    """
    nodes: list[Node | None] = []
    faults: dict[str, JsonTextError] = {}
    for version, data in zip(VERSIONS, (base, first, second, result), strict=True):
        try:
            nodes.append(None if data is None else parse(decode(data)))
        except JsonTextError as error:
            faults[version] = error
    if faults:
        unreadable = tuple((version, fault.message) for version, fault in faults.items())
        fault = faults.get("result")
        if fault is None:
            return Explanation((), 0, unreadable, None)
        verdict: Verdict = "duplicated" if fault.code == "json/duplicate-key" else "mixed-up"
        note = f"the result cannot be read: line {fault.line}: {fault.message}"
        return Explanation((Entry("", THE_FILE, verdict, "", note, None, None, None, None),), 0, unreadable, None)
    roots = Sides(*nodes)
    context = _explain_roots(schema, roots)
    ours, entries = None, context.entries
    if roots.first is not None and roots.second is not None and roots.result is not None:
        merged = merge_documents(roots.base, roots.first, roots.second, schema, narrative)
        ours = _compare(merged, roots.result)
        if any(entry.verdict in _EXCUSABLE for entry in entries):
            entries = _excuse_own(entries, merged, roots, schema)
    return Explanation(tuple(entries), context.agreed, (), ours)


def _explain_roots(schema: "Schema", roots: Sides) -> ExplainContext:
    context = ExplainContext(schema, roots)
    explain_place(context, Place(context.strategies.resolve(schema), "", ""), roots)
    return context


def _compare(merged: Merged, result: Node) -> Comparison:
    if merged.conflicts:
        return Comparison(False, False, tuple(conflict.where for conflict in merged.conflicts), ())
    differences = tuple(_find_differences("", parse(merged.text), result))
    return Comparison(True, not differences, (), differences)


def _find_differences(where: str, left: Node | None, right: Node | None) -> Iterator[str]:
    # the places below which two documents differ; lists are not looked into
    if is_same(left, right):
        return
    if left is None or right is None or type(left.members) is not dict or type(right.members) is not dict:
        yield where
        return
    for key in {**left.members, **right.members}:
        yield from _find_differences(join_pointer(where, key), left.members.get(key), right.members.get(key))


def _excuse_own(entries: list[Entry], merged: Merged, roots: Sides, schema: "Schema") -> list[Entry]:
    """No result is blamed for what the schema's rules ask for; where ours has conflicts, either decision counts."""
    texts = [merged.text]
    if merged.conflicts:
        texts = [decide(merged, {one.where: side for one in merged.conflicts}).text for side in (OURS, THEIRS)]
    own: set[tuple[str, str, str | None, str | None]] = set()
    for text in texts:
        found = _explain_roots(schema, roots._replace(result=parse(text))).entries
        own.update(_key(entry) for entry in found if entry.verdict in _EXCUSABLE)
    return [_excused(entry, bool(merged.conflicts)) if _key(entry) in own else entry for entry in entries]


def _key(entry: Entry) -> tuple[str, str, str | None, str | None]:
    return (entry.name, entry.verdict, entry.first, entry.second)


def _excused(entry: Entry, decided: bool) -> Entry:
    winner = OTHER[entry.side] if entry.verdict in ("lost", "resurrected") else ""
    if winner not in ("first", "second"):
        return entry._replace(verdict="combined", side="", note=_BY_RULE)
    taken: Verdict = "first" if winner == "first" else "second"
    return entry._replace(verdict="decided" if decided else taken, side=winner, note=_BY_RULE)
