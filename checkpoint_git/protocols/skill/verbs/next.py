"""`checkpoint next`: the most important action; what merges finished is skipped."""

from argparse import ArgumentParser, Namespace
from typing import Any, NamedTuple, cast

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Glyph, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.clone import add_gaps, find_claims
from checkpoint_git.protocols.document import find_broken
from checkpoint_git.protocols.skill.brief.branches import has_others
from checkpoint_git.protocols.skill.brief.next_action import NO_ACTION, NextAction, Queue, Skipped, plan_queue
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts, read_work
from checkpoint_git.protocols.skill.store import iterate_documents, read_document
from checkpoint_git.protocols.skill.views import outline

HELP = """\
show the most important next action

examples:
  checkpoint next
  checkpoint next build       of one checkpoint
  checkpoint next --all       the whole queue, with the reasons
  checkpoint next --json

Order: waiting for your decision; failed; in progress at a gate (phase or step says gate, approval,
review, sign-off or the like); in progress; blocked; complete with actions left; not started. Ties:
over budget first, then the most recently updated. Below an action is what git's history says of
the pull requests and tickets that it names. An action is skipped once everything in its
done_when_merged is merged, or if its text is only "Merge #12" and #12 is.

exit 1: a checkpoint is invalid
"""

_GLYPHS: dict[str, Glyph] = {"gate": "in_progress", "idle": "stale"}  # of the ranks that are not called as theirs


class NextResult(NamedTuple):
    """queue: all actions, the most important first. findings: broken files, and whether the history could be asked."""

    queue: Queue
    findings: list[Finding]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("skill", metavar="NAME", nargs="?", help="of this checkpoint; default: of all")
    parser.add_argument("--all", action="store_true", help="the whole queue, and what was skipped")


def next_actions(place: Place, now: int) -> NextResult:
    """The queue of a place's checkpoints. Never fails for want of history: a finding says so."""
    documents = [outline(document) for document in iterate_documents(place, now)]
    work, troubles = read_work(place, documents, now)
    return NextResult(plan_queue(documents, work, now), [*find_broken(documents), *troubles])


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when a checkpoint is broken, which may hide what matters more."""
    place = find_place(invocation.cwd)
    (actions, skipped), findings = next_actions(place, invocation.now)
    if args.skill is not None:
        read_document(place, args.skill, invocation.now)  # raises where there is none
        actions = [action for action in actions if action.skill == args.skill]
        skipped = [part for part in skipped if part.skill == args.skill]
    claims = find_claims(place.work_tree, place.git_dir, invocation.env, invocation.now)
    if claims:
        from checkpoint_git.git.leases import find_holder

        holder = find_holder(place.top, invocation)
        taken = {claim.name for claim in claims if claim.holder != holder}
        actions.sort(key=lambda action: action.skill in taken)
    data: dict[str, Any] = actions[0].data if actions else dict.fromkeys(NO_ACTION)
    data["skipped"] = len(skipped)
    data["skipped_actions"] = [part.data for part in skipped]
    if args.all:
        data["queue"] = [action.data for action in actions]
    data["done_elsewhere"] = []
    if actions and has_others(place):
        from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

        ahead = find_ahead(place, invocation.now, actions[0].skill)[0]
        wanted = {("done", text) for text in (actions[0].action, actions[0].then) if text}
        data["done_elsewhere"] = [one.branch or one.work_tree for one in ahead if wanted.intersection(one.events)]
    blocks: list[Block] = []
    for action in actions if args.all else actions[:1]:
        blocks += _lines(action, invocation.now)
    if data["done_elsewhere"]:
        told = f"  done already on branch {', '.join(data['done_elsewhere'])}: merge it"
        blocks.insert(1, Line(told, "warn", hang=2))
    broken = sum(finding.level == "error" for finding in findings)
    if not actions and broken:
        blocks = [Line(f"no next action: {plural(broken, 'checkpoint')} cannot be used", "bad")]
    blocks = blocks or [Line("nothing to do: no checkpoint has an action left", "good")]
    outcome = Outcome(data, [*blocks, *_skipped_lines(skipped, invocation.now, in_full=args.all)], findings)
    return add_gaps(outcome, (place.work_tree, place.git_dir), invocation, claims)


def _lines(action: NextAction, now: int) -> list[Block]:
    glyph = _GLYPHS.get(action.rank, cast(Glyph, action.rank))
    facts: list[Block] = [Line(f"    {text}", "dim", hang=6) for text in describe_facts(action.facts, now)]
    lines: list[Block] = [Line(f"{action.skill}: {action.action}", "strong", glyph, 2)]
    if not action.then:
        lines += facts
    lines.append(Line(f"  why: {action.reason}", "warn" if action.stale else "dim", hang=7))
    for text in describe_facts(action.proposal, now):
        lines.append(Line(f"  proposed: {text}", "good", hang=12))
    if action.answer_with:
        label = "  answer" if action.rank in ("decision", "blocked") else "  with"
        lines.append(Line(label, "dim", hint=action.answer_with))
    if action.done_when:
        lines.append(Line(f"  done when: {action.done_when}", "dim", hang=13))
    if action.then:
        lines += [Line(f"  then: {action.then}", hang=8), *facts]
    return lines


def _skipped_lines(skipped: list[Skipped], now: int, *, in_full: bool) -> list[Block]:
    if not skipped:
        return []
    summary = f"{len(skipped)} actions were skipped: all that they wait for is merged"
    if len(skipped) == 1:
        summary = "1 action was skipped: all that it waits for is merged"
    if not in_full:
        return [Line(summary, "dim", hint=advise("to see them", "checkpoint", "next", "--all"))]
    lines: list[Block] = [Line(summary, "dim")]
    for part in skipped:
        evidence = "; ".join(describe_facts(part.facts, now))
        lines.append(Line(f"  {part.skill}: {part.action} - {evidence}", "dim", hang=4))
    return lines
