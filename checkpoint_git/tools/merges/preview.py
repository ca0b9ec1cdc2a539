"""One checkpoint merged in memory with what the upstream has of it, by the rules that the driver would run with."""

from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.conflicts import list_clashes
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.facts import Meeting
from checkpoint_git.tools.merges.judged import Schemas

_NAMES = {"base": "the common base", "ours": "this branch's version", "theirs": "theirs"}


def meet_all(cwd: str, files: Sequence[Versions], choices: Choices, now: int) -> list[Meeting]:
    """What becomes of each file. cwd: a folder of the repository. choices: what the driver was set up with."""
    schemas = Schemas(choices)
    meetings = []
    for file in files:
        meeting = meet(file, schemas.load(file.path), choices.narrative, now)
        by_lines = meeting.kind == "text" and _merges_by_lines(cwd, file)
        meetings.append(Meeting(file.path, "clean") if by_lines else meeting)
    return meetings


def meet(file: Versions, schema: dict[str, Any], narrative: str, now: int) -> Meeting:
    """What becomes of one file: first is this branch's version, second the upstream's."""
    base = merge_bases(file.bases, schema)
    if file.first == base or file.first == file.second:
        return Meeting(file.path, "whole")
    if file.first is None or file.second is None:
        return Meeting(file.path, "removed-here" if file.first is None else "removed-there")
    try:
        merged = merge_file(base, file.first, file.second, schema, narrative=narrative)
    except JsonTextError as error:
        return Meeting(file.path, "text", detail=f"{_NAMES[error.version]} cannot be read as JSON: {error.message}")
    if merged.conflicts:
        return Meeting(file.path, "conflict", list_clashes(merged))
    errors = find_new_errors(file.path, merged.data, (file.first, file.second), now)
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
