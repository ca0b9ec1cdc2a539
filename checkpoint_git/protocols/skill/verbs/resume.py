"""`checkpoint resume`: everything a new session needs to pick this up, and whether it may."""

import argparse
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
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
from checkpoint_git.protocols.skill import layout, store, views
from checkpoint_git.protocols.skill.brief import resume_brief
from checkpoint_git.protocols.skill.brief.next_action import Action, shipped_data, split_actions
from checkpoint_git.protocols.skill.brief.worktrees import find_ahead
from checkpoint_git.protocols.skill.drift.merged_work import (
    Known,
    describe_facts,
    facts_data,
    find_text_facts,
    read_work,
)

MAY_OMIT_NAME = True
HELP = """\
show everything a new session needs to pick this up, and whether it may continue

examples:
  checkpoint resume build
  checkpoint resume build --continue      continue even if it says stop
  checkpoint resume build --json

Work may continue if it is in progress and was updated within seven days. Exit code 1 means stop
and ask (a decision waits; blocked, failed, stale or invalid; a merge in progress), or start over
because the file cannot be read. Actions whose done_when_merged is merged are skipped. If the last
update is more than a day old, it also lists the commits since, and generated_files that are
missing or changed. Contradictions between status, step and progress_table are always shown.

exit 1: stop and ask: blocked, failed, stale or invalid
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", help="the checkpoint to continue; optional if there is only one")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="continue where it would stop and ask")


_MOST_DONE = 3
_MOST_TICKETS = 12


class ResumeResult(NamedTuple):
    """plan: what is to happen. document: None where there is none. drift: what no longer fits. siblings: the pm_refs
    of other skills. known: what the history says of the references. now: seconds since 1970.
    """

    plan: resume_brief.Plan
    document: Document | None
    context: resume_brief.Context
    drift: list[Finding]
    now: int
    siblings: Sequence[dict[str, Any]] = ()
    known: Known = MappingProxyType({})

    @property
    def shipped(self) -> list[Action]:
        return split_actions(self.document, self.known)[1] if self.document else []

    def describe(self, blocker: dict[str, Any]) -> str:
        facts = find_text_facts(views.text_field(blocker, "proposed_resolution"), self.known)
        return views.describe_blocker(blocker, describe_facts(facts, self.now))

    def with_references(self, blocker: dict[str, Any]) -> dict[str, Any]:
        facts = find_text_facts(views.text_field(blocker, "proposed_resolution"), self.known)
        return {**blocker, "references": facts_data(facts)} if facts else blocker


def resume(place: Place, skill: str, now: int, env: Mapping[str, str]) -> ResumeResult:
    """How to continue with a skill. A missing or broken checkpoint is not an error but a plan that says so. env: the
    environment in which git is asked about files. Raises CheckpointError for an invalid name.
    """
    content = store.read_skill(place, skill)
    if content is None:
        store.check_index(place, skill)
    path = layout.relative_checkpoint_path(place, skill)
    document = None if content is None else store.check_files([(path, content)], now)[0]
    if document:
        text = document.text or ""
        findings = [Finding(**hide_secrets(one._asdict(), text)) for one in document.findings]
        document = document._replace(value=hide_secrets(document.value, text), findings=findings)
    plan = resume_brief.plan_resume(document, skill, now)
    value = (document.value if document else None) or {}
    siblings = list[dict[str, Any]]()
    if os.path.isdir(place.directory):
        siblings = views.find_refs(each for each in store.iterate_documents(place, now) if each.skill != skill)
    if document is None or document.value is None or plan.decision == "start_fresh":
        return ResumeResult(plan, document, resume_brief.find_context(document), [], now, siblings)
    work, findings = read_work(place, [document], now)
    known = work.get(document.path, {})
    plan = resume_brief.plan_resume(document, skill, now, known)
    drift = [*resume_brief.find_contradictions(document), *findings]
    age = views.find_age(value, now)
    if plan.decision != "complete" and age is not None and age > resume_brief.LOOK_AFTER:
        from checkpoint_git.protocols.skill.drift.file_facts import read_drift

        drift += read_drift(place, document, now, env)
    elif plan.decision != "complete":
        from checkpoint_git.protocols.skill.brief.session_brief import LOST, may_miss_files

        if may_miss_files(place, [*map(views.listed_path, views.read_primer(value, "generated_files"))]):
            from checkpoint_git.protocols.skill.drift.checks import find_missing_files
            from checkpoint_git.protocols.skill.drift.facts import make_facts

            facts = make_facts(place, [document], now, env)
            files = [one for one in facts.files.get(document.path, ()) if one.fate in LOST or one.state == "there"]
            facts.files = {document.path: files}
            drift += [*find_missing_files(facts), *facts.context.troubles]
    if drift:
        from checkpoint_git.protocols.check import locate_all

        drift = sorted(locate_all(drift, {document.path: document.text}.get), key=lambda one: one.level == "note")
    context = resume_brief.find_context(document, known)
    return ResumeResult(plan, document, context, drift, now, siblings, known)


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 0 to go on (or when all is complete, or nothing is there yet), 1 to stop and ask."""
    layout.check_skill_name(args.skill)
    try:
        place = find_place(invocation.cwd)
    except CheckpointError:
        place = plan_place(invocation.cwd)  # without a folder of checkpoints there is nothing to resume yet
        if os.path.lexists(place.directory):
            raise
    result = resume(place, args.skill, invocation.now, invocation.env)
    others = store.list_skills(place) if os.path.isdir(place.directory) else None
    plan = result.plan
    if args.go_on and plan.decision == "ask" and "conflict" not in plan.reasons:
        plan = plan._replace(decision="continue", question="", answers=())
    result = result._replace(plan=plan)
    errors = [finding for finding in result.document.findings if finding.level == "error"] if result.document else []
    stops = plan.decision == "ask" or (errors and not args.go_on) or plan.reasons in (("corrupt",), ("incompatible",))
    ahead, left = find_ahead(place, invocation.now, args.skill) if os.path.isdir(place.directory) else ([], "")
    elsewhere: list[Block] = [Line(text, "warn", hang=2) for text in (*(one.line for one in ahead), left) if text]
    data = {**_data(result), "worktrees": [one._asdict() for one in ahead], "not_compared": left}
    findings = [*errors, *result.drift]
    outcome = Outcome(data, [*_blocks(result, others), *elsewhere], findings, 1 if stops else 0)
    if len(findings) > len({one.cause or one for one in findings}):
        from checkpoint_git.protocols.digest import fold

        every: Argv = ("checkpoint", "resume", "--json", args.skill)
        outcome = outcome._replace(digest=Digest(fold(findings, frozenset(), lambda code: every), every))
    return add_gaps(outcome, (place.work_tree, place.git_dir), invocation)


