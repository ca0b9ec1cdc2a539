"""What a new session is told of checkpoints: a few lines that matter most, and details, each through clean()."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.hint import write_shell
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.document import Document, find_broken
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.brief import next_action
from checkpoint_git.protocols.skill.brief.branches import has_others
from checkpoint_git.protocols.skill.brief.next_action import Action, NextAction, Queue
from checkpoint_git.protocols.skill.brief.resume_brief import LOOK_AFTER, Context, Plan, find_context, plan_resume
from checkpoint_git.protocols.skill.drift.merged_work import NOTHING, Work, describe_facts, find_text_facts, read_work
from checkpoint_git.protocols.skill.views import describe_blocker, text_field, waits_on_user

Describe = Callable[[Document, dict[str, Any]], str]  # a blocker

_FEW, _LARGE = 64, 1 << 20  # checkpoints, and bytes of one, that are kept whole; what goes on is read again
_MOST_LISTED = 100  # listed files looked at
_NO_PATH = r"[*?\[{\0\s]"  # signs of patterns and sentences, which are listed too
LOST = ("renamed", "deleted")  # fates that a commit decided; what is not there yet may be about to be written
_FATES = {"renamed": " (now {0.detail})", "deleted": " (deleted in {0.told})"}
_PLAIN = "in progress"  # the reason of what just goes on
_SHORT, _MIDDLE, _LONG = 120, 240, 600  # letters


def summarize_for_session(question: Question) -> Summary:
    place, now = question.place, question.now
    documents = [
        document if at < _FEW and document.size < _LARGE else views.outline(document)
        for at, document in enumerate(store.iterate_documents(place, now))
    ]
    work, _ = read_work(place, documents, now)
    queue = next_action.plan_queue(documents, work, now)
    plan = find_resumable(documents, queue, now, work)
    resumed = next((document for document in documents if plan and document.skill == plan.skill), None)
    if resumed and resumed.text is None:  # of which the outline alone was kept: read again, if it is still there
        resumed = [*store.check_files(store.read_files(place, only={resumed.path}), now), resumed][0]
    ahead, left = list[str](), ""
    if has_others(place):
        from checkpoint_git.protocols.skill.brief.worktrees import find_ahead

        others, left = find_ahead(place, now)
        ahead = [clean(one.line, _LONG) for one in others]
    context = find_context(resumed, work.get(resumed.path) if resumed else None)
    age = views.find_age((resumed and resumed.value) or {}, now)
    listed, is_old = context.primer["generated_files"], age is not None and age > LOOK_AFTER
    gone = _find_gone(place, resumed, listed, now, is_old=is_old) if resumed else []
    told = brief(documents, queue, plan, context, gone, now, work)
    elsewhere = _listed("Other work trees or branches are ahead of this one", ahead, 3)
    return told._replace(lines=[*told.lines, *elsewhere, *filter(None, [left])])


def _find_gone(place: Place, document: Document, listed: Sequence[str], now: int, *, is_old: bool) -> list[str]:
    if not may_miss_files(place, listed):
        return []
    from checkpoint_git.protocols.skill.drift.facts import make_facts  # git is asked, as for the doctor

    files = make_facts(place, [document], now, os.environ).files.get(document.path, ())
    fates = (*LOST, "uncommitted", "longer", "unknown", "") if is_old else LOST
    gone = [file for file in files if file.state == "missing" and file.fate in fates]
    return [file.path + _FATES.get(file.fate, "").format(file) for file in gone]


def may_miss_files(place: Place, listed: Sequence[str]) -> bool:
    """Whether it is worth asking for them. listed: entries of generated_files."""
    return any(_may_be_gone(place, entry) for entry in listed[:_MOST_LISTED])


def _may_be_gone(place: Place, entry: str) -> bool:
    """A quick look at the path that an entry begins with; a pattern's folder."""
    sign = re.search(_NO_PATH, entry)
    path = entry[: sign.start()] if sign else entry
    path = path.rpartition("/")[0] if sign and sign[0] in "*?[{" else path
    if not path or path[0] == "/" or ".." in path:
        return ".." in path
    return not any(os.path.lexists(os.path.join(base, path)) for base in (place.root, place.top))


def find_resumable(documents: Sequence[Document], queue: Queue, now: int, work: Work) -> Plan | None:
    """Of the first skill that may go on, else of the first to ask about; None where all are complete or unreadable."""
    by_skill = {document.skill: document for document in documents}
    first = None
    for skill in dict.fromkeys([*(action.skill for action in queue.actions), *by_skill]):
        document = by_skill[skill]
        if (document.value or {}).get("status", "complete") == "complete":
            continue
        plan = plan_resume(document, skill, now, work.get(document.path))
        if plan.decision == "continue":
            return plan
        if plan.decision == "ask" and first is None:
            first = plan
    return first


