"""`doctor --fix`: which files and settings change, how, and the change itself, after a backup and under the lock."""

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.backup import Copy, write_backup
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git.refs import read_evidence_times
from checkpoint_git.git.repository import Repository, config_path
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.fixes import BYTE_ORDER_MARK, MENDS, Done, Facts, mend_value
from checkpoint_git.protocols.skill.read import check_files
from checkpoint_git.protocols.skill.rotation import find_merged, history_document, history_marks
from checkpoint_git.protocols.write import Tell, find_new_errors
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.doctor.install_fixes import plan_installation
from checkpoint_git.tools.doctor.table import ALL, CHECKS, is_meant
from checkpoint_git.tools.setup.steps import RemoveFile, Step, WriteFile, apply_steps

SAFE = "safe"  # stands for every mend that needs no name


class FileMend(NamedTuple):
    """What becomes of one checkpoint. before, after: the file's bytes. past: the history file's, None for none."""

    path: str
    skill: str
    before: bytes
    after: bytes
    past: bytes | None
    done: list[Done]


class Plan(NamedTuple):
    """Everything that a fix will do. steps: of init, with the repository they belong to.

    refused: why what could be mended is not. left: skills whose files belong to another session.
    """

    files: list[FileMend]
    steps: list[Step]
    repository: Repository | None
    refused: list[Finding]
    left: list[str]

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not (self.files or self.steps)


def find_fixable(wanted: Sequence[str]) -> set[str]:
    """The codes that words ask for; SAFE stands for all safe ones. Raises CheckpointError for what has no mend."""
    codes = {check.code for check in CHECKS if SAFE in wanted and check.fix == "safe"}
    for word in wanted:
        if word == SAFE:
            continue
        meant = [check for check in ALL if check.code == word]
        if not meant or meant[0].fix == "no":
            shown = escape_controls(shorten(word, 60))
            group = any(is_meant(check, word) for check in ALL)
            message = f'"{shown}" has no mend' if meant else f'there is no check "{shown}"'
            message = f'"{shown}" is a group, and --fix= wants one code' if group and not meant else message
            raise CheckpointError(message, "`checkpoint doctor --list` shows what can be mended")
        codes.add(word)
    return codes


def plan_mends(
    place: Place, world: World, findings: Sequence[Finding], codes: set[str], owner: str, env: Mapping[str, str]
) -> Plan:
    """How the findings of these codes are mended; nothing is changed. owner: the only skill that may be written."""
    skills = {sheet.path: sheet.skill for sheet in world.sheets}
    wanted = [finding for finding in findings if finding.code in codes]
    by_path: dict[str, list[Finding]] = {}
    for finding in wanted:
        if finding.path in skills and (finding.code in MENDS or finding.code == BYTE_ORDER_MARK):
            by_path.setdefault(finding.path, []).append(finding)
    left = sorted({skills[path] for path in by_path if owner and skills[path] != owner})
    own = {path: found for path, found in by_path.items() if not owner or skills[path] == owner}
    times = _read_times(place, world, own)
    mends = [_plan_file(place, world, path, skills[path], found, times) for path, found in own.items()]
    steps, repository = plan_installation(place, {finding.code for finding in wanted}, env)
    files = [mend for mend in mends if isinstance(mend, FileMend)]
    return Plan(files, steps, repository, [mend for mend in mends if isinstance(mend, Finding)], left)


def _read_times(place: Place, world: World, own: Mapping[str, object]) -> dict[str, str]:
    """Evidence -> when its commit was made; where git cannot say, now."""
    sentences = set(world.merged.values()) if own else set[str]()
    known = read_evidence_times(place.top, sentences) if place.work_tree and sentences else {}
    return {sentence: write_instant(known.get(sentence, world.now)) for sentence in sentences}


