"""Brief a new session about checkpoints: a few lines that matter most, and details.

Each goes through clean().
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
_FEW = 64
_LARGE = 1 << 20
_MOST_LISTED = 100  # listed files looked at
_NO_PATH = r"[*?\[{\0\s]"  # signs of patterns and sentences, which are listed too
# fates that a commit decided; what is not there yet may be about to be written
LOST = ("renamed", "deleted")
_FATES = {"renamed": " (now {0.detail})", "deleted": " (deleted in {0.commit})"}
_PLAIN = "in progress"  # the reason of what just goes on
_SHORT, _MIDDLE, _LONG = 120, 240, 600  # letters


def summarize_for_session(question: StatusQuestion) -> Summary:
    """Return what `prime` tells a session: lines, and details that are left out first."""
    place, now = question.place, question.now
    documents = _read_documents(place, now)
    work, _ = read_work(place, documents, now)
    briefs = make_briefs(documents, now, read_limits(place, question.env), work)
    queue = plan_queue(briefs)
    plan = find_resumable(documents, briefs, queue)
    resumed = _read_resumed(place, documents, plan, now)
    session = Session(
        briefs=briefs,
        queue=queue,
        plan=plan,
        background=find_background(resumed),
        gone=[],
        broken=find_broken(documents),
        now=now,
    )
    if resumed and session.resumed:
        age = session.resumed.age
        is_old = age is not None and age > LOOK_AFTER
        listed = session.background.primer["generated_files"]
        gone = _find_gone(place, resumed, listed, now, is_old=is_old)
        session = session._replace(gone=gone)

    summary = describe_session(session)

    ahead = list[str]()
    not_compared = ""
    if has_others(place):
        from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

        versions, not_compared = find_ahead(place, now)
        ahead = [clean(version.line, _LONG) for version in versions]

    lines = list(summary.lines)
    lines += _listed("Other work trees or branches are ahead of this one", ahead, 3)
    if not_compared:
        lines.append(not_compared)
    return summary._replace(lines=lines)


def _read_documents(place: Place, now: int) -> list[Document]:
    """Return all documents, the first and small ones whole, of the others an outline."""
    documents = list[Document]()
    for index, document in enumerate(store.iterate_documents(place, now)):
        if index >= _FEW or document.size >= _LARGE:
            document = views.outline(document)
        documents.append(document)
    return documents


def _read_resumed(
    place: Place, documents: Sequence[Document], plan: ResumePlan | None, now: int
) -> Document | None:
    """Return the document that the session goes on with, None for none.

    It is read again where its outline alone was kept.
    """
    if plan is None:
        return None
    resumed = next((document for document in documents if document.skill == plan.skill), None)
    if resumed is None or resumed.text is not None:
        return resumed
    found = store.check_files(store.read_files(place, only={resumed.path}), now)
    return next(iter(found), resumed)


def _find_gone(
    place: Place, document: Document, listed: Sequence[str], now: int, *, is_old: bool
) -> list[str]:
    """Return the listed files that are missing, each with its fate.

    Those of a checkpoint that is not old are only those that a commit removed. listed: entries of
    generated_files.
    """
    if not may_miss_files(place, listed):
        return []

    # git is asked, as for the doctor
    from checkpoint_git.protocols.skill.drift.facts import make_facts

    files = make_facts(place, [document], now, os.environ).files.get(document.path, ())
    fates: tuple[str, ...] = LOST
    if is_old:
        fates = (*LOST, "uncommitted", "longer", "unknown", "")
    gone = [file for file in files if file.state == "missing" and file.fate in fates]
    return [file.path + _FATES.get(file.fate, "").format(file) for file in gone]


def may_miss_files(place: Place, listed: Sequence[str]) -> bool:
    """Return whether git is worth asking for listed files. listed: entries of generated_files."""
    return any(_may_be_gone(place, entry) for entry in listed[:_MOST_LISTED])


def _may_be_gone(place: Place, entry: str) -> bool:
    """Return whether the path that an entry begins with, or a pattern's folder, is missing."""
    path = entry
    sign = re.search(_NO_PATH, entry)
    if sign:
        path = entry[: sign.start()]
        if sign[0] in "*?[{":
            path = path.rpartition("/")[0]

    if ".." in path:
        return True
    if not path or path.startswith("/"):
        return False
    return not any(os.path.lexists(os.path.join(base, path)) for base in (place.root, place.top))


