"""`checkpoint resume`: everything a new session needs to pick this up, and whether it may."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Argv, Blank, advise, chain, command
from checkpoint_git.core.outcome import Block, Digest, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.core.untrusted_text import hide_secrets
from checkpoint_git.disk.discover import Place, find_place, plan_place
from checkpoint_git.git.clone import add_gaps
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import Limits, read_limits
from checkpoint_git.protocols.skill import layout, store, views
from checkpoint_git.protocols.skill.brief.brief import Action, Brief, OpenBlocker, make_brief
from checkpoint_git.protocols.skill.brief.next_action import shipped_data
from checkpoint_git.protocols.skill.brief.resume_plan import (
    LOOK_AFTER,
    PRIMER,
    Background,
    ResumePlan,
    find_background,
    find_contradictions,
    plan_missing,
    plan_resume,
)
from checkpoint_git.protocols.skill.brief.worktrees import Ahead, find_ahead
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts, read_work

MAY_OMIT_NAME = True
HELP = """\
show everything a new session needs to pick this up, and whether it may continue

examples:
  checkpoint resume build
  checkpoint resume build --continue      continue even if it says stop
  checkpoint resume build --json

Work may continue if it is in progress and was updated within the last 7 days (the setting
checkpoint.staleDays). Exit code 1 means stop and ask (a decision waits; blocked, failed, stale or
invalid; a merge in progress), or start over because the file cannot be read. Actions whose
done_when_merged is merged are skipped. If the last update is more than a day old, it also lists the
commits since, and generated_files that are missing or changed. Contradictions between status, step
and progress_table are always shown.

exit 1: stop and ask: blocked, failed, stale or invalid
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", help="the checkpoint to continue; optional if there is only one"
    )
    parser.add_argument(
        "--continue", dest="go_on", action="store_true", help="continue where it would stop and ask"
    )


_MOST_DONE = 3
_MOST_TICKETS = 12


class ResumeResult(NamedTuple):
    """How a session continues with a skill.

    document, brief: None if there is no checkpoint. drift: findings about what no longer fits. now:
    seconds since 1970. siblings: the pm_refs of other skills.
    """

    plan: ResumePlan
    document: Document | None
    brief: Brief | None
    background: Background
    drift: list[Finding]
    now: int
    siblings: Sequence[dict[str, Any]] = ()

    @property
    def value(self) -> dict[str, Any]:
        if self.document is None or self.document.value is None:
            return {}
        return self.document.value

    @property
    def shipped(self) -> list[Action]:
        if self.brief is None:
            return []
        return self.brief.shipped

    @property
    def actions(self) -> list[Action]:
        if self.brief is None:
            return []
        return self.brief.actions

    @property
    def blockers(self) -> list[OpenBlocker]:
        if self.brief is None:
            return []
        return self.brief.blockers


def resume(
    place: Place, skill: str, now: int, env: Mapping[str, str], limits: Limits
) -> ResumeResult:
    """Return how to continue with a skill; a missing or broken checkpoint has a plan, too.

    env: the environment in which git is asked about files. Raises CheckpointError for an invalid
    name.
    """
    document = _read_document(place, skill, now)
    siblings = list[dict[str, Any]]()
    if os.path.isdir(place.directory):
        others = (other for other in store.iterate_documents(place, now) if other.skill != skill)
        siblings = views.find_refs(others)

    background = find_background(document)
    if document is None:
        return ResumeResult(plan_missing(skill), None, None, background, [], now, siblings)

    brief = make_brief(document, now, limits)
    plan = plan_resume(document, brief)
    if plan.decision == "start_fresh":
        return ResumeResult(plan, document, brief, background, [], now, siblings)

    work, troubles = read_work(place, [document], now)
    brief = make_brief(document, now, limits, work.get(document.path, {}))
    plan = plan_resume(document, brief)
    drift = [*find_contradictions(document, brief), *troubles]
    if plan.decision != "complete":
        drift += _find_drift(place, document, brief, env, now)
    if drift:
        from checkpoint_git.protocols.check import locate_all

        drift = locate_all(drift, {document.path: document.text}.get)
        drift.sort(key=lambda finding: finding.level == "note")

    return ResumeResult(plan, document, brief, background, drift, now, siblings)


