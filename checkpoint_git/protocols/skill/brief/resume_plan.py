"""Plan how a session continues with a skill: it may, must ask or starts afresh. Pure.

The plan has the lines that orient the session, too.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import DAY, ago_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Hint, advise, blank, chain, command, join_hints
from checkpoint_git.core.terminal_text import join_some, plain_path, plural, shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.brief import Brief
from checkpoint_git.protocols.skill.store import VERSIONS
from checkpoint_git.protocols.skill.views import read_list, text_field

Decision = Literal["continue", "ask", "complete", "start_fresh"]

PRIMER = {
    "key_decisions": "Key decisions",
    "generated_files": "Generated files",
    "user_preferences": "User preferences",
}
QUESTION = "Continue from here, restart, or show the full checkpoint?"
LOOK_AFTER = DAY  # seconds since the last write, from when on it is asked what changed


class ResumeAnswer(NamedTuple):
    """Hold one of the answers to the question. command: what carries it out."""

    name: str
    command: Hint


class ResumePlan(NamedTuple):
    """Hold what is to happen.

    reasons: why it is not simply "continue": missing, conflict, corrupt, incompatible, invalid,
    decision, blocked, failed, stale, complete. why: the same as a sentence. orientation: the
    protocol's five lines, () where nothing can be read.
    """

    skill: str
    decision: Decision
    reasons: tuple[str, ...]
    why: str
    orientation: tuple[str, ...] = ()
    question: str = ""
    answers: tuple[ResumeAnswer, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        return {
            "decision": self.decision,
            "reasons": self.reasons,
            "why": self.why,
            "question": self.question or None,
            "answers": [answer._asdict() for answer in self.answers],
            "resuming": self.orientation,
        }


def plan_missing(skill: str) -> ResumePlan:
    """Return the plan for a skill without a checkpoint."""
    return ResumePlan(skill, "start_fresh", ("missing",), f"{skill} has no checkpoint yet")


def plan_resume(document: Document, brief: Brief) -> ResumePlan:
    """Return the plan for a checkpoint. brief: of the same document."""
    skill = brief.skill
    if document.value is None:
        return _plan_unreadable(document, skill)
    if document.value.get("protocol_version") not in VERSIONS:
        return _plan_incompatible(document, skill, document.value.get("protocol_version"))

    reasons = _find_reasons(brief, is_valid=document.is_valid)
    if brief.status == "complete" and not brief.decisions:
        return _plan_complete(brief, tuple(reasons))
    if not reasons:
        return ResumePlan(skill, "continue", (), "in progress and fresh", _orient(brief))

    answers = list[ResumeAnswer]()
    if "decision" in reasons:
        answers += [ResumeAnswer("decide", blocker.answer) for blocker in brief.decisions]
    answers += _answer_question(skill)

    return ResumePlan(
        skill=skill,
        decision="ask",
        reasons=tuple(reasons),
        why="; ".join(reasons.values()),
        orientation=_orient(brief),
        question=QUESTION,
        answers=tuple(answers),
    )


def _plan_unreadable(document: Document, skill: str) -> ResumePlan:
    """Return the plan for a file that is not JSON: an unfinished merge, or a broken file."""
    text = f"\n{document.text or ''}"
    if all(f"\n{marker} " in text for marker in ("<" * 7, ">" * 7)):
        resolve = command("checkpoint", "resolve", plain_path(document.path))
        return ResumePlan(
            skill=skill,
            decision="ask",
            reasons=("conflict",),
            why=f"{document.path} has the conflict markers of an unfinished merge",
            question="Resolve the merge first, then resume:",
            answers=(ResumeAnswer("resolve", resolve),),
        )

    fault = "it is not a checkpoint"
    if document.findings:
        fault = document.findings[0].message

    return ResumePlan(
        skill=skill,
        decision="start_fresh",
        reasons=("corrupt",),
        why=f"{document.path} cannot be read as a checkpoint: {fault}",
        answers=_answer_broken(document),
    )


def _plan_incompatible(document: Document, skill: str, version: Any) -> ResumePlan:
    """Return the plan for a checkpoint with a protocol_version that this tool does not read."""
    fault = "has no protocol_version"
    if version is not None:
        fault = f"has the protocol_version {quote(version)}"

    return ResumePlan(
        skill=skill,
        decision="start_fresh",
        reasons=("incompatible",),
        why=f"{document.path} {fault}; this tool reads {' and '.join(VERSIONS)}",
        answers=_answer_broken(document),
    )


def _plan_complete(brief: Brief, others: tuple[str, ...]) -> ResumePlan:
    """Return the plan for a checkpoint that is complete. others: the reasons besides."""
    why = "all of it is complete"
    if brief.actions:
        why = "complete, with work still queued"

    return ResumePlan(
        skill=brief.skill,
        decision="complete",
        reasons=("complete", *others),
        why=why,
        orientation=_orient(brief),
        answers=_answer_complete(brief.skill, is_queued=bool(brief.actions)),
    )


def _find_reasons(brief: Brief, *, is_valid: bool) -> dict[str, str]:
    """Return why a session may not simply continue, by the name of the reason."""
    reasons: dict[str, str] = {}
    if not is_valid:
        reasons["invalid"] = "the checkpoint breaks the schema, so it may be wrong"
    if brief.decisions and brief.status != "blocked":
        reasons["decision"] = f"{plural(len(brief.decisions), 'decision')} waiting on you"
    if brief.status == "blocked":
        reasons["blocked"] = "it is blocked"
    if brief.status == "failed":
        reasons["failed"] = "it failed: restart it, or fix it by hand and continue"
    if brief.stale:
        reasons["stale"] = f"it is stale: not updated for {(brief.age or 0) // DAY} days"
    return reasons


def _restart(name: str) -> ResumeAnswer:
    return ResumeAnswer("restart", command("checkpoint", "reset", name))


def _answer_broken(document: Document) -> tuple[ResumeAnswer, ...]:
    """Return the answers for a file that cannot be read: begin again, or repair it."""
    name = document.skill
    begin_again = chain("", (("checkpoint", "reset", name), ("checkpoint", "update", name)))
    repair = command("checkpoint", "validate", plain_path(document.path))
    return (ResumeAnswer("restart", begin_again), ResumeAnswer("fix", repair))


def _answer_complete(name: str, *, is_queued: bool) -> tuple[ResumeAnswer, ...]:
    """Return the answers for a checkpoint that is complete. is_queued: it has next actions."""
    elsewhere = ResumeAnswer("elsewhere", command("checkpoint", "next"))
    if not is_queued:
        return (_restart(name), elsewhere)
    again = ResumeAnswer("continue", command("checkpoint", "update", name, "--status=in_progress"))
    return (again, _restart(name), elsewhere)


def _answer_question(name: str) -> tuple[ResumeAnswer, ...]:
    """Return the answers to the question: continue, restart or show."""
    go_on = ResumeAnswer("continue", command("checkpoint", "resume", name, "--continue"))
    show = ResumeAnswer("show", command("checkpoint", "show", name))
    return (go_on, _restart(name), show)


def _orient(brief: Brief) -> tuple[str, ...]:
    """Return the five lines that orient a session, as the protocol has them."""
    ago = ""
    if brief.age is not None:
        ago = f" ({ago_text(brief.age)})"

    following = "(nothing is noted)"
    if brief.actions:
        following = brief.actions[0].text

    return (
        f"RESUMING: {brief.skill} on {brief.project or '?'}",
        f"Last session: {brief.updated_at or '?'}{ago}",
        f"Status: {brief.status} — {brief.summary}",
        f"Progress: {brief.complete_rows}/{len(brief.rows)} phases complete",
        f"Next: {following}",
    )


class Background(NamedTuple):
    """Hold what a session that continues with a checkpoint should know.

    primer: the lists of context_primer. recently_done: what was done, and when, "" if it does not
    say so.
    """

    primer: dict[str, list[str]]
    recently_done: list[tuple[str, str]]


def find_background(document: Document | None) -> Background:
    """Return the background in a checkpoint; items of the wrong type are left out."""
    value: dict[str, Any] = {}
    if document and document.value:
        value = document.value

    primer: dict[str, list[str]] = {}
    for key in PRIMER:
        entries = (views.listed_path(entry) for entry in views.read_primer(value, key))
        primer[key] = [entry for entry in entries if entry]

    recently_done = list[tuple[str, str]]()
    for item in read_list(value, "recently_done"):
        text = views.done_text(item)
        when = ""
        if isinstance(item, dict):
            when = text_field(item, "at")
        if text:
            recently_done.append((text, when))

    return Background(primer, recently_done)


_CONTRADICTIONS = frozenset(
    ["skill/blocked-by-nothing", "skill/complete-but-undecided", "skill/blocks-unknown-row"]
)
_SPELLED_OUT = 4


def find_contradictions(document: Document, brief: Brief) -> list[Finding]:
    """Return where a checkpoint says two things about its state.

    brief: of the same document. Findings that validate did not report have no line numbers.
    """
    found = [finding for finding in document.findings if finding.code in _CONTRADICTIONS]
    for finding in _compare_status(document.value or {}, brief):
        found.append(finding._replace(path=document.path))

    hint = advise("once it is reviewed", "checkpoint", "rotate", document.skill)
    for text in brief.superseded:
        message = f"the other side of a merge: {text}"
        unreviewed = Finding("content/unreviewed", "warning", message, document.path)
        found.append(unreviewed._replace(where="/superseded", hint=hint))

    return found


def _advise_skipping(skill: str, row: Any) -> AnyHint:
    """Return what to do about rows that are open. row: the id of one, as it is in the file."""
    what = "finish them, or mark them skipped"
    if not isinstance(row, str) or not row.isprintable() or set(row) & set("[]"):
        return what
    return advise(what, "checkpoint", "update", skill, f"--progress_table[{row}].status=skipped")


def _compare_status(value: dict[str, Any], brief: Brief) -> Iterator[Finding]:
    """Yield where status and step contradict progress_table, without the path."""
    waiting = views.open_rows(value)
    if brief.status == "complete" and waiting:
        yield _find_open_rows(waiting, brief)
    if brief.status != "in_progress":
        return

    is_over = any(row.get("id") == brief.step and row not in waiting for row in brief.rows)
    if brief.rows and not waiting:
        yield _find_no_open_row(brief)
    elif is_over:
        yield _find_finished_step(brief)


def _find_open_rows(waiting: Sequence[dict[str, Any]], brief: Brief) -> Finding:
    names = [shorten(str(row.get("id") or row.get("label") or "?"), 40) for row in waiting]
    verb = "are"
    if len(waiting) == 1:
        verb = "is"
    count = f"{len(waiting)} of {len(brief.rows)} rows {verb} not"
    message = f"the status is complete, and {count}: {join_some(names, _SPELLED_OUT)}"
    hint = _advise_skipping(brief.skill, waiting[0].get("id"))
    return Finding("resume/open-rows", "warning", message, where="/progress_table", hint=hint)


def _find_no_open_row(brief: Brief) -> Finding:
    rows = f"all {len(brief.rows)} rows of progress_table"
    message = f"the status is in_progress, and {rows} are complete"
    done = advise("if all is done", "checkpoint", "update", brief.skill, "--status=complete")
    hint = join_hints(done, "else add the missing row")
    return Finding("resume/no-open-row", "warning", message, where="/progress_table", hint=hint)


def _find_finished_step(brief: Brief) -> Finding:
    step = shorten(brief.step, 60)
    message = f'the step is "{step}", but progress_table has that row as complete'
    argument = blank("--step=", "the step")
    hint = advise("name the current step", "checkpoint", "update", brief.skill, argument)
    return Finding("resume/step-is-over", "warning", message, where="/step", hint=hint)
