"""The next merge with the upstream, looked at before it happens; nothing is written and no server is asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.disk.discover import Place
from checkpoint_git.git import upstream
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.conflicts import read_line_merges
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.git.run import offline_env
from checkpoint_git.merge.conflicts import list_clashes
from checkpoint_git.merge.file import merge_bases, merge_file
from checkpoint_git.protocols.write import find_new_errors
from checkpoint_git.tools.merges.facts import FilePreview, Upstream
from checkpoint_git.tools.merges.judged import Schemas


def read_upstream(
    place: Place, now: int, env: Mapping[str, str], is_asked: Callable[[str], bool] = lambda path: True
) -> Upstream | None:
    """What the next merge with the upstream would do to the checkpoints; None where there is nothing to merge with.

    now: seconds since 1970, for validating what would come out. is_asked: whether a path is to be looked at.
    """
    own = offline_env(env)
    tracking = upstream.read_tracking(place.top, place.git_dir or "", own)
    if tracking is None:
        return None
    found = Upstream(tracking.name, tracking.tracked, "there", tracking.ahead, tracking.behind)
    if not tracking.commit:
        return found._replace(state="gone")
    if not tracking.behind:
        return found
    try:
        touched = upstream.read_diverged_files(place.top, tracking, own)
    except CheckpointError as error:
        return found._replace(state="cut", detail=error.message)
    if not touched.bases:
        return found._replace(state="unrelated")
    files = [file for file in touched.files if is_asked(file.path) or is_asked(file.old_path)]
    if not files:
        return found
    settings = upstream.read_settings(place.top, tracking.branch, own)
    return found._replace(rebases=settings.rebases, previews=_preview(place.top, tracking, settings, files, now, own))


def _preview(
    top: str,
    tracking: upstream.Tracking,
    settings: upstream.Settings,
    files: list[Versions],
    now: int,
    env: Mapping[str, str],
) -> tuple[FilePreview, ...]:

    driven = upstream.read_driven(top, [file.path for file in files], env) if settings.installed else frozenset[str]()
    return tuple(
        preview._replace(
            in_the_way=upstream.is_in_the_way(top, file.old_path or file.path, tracking, settings, file.first is None),
            driven=file.path in driven,
        )
        for file, preview in zip(files, preview_files(top, files, settings.choices, now), strict=True)
    )


_NAMES = {"base": "the common base", "ours": "this branch's version", "theirs": "theirs"}


def preview_files(cwd: str, files: Sequence[Versions], choices: Choices, now: int) -> list[FilePreview]:
    """What becomes of each file. cwd: a folder of the repository. choices: what the driver was set up with."""
    schemas = Schemas(choices)
    previews = []
    for file in files:
        preview = preview_file(file, schemas.load(file.path), choices.narrative, now)
        by_lines = preview.kind == "text" and _merges_by_lines(cwd, file)
        previews.append(FilePreview(file.path, "clean") if by_lines else preview)
    return previews


def preview_file(file: Versions, schema: dict[str, Any], narrative: str, now: int) -> FilePreview:
    """What becomes of one file: first is this branch's version, second the upstream's."""
    base = merge_bases(file.bases, schema)
    if file.first == base or file.first == file.second:
        return FilePreview(file.path, "whole")
    if file.first is None or file.second is None:
        return FilePreview(file.path, "removed-here" if file.first is None else "removed-there")
    try:
        merged = merge_file(base, file.first, file.second, schema, narrative=narrative)
    except JsonTextError as error:
        return FilePreview(file.path, "text", detail=f"{_NAMES[error.version]} cannot be read as JSON: {error.message}")
    if merged.conflicts:
        return FilePreview(file.path, "conflict", list_clashes(merged))
    errors = find_new_errors(file.path, merged.data, (file.first, file.second), now)
    return FilePreview(file.path, "clean", invalid=f"{errors[0].where or '/'}: {errors[0].message}" if errors else "")


def _merges_by_lines(cwd: str, file: Versions) -> bool:
    # whether git's line merge, which takes over where a version is not JSON, is clean and makes a document
    base = file.bases[0].data if file.bases else None
    both = read_line_merges(cwd, base or b"", file.first or b"", file.second or b"")
    if both is None or both[0] != both[1]:
        return False
    try:
        scan_tokens(decode(both[0]))
    except JsonTextError:
        return False
    return True
