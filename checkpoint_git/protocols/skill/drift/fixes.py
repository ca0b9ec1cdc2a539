"""How findings of the doctor are fixed in a checkpoint's token value, where it still says what was
found.

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
    facts, owner = context.facts(SkillFacts), context.env.get("CHECKPOINT_SKILL", "")
    skills = {summary.path: summary.skill for summary in facts.summaries}
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.path in skills and (finding.code in FIXES or finding.code == _BYTE_ORDER_MARK):
            by_path.setdefault(finding.path, []).append(finding)
    left = sorted({skills[path] for path in by_path if owner and skills[path] != owner})
    own = {path: found for path, found in by_path.items() if not owner or skills[path] == owner}
    fixes = [_plan_file(context, path, skills[path], found) for path, found in own.items()]
    files = [fix for fix in fixes if isinstance(fix, FileFix)]
    return FixPlan(files, [fix for fix in fixes if isinstance(fix, Finding)], left)


def _plan_file(
    context: Context, path: str, skill: str, findings: list[Finding]
) -> FileFix | Finding | None:
    place, facts = context.place, context.facts(SkillFacts)
    content = store.read_skill(place, skill) if not layout.find_name_trouble(skill) else None
    if not isinstance(content, bytes):
        return None
    before = store.check_files([(path, content)], context.now)[0]
    if before.value is None or before.text is None:
        return None
    renames = next((facts.find_renamed(one) for one in facts.summaries if one.path == path), {})
    # they stay, as `checkpoint rotate` keeps them
    reverted, _ = read_reverted(place, before, context.now)
    root = jsontext.parse(before.text)
    known = FixFacts(facts.work.get(path, {}), renames, reverted)
    fixed = fix_value(deepcopy(root.value), findings, known)
    text, done = (
        jsonwrite.rewrite(root, fixed.value) if fixed.done else before.text,
        list(fixed.done),
    )
    if text.startswith(jsontext.BYTE_ORDER_MARK) and any(
        one.code == _BYTE_ORDER_MARK for one in findings
    ):
        text = text.removeprefix(jsontext.BYTE_ORDER_MARK)
        done.append(Done(_BYTE_ORDER_MARK, "", "removed the byte order mark"))

    if not done:
        return None
    errors = find_new_errors(path, text.encode(), [content], context.now)
    if errors:
        message = f"it could not be fixed: {done[0].text} would be an error: {errors[0].message}"
        return Finding(
            "doctor/not-fixed", "warning", message, path, done[0].where, hint="fix it by hand"
        )

    past = history_document(skill, fixed.moved).encode() if fixed.moved else None
    return FileFix(path, skill, content, text.encode(), past, done)


def write_fixes(place: Place, fixes: Sequence[FileFix], now: int) -> list[str]:
    history = []
    for fix in fixes:  # its history first: what is moved must be somewhere at any time
        if fix.past is not None:
            marks = history_marks(write_instant(now)[:10], fix.past)
            history.append(
                relative_path(store.write_history(place, fix.skill, marks, fix.past), place.top)
            )
        store.write_checkpoint(place, fix.skill, fix.before, fix.after)
    return history


def copy_to_history(place: Place, fixes: Sequence[FileFix], stamp: str) -> str:
    # without a git directory there is no other place for a backup
    for fix in fixes:
        store.write_history(
            place, fix.skill, [f"before-fix-{stamp}-{at}" for at in range(1, 100)], fix.before
        )
    return relative_path(os.path.join(place.directory, layout.HISTORY), place.top) if fixes else ""


class FixFacts(NamedTuple):
    """What fixes know besides the value. known: facts by reference. renames: index of
    generated_files -> (the entry, what it is now). reverted: see plan_rotation.
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
    """Fix what of the findings can be; the value is changed in place. Findings that no fix knows
    are left out.
    """
    moved: list[Moved] = []
    done: list[Done] = []
    for code, fix in FIXES.items():
        found = [finding for finding in findings if finding.code == code]
        done += fix(value, found, facts, moved) if found else []
    return Fixed(value, moved, done)


def _indexes(findings: list[Finding], place: str, items: Sequence[Any]) -> list[int]:
    parts = [
        one.where.removeprefix(f"{place}/").partition("/")[0]
        for one in findings
        if one.where.startswith(place)
    ]
    return sorted({int(part) for part in parts if part.isdecimal() and int(part) < len(items)})


