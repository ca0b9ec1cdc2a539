"""Fix findings of the doctor in a checkpoint's token value, if it still has what they report.

updated_at is never touched: a fix by a machine is not progress, and must not make old work look
fresh.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.check import Context
from checkpoint_git.protocols.fix import Done, FileFix, FixPlan
from checkpoint_git.protocols.skill import layout, store, views
from checkpoint_git.protocols.skill.drift.facts import SkillFacts
from checkpoint_git.protocols.skill.drift.merged_work import (
    Known,
    describe_facts,
    find_action_facts,
    is_finished,
    read_reverted,
)
from checkpoint_git.protocols.skill.edit.actions import KEPT_DONE
from checkpoint_git.protocols.skill.rotation import (
    Moved,
    history_document,
    history_marks,
    plan_rotation,
)
from checkpoint_git.protocols.write import find_new_errors

check_owner = store.check_owner

_BYTE_ORDER_MARK = "json/byte-order-mark"


def plan_fixes(context: Context, findings: Sequence[Finding]) -> FixPlan:
    """Plan to fix what can be fixed, except in checkpoints of skills that this process may not
    write.
    """
    facts = context.facts(SkillFacts)
    skills = {summary.path: summary.skill for summary in facts.summaries}
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.path in skills and (finding.code in FIXES or finding.code == _BYTE_ORDER_MARK):
            by_path.setdefault(finding.path, []).append(finding)

    owner = context.env.get("CHECKPOINT_SKILL", "")
    files = list[FileFix]()
    failed = list[Finding]()
    not_ours = set[str]()
    for path, found in by_path.items():
        if owner and skills[path] != owner:
            not_ours.add(skills[path])
            continue
        fix = _plan_file(context, path, skills[path], found)
        if isinstance(fix, FileFix):
            files.append(fix)
        elif fix is not None:
            failed.append(fix)
    return FixPlan(files, failed, sorted(not_ours))


def _plan_file(
    context: Context, path: str, skill: str, findings: list[Finding]
) -> FileFix | Finding | None:
    """Return the fix of one checkpoint, a Finding if it would be an error, None for no fix."""
    place = context.place
    facts = context.facts(SkillFacts)
    if layout.find_name_trouble(skill):
        return None
    content = store.read_skill(place, skill)
    if not isinstance(content, bytes):
        return None
    before = store.check_files([(path, content)], context.now)[0]
    if before.value is None or before.text is None:
        return None

    renames: Mapping[int, tuple[str, str]] = {}
    for summary in facts.summaries:
        if summary.path == path:
            renames = facts.find_renamed(summary)
    # reverted ones stay, as `checkpoint rotate` keeps them
    reverted, _ = read_reverted(place, before, context.now)
    root = jsontext.parse(before.text)
    known = FixFacts(facts.work.get(path, {}), renames, reverted)
    fixed = fix_value(deepcopy(root.value), findings, known)
    done = list(fixed.done)
    text = before.text
    if fixed.done:
        text = jsonwrite.rewrite(root, fixed.value)
    is_mark_found = any(finding.code == _BYTE_ORDER_MARK for finding in findings)
    if is_mark_found and text.startswith(jsontext.BYTE_ORDER_MARK):
        text = text.removeprefix(jsontext.BYTE_ORDER_MARK)
        done.append(Done(_BYTE_ORDER_MARK, "", "removed the byte order mark"))

    if not done:
        return None
    errors = find_new_errors(path, text.encode(), [content], context.now)
    if errors:
        message = f"it could not be fixed: {done[0].text} would be an error: {errors[0].message}"
        where = done[0].where
        return Finding("doctor/not-fixed", "warning", message, path, where, hint="fix it by hand")

    past = None
    if fixed.moved:
        past = history_document(skill, fixed.moved).encode()
    return FileFix(path, skill, content, text.encode(), past, done)


def write_fixes(place: Place, fixes: Sequence[FileFix], now: int) -> list[str]:
    """Write fixes, and return the paths of the history files that they made."""
    history = []
    for fix in fixes:
        if fix.past is not None:  # first: what moves must be in a file at any time
            marks = history_marks(write_instant(now)[:10], fix.past)
            path = store.write_history(place, fix.skill, marks, fix.past)
            history.append(relative_path(path, place.top))
        store.write_checkpoint(place, fix.skill, fix.before, fix.after)
    return history


def copy_to_history(place: Place, fixes: Sequence[FileFix], stamp: str) -> str:
    """Copy checkpoints to history before they are fixed, and return the folder, "" for no fixes.

    Without a git directory there is no other place for a backup.
    """
    if not fixes:
        return ""
    marks = [f"before-fix-{stamp}-{number}" for number in range(1, 100)]
    for fix in fixes:
        store.write_history(place, fix.skill, marks, fix.before)
    return relative_path(os.path.join(place.directory, layout.HISTORY), place.top)


class FixFacts(NamedTuple):
    """The facts that fixes need besides the value.

    known: facts by reference. renames: index of generated_files -> (entry, new entry). reverted: as
    for plan_rotation.
    """

    known: Known = MappingProxyType({})
    renames: Mapping[int, tuple[str, str]] = {}
    reverted: Mapping[str, str] = {}


class Fixed(NamedTuple):
    value: dict[str, Any]
    moved: list[Moved]
    done: list[Done]


Fix = Callable[[dict[str, Any], list[Finding], FixFacts, list[Moved]], list[Done]]


def fix_value(value: dict[str, Any], findings: Sequence[Finding], facts: FixFacts) -> Fixed:
    """Fix findings in a value, which changes in place. Findings without a fix are ignored."""
    moved: list[Moved] = []
    done: list[Done] = []
    for code, fix in FIXES.items():
        found = [finding for finding in findings if finding.code == code]
        if found:
            done += fix(value, found, facts, moved)
    return Fixed(value, moved, done)


def _indexes(findings: list[Finding], place: str, items: Sequence[Any]) -> list[int]:
    """Return the sorted indexes of the items that findings are about. place: of the list."""
    indexes = set[int]()
    for finding in findings:
        if finding.where.startswith(place):
            part = finding.where.removeprefix(f"{place}/").partition("/")[0]
            if part.isdecimal() and int(part) < len(items):
                indexes.add(int(part))
    return sorted(indexes)


def _finish_shipped(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Move next actions that merges finished to recently_done."""
    actions = views.read_list(value, "next_actions")
    record = value.get("recently_done", [])
    if not isinstance(record, list):
        return []
    indexes = _indexes(found, "/next_actions", actions)
    finished = [index for index in indexes if is_finished(actions[index], facts.known)]
    if len(finished) == len(actions) and value.get("status") == "in_progress":
        finished = finished[:-1]  # work in progress needs a next action

    # newest first; of too many the oldest of the old ones go
    kept = record[: max(KEPT_DONE - len(finished), 0)]
    done = list[Done]()
    for index in finished:
        entry = _make_done_entry(actions[index], facts.known)
        _insert_by_time(kept, entry)
        text = views.action_text(actions[index])
        message = f'moved "{text}" to recently_done: {entry["evidence"]}'
        done.append(Done("drift/action-shipped", f"/next_actions/{index}", message))

    if finished:
        _remove_actions(value, finished)
        value["recently_done"] = kept

    return done


