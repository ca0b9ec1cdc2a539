"""How a session continues with a skill: whether it may, must ask or starts afresh, and what orients
it. Pure.
"""

from collections.abc import Iterator
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
    """One of the answers to the question. command: what carries it out."""

    name: str
    command: Hint


class ResumePlan(NamedTuple):
    """What is to happen. reasons: why it is not simply "continue": missing, conflict, corrupt,
    incompatible, invalid, decision, blocked, failed, stale, complete. why: the same as a sentence.
    orientation: the protocol's five lines, () where nothing can be read.
    """

    skill: str
    decision: Decision
    reasons: tuple[str, ...]
    why: str
    orientation: tuple[str, ...]
    question: str
    answers: tuple[ResumeAnswer, ...]

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
    return ResumePlan(
        skill, "start_fresh", ("missing",), f"{skill} has no checkpoint yet", (), "", ()
    )


def plan_resume(document: Document, brief: Brief) -> ResumePlan:
    """Return the plan for a checkpoint. brief: of the same document."""
    skill = brief.skill
    if document.value is None:
        return _plan_unreadable(document, skill)
    if document.value.get("protocol_version") not in VERSIONS:
        return _plan_incompatible(document, skill, document.value.get("protocol_version"))

    orientation = _orient(brief)
    reasons = _find_reasons(brief, is_valid=document.is_valid)
    names = tuple(reasons)
    if brief.status == "complete" and not brief.decisions:
        why = "complete, with work still queued" if brief.actions else "all of it is complete"
        answers = _answer_complete(skill, is_queued=bool(brief.actions))
        return ResumePlan(skill, "complete", ("complete", *names), why, orientation, "", answers)

    if not reasons:
        return ResumePlan(skill, "continue", (), "in progress and fresh", orientation, "", ())

    answers = _answer_question(skill)
    if "decision" in reasons:
        answers = (
            *(ResumeAnswer("decide", blocker.answer) for blocker in brief.decisions),
            *answers,
        )

    return ResumePlan(
        skill, "ask", names, "; ".join(reasons.values()), orientation, QUESTION, answers
    )


def _plan_unreadable(document: Document, skill: str) -> ResumePlan:
    """Return the plan for a file that is not JSON: a merge that is not resolved, or a broken
    file.
    """
    text = f"\n{document.text or ''}"
    if all(f"\n{marker} " in text for marker in ("<" * 7, ">" * 7)):
        why = f"{document.path} has the conflict markers of an unfinished merge"
        resolve = ResumeAnswer(
            "resolve", command("checkpoint", "resolve", plain_path(document.path))
        )
        return ResumePlan(
            skill,
            "ask",
            ("conflict",),
            why,
            (),
            "Resolve the merge first, then resume:",
            (resolve,),
        )

    found = document.findings[0].message if document.findings else "it is not a checkpoint"
    why = f"{document.path} cannot be read as a checkpoint: {found}"
    return ResumePlan(skill, "start_fresh", ("corrupt",), why, (), "", _answer_broken(document))


def _plan_incompatible(document: Document, skill: str, version: Any) -> ResumePlan:
    """Return the plan for a checkpoint of a version of the protocol that this tool does not
    read.
    """
    found = "has no protocol_version"
    if version is not None:
        found = f"has the protocol_version {quote(version)}"
    why = f"{document.path} {found}; this tool reads {' and '.join(VERSIONS)}"
    return ResumePlan(
        skill, "start_fresh", ("incompatible",), why, (), "", _answer_broken(document)
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
    """Return what to do about a file that is not a checkpoint of ours: begin again, or repair
    it.
    """
    name = document.skill
    afresh = ResumeAnswer(
        "restart", chain("", (("checkpoint", "reset", name), ("checkpoint", "update", name)))
    )
    repair = ResumeAnswer("fix", command("checkpoint", "validate", plain_path(document.path)))
    return (afresh, repair)


def _answer_complete(name: str, *, is_queued: bool) -> tuple[ResumeAnswer, ...]:
    """Return what to do about a checkpoint that is complete. is_queued: it has next actions."""
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
    ago = f" ({ago_text(brief.age)})" if brief.age is not None else ""
    following = brief.actions[0].text if brief.actions else "(nothing is noted)"
    return (
        f"RESUMING: {brief.skill} on {brief.project or '?'}",
        f"Last session: {brief.updated_at or '?'}{ago}",
        f"Status: {brief.status} — {brief.summary}",
        f"Progress: {brief.complete_rows}/{len(brief.rows)} phases complete",
        f"Next: {following}",
    )


class Background(NamedTuple):
    """What a session that continues with a checkpoint should know. primer: the lists of
    context_primer.

    recently_done: what was done, and when, "" if it does not say so.
    """

    primer: dict[str, list[str]]
    recently_done: list[tuple[str, str]]


def find_background(document: Document | None) -> Background:
    """Return the background in a checkpoint; items of the wrong type are left out."""
    value = (document.value if document else None) or {}
    primer: dict[str, list[str]] = {}
    for key in PRIMER:
        entries = (views.listed_path(entry) for entry in views.read_primer(value, key))
        primer[key] = [entry for entry in entries if entry]

    recently_done = []
    for item in read_list(value, "recently_done"):
        text = views.done_text(item)
        if text:
            recently_done.append((text, text_field(item, "at") if isinstance(item, dict) else ""))

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
    found += [
        finding._replace(path=document.path)
        for finding in _compare_status(document.value or {}, brief)
    ]
    hint = advise("once it is reviewed", "checkpoint", "rotate", document.skill)
    for text in brief.superseded:
        message = f"the other side of a merge: {text}"
        found.append(
            Finding(
                "content/unreviewed",
                "warning",
                message,
                document.path,
                where="/superseded",
                hint=hint,
            )
        )

    return found


def _advise_skipping(skill: str, row: Any) -> AnyHint:
    what = "finish them, or mark them skipped"
    if not isinstance(row, str) or not row.isprintable() or set(row) & set("[]"):
        return what
    return advise(what, "checkpoint", "update", skill, f"--progress_table[{row}].status=skipped")


def _compare_status(value: dict[str, Any], brief: Brief) -> Iterator[Finding]:
    skill, status, rows, step = brief.skill, brief.status, brief.rows, brief.step
    waiting = views.open_rows(value)
    if status == "complete" and waiting:
        names = [shorten(str(row.get("id") or row.get("label") or "?"), 40) for row in waiting]
        verb = "is" if len(waiting) == 1 else "are"
        open_ones = (
            f"{len(waiting)} of {len(rows)} rows {verb} not: {join_some(names, _SPELLED_OUT)}"
        )
        message = f"the status is complete, and {open_ones}"
        hint = _advise_skipping(skill, waiting[0].get("id"))
        yield Finding("resume/open-rows", "warning", message, where="/progress_table", hint=hint)
    elif status == "in_progress" and rows and not waiting:
        message = (
            f"the status is in_progress, and all {len(rows)} rows of progress_table are complete"
        )
        done = advise("if all is done", "checkpoint", "update", skill, "--status=complete")
        hint = join_hints(done, "else add the missing row")
        yield Finding("resume/no-open-row", "warning", message, where="/progress_table", hint=hint)
    elif status == "in_progress" and any(
        row.get("id") == step and row not in waiting for row in rows
    ):
        message = f'the step is "{shorten(step, 60)}", but progress_table has that row as complete'
        hint = advise(
            "name the current step", "checkpoint", "update", skill, blank("--step=", "the step")
        )
        yield Finding("resume/step-is-over", "warning", message, where="/step", hint=hint)