def _finish_shipped(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    actions, record = views.read_list(value, "next_actions"), value.get("recently_done", [])
    if not isinstance(record, list):
        return []
    finished = [
        at
        for at in _indexes(found, "/next_actions", actions)
        if is_finished(actions[at], facts.known)
    ]
    if len(finished) == len(actions) and value.get("status") == "in_progress":
        # the last action of work in progress stays: somebody has to say what is next
        finished = finished[:-1]

    # newest first; of too many the oldest of the old ones go
    kept = record[: max(KEPT_DONE - len(finished), 0)]
    done = list[Done]()
    for at in finished:
        merges = [
            fact for fact in find_action_facts(actions[at], facts.known) if fact.state == "merged"
        ]
        evidence = "; ".join(describe_facts(merges, None))
        entry = {
            **(actions[at] if isinstance(actions[at], dict) else {"text": actions[at]}),
            "at": write_instant(max(fact.at for fact in merges)),
            "evidence": evidence,
        }
        older = (
            place
            for place, other in enumerate(kept)
            if views.read_when(other) <= views.read_when(entry)
        )
        kept.insert(next(older, len(kept)), entry)
        message = f'moved "{views.action_text(actions[at])}" to recently_done: {evidence}'
        done.append(Done("drift/action-shipped", f"/next_actions/{at}", message))

    if finished:
        value["next_actions"] = [action for at, action in enumerate(actions) if at not in finished]
        value["recently_done"] = kept

    return done


def _drop_done(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    # recently_done keeps them; whoever adds an action again on purpose does not ask for this fix
    actions = views.read_list(value, "next_actions")
    finished = [
        at
        for at in views.find_done_actions(value)
        if at in _indexes(found, "/next_actions", actions)
    ]
    if len(finished) == len(actions) and value.get("status") == "in_progress":
        finished = finished[:-1]  # somebody has to say what is next

    if finished:
        value["next_actions"] = [action for at, action in enumerate(actions) if at not in finished]
    texts = {at: views.action_text(actions[at]) for at in finished}
    return [
        Done(
            "drift/action-done",
            f"/next_actions/{at}",
            f'took "{text}" off the list: recently_done has it',
        )
        for at, text in texts.items()
    ]


def _follow_renames(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    files, done = views.read_primer(value, "generated_files"), []
    for at in _indexes(found, "/context_primer/generated_files", files):
        entry, (old, new) = files[at], facts.renames.get(at, ("", ""))
        if new and views.listed_path(entry) == old:
            files[at] = {**entry, "path": new} if isinstance(entry, dict) else new
            where = f"/context_primer/generated_files/{at}"
            done.append(Done("drift/file-missing", where, f"{old} is called {new} now"))
    return done


def _rotate(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    # as `checkpoint rotate`, except narratives that wait for a review
    rotation = plan_rotation(
        {key: member for key, member in value.items() if key != "superseded"}, facts.reverted
    )
    value.update(rotation.value)
    moved += rotation.moved
    told = [f"{len(part.items)} of {part.where}" for part in rotation.moved]
    return (
        [Done("content/rotation-due", found[0].where, f"moved to history: {', '.join(told)}")]
        if told
        else []
    )


def _retire_superseded(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    past = views.read_list(value, "superseded")
    if not past:
        return []
    value["superseded"] = []
    moved.append(Moved("/superseded", past))
    return [
        Done("content/unreviewed", "/superseded", f"moved to history: {len(past)} of /superseded")
    ]


def _move_home(
    value: dict[str, Any], found: list[Finding], facts: FixFacts, moved: list[Moved]
) -> list[Done]:
    old = value.get("project_dir")
    if old == layout.HERE:
        return []
    value["project_dir"] = layout.HERE
    _shorten_files(value, f"{str(old).rstrip('/')}/")
    return [
        Done(
            "drift/project-dir", "/project_dir", f'project_dir is "{layout.HERE}" now; it was {old}'
        )
    ]


def _shorten_files(value: dict[str, Any], project: str) -> None:
    """Let generated_files below the former project_dir begin at the project, as nothing says any
    more where it was.
    """
    if len(project) < 2:
        return
    files = views.read_primer(value, "generated_files")
    for at, entry in enumerate(files):
        path = views.listed_path(entry)
        if path == project or not path.startswith(project):
            continue
        short = path.removeprefix(project)
        files[at] = {**entry, "path": short} if isinstance(entry, dict) else short


# In the order in which they are made: what names items by their index goes first.
FIXES: dict[str, Fix] = {
    "drift/file-missing": _follow_renames,
    "drift/action-done": _drop_done,
    "drift/action-shipped": _finish_shipped,
    "drift/project-dir": _move_home,
    "content/unreviewed": _retire_superseded,
    "content/rotation-due": _rotate,
}
