"""The facts that the doctor's checks need, fetched from git and the file system: nothing is judged here."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.git import attributes, driver_settings, paths, refs, worktree
from checkpoint_git.git.history import history
from checkpoint_git.git.repository import read_repository
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.protocols.pipeline.summary import is_present as may_have_records
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, list_ids
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.document_summary import Sheet
from checkpoint_git.protocols.skill.drift import find_asked_references
from checkpoint_git.protocols.skill.generated_files import choose_reading, find_readings, is_path_like
from checkpoint_git.tools.doctor import trials
from checkpoint_git.tools.doctor.context import GitFacts, NamedFile, Proof, Release, Step, World
from checkpoint_git.tools.setup.survey import Installation, read_installation


def gather_world(
    place: Place,
    sheets: Sequence[Sheet],
    now: int,
    needs: Iterable[str],
    env: Mapping[str, str],
    tell: Tell,
    *,
    skill: str = "",
    since: str = "",
) -> tuple[World, list[Finding]]:
    """The world as far as it is needed, and a finding for each part that could not be looked at.

    needs: names of World's fields. tell: called with what is being looked at, for a person who waits. skill, since: as
    in World.
    """
    world = World(sheets, now, skill=skill, since=since)
    troubles = []
    wanted = frozenset(needs)
    for name, (what, read) in _READERS.items():
        if name in wanted and (place.work_tree or name in _WITHOUT_GIT):
            tell(what)
            try:
                world = read(world, place, env)
            except CheckpointError as error:
                message = f"{what} could not be looked at: {error.message}"
                troubles.append(Finding("doctor/not-looked-at", "warning", message, hint=error.hint))
    return world, troubles


def _read_absent_dirs(world: World, place: Place, env: Mapping[str, str]) -> World:
    named = {sheet.project_dir for sheet in world.sheets if sheet.project_dir and sheet.project_dir.strip()}
    return world._replace(absent_dirs=frozenset(path for path in named if not _is_folder(path)))


def _is_folder(path: str) -> bool:
    try:
        return os.path.isabs(path) and os.path.isdir(path)
    except ValueError:
        return False


def _read_files(world: World, place: Place, env: Mapping[str, str]) -> World:
    lookup = paths.Lookup(place.root, place.top)
    files = {sheet.path: _read_listed(sheet, lookup) for sheet in world.sheets if sheet.listed}
    missing = {name for listed in files.values() for file in listed if file.state == "missing" for name in file.names}
    fates = paths.read_fates(place.top, sorted(missing)) if place.work_tree else {}
    told = {path: [_with_fate(file, fates, place) for file in listed] for path, listed in files.items()}
    return world._replace(files=told)


def _with_fate(file: NamedFile, fates: Mapping[str, paths.Fate], place: Place) -> NamedFile:
    """A missing file with what git knows of it; one that is only not checked out is there."""
    if file.state != "missing" or not place.work_tree or not file.names:
        return file
    known = [fates[name] for name in file.names if name in fates]
    if len(known) < len(file.names):
        return file._replace(state="there")
    best = next((fate for fate in known if fate.kind != "unknown"), known[0])
    return file._replace(fate=best.kind, detail=best.detail)


def _read_listed(sheet: Sheet, lookup: paths.Lookup) -> list[NamedFile]:
    def is_there(path: str) -> bool:
        return lookup.find_state(_from_root(path, sheet.project_dir)) == "there"

    return [
        _look_up(at, _from_root(path, sheet.project_dir), lookup)
        for at, text in enumerate(sheet.listed)
        for path in _read_entry(text, is_there)
    ]


def _read_entry(text: str, is_there: Callable[[str], bool]) -> list[str]:
    """The paths that an entry names. Nearly every entry is just the path of a file that is there."""
    if is_path_like(text) and "{" not in text and is_there(text):
        return [text]
    return choose_reading(find_readings(text), is_there)


def _from_root(path: str, project: str | None) -> str:
    """A path below project_dir as seen from here: another machine's checkout lies elsewhere."""
    if project is not None and len(project) > 1 and path.startswith(project.rstrip("/") + "/"):
        return path[len(project.rstrip("/")) + 1 :]
    return path


def _look_up(at: int, path: str, lookup: paths.Lookup) -> NamedFile:
    return NamedFile(at, path, lookup.find_state(path), lookup.find_names(path))


