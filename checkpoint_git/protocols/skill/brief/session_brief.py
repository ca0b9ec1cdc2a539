"""A new session's briefing about checkpoints: a few lines that matter most, and details, each
through clean().
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import StatusQuestion, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.limits import read_limits
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.brief.branches import has_others
from checkpoint_git.protocols.skill.brief.brief import NO_STATUS, Brief, make_briefs
from checkpoint_git.protocols.skill.brief.next_action import NextAction, Queue, plan_queue
from checkpoint_git.protocols.skill.brief.resume_plan import (
    LOOK_AFTER,
    Background,
    ResumePlan,
    find_background,
    plan_resume,
)
from checkpoint_git.protocols.skill.drift.merged_work import describe_facts, read_work
from checkpoint_git.protocols.skill.views import UNREADABLE

# checkpoints, and bytes of one, that are kept whole; what goes on is read again
_FEW, _LARGE = (
    64,
    1 << 20,
)
_MOST_LISTED = 100  # listed files looked at
_NO_PATH = r"[*?\[{\0\s]"  # signs of patterns and sentences, which are listed too
# fates that a commit decided; what is not there yet may be about to be written
LOST = (
    "renamed",
    "deleted",
)
_FATES = {"renamed": " (now {0.detail})", "deleted": " (deleted in {0.commit})"}
_PLAIN = "in progress"  # the reason of what just goes on
_SHORT, _MIDDLE, _LONG = 120, 240, 600  # letters


def summarize_for_session(question: StatusQuestion) -> Summary:
    """Return what `prime` tells a session: lines, and details that are left out first."""
    place, now = question.place, question.now
    documents = [
        document if index < _FEW and document.size < _LARGE else views.outline(document)
        for index, document in enumerate(store.iterate_documents(place, now))
    ]
    work, _ = read_work(place, documents, now)
    briefs = make_briefs(documents, now, read_limits(place, question.env), work)
    queue = plan_queue(briefs)
    plan = find_resumable(documents, briefs, queue)
    resumed = _read_resumed(place, documents, plan, now)
    background = find_background(resumed)
    session = Session(briefs, queue, plan, background, [], find_broken(documents), now)
    if resumed and session.resumed:
        age = session.resumed.age
        is_old = age is not None and age > LOOK_AFTER
        gone = _find_gone(place, resumed, background.primer["generated_files"], now, is_old=is_old)
        session = session._replace(gone=gone)

    summary = describe_session(session)

    ahead, not_compared = list[str](), ""
    if has_others(place):
        from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

        versions, not_compared = find_ahead(place, now)
        ahead = [clean(version.line, _LONG) for version in versions]

    lines = [
        *summary.lines,
        *_listed("Other work trees or branches are ahead of this one", ahead, 3),
    ]
    if not_compared:
        lines.append(not_compared)
    return summary._replace(lines=lines)


def _read_resumed(
    place: Place, documents: Sequence[Document], plan: ResumePlan | None, now: int
) -> Document | None:
    """Return the document that the session goes on with, read again where its outline alone was
    kept.
    """
    resumed = next(
        (document for document in documents if plan and document.skill == plan.skill), None
    )
    if resumed is None or resumed.text is not None:
        return resumed
    found = store.check_files(store.read_files(place, only={resumed.path}), now)
    return next(iter(found), resumed)


def _find_gone(
    place: Place, document: Document, listed: Sequence[str], now: int, *, is_old: bool
) -> list[str]:
    """Return the listed files that are not there; unless the checkpoint is old, only those that a
    commit removed.
    """
    if not may_miss_files(place, listed):
        return []
    # git is asked, as for the doctor
    from checkpoint_git.protocols.skill.drift.facts import (
        make_facts,
    )

    files = make_facts(place, [document], now, os.environ).files.get(document.path, ())
    fates = (*LOST, "uncommitted", "longer", "unknown", "") if is_old else LOST
    gone = [file for file in files if file.state == "missing" and file.fate in fates]
    return [file.path + _FATES.get(file.fate, "").format(file) for file in gone]


def may_miss_files(place: Place, listed: Sequence[str]) -> bool:
    """Return whether it is worth asking for them. listed: entries of generated_files."""
    return any(_may_be_gone(place, entry) for entry in listed[:_MOST_LISTED])


def _may_be_gone(place: Place, entry: str) -> bool:
    """A quick look at the path that an entry begins with; a pattern's folder."""
    sign = re.search(_NO_PATH, entry)
    path = entry[: sign.start()] if sign else entry
    path = path.rpartition("/")[0] if sign and sign[0] in "*?[{" else path
    if not path or path[0] == "/" or ".." in path:
        return ".." in path
    return not any(os.path.lexists(os.path.join(base, path)) for base in (place.root, place.top))


