"""One checkpoint merged in memory with what the upstream has of it, by the rules that the driver would run with."""

from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.document import merge_texts
from checkpoint_git.merge.identity import canonical_text
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.explain_merge import Schemas, merge_ancestors
from checkpoint_git.tools.merges.facts import Clash, Meeting

_LONGEST_VALUE = 200


def meet_all(cwd: str, files: Sequence[Versions], choices: Choices, now: int) -> list[Meeting]:
    """What becomes of each file. cwd: a folder of the repository. choices: what the driver was set up with."""
    schemas = Schemas(choices)
    meetings = []
    for file in files:
        meeting = meet(file, load_schema(schemas, file.path), choices.narrative, now)
        by_lines = meeting.kind == "text" and _merges_by_lines(cwd, file)
        meetings.append(Meeting(file.path, "clean") if by_lines else meeting)
    return meetings


def load_schema(schemas: Schemas, path: str) -> dict[str, Any]:
    """The schema that the driver merges a path by: without the clone's private one where that cannot be read."""
    try:
        return schemas.load(path)
    except CheckpointError:
        return Schemas(schemas.choices._replace(schema="")).load(path)


def meet(file: Versions, schema: dict[str, Any], narrative: str, now: int) -> Meeting:
    """What becomes of one file: first is this branch's version, second the upstream's."""
    base = merge_ancestors(file.bases, schema)
    if file.first == base or file.first == file.second:
        return Meeting(file.path, "whole")
    if file.first is None or file.second is None:
        return Meeting(file.path, "removed-here" if file.first is None else "removed-there")
    texts = []
    for whose, data in (("the common base", base), ("this branch's version", file.first), ("theirs", file.second)):
        try:
            texts.append(None if data is None else _read_json(data))
        except JsonTextError as error:
            return Meeting(file.path, "text", detail=f"{whose} cannot be read as JSON: {error.message}")
    merged = merge_texts(texts[0], texts[1] or "", texts[2] or "", schema, narrative)
    if merged.conflicts:
        clashes = tuple(Clash(one.where, _said(one.sides[0]), _said(one.sides[2])) for one in merged.conflicts)
        return Meeting(file.path, "conflict", clashes)
    errors = find_new_errors(file.path, merged.text.encode(), (file.first, file.second), now)
    return Meeting(file.path, "clean", invalid=f"{errors[0].where or '/'}: {errors[0].message}" if errors else "")


def _read_json(data: bytes) -> str:
    text = decode(data)
    scan_tokens(text)
    return text


def _merges_by_lines(cwd: str, file: Versions) -> bool:
    """Whether git's line merge, which takes over where a version is no JSON, is clean and makes a document."""
    base = file.bases[0].data if file.bases else None
    both = read_line_merges(cwd, base or b"", file.first or b"", file.second or b"")
    if both is None or both[0] != both[1]:
        return False
    try:
        return bool(_read_json(both[0]))
    except JsonTextError:
        return False


def _said(side: Any) -> str:
    """One side of a conflict as the driver says it."""
    if side is None:
        return "nothing"
    return shorten(canonical_text(side.value), _LONGEST_VALUE) if hasattr(side, "value") else "another order"
