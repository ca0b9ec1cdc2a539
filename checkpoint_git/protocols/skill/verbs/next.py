"""`checkpoint next`: the most important action; what merges finished is skipped."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Glyph, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.clone import add_gaps, find_claims
from checkpoint_git.protocols.document import find_broken
from checkpoint_git.protocols.limits import Limits, read_limits
from checkpoint_git.protocols.skill.brief.branches import has_others
from checkpoint_git.protocols.skill.brief.brief import make_briefs
from checkpoint_git.protocols.skill.brief.next_action import (
    NO_ACTION,
    NextAction,
    Queue,
    SkippedAction,
    plan_queue,
)
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts, read_work
from checkpoint_git.protocols.skill.store import iterate_documents, read_document
from checkpoint_git.protocols.skill.views import outline

if TYPE_CHECKING:
    from checkpoint_git.git.leases import Claim

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

# rank -> glyph, for ranks that are not the name of one
_GLYPHS: dict[str, Glyph] = {"gate": "in_progress", "idle": "stale"}


class NextResult(NamedTuple):
    """The next actions of a place.

    queue: all actions, the most important first. findings: about broken files, and about a history
    that could not be read.
    """

    queue: Queue
    findings: list[Finding]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "skill", metavar="NAME", nargs="?", help="of this checkpoint; default: of all"
    )
    parser.add_argument("--all", action="store_true", help="the whole queue, and what was skipped")


def next_actions(place: Place, now: int, limits: Limits) -> NextResult:
    """Return the queue of a place's checkpoints. History that cannot be read is only a finding."""
    documents = [outline(document) for document in iterate_documents(place, now)]
    work, troubles = read_work(place, documents, now)
    queue = plan_queue(make_briefs(documents, now, limits, work))
    return NextResult(queue, [*find_broken(documents), *troubles])


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Run the verb. The exit code is 1 if a checkpoint is broken: it may have the first action."""
    place = find_place(invocation.cwd)
    limits = read_limits(place, invocation.env)
    (actions, skipped), findings = next_actions(place, invocation.now, limits)
    if args.skill is not None:
        read_document(place, args.skill, invocation.now)  # raises if there is none
        actions = [action for action in actions if action.skill == args.skill]
        skipped = [part for part in skipped if part.skill == args.skill]

    claims = find_claims(place.work_tree, place.git_dir, invocation.env, invocation.now)
    _move_claimed(actions, claims, place, invocation)

    elsewhere = list[str]()
    data: dict[str, Any] = dict.fromkeys(NO_ACTION)
    if actions:
        elsewhere = _find_done_elsewhere(place, actions[0], invocation.now)
        data = actions[0].data
    data["skipped"] = len(skipped)
    data["skipped_actions"] = [part.data for part in skipped]
    if args.all:
        data["queue"] = [action.data for action in actions]
    data["done_elsewhere"] = elsewhere

    blocks = _queue_lines(actions if args.all else actions[:1], elsewhere, findings, invocation.now)
    blocks += _skipped_lines(skipped, invocation.now, in_full=args.all)
    outcome = Outcome(data, blocks, findings)
    return add_gaps(outcome, (place.work_tree, place.git_dir), invocation, claims)


def _move_claimed(
    actions: list[NextAction], claims: "list[Claim]", place: Place, invocation: Invocation
) -> None:
    """Move what somebody else has claimed to the end of the queue, in place."""
    if claims:
        from checkpoint_git.git.leases import find_holder

        holder = find_holder(place.top, invocation)
        taken = {claim.name for claim in claims if claim.holder != holder}
        actions.sort(key=lambda action: action.skill in taken)


def _find_done_elsewhere(place: Place, action: NextAction, now: int) -> list[str]:
    """Return the branches and work trees that have done an action already."""
    if not has_others(place):
        return []
    from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

    ahead, _ = find_ahead(place, now, action.skill)
    wanted = {("done", text) for text in (action.action, action.then) if text}
    return [
        version.branch or version.work_tree
        for version in ahead
        if wanted.intersection(version.events)
    ]


def _queue_lines(
    actions: list[NextAction], elsewhere: list[str], findings: list[Finding], now: int
) -> list[Block]:
    """Return the actions to show, or why there are none. elsewhere: where the first one is done
    already.
    """
    broken = sum(finding.level == "error" for finding in findings)
    if not actions and broken:
        return [Line(f"no next action: {plural(broken, 'checkpoint')} cannot be used", "bad")]
    if not actions:
        return [Line("nothing to do: no checkpoint has an action left", "good")]

    blocks = [block for action in actions for block in _lines(action, now)]
    if elsewhere:
        merge = f"  done already on branch {', '.join(elsewhere)}: merge it"
        blocks.insert(1, Line(merge, "warn", hang=2))

    return blocks


def _lines(action: NextAction, now: int) -> list[Block]:
    glyph = _GLYPHS.get(action.rank, cast(Glyph, action.rank))
    facts: list[Block] = [
        Line(f"    {text}", "dim", hang=6) for text in describe_facts(action.facts, now)
    ]
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


def _skipped_lines(skipped: list[SkippedAction], now: int, *, in_full: bool) -> list[Block]:
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