def find_resumable(
    documents: Sequence[Document], briefs: Sequence[Brief], queue: Queue
) -> ResumePlan | None:
    """Return the plan of the first checkpoint that may go on, else of the first to ask about.

    documents: of the briefs, in their order. None if all are complete or unreadable.
    """
    pairs = {
        brief.skill: (document, brief) for document, brief in zip(documents, briefs, strict=True)
    }
    first = None
    for skill in dict.fromkeys([*(action.skill for action in queue.actions), *pairs]):
        document, brief = pairs[skill]
        if brief.status in (NO_STATUS, UNREADABLE, "complete"):
            continue
        plan = plan_resume(document, brief)
        if plan.decision == "continue":
            return plan
        if plan.decision == "ask" and first is None:
            first = plan

    return first


class Session(NamedTuple):
    """What a session is told of.

    plan, background: how the resumed checkpoint goes on, and what to know of it. gone: files that
    it lists and that are not there. broken: what keeps checkpoints from being read. now: seconds
    since 1970.
    """

    briefs: Sequence[Brief]
    queue: Queue
    plan: ResumePlan | None
    background: Background
    gone: Sequence[str]
    broken: Sequence[Finding]
    now: int

    @property
    def resumed(self) -> Brief | None:
        return next(
            (brief for brief in self.briefs if self.plan and brief.skill == self.plan.skill), None
        )


def describe_session(session: Session) -> Summary:
    """Return the lines for the session, and the details that are left out first."""
    now = session.now
    lines = _listed("Decisions waiting on the user", [*_list_decisions(session.briefs, now)], 6)
    lines += _describe_plan(session)
    lines += _describe_first(session.queue, session.plan, now)
    lines += _describe_faults(session)
    merged = [
        clean(
            "; ".join([f"{part.skill}: {part.action}", *describe_facts(part.facts, now)]), _MIDDLE
        )
        for part in session.queue.skipped
    ]
    lines += _listed("Next actions that merges finished", merged, 3)
    lines += _listed(
        "Listed files that are missing", [clean(path, _SHORT) for path in session.gone], 3
    )
    return Summary(
        lines=lines, details=[*_describe_background(session), *_describe_others(session)]
    )


def _list_decisions(briefs: Sequence[Brief], now: int) -> Iterator[str]:
    """Yield the decisions that wait on the user, each with the command that answers it."""
    for brief in briefs:
        for decision in brief.decisions:
            question = clean(decision.describe(now), _MIDDLE)
            answer = clean(str(decision.answer), _MIDDLE)
            yield f"{clean(brief.skill, 60)}: {question} - answer: {answer}"


def _describe_plan(session: Session) -> list[str]:
    """Return how the resumed checkpoint goes on, [] if there is none."""
    plan, brief = session.plan, session.resumed
    if plan is None or brief is None:
        return []
    lines = [clean(line, _LONG) for line in plan.orientation]
    for action in brief.actions[:1]:
        lines += [f"  {clean(text, _MIDDLE)}" for text in describe_facts(action.facts, session.now)]
    if plan.decision == "ask":
        lines.append(f"Stop and ask the user first: {clean(plan.why, _MIDDLE)}")
    superseded = [clean(text, _MIDDLE) for text in brief.superseded]
    return lines + _listed("Not reviewed: the other side of a merge", superseded, 3)