def _blocks(result: ResumeResult, others: list[str] | None) -> list[Block]:
    plan, context = result.plan, result.context
    blocks: list[Block] = [Line(line, "" if at else "strong", hang=2) for at, line in enumerate(plan.orientation)]
    if plan.orientation and context.actions:
        blocks += _fact_lines(context.actions[0], result.now)
    for action in result.shipped[:_MOST_DONE]:
        blocks += [Line(f"Skipped: {action.text}", "dim", hang=4), *_fact_lines(action, result.now)]
    blocks += [Line("")] if plan.orientation else []
    answers = [Line(f"  {answer.name + ':':10} ", hint=answer.command) for answer in plan.answers]
    blockers = list[Block]()
    for one, argv in views.find_answers(plan.skill, (result.document.value if result.document else None) or {}):
        blockers.append(Line(f"  blocker {one.get('id', '?')}: {result.describe(one)}", hang=4))
        blockers.append(Line("    ", "dim", hint=command(*argv)))
    if "missing" in plan.reasons:
        from difflib import get_close_matches

        near = get_close_matches(plan.skill, others or (), 1, 0.8)
        is_first = others is None
        blocks += [Line("Did you mean", "strong", hint=command("checkpoint", "resume", near[0]))] if near else []
        known = f" (there are: {', '.join(others)})" if others else ""
        blocks.append(Line(f"{plan.why}{known}.", "warn", hang=2))
        start: Argv = ("checkpoint", "update", plan.skill)
        commands = (("checkpoint", "init"), start) if is_first else (start,)
        blocks.append(Line("Start fresh", hint=chain("", commands)))
    elif plan.decision == "start_fresh":
        blocks.append(Line(f"{plan.why}.", "bad", "failed", 2))
        blocks += [Line("Start fresh; the file is kept until you say so:"), *answers, Line("")]
    elif plan.decision == "complete":
        blocks.append(Line(f"{plan.skill}: {plan.why}.", "good", "complete"))
        blocks += [Line("Queued next:", "strong")] if context.actions else []
        blocks += [*_action_lines(context.actions, result.now), *answers]
    elif plan.decision == "ask":
        blocks.append(Line(f"Stop: {plan.why}.", "bad", "blocked", 2))
        blocks += [Line(f"  failed: {label}", "bad", hang=4) for label in context.failed_rows]
        blocks += [*blockers, *_warning_lines(result)]
        if context.actions:
            blocks += _check_lines(context.actions[0])
        blocks += [Line(plan.question, "strong", hang=2), *answers, *_background_lines(result)]
    else:
        blocks += [*_continue_lines(result), *([Line(""), *blockers] if blockers else [])]
    return [*blocks, *([Line("")] if result.drift else [])]