def _read_document(place: Place, skill: str, now: int) -> Document | None:
    """Return a skill's checkpoint without secrets, None if it has none. Raises CheckpointError."""
    content = store.read_skill(place, skill)
    if content is None:
        store.check_index(place, skill)
        return None
    path = layout.relative_checkpoint_path(place, skill)
    document = store.check_files([(path, content)], now)[0]
    # at once: the whole text is searched, and a broken file has thousands of findings
    rows = [finding._asdict() for finding in document.findings]
    value, rows = hide_secrets([document.value, rows], document.text or "")
    return document._replace(value=value, findings=[Finding(**row) for row in rows])


def _find_drift(
    place: Place, document: Document, brief: Brief, env: Mapping[str, str], now: int
) -> Sequence[Finding]:
    """Return findings about files since the last write; soon after it, only missing files."""
    if brief.age is not None and brief.age > LOOK_AFTER:
        from checkpoint_git.protocols.skill.drift.file_facts import read_drift

        return read_drift(place, document, now, env)

    from checkpoint_git.protocols.skill.brief.session_brief import LOST, may_miss_files

    listed = views.read_primer(document.value or {}, "generated_files")
    if not may_miss_files(place, [views.listed_path(entry) for entry in listed]):
        return []

    from checkpoint_git.protocols.skill.drift.checks import find_missing_files
    from checkpoint_git.protocols.skill.drift.facts import make_facts

    facts = make_facts(place, [document], now, env)
    files = facts.files.get(document.path, ())
    lost = [file for file in files if file.fate in LOST or file.state == "there"]
    facts.files = {document.path: lost}
    return [*find_missing_files(facts), *facts.context.troubles]


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Run the verb. The exit code is 1 to stop and ask, else 0."""
    layout.check_skill_name(args.skill)
    place = _find_or_plan_place(invocation.cwd)
    limits = read_limits(place, invocation.env)
    result = resume(place, args.skill, invocation.now, invocation.env, limits)
    if args.go_on and result.plan.decision == "ask" and "conflict" not in result.plan.reasons:
        go_on = result.plan._replace(decision="continue", question="", answers=())
        result = result._replace(plan=go_on)

    ahead = list[Ahead]()
    not_compared = ""
    skills: list[str] | None = None
    if os.path.isdir(place.directory):
        ahead, not_compared = find_ahead(place, invocation.now, args.skill)
        skills = store.list_skills(place)
    blocks = _blocks(result, skills)
    blocks += [Line(version.line, "warn", hang=2) for version in ahead]
    if not_compared:
        blocks.append(Line(not_compared, "warn", hang=2))

    named = views.text_field(result.value, "project_dir")
    data = {
        **_data(result),
        "project_dir": layout.find_project_dir(named, place.root) or None,
        "worktrees": [version._asdict() for version in ahead],
        "not_compared": not_compared,
    }

    errors = list[Finding]()
    if result.document:
        errors = [finding for finding in result.document.findings if finding.level == "error"]
    stops = _must_stop(result.plan, errors, go_on=args.go_on)
    outcome = Outcome(data, blocks, [*errors, *result.drift], int(stops))
    outcome = _fold_findings(outcome, args.skill)
    return add_gaps(outcome, (place.work_tree, place.git_dir), invocation)


def _find_or_plan_place(cwd: str) -> Place:
    """Return the project's place, where the folder of checkpoints may be missing.

    Raises CheckpointError if something else has its name.
    """
    try:
        return find_place(cwd)
    except CheckpointError:
        place = plan_place(cwd)
        if os.path.lexists(place.directory):
            raise
        return place


def _must_stop(plan: ResumePlan, errors: Sequence[Finding], *, go_on: bool) -> bool:
    """Whether a session must stop. go_on: the user said that it may continue."""
    if plan.decision == "ask" or plan.reasons in (("corrupt",), ("incompatible",)):
        return True
    return bool(errors) and not go_on


def _fold_findings(outcome: Outcome, skill: str) -> Outcome:
    """Return an outcome that shows findings with one cause once."""
    findings = outcome.findings
    if len(findings) == len({finding.cause or finding for finding in findings}):
        return outcome
    from checkpoint_git.protocols.digest import fold

    every: Argv = ("checkpoint", "resume", "--json", skill)
    return outcome._replace(digest=Digest(fold(findings, frozenset(), lambda code: every), every))


def _blocks(result: ResumeResult, skills: list[str] | None) -> list[Block]:
    """Return the lines. skills: those that have a checkpoint, None without a folder for them."""
    blocks = _orientation_lines(result)
    if "missing" in result.plan.reasons:
        blocks += _missing_lines(result.plan, skills)
    elif result.plan.decision == "start_fresh":
        blocks += _broken_lines(result.plan)
    elif result.plan.decision == "complete":
        blocks += _complete_lines(result)
    elif result.plan.decision == "ask":
        blocks += _ask_lines(result)
    else:
        blocks += _continue_lines(result)

    if result.drift:
        blocks.append(Line(""))
    return blocks


def _orientation_lines(result: ResumeResult) -> list[Block]:
    """Return the protocol's five lines, and the actions that merges finished."""
    lines: list[Block] = []
    if result.plan.orientation:
        title, *others = result.plan.orientation
        lines.append(Line(title, "strong", hang=2))
        lines += [Line(text, hang=2) for text in others]
    if lines and result.actions:
        lines += _fact_lines(result.actions[0], result.now)
    for action in result.shipped[:_MOST_DONE]:
        lines += [Line(f"Skipped: {action.text}", "dim", hang=4), *_fact_lines(action, result.now)]
    if result.plan.orientation:
        lines.append(Line(""))
    return lines