def _describe_first(queue: Queue, plan: ResumePlan | None, now: int) -> list[str]:
    """Return what matters most, where no other line has it: decisions and the resumed skill have
    their own.
    """
    first = next((action for action in queue.actions if action.rank != "decision"), None)
    if first is None or (plan and plan.skill == first.skill and first.reason == _PLAIN):
        return []
    what = clean(first.action, _MIDDLE)
    if first.rank in ("idle", "failed") and first.answer_with:
        what += f": {clean(str(first.answer_with), _MIDDLE)}"
    lines = [f"Most important: {clean(first.skill, 60)}: {what}"]
    if not first.then:
        lines += [f"  {clean(text, _MIDDLE)}" for text in describe_facts(first.facts, now)]
    return [*lines, f"  why: {clean(first.reason, _MIDDLE)}"]


def _describe_faults(session: Session) -> Iterator[str]:
    """Yield the first checkpoints that are stale, and the first that are broken."""
    stale = [brief for brief in session.briefs if brief.stale]
    for brief in stale[:4]:
        yield f"Stale: {clean(brief.skill, 60)} was not updated for {(brief.age or 0) // DAY} days"
    for finding in session.broken[:4]:
        yield f"Broken: {clean(f'{finding.path}: {finding.message}; {finding.hint}', _MIDDLE)}"


def _describe_background(session: Session) -> Iterator[str]:
    """Yield what to know of the resumed checkpoint."""
    now, primer = session.now, session.background.primer
    blockers, following = list[str](), list[str]()
    if session.resumed:
        blockers = [
            blocker.describe(now)
            for blocker in session.resumed.blockers
            if not blocker.waits_on_user
        ]
        for action in session.resumed.actions[1:]:
            following.append("; ".join([action.text, *describe_facts(action.facts, now)]))

    parts: tuple[tuple[str, list[str], int], ...] = (
        ("Blockers", blockers, 4),
        ("Then", following, 4),
        ("Key decisions", primer["key_decisions"][::-1], 8),  # the newest say most about now
        ("User preferences", primer["user_preferences"], 4),
        ("Generated files", primer["generated_files"][::-1], 6),
    )
    for title, texts, most in parts:
        shown = [f"- {clean(text, _MIDDLE)}" for text in texts[:most]]
        yield from _listed(title, [*shown, *texts[most:]], most)  # the others are counted


def _describe_others(session: Session) -> list[str]:
    """Return the other checkpoints, in the order in which they matter; what asks for nothing comes
    last.
    """
    actions = {action.skill: action for action in session.queue.actions}
    order = {skill: index for index, skill in enumerate(actions)}
    others = [
        brief
        for brief in session.briefs
        if session.plan is None or brief.skill != session.plan.skill
    ]
    others.sort(key=lambda brief: order.get(brief.skill, len(order)))
    lines = [_describe_other(brief, actions.get(brief.skill), session.now) for brief in others]
    return _listed("Other checkpoints", lines, 12)


def _describe_other(brief: Brief, action: NextAction | None, now: int) -> str:
    words = [brief.status, brief.step or brief.phase]
    if brief.rows:
        words.append(f"{brief.complete_rows}/{len(brief.rows)}")
    if brief.age is not None:
        words.append(age_text(brief.age))
    line = f"{clean(brief.skill, 60)}: {clean(', '.join(filter(None, words)), _SHORT)}"
    blockers = [blocker for blocker in brief.blockers if not blocker.waits_on_user]
    if blockers:
        return f"{line}; blocker: {clean(blockers[0].describe(now), _SHORT)}"
    if action is None or action.rank == "decision":  # decisions have lines of their own
        return line
    facts = [] if action.then else describe_facts(action.facts, now)
    return "; ".join(
        [f"{line}; next: {clean(action.action, _SHORT)}", *(clean(text, _SHORT) for text in facts)]
    )


def _listed(title: str, lines: Sequence[str], most: int) -> list[str]:
    """Return a title that counts the lines, and the first of them; [] for none."""
    if not lines:
        return []
    listed = [f"{title}: {len(lines)}", *(f"  {line}" for line in lines[:most])]
    if len(lines) > most:
        listed.append(f"  and {len(lines) - most} more")
    return listed