def _make_done_entry(action: Any, known: Known) -> dict[str, Any]:
    """Return the entry of recently_done for an action that merges finished."""
    facts = find_action_facts(action, known)
    merges = [fact for fact in facts if fact.state == "merged"]
    members = action if isinstance(action, dict) else {"text": action}
    instant = write_instant(max(fact.at for fact in merges))
    return {**members, "at": instant, "evidence": "; ".join(describe_facts(merges, None))}


def _insert_by_time(entries: list[Any], entry: dict[str, Any]) -> None:
    """Insert an entry before the first one that is not newer."""
    index = 0
    while index < len(entries) and views.read_when(entries[index]) > views.read_when(entry):
        index += 1
    entries.insert(index, entry)


def _remove_actions(value: dict[str, Any], indexes: Sequence[int]) -> None:
    actions = value["next_actions"]
    value["next_actions"] = [action for index, action in enumerate(actions) if index not in indexes]


def _drop_done(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Remove next actions that recently_done has; it is up to the user, who may repeat one."""
    actions = views.read_list(value, "next_actions")
    indexes = _indexes(found, "/next_actions", actions)
    finished = [index for index in views.find_done_actions(value) if index in indexes]
    if len(finished) == len(actions) and value.get("status") == "in_progress":
        finished = finished[:-1]  # work in progress needs a next action

    done = list[Done]()
    for index in finished:
        text = views.action_text(actions[index])
        message = f'took "{text}" off the list: recently_done has it'
        done.append(Done("drift/action-done", f"/next_actions/{index}", message))
    if finished:
        _remove_actions(value, finished)
    return done


def _follow_renames(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Write the new names of renamed files into generated_files."""
    files = views.read_primer(value, "generated_files")
    done = list[Done]()
    for index in _indexes(found, "/context_primer/generated_files", files):
        old, new = facts.renames.get(index, ("", ""))
        if new and views.listed_path(files[index]) == old:
            files[index] = _with_path(files[index], new)
            where = f"/context_primer/generated_files/{index}"
            done.append(Done("drift/file-missing", where, f"{old} is called {new} now"))
    return done


def _with_path(entry: Any, path: str) -> Any:
    """Return an entry of generated_files with another path."""
    if isinstance(entry, dict):
        return {**entry, "path": path}
    return path


def _rotate(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Rotate as `checkpoint rotate` does, without the values that wait for a review."""
    reviewed = {key: member for key, member in value.items() if key != "superseded"}
    rotation = plan_rotation(reviewed, facts.reverted)
    value.update(rotation.value)
    moved += rotation.moved
    if not rotation.moved:
        return []
    parts = [f"{len(part.items)} of {part.where}" for part in rotation.moved]
    message = f"moved to history: {', '.join(parts)}"
    return [Done("content/rotation-due", found[0].where, message)]


def _retire_superseded(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Move the values that merges set aside to history."""
    past = views.read_list(value, "superseded")
    if not past:
        return []
    value["superseded"] = []
    moved.append(Moved("/superseded", past))
    message = f"moved to history: {len(past)} of /superseded"
    return [Done("content/unreviewed", "/superseded", message)]


def _move_home(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    """Set project_dir to the folder that contains .checkpoints."""
    old = value.get("project_dir")
    if old == layout.HERE:
        return []
    value["project_dir"] = layout.HERE
    _shorten_files(value, f"{str(old).rstrip('/')}/")
    message = f'project_dir is "{layout.HERE}" now; it was {old}'
    return [Done("drift/project-dir", "/project_dir", message)]


def _shorten_files(value: dict[str, Any], project: str) -> None:
    """Make generated_files below the former project_dir relative, as nothing names it any more."""
    if len(project) < 2:
        return
    files = views.read_primer(value, "generated_files")
    for index, entry in enumerate(files):
        path = views.listed_path(entry)
        if path != project and path.startswith(project):
            files[index] = _with_path(entry, path.removeprefix(project))


# In the order in which they are made: first those that name items by their index.
FIXES: dict[str, Fix] = {
    "drift/file-missing": _follow_renames,
    "drift/action-done": _drop_done,
    "drift/action-shipped": _finish_shipped,
    "drift/project-dir": _move_home,
    "content/unreviewed": _retire_superseded,
    "content/rotation-due": _rotate,
}