def _plan_file(
    place: Place, world: World, path: str, skill: str, findings: list[Finding], times: Mapping[str, str]
) -> FileMend | Finding | None:
    content = store.read_skill(place, skill) if not layout.find_name_trouble(skill) else None
    if not isinstance(content, bytes):
        return None
    before = check_files([(path, content)], world.now)[0]
    if before.value is None or before.text is None:
        return None
    root = jsontext.parse(before.text)
    facts = Facts(place.root, world.merged, times, _find_renames(world, place, path), _read_reverted(place, before))
    mended = mend_value(deepcopy(root.value), findings, facts)
    text, done = jsonedit.rewrite(root, mended.value) if mended.done else before.text, list(mended.done)
    if text.startswith(jsontext.BYTE_ORDER_MARK) and any(one.code == BYTE_ORDER_MARK for one in findings):
        text = text.removeprefix(jsontext.BYTE_ORDER_MARK)
        done.append(Done(BYTE_ORDER_MARK, "", "took the byte order mark away"))
    if not done:
        return None
    errors = find_new_errors(path, text.encode(), [content], world.now)
    if errors:
        message = f"it could not be mended: {done[0].text} would be an error: {errors[0].message}"
        return Finding("doctor/not-mended", "warning", message, path, done[0].where, hint="mend it by hand")
    past = history_document(skill, mended.moved).encode() if mended.moved else None
    return FileMend(path, skill, content, text.encode(), past, done)


def _read_reverted(place: Place, document: Document) -> Mapping[str, str]:
    """Merged pull requests that the history took back; they stay, as `checkpoint rotate` keeps them."""
    references = find_merged(document.value or {})
    if not references or place.work_tree is None:
        return {}
    from checkpoint_git.git.history.history import read_taken_back

    return read_taken_back(place.work_tree, references)


def _find_renames(world: World, place: Place, path: str) -> dict[int, list[tuple[str, str]]]:
    """Index -> (path as listed, path now), of entries of which nothing else is wrong."""
    base = relative_path(place.root, place.top) if place.root != place.top else ""
    renames: dict[int, list[tuple[str, str]]] = {}
    for file in world.files.get(path, ()):
        if file.state == "missing" and file.fate == "renamed":
            new = file.detail.removeprefix(f"{base}/") if base else file.detail
            renames.setdefault(file.at, []).append((file.path, new))
    return renames


# doing it


class Applied(NamedTuple):
    """What was done. backup: where the files are as they were, "" where nothing had to be kept. changed: files that
    somebody else changed meanwhile, left as they are. history: the files that took what was moved.
    """

    files: list[FileMend]
    steps: list[Step]
    backup: str
    changed: list[str]
    history: list[str]


def apply_plan(place: Place, plan: Plan, now: int, on_wait: Tell) -> Applied:
    """Makes the changes under the lock: first a copy of every file that changes, then each file whole or not at all."""
    with store.writing(place, on_wait):
        files = [mend for mend in plan.files if store.read_skill(place, mend.skill) == mend.before]
        backup = _write_backup(place, plan, files, now)
        history = [_apply_file(place, mend, now) for mend in files]
        apply_steps(plan.steps, plan.repository)
    changed = [mend.path for mend in plan.files if mend not in files]
    return Applied(files, plan.steps, backup, changed, [path for path in history if path])


def _apply_file(place: Place, mend: FileMend, now: int) -> str:
    """Writes one checkpoint, its history before it; the history file's path, "" for none."""
    path = ""
    if mend.past is not None:
        marks = history_marks(write_instant(now)[:10], mend.past)
        path = relative_path(store.write_history(place, mend.skill, marks, mend.past), place.top)
    store.write_checkpoint(place, mend.skill, mend.after)
    return path


def _write_backup(place: Place, plan: Plan, files: Sequence[FileMend], now: int) -> str:
    stamp = write_instant(now).replace("-", "").replace(":", "")
    if place.git_dir is None:
        for mend in files:
            store.write_history(place, mend.skill, [f"before-fix-{stamp}-{at}" for at in range(1, 100)], mend.before)
        return relative_path(os.path.join(place.directory, layout.HISTORY), place.top) if files else ""
    copies = [Copy(mend.path, mend.before) for mend in files] + _copy_others(place, plan)
    return write_backup(place.git_dir, stamp, copies) if copies else ""


def _copy_others(place: Place, plan: Plan) -> list[Copy]:
    """What the steps of init change: files of the work tree by their names, others as git/NAME."""
    if plan.repository is None or not plan.steps:
        return []
    changes = [step.change for step in plan.steps]
    paths = [change.path for change in changes if isinstance(change, WriteFile | RemoveFile)]
    if any(change is not None and not isinstance(change, WriteFile | RemoveFile) for change in changes):
        paths.append(config_path(plan.repository))
    return [
        Copy(_copy_name(path, place, plan.repository), data)
        for path in paths
        if (data := read_if_there(path)) is not None
    ]


def _copy_name(path: str, place: Place, repository: Repository) -> str:
    if path.startswith(repository.common_dir + os.sep):
        return f"git/{relative_path(path, repository.common_dir)}"
    return relative_path(path, place.top).lstrip("/")