def brief(
    documents: Sequence[Document],
    queue: Queue,
    plan: Plan | None,
    context: Context,
    gone: Sequence[str],
    now: int,
    work: Work = NOTHING,
) -> Summary:
    """Return the lines for the session, and the details that are left out first.

    queue: without what has shipped. plan, context: how the resumed skill goes on, and what it must know.
    gone: files that it lists and that are not there. now: seconds since 1970.
    """

    def describe(document: Document, blocker: dict[str, Any]) -> str:
        facts = find_text_facts(text_field(blocker, "proposed_resolution"), work.get(document.path, {}))
        return describe_blocker(blocker, describe_facts(facts, now))

    resumed = next((document for document in documents if plan and document.skill == plan.skill), None)
    lines = _listed("Decisions waiting on the user", [*_list_decisions(documents, describe)], 6)
    if plan:
        lines += _describe_plan(plan, context, resumed, now)
    lines += _describe_first(queue, plan, now)
    lines += _describe_faults(documents, now)
    merged = [
        clean("; ".join([f"{part.skill}: {part.action}", *describe_facts(part.facts, now)]), _MIDDLE)
        for part in queue.skipped
    ]
    lines += _listed("Next actions that merges finished", merged, 3)
    lines += _listed("Listed files that are missing", [clean(path, _SHORT) for path in gone], 3)

    blockers: list[str] = []
    if resumed:
        blockers = [describe(resumed, blocker) for blocker in context.blockers if not waits_on_user(blocker)]
    details = [*_describe_context(context, blockers, now)]
    details += _describe_others(documents, queue, plan, now, describe)
    return Summary(lines=lines, details=details)


def _list_decisions(documents: Sequence[Document], describe: Describe) -> Iterator[str]:
    """Yield the decisions that wait on the user, each with the command that answers it."""
    for document in documents:
        for blocker, argv in views.find_answers(document.skill, document.value or {}):
            if waits_on_user(blocker):
                question = clean(describe(document, blocker), _MIDDLE)
                answer = clean(write_shell([argv]), _MIDDLE)
                yield f"{clean(document.skill, 60)}: {question} - answer: {answer}"


def _describe_plan(plan: Plan, context: Context, resumed: Document | None, now: int) -> list[str]:
    """Return how the resumed skill goes on."""
    lines = [clean(line, _LONG) for line in plan.orientation]
    lines += [f"  {clean(text, _MIDDLE)}" for text in _describe_facts(context.actions[:1], now)]
    if plan.decision == "ask":
        lines.append(f"Stop and ask the user first: {clean(plan.why, _MIDDLE)}")
    value = (resumed and resumed.value) or {}
    superseded = [clean(text, _MIDDLE) for text in views.describe_superseded(value)]
    return lines + _listed("Not reviewed: the other side of a merge", superseded, 3)


def _describe_first(queue: Queue, plan: Plan | None, now: int) -> list[str]:
    """Return what matters most, where no other line has it: decisions and the resumed skill have their own."""
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


def _describe_faults(documents: Sequence[Document], now: int) -> Iterator[str]:
    """Yield the first checkpoints that are stale, and the first that are broken."""
    stale = [document for document in documents if views.is_stale(document.value or {}, now)]
    for document in stale[:4]:
        days = (views.find_age(document.value or {}, now) or 0) // DAY
        yield f"Stale: {clean(document.skill, 60)} was not updated for {days} days"
    for finding in find_broken(documents)[:4]:
        yield f"Broken: {clean(f'{finding.path}: {finding.message}; {finding.hint}', _MIDDLE)}"


def _describe_facts(actions: Sequence[Action], now: int) -> list[str]:
    return [text for action in actions for text in describe_facts(action.facts, now)]


def _with_facts(action: Action, now: int) -> str:
    return "; ".join([action.text, *describe_facts(action.facts, now)])


def _describe_context(context: Context, blockers: list[str], now: int) -> Iterator[str]:
    parts: tuple[tuple[str, list[str], int], ...] = (
        ("Blockers", blockers, 4),
        ("Then", [_with_facts(action, now) for action in context.actions[1:]], 4),
        ("Key decisions", context.primer["key_decisions"][::-1], 8),  # the newest say most about now
        ("User preferences", context.primer["user_preferences"], 4),
        ("Generated files", context.primer["generated_files"][::-1], 6),
    )
    for title, texts, most in parts:
        shown = [f"- {clean(text, _MIDDLE)}" for text in texts[:most]]
        yield from _listed(title, [*shown, *texts[most:]], most)  # the others are counted


def _describe_others(
    documents: Sequence[Document], queue: Queue, plan: Plan | None, now: int, describe: Describe
) -> list[str]:
    """In the order in which they matter; what asks for nothing comes last."""
    asked = {action.skill: (at, action) for at, action in enumerate(queue.actions)}
    others = [one for one in documents if plan is None or one.skill != plan.skill]
    others.sort(key=lambda one: asked[one.skill][0] if one.skill in asked else len(asked))
    lines = [_describe_other(one, asked[one.skill][1] if one.skill in asked else None, now, describe) for one in others]
    return _listed("Other checkpoints", lines, 12)


def _describe_other(document: Document, action: NextAction | None, now: int, describe: Describe) -> str:
    value = document.value or {}
    (done, rows), age = views.count_rows(value), views.find_age(value, now)
    words = [
        text_field(value, "status") or "unreadable",
        text_field(value, "step") or text_field(value, "phase"),
        f"{done}/{rows}" if rows else "",
        age_text(age) if age is not None else "",
    ]
    line = f"{clean(document.skill, 60)}: {clean(', '.join(filter(None, words)), _SHORT)}"
    blockers = [blocker for blocker in views.open_blockers(value) if not waits_on_user(blocker)]
    if blockers:
        return f"{line}; blocker: {clean(describe(document, blockers[0]), _SHORT)}"
    if action is None or action.rank == "decision":  # decisions have lines of their own
        return line
    facts = [] if action.then else describe_facts(action.facts, now)
    return "; ".join([f"{line}; next: {clean(action.action, _SHORT)}", *(clean(text, _SHORT) for text in facts)])


def _listed(title: str, lines: Sequence[str], most: int) -> list[str]:
    more = [f"  and {len(lines) - most} more"] if len(lines) > most else []
    return [f"{title}: {len(lines)}", *(f"  {line}" for line in lines[:most]), *more] if lines else []