def _continue_lines(result: ResumeResult) -> list[Block]:
    context = result.context
    lines = _warning_lines(result)
    lines += [Line(f"Ask before proceeding: {result.describe(one)}", "bad", "decision", 2) for one in context.decisions]
    if context.actions:
        first = context.actions[0]
        text = f"Resuming from next_actions[{first.at}]: {shorten(first.text, 60)}"
        lines.append(Line(text, "good", "in_progress", 2))
        lines += _check_lines(first)
    else:
        why = "every noted action is merged" if result.shipped else "nothing is noted"
        how = advise("say what comes next", "checkpoint", "add", result.plan.skill, Blank("the next action"))
        lines.append(Line(f"Resuming, though {why}", "warn", "stale", 2, how))
    for key, title in resume_brief.PRIMER.items():
        lines += _listed(title, [Line(f"  - {text}", hang=4) for text in context.primer[key]])
    return [*lines, *_listed("Then", _action_lines(context.actions[1:], result.now, "- ")), *_background_lines(result)]


def _action_lines(actions: Sequence[Action], now: int, bullet: str = "") -> list[Block]:
    lines = list[Block]()
    for action in actions:
        lines.append(Line(f"  {bullet}{action.text}", hang=4))
        lines += [*_fact_lines(action, now), *_check_lines(action)]
    return lines


def _fact_lines(action: Action, now: int) -> list[Block]:
    return [Line(f"    {text}", "dim", hang=6) for text in describe_facts(action.facts, now)]


def _check_lines(action: Action) -> list[Block]:
    return [Line(f"    done when: {action.done_when}", "dim", hang=6)] if action.done_when else []


def _background_lines(result: ResumeResult) -> list[Block]:
    """What was done last, and the tickets of other skills, among which may be the source of this one's work."""
    done = [Line(f"  - {text}{f' ({at})' if at else ''}", hang=4) for text, at in result.context.recently_done]
    tickets = list[Block]()
    for ref in result.siblings[:_MOST_TICKETS]:
        words = (str(ref[name]) for name in ("id", "role", "provider", "url") if isinstance(ref.get(name), str | int))
        tickets.append(Line(f"  - {ref['skill']}: {', '.join(words)}", hang=4))
    more = len(result.siblings) - len(tickets)
    tickets += [Line(f"  and {more} more", "dim", hint=command("checkpoint", "show", "--tickets"))] if more > 0 else []
    return [*_listed("Done last", done[:_MOST_DONE]), *_listed("Tickets of other skills", tickets)]


def _listed(title: str, lines: Sequence[Block]) -> list[Block]:
    return [Line(""), Line(f"{title}:", "strong"), *lines] if lines else []


def _warning_lines(result: ResumeResult) -> list[Block]:
    count = sum(finding.level != "note" for finding in result.drift)
    what = "one contradiction" if count == 1 else f"{count} contradictions"
    return [Line(f"Check before you continue: {what}, see below.", "warn", "stale", 2)] if count else []


def _data(result: ResumeResult) -> dict[str, Any]:
    plan, context = result.plan, result.context
    value = (result.document.value if result.document else None) or {}
    complete, rows = views.count_rows(value)
    actions = [action.data for action in context.actions]
    shipped = [shipped_data("text", action.text, action.facts) for action in result.shipped]
    return {
        "skill": plan.skill,
        "path": result.document.path if result.document else None,
        "decision": plan.decision,
        "reasons": plan.reasons,
        "why": plan.why,
        "question": plan.question or None,
        "answers": [answer._asdict() for answer in plan.answers],
        "resuming": plan.orientation,
        **{name: views.text_field(value, name) for name in ("project", "phase", "step", "status", "progress_summary")},
        "updated_at": views.text_field(value, "updated_at"),
        "progress": {"complete": complete, "total": rows},
        "next_action": actions[0] if actions else None,
        "next_actions": actions,
        "shipped_actions": shipped,
        "recently_done": [{"text": text, "at": at or None} for text, at in context.recently_done],
        "siblings_pm_refs": result.siblings,
        "blockers": [result.with_references(blocker) for blocker in context.blockers],
        "ask_first": context.decisions,
        "context_primer": context.primer,
    }