def _missing_lines(plan: ResumePlan, skills: list[str] | None) -> list[Block]:
    """Return the command that starts a checkpoint, and the nearest name. skills: as for _blocks."""
    from difflib import get_close_matches

    lines: list[Block] = []
    near = get_close_matches(plan.skill, skills or (), 1, 0.8)
    if near:
        lines.append(Line("Did you mean", "strong", hint=command("checkpoint", "resume", near[0])))

    why = plan.why
    if skills:
        why += f" (there are: {', '.join(skills)})"
    lines.append(Line(f"{why}.", "warn", hang=2))

    commands: list[Argv] = [("checkpoint", "update", plan.skill)]
    if skills is None:
        commands.insert(0, ("checkpoint", "init"))
    lines.append(Line("Start fresh", hint=chain("", commands)))
    return lines


def _broken_lines(plan: ResumePlan) -> list[Block]:
    why = Line(f"{plan.why}.", "bad", "failed", 2)
    start = Line("Start fresh; the file is kept until you remove it:")
    return [why, start, *_answer_lines(plan), Line("")]


def _complete_lines(result: ResumeResult) -> list[Block]:
    lines: list[Block] = [Line(f"{result.plan.skill}: {result.plan.why}.", "good", "complete")]
    if result.actions:
        lines.append(Line("Queued next:", "strong"))
    return [*lines, *_action_lines(result.actions, result.now), *_answer_lines(result.plan)]


def _ask_lines(result: ResumeResult) -> list[Block]:
    """Return why to stop, and what the user can answer."""
    lines: list[Block] = [Line(f"Stop: {result.plan.why}.", "bad", "blocked", 2)]
    if result.brief:
        lines += [Line(f"  failed: {name}", "bad", hang=4) for name in result.brief.failed_rows]
    lines += [*_blocker_lines(result), *_warning_lines(result)]
    if result.actions:
        lines += _check_lines(result.actions[0])
    lines += [Line(result.plan.question, "strong", hang=2), *_answer_lines(result.plan)]
    return [*lines, *_background_lines(result)]


def _answer_lines(plan: ResumePlan) -> list[Block]:
    return [Line(f"  {answer.name + ':':10} ", hint=answer.command) for answer in plan.answers]


def _blocker_lines(result: ResumeResult) -> list[Block]:
    """Return the open blockers, each with the command that settles it."""
    lines = list[Block]()
    for blocker in result.blockers:
        name = blocker.value.get("id", "?")
        lines.append(Line(f"  blocker {name}: {blocker.describe(result.now)}", hang=4))
        lines.append(Line("    ", "dim", hint=blocker.answer))
    return lines


