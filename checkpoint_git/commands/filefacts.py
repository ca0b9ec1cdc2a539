"""What became of the files that a checkpoint lists since it was written: gone, or changed.

The paths are a stranger's: nothing outside the repository is looked at, no symbolic link is followed out of it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

from checkpoint_git.checks.drift import find_missing_files
from checkpoint_git.checks.facts import Document
from checkpoint_git.checks.resume import is_covered
from checkpoint_git.checks.sheet import make_sheet
from checkpoint_git.checks.world import NamedFile
from checkpoint_git.commands.gathering import gather_world
from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import locate
from checkpoint_git.disk.discover import Place, is_inside
from checkpoint_git.repo.git import clean_env, run_git

_MAX_ENTRIES = 5_000  # that are looked at below one listed folder
_SPELLED_OUT = 5
_GRACE = DAY  # a session commits its files soon after it wrote its checkpoint


def read_drift(place: Place, document: Document, now: int, env: Mapping[str, str]) -> list[Finding]:
    """Findings about the listed files, located: warnings and notes. now: seconds since 1970."""
    world, troubles = gather_world(place, [make_sheet(document)], now, ("files",), env, lambda what: None)
    files = [file for file in world.files.get(document.path, ()) if file.state == "there"]
    try:
        changed = _read_changed(place, document, files, env)
    except CheckpointError as error:
        message = f"which listed files changed could not be found out: {error.message}"
        troubles, changed = [Finding("doctor/not-looked-at", "note", message, hint=error.hint)], []
    told = [_tell_changed(changed, files, document)] if changed else []
    return [_located(finding, document) for finding in [*find_missing_files(world), *told, *troubles]]


def _located(finding: Finding, document: Document) -> Finding:
    if not (finding.where and document.text):
        return finding
    line, column = locate(document.text, finding.where)
    return finding._replace(line=line, column=column)


def _tell_changed(changed: Sequence[str], files: Sequence[NamedFile], document: Document) -> Finding:
    """One finding for all of them, at the first entry that it is about."""
    named = ", ".join(changed[:_SPELLED_OUT])
    more = f" and {len(changed) - _SPELLED_OUT} more" if len(changed) > _SPELLED_OUT else ""
    first = min(file.at for file in files if any(is_covered(path, name) for path in changed for name in file.names))
    where = f"/context_primer/generated_files/{first}"
    message = f"changed since the checkpoint was written: {named}{more}"
    hint = "read them again before relying on the context primer"
    return Finding("drift/file-changed", "note", message, document.path, where, hint=hint)


def _read_changed(place: Place, document: Document, files: Sequence[NamedFile], env: Mapping[str, str]) -> list[str]:
    """The listed files, and those in listed folders and patterns, that changed after updated_at; sorted."""
    instant = read_instant((document.value or {}).get("updated_at"))
    names = list(dict.fromkeys(name for file in files for name in file.names))
    if instant is None or not names:
        return []
    if place.work_tree is None:
        here, committed = {path for name in names for path in _list_files(place.top, name)}, set[str]()
    else:
        here, committed = _ask_git(place.work_tree, document.path, names, instant[0], clean_env(env))
    newer = {path for path in here if _is_newer(place.top, path, instant[0])}
    covered = (path for path in newer | committed if any(is_covered(path, name) for name in names))
    return sorted(path for path in covered if path != document.path)


def _ask_git(
    top: str, checkpoint: str, names: Sequence[str], instant: int, env: Mapping[str, str]
) -> tuple[set[str], set[str]]:
    """(files that are not as they were committed, files that were committed since the checkpoint)."""
    specs = [f":({'glob' if _is_pattern(top, name) else 'literal'}){name}" for name in names]
    own = f":(literal){checkpoint}"
    words = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", own, *specs]
    here = {os.fsdecode(record[3:]) for record in run_git(words, top, env=env).out.split(b"\0") if record}
    if checkpoint in here:  # not the version that is committed: its time tells more than its commit
        since = ["rev-list", "-1", f"--before=@{instant + _GRACE} +0000", "HEAD"]
    else:
        since = ["rev-list", "-1", "HEAD", "--", own]
    start = run_git(since, top, env=env, check=False).out.decode().strip()  # fails where there are no commits
    if not start:
        return here, set()
    words = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative", start, "HEAD", "--", *specs]
    return here, {os.fsdecode(path) for path in run_git(words, top, env=env).out.split(b"\0") if path}


def _is_pattern(top: str, name: str) -> bool:
    return any(letter in name for letter in "*?[") and not os.path.lexists(os.path.join(top, name))


def _list_files(top: str, name: str) -> Iterator[str]:
    """The file itself, or those below a folder, relative to top; symbolic links are not entered."""
    full = os.path.join(top, name)
    if not is_inside(full, top):
        return
    if not os.path.isdir(full):
        yield name
    seen = 0
    for folder, _, files in os.walk(full):
        for file in files:
            yield os.path.relpath(os.path.join(folder, file), top).replace(os.sep, "/")
        seen += len(files)
        if seen > _MAX_ENTRIES:
            return


def _is_newer(top: str, name: str, instant: int) -> bool:
    """Whether a file was written after an instant; one that is gone counts too."""
    full = os.path.join(top, name)
    if not is_inside(os.path.dirname(full), top):
        return False
    try:
        return os.lstat(full).st_mtime > instant + 1
    except OSError:
        return True