def _read_untracked(world: World, place: Place, env: Mapping[str, str]) -> World:
    """Listed files that only this work tree has, of checkpoints that are committed as they stand here."""
    own = clean_env(env)
    there = {path: [file for file in files if file.state == "there"] for path, files in world.files.items()}
    names = {name for files in there.values() for file in files for name in file.names}
    found = worktree.read_uncommitted(place.top, names, own) if names else set[str]()
    only_here = {path: [file for file in files if not found.isdisjoint(file.names)] for path, files in there.items()}
    told = {path: files for path, files in only_here.items() if files}
    in_work = worktree.read_changed(place.top, list(told)[:_MOST_ASKED], own)
    return world._replace(untracked={path: files for path, files in told.items() if path not in in_work})


_MOST_ASKED = 1_000  # paths on one command line


def _read_release(world: World, place: Place, env: Mapping[str, str]) -> World:
    if not any(sheet.status == "complete" for sheet in world.sheets):
        return world
    tag = refs.read_newest_tag(place.top, clean_env(env))
    return world._replace(release=Release(*tag) if tag else None)


def _read_steps(world: World, place: Place, env: Mapping[str, str]) -> World:
    written = [sheet.updated_at for sheet in world.sheets if sheet.updated_at is not None]
    listed = {name for files in world.files.values() for file in files for name in file.names}
    if not written or not listed:
        return world
    watched = frozenset(listed | {sheet.path for sheet in world.sheets})
    return world._replace(steps=[Step(*change) for change in history.read_changes(place.top, min(written), watched)])


def _read_merged(world: World, place: Place, env: Mapping[str, str]) -> World:
    return world._replace(merged=history.read_merged(place.top, find_asked_references(world.sheets)))


def _read_strangers(world: World, place: Place, env: Mapping[str, str]) -> World:
    ids = {recorded.id for sheet in world.sheets for recorded in sheet.recorded}
    return world._replace(strangers=history.read_strangers(place.top, sorted(ids)))


def _read_shallow(world: World, place: Place, env: Mapping[str, str]) -> World:
    return world._replace(shallow=history.is_shallow(place.top))


def _read_proof(world: World, place: Place, env: Mapping[str, str]) -> World:
    setup = world.git.setup if world.git else Installation()
    if not setup.driver:
        return world
    commands = {
        driver_settings.DRIVER: setup.driver,
        driver_settings.RECURSIVE: setup.recursive,
        driver_settings.BASE_DRIVER: setup.base_driver,
        driver_settings.TEXTCONV: setup.textconv,
    }
    from checkpoint_git.tools.doctor import driver_trial

    return world._replace(proof=Proof(*driver_trial.prove_driver(commands, env)))


def _read_git(world: World, place: Place, env: Mapping[str, str]) -> World:
    own = clean_env(env)
    repository = read_repository(place.top, own)
    default = refs.read_default_branch(place.top, attributes.FILE, own)
    merge_attributes = _read_merge_attributes(world.sheets, place, own)
    facts = GitFacts(
        unmerged=tuple(_below(place, worktree.read_unmerged(place.top, own))),
        operation=_find_operation(place.git_dir or ""),
        merge_attributes=merge_attributes,
        shared_attributes=attributes.read_shared_merge_attributes(place.top, sorted(merge_attributes), own),
        defined_drivers=read_drivers(place.top, own),
        has_commits=history.has_commits(place.top),
        setup=read_installation(repository, env) if repository else Installation(),
        default_branch=default.name if default else "",
        attributes_in_default=bool(default and attributes.has_attributes(default.attributes or b"")),
    )
    return world._replace(git=facts)


def _read_upstream(world: World, place: Place, env: Mapping[str, str]) -> World:
    from checkpoint_git.tools.merges.forecast import read_upstream

    return world._replace(upstream=read_upstream(place, world.now, env, _asked_paths(world, place)))


def _read_audit(world: World, place: Place, env: Mapping[str, str]) -> World:
    from checkpoint_git.tools.merges.recent_audit import read_audit

    is_here = _asked_paths(World(), place)

    def read_present(path: str) -> bytes | None:
        data = store.read_content(os.path.join(place.top, path), place.top) if is_here(path) else None
        return data if isinstance(data, bytes) else None

    return world._replace(
        audit=read_audit(place, world.now, env, world.since, read_present, _asked_paths(world, place))
    )


def _asked_paths(world: World, place: Place) -> Callable[[str], bool]:
    """Whether a path is a checkpoint's of this place and of the skill that was asked for, or a workflow's below it."""
    folder = relative_path(place.directory, place.top)
    name = f"{folder}/{world.skill}{layout.SUFFIX}"
    root = "" if place.root == place.top else f"{relative_path(place.root, place.top)}/"

    def is_asked(path: str) -> bool:
        if world.skill or protocol_of(path) == "skill":
            return path == name if world.skill else path.rpartition("/")[0] == folder
        return path.startswith(root) and bool(path)

    return is_asked