def find_resumable(
    documents: Sequence[Document], briefs: Sequence[Brief], queue: Queue
) -> ResumePlan | None:
    """Return the plan of the first checkpoint that may go on, else of the first to ask about.

    documents: of the briefs, in their order. None if all are complete or unreadable.
    """
    pairs = dict[str, tuple[Document, Brief]]()
    for document, brief in zip(documents, briefs, strict=True):
        pairs[brief.skill] = (document, brief)

    first = None
    urgent = [action.skill for action in queue.actions]
    for skill in dict.fromkeys([*urgent, *pairs]):
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
    """Hold what a session's briefing is made of.

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
        if self.plan is None:
            return None
        skill = self.plan.skill
        return next((brief for brief in self.briefs if brief.skill == skill), None)


def describe_session(session: Session) -> Summary:
    """Return the lines for the session, and the details that are left out first."""
    now = session.now
    lines = _listed("Decisions waiting on the user", [*_list_decisions(session.briefs, now)], 6)
    lines += _describe_plan(session)
    lines += _describe_first(session.queue, session.plan, now)
    lines += _describe_faults(session)

    merged = list[str]()
    for action in session.queue.skipped:
        parts = [f"{action.skill}: {action.action}", *describe_facts(action.facts, now)]
        merged.append(clean("; ".join(parts), _MIDDLE))
    lines += _listed("Next actions that merges finished", merged, 3)

    gone = [clean(path, _SHORT) for path in session.gone]
    lines += _listed("Listed files that are missing", gone, 3)
    details = [*_describe_background(session), *_describe_others(session)]
    return Summary(lines=lines, details=details)


def _list_decisions(briefs: Sequence[Brief], now: int) -> Iterator[str]:
    """Yield the decisions that wait on the user, each with the command that answers it."""
    for brief in briefs:
        for decision in brief.decisions:
            question = clean(decision.describe(now), _MIDDLE)
            answer = clean(str(decision.answer), _MIDDLE)
            yield f"{clean(brief.skill, 60)}: {question} - answer: {answer}"


def _describe_plan(session: Session) -> list[str]:
    """Return how the resumed checkpoint goes on, [] if there is none."""
    plan = session.plan
    brief = session.resumed
    if plan is None or brief is None:
        return []

    lines = [clean(line, _LONG) for line in plan.orientation]
    if brief.actions:
        facts = describe_facts(brief.actions[0].facts, session.now)
        lines += [f"  {clean(text, _MIDDLE)}" for text in facts]
    if plan.decision == "ask":
        lines.append(f"Stop and ask the user first: {clean(plan.why, _MIDDLE)}")
    superseded = [clean(text, _MIDDLE) for text in brief.superseded]
    return lines + _listed("Not reviewed: the other side of a merge", superseded, 3)


def _describe_first(queue: Queue, plan: ResumePlan | None, now: int) -> list[str]:
    """Return what matters most, [] where other lines have it: decisions and the resumed skill."""
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
    now = session.now
    primer = session.background.primer
    blockers = list[str]()
    following = list[str]()
    if session.resumed:
        for blocker in session.resumed.blockers:
            if not blocker.waits_on_user:
                blockers.append(blocker.describe(now))
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
    """Return the other checkpoints by how much they matter; what asks for nothing comes last."""
    actions = {action.skill: action for action in session.queue.actions}
    order = {skill: index for index, skill in enumerate(actions)}
    resumed = session.plan.skill if session.plan else None
    others = [brief for brief in session.briefs if brief.skill != resumed]
    others.sort(key=lambda brief: order.get(brief.skill, len(order)))
    lines = [_describe_other(brief, actions.get(brief.skill), session.now) for brief in others]
    return _listed("Other checkpoints", lines, 12)


def _describe_other(brief: Brief, action: NextAction | None, now: int) -> str:
    """Return the line of another checkpoint. action: its next one, None for none."""
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

    parts = [f"{line}; next: {clean(action.action, _SHORT)}"]
    if not action.then:
        parts += [clean(text, _SHORT) for text in describe_facts(action.facts, now)]
    return "; ".join(parts)


def _listed(title: str, lines: Sequence[str], most: int) -> list[str]:
    """Return a title that counts the lines, and the first of them; [] for none."""
    if not lines:
        return []
    listed = [f"{title}: {len(lines)}", *(f"  {line}" for line in lines[:most])]
    if len(lines) > most:
        listed.append(f"  and {len(lines) - most} more")
    return listed
