"""Preview what a merge with the upstream would make of each checkpoint."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.jsontext import JsonTextError
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import merge_as_text
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.merge.conflicts import Clash, list_clashes
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.audited_file import Schemas

_NAMES = {"base": "the common base", "ours": "this branch's version", "theirs": "theirs"}


class FilePreview(NamedTuple):
    """kind: "whole" (only the upstream changed it), "clean" (both did, and it merges), "conflict"
    (at clashes), "removed-here" and "removed-there" (one side removed what the other changed),
    "text" (not JSON, so that git merges lines).
    detail: for "text", the reason. invalid: the first error of the merged document, if both sides
    are valid. in_the_way: the file has uncommitted changes.
    driven: git would give the file to our driver in this clone.
    """

    path: str
    kind: Literal["whole", "clean", "conflict", "removed-here", "removed-there", "text"]
    clashes: tuple[Clash, ...] = ()
    detail: str = ""
    invalid: str = ""
    in_the_way: bool = False
    driven: bool = True


def preview_files(
    cwd: str, files: Sequence[Versions], choices: Choices, now: int
) -> list[FilePreview]:
    """Return a preview of each file. choices: what this clone's driver was set up with. now:
    seconds since 1970, to validate the results.
    """
    schemas = Schemas(choices)
    previews = []
    for file in files:
        preview = preview_file(file, schemas.load(file.path), choices.narrative, now)
        if preview.kind == "text" and _merges_as_text(cwd, file):
            preview = FilePreview(file.path, "clean")
        previews.append(preview)

    return previews


def _merges_as_text(cwd: str, file: Versions) -> bool:
    base = file.bases[0].data if file.bases else None
    return merge_as_text(cwd, base, file.first or b"", file.second or b"").is_clean


def preview_file(file: Versions, schema: dict[str, Any], narrative: str, now: int) -> FilePreview:
    """Return a preview of a file: its first version is this branch's, its second upstream's."""
    base = merge_bases(file.bases, schema, file.path)
    if file.first == base or file.first == file.second:
        return FilePreview(file.path, "whole")
    if file.first is None:
        return FilePreview(file.path, "removed-here")
    if file.second is None:
        return FilePreview(file.path, "removed-there")

    try:
        merged = merge_file(
            base, file.first, file.second, schema, narrative=narrative, path=file.path
        )
    except JsonTextError as error:
        detail = f"{_NAMES[error.version]} cannot be read as JSON: {error.message}"
        return FilePreview(file.path, "text", detail=detail)

    if merged.conflicts:
        return FilePreview(file.path, "conflict", list_clashes(merged))
    errors = find_new_errors(file.path, merged.data, (file.first, file.second), now)
    if not errors:
        return FilePreview(file.path, "clean")
    invalid = f"{errors[0].where or '/'}: {errors[0].message}"
    return FilePreview(file.path, "clean", invalid=invalid)