def _continue_lines(result: ResumeResult) -> list[Block]:
    """Return the action to resume from, and the context that it needs."""
    lines = _warning_lines(result)
    for blocker in result.blockers:
        if blocker.waits_on_user:
            text = f"Ask before proceeding: {blocker.describe(result.now)}"
            lines.append(Line(text, "bad", "decision", 2))

    lines += _first_lines(result)
    for key, title in PRIMER.items():
        entries = [Line(f"  - {text}", hang=4) for text in result.background.primer[key]]
        lines += _listed(title, entries)

    lines += _listed("Then", _action_lines(result.actions[1:], result.now, "- "))
    lines += _background_lines(result)
    blockers = _blocker_lines(result)
    if blockers:
        lines += [Line(""), *blockers]
    return lines


def _first_lines(result: ResumeResult) -> list[Block]:
    """Return the first next action, or that there is none."""
    if result.actions:
        first = result.actions[0]
        text = f"Resuming from next_actions[{first.position}]: {shorten(first.text, 60)}"
        return [Line(text, "good", "in_progress", 2), *_check_lines(first)]
    why = "every noted action is merged" if result.shipped else "nothing is noted"
    next_action = Blank("the next action")
    hint = advise("add what comes next", "checkpoint", "add", result.plan.skill, next_action)
    return [Line(f"Resuming, though {why}", "warn", "stale", 2, hint)]


def _action_lines(actions: Sequence[Action], now: int, bullet: str = "") -> list[Block]:
    lines = list[Block]()
    for action in actions:
        lines.append(Line(f"  {bullet}{action.text}", hang=4))
        lines += [*_fact_lines(action, now), *_check_lines(action)]
    return lines


def _fact_lines(action: Action, now: int) -> list[Block]:
    return [Line(f"    {text}", "dim", hang=6) for text in describe_facts(action.facts, now)]


def _check_lines(action: Action) -> list[Block]:
    if not action.done_when:
        return []
    return [Line(f"    done when: {action.done_when}", "dim", hang=6)]


def _background_lines(result: ResumeResult) -> list[Block]:
    """Return what was done last, and the tickets of other skills, from which this work may come."""
    done = list[Block]()
    for text, time in result.background.recently_done[:_MOST_DONE]:
        when = f" ({time})" if time else ""
        done.append(Line(f"  - {text}{when}", hang=4))

    tickets = list[Block]()
    for ref in result.siblings[:_MOST_TICKETS]:
        members = [ref.get(name) for name in ("id", "role", "provider", "url")]
        words = [str(member) for member in members if isinstance(member, str | int)]
        tickets.append(Line(f"  - {ref['skill']}: {', '.join(words)}", hang=4))

    hidden = len(result.siblings) - len(tickets)
    if hidden > 0:
        show = command("checkpoint", "show", "--tickets")
        tickets.append(Line(f"  and {hidden} more", "dim", hint=show))

    return [*_listed("Done last", done), *_listed("Tickets of other skills", tickets)]


def _listed(title: str, lines: Sequence[Block]) -> list[Block]:
    """Return lines below a title, [] for no lines."""
    if not lines:
        return []
    return [Line(""), Line(f"{title}:", "strong"), *lines]


def _warning_lines(result: ResumeResult) -> list[Block]:
    count = sum(finding.level != "note" for finding in result.drift)
    if not count:
        return []
    what = "one contradiction" if count == 1 else f"{count} contradictions"
    return [Line(f"Check before you continue: {what}, see below.", "warn", "stale", 2)]


def _data(result: ResumeResult) -> dict[str, Any]:
    """Return the result as JSON has it."""
    plan, brief = result.plan, result.brief
    data: dict[str, Any] = {"skill": plan.skill, "path": brief.path if brief else None}
    data |= plan.data
    for name in ("project", "phase", "step", "status", "progress_summary", "updated_at"):
        data[name] = views.text_field(result.value, name)

    actions = [action.data for action in result.actions]
    shipped = [shipped_data("text", action.text, action.facts) for action in result.shipped]
    done = [{"text": text, "at": time or None} for text, time in result.background.recently_done]
    asked = [blocker.value for blocker in result.blockers if blocker.waits_on_user]
    return {
        **data,
        "progress": brief.progress if brief else {"complete": 0, "total": 0},
        "next_action": actions[0] if actions else None,
        "next_actions": actions,
        "shipped_actions": shipped,
        "recently_done": done,
        "siblings_pm_refs": result.siblings,
        "blockers": [blocker.data for blocker in result.blockers],
        "ask_first": asked,
        "context_primer": result.background.primer,
    }