def _below(place: Place, names: Iterable[str]) -> list[str]:
    """Of some paths relative to the top, those of this place."""
    start = os.path.relpath(place.directory, place.top).replace(os.sep, "/") + "/"
    return [name for name in names if name.startswith(start)]


# a file or folder in the git directory, and what git is in the middle of while it is there
_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
)


def _find_operation(git_dir: str) -> str:
    return next((name for sign, name in _OPERATIONS if os.path.exists(os.path.join(git_dir, sign))), "")


def _read_merge_attributes(sheets: Sequence[Sheet], place: Place, env: Mapping[str, str]) -> dict[str, str]:
    """What git answers for every checkpoint, and for one to come where there is none yet."""
    example = os.path.relpath(os.path.join(place.directory, f"example{layout.SUFFIX}"), place.top)
    names = [sheet.path for sheet in sheets] or [example.replace(os.sep, "/")]
    return attributes.read_merge_attributes(place.top, names, env)


def read_drivers(top: str, env: Mapping[str, str]) -> frozenset[str]:
    """The merge drivers that git's configuration defines."""
    words = ["config", "--null", "--name-only", "--get-regexp", r"^merge\..*\.driver$"]
    names = run_git(words, top, env=env, check=False).out.split(b"\0")
    return frozenset(os.fsdecode(name)[len("merge.") : -len(".driver")] for name in names if name)


def _read_records(world: World, place: Place, env: Mapping[str, str]) -> World:
    if not may_have_records(place):
        return world
    from checkpoint_git.protocols.pipeline.runs import read_troubles

    return world._replace(records=read_troubles(place, env, world.now))


def _read_workflow(world: World, place: Place, env: Mapping[str, str]) -> World:
    if world.skill or not os.path.lexists(os.path.join(place.root, "memory/state/phase.json")):
        return world
    from checkpoint_git.protocols.workflow.state import find_state, find_trouble

    return world._replace(workflow=find_trouble(find_state(place.root, world.now), world.now))


def _read_strays(world: World, place: Place, env: Mapping[str, str]) -> World:
    if world.skill:
        return world
    from checkpoint_git.protocols.skill.strays import list_strays

    return world._replace(strays=[relative_path(path, place.top) for path in list_strays(place)])


def _read_points(world: World, place: Place, env: Mapping[str, str]) -> World:
    if world.skill or not _has_points(place):
        return world
    from checkpoint_git.protocols.restore.checks import read_troubles

    return world._replace(points=read_troubles(place, env, world.now))


def _read_contents(world: World, place: Place, env: Mapping[str, str]) -> World:
    if world.skill or not _has_points(place):
        return world
    from checkpoint_git.protocols.restore.checks import read_content_troubles

    return world._replace(contents=read_content_troubles(place, env, world.now))


def _has_points(place: Place) -> bool:
    return bool(list_ids(place.top)) or os.path.lexists(os.path.join(place.top, AUDIT_LOG))


_WITHOUT_GIT = frozenset(("absent_dirs", "files", "records", "workflow", "strays", "points", "contents"))
# by World's names, in the order in which they build on one another
_READERS: dict[str, tuple[str, Callable[[World, Place, Mapping[str, str]], World]]] = {
    "absent_dirs": ("the project folders", _read_absent_dirs),
    "files": ("the generated files", _read_files),
    "untracked": ("what git does not hold", _read_untracked),
    "release": ("the newest tag", _read_release),
    "steps": ("the latest history", _read_steps),
    "merged": ("the whole history", _read_merged),
    "strangers": ("the recorded commits", _read_strangers),
    "shallow": ("the clone's depth", _read_shallow),
    "git": ("the installation", _read_git),
    "proof": ("the merge driver at work", _read_proof),
    "hook_failures": ("the hooks at work", trials.read_hook_failures),
    "deployed": ("what is deployed", trials.read_deployed),
    "upstream": ("the upstream", _read_upstream),
    "audit": ("the latest merges", _read_audit),
    "records": ("the pipeline records", _read_records),
    "workflow": ("the workflow", _read_workflow),
    "strays": ("the other files", _read_strays),
    "points": ("the restore points", _read_points),
    "contents": ("the content of restore points", _read_contents),
}
