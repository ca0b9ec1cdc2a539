"""How a session goes on with a skill: whether it may, must ask or starts afresh, and what orients it. Pure."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import DAY, ago_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Hint, advise, blank, chain, command, join_hints
from checkpoint_git.core.terminal_text import join_some, plain_path, plural, shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.brief.next_action import Action, split_actions
from checkpoint_git.protocols.skill.drift.merged_work import Known
from checkpoint_git.protocols.skill.store import VERSIONS
from checkpoint_git.protocols.skill.views import read_list, read_objects, text_field

Decision = Literal["continue", "ask", "complete", "start_fresh"]

PRIMER = {
    "key_decisions": "Key decisions",
    "generated_files": "Generated files",
    "user_preferences": "User preferences",
}
QUESTION = "Continue from here, restart, or show the full checkpoint?"
LOOK_AFTER = DAY  # seconds since the last write, from when on it is asked what changed


class Answer(NamedTuple):
    """One of the answers to the question. command: what carries it out."""

    name: str
    command: Hint


class Plan(NamedTuple):
    """What is to happen. reasons: why it is not simply "continue": missing, conflict, corrupt, incompatible, invalid,
    decision, blocked, failed, stale, complete. why: the same as a sentence. orientation: the protocol's five lines, ()
    where nothing can be read.
    """

    skill: str
    decision: Decision
    reasons: tuple[str, ...]
    why: str
    orientation: tuple[str, ...]
    question: str
    answers: tuple[Answer, ...]


def plan_resume(document: Document | None, skill: str, now: int, known: Known | None = None) -> Plan:
    """Return the plan for a skill's checkpoint; None: it has none. known: what is true of its references."""
    if document is None:
        return Plan(skill, "start_fresh", ("missing",), f"{skill} has no checkpoint yet", (), "", ())
    value = document.value
    if value is None:
        return _plan_unreadable(document, skill)
    if value.get("protocol_version") not in VERSIONS:
        return _plan_incompatible(document, skill, value.get("protocol_version"))

    queued, _ = split_actions(document, known or {})
    orientation = _orient(value, skill, now, queued)
    decisions = [blocker for blocker in views.open_blockers(value) if views.waits_on_user(blocker)]
    reasons = _find_reasons(document, value, len(decisions), now)
    names = tuple(reasons)
    if text_field(value, "status") == "complete" and not decisions:
        why = "complete, with work still queued" if queued else "all of it is complete"
        answers = _answer_complete(document.skill, is_queued=bool(queued))
        return Plan(skill, "complete", ("complete", *names), why, orientation, "", answers)
    if not reasons:
        return Plan(skill, "continue", (), "in progress and fresh", orientation, "", ())

    decide: list[Answer] = []
    if "decision" in reasons:
        every = views.find_answers(skill, value)
        decide = [Answer("decide", command(*argv)) for blocker, argv in every if views.waits_on_user(blocker)]
    answers = (*decide, *_answer_question(document.skill))
    return Plan(skill, "ask", names, "; ".join(reasons.values()), orientation, QUESTION, answers)


def _plan_unreadable(document: Document, skill: str) -> Plan:
    """Return the plan for a file that is not JSON: a merge that is not resolved, or a broken file."""
    text = f"\n{document.text or ''}"
    if all(f"\n{marker} " in text for marker in ("<" * 7, ">" * 7)):
        why = f"{document.path} has the conflict markers of an unfinished merge"
        resolve = Answer("resolve", command("checkpoint", "resolve", plain_path(document.path)))
        return Plan(skill, "ask", ("conflict",), why, (), "Resolve the merge first, then resume:", (resolve,))
    found = document.findings[0].message if document.findings else "it is not a checkpoint"
    why = f"{document.path} cannot be read as a checkpoint: {found}"
    return Plan(skill, "start_fresh", ("corrupt",), why, (), "", _answer_broken(document))


def _plan_incompatible(document: Document, skill: str, version: Any) -> Plan:
    """Return the plan for a checkpoint of a version of the protocol that this tool does not read."""
    found = "has no protocol_version"
    if version is not None:
        found = f"has the protocol_version {quote(version)}"
    why = f"{document.path} {found}; this tool reads {' and '.join(VERSIONS)}"
    return Plan(skill, "start_fresh", ("incompatible",), why, (), "", _answer_broken(document))


def _find_reasons(document: Document, value: dict[str, Any], decisions: int, now: int) -> dict[str, str]:
    """Return why a session may not simply continue, by the name of the reason.

    decisions: how many of them wait on the user.
    """
    status = text_field(value, "status")
    reasons: dict[str, str] = {}
    if not document.is_valid:
        reasons["invalid"] = "the checkpoint breaks the schema, so it may be wrong"
    if decisions and status != "blocked":
        reasons["decision"] = f"{plural(decisions, 'decision')} waiting on you"
    if status == "blocked":
        reasons["blocked"] = "it is blocked"
    if status == "failed":
        reasons["failed"] = "it failed: restart it, or fix it by hand and continue"
    if views.is_stale(value, now):
        days = (views.find_age(value, now) or 0) // DAY
        reasons["stale"] = f"it is stale: not updated for {days} days"
    return reasons


def _restart(name: str) -> Answer:
    return Answer("restart", command("checkpoint", "reset", name))


def _answer_broken(document: Document) -> tuple[Answer, ...]:
    """Return what to do about a file that is not a checkpoint of ours: begin again, or repair it."""
    name = document.skill
    afresh = Answer("restart", chain("", (("checkpoint", "reset", name), ("checkpoint", "update", name))))
    repair = Answer("fix", command("checkpoint", "validate", plain_path(document.path)))
    return (afresh, repair)


def _answer_complete(name: str, *, is_queued: bool) -> tuple[Answer, ...]:
    """Return what to do about a checkpoint that is complete. is_queued: it has next actions."""
    elsewhere = Answer("elsewhere", command("checkpoint", "next"))
    if not is_queued:
        return (_restart(name), elsewhere)
    again = Answer("continue", command("checkpoint", "update", name, "--status=in_progress"))
    return (again, _restart(name), elsewhere)


def _answer_question(name: str) -> tuple[Answer, ...]:
    """Return the answers to the question: continue, restart or show."""
    go_on = Answer("continue", command("checkpoint", "resume", name, "--continue"))
    show = Answer("show", command("checkpoint", "show", name))
    return (go_on, _restart(name), show)


def _orient(value: dict[str, Any], skill: str, now: int, actions: list[Action]) -> tuple[str, ...]:
    complete, rows = views.count_rows(value)
    age = views.find_age(value, now)
    ago = f" ({ago_text(age)})" if age is not None else ""
    return (
        f"RESUMING: {skill} on {text_field(value, 'project') or '?'}",
        f"Last session: {text_field(value, 'updated_at') or '?'}{ago}",
        f"Status: {text_field(value, 'status') or '?'} — {text_field(value, 'progress_summary')}",
        f"Progress: {complete}/{rows} phases complete",
        f"Next: {actions[0].text if actions else '(nothing is noted)'}",
    )


class Context(NamedTuple):
    """primer: the lists of context_primer. decisions: blockers that need the user. actions: without finished ones."""

    primer: dict[str, list[str]]
    decisions: list[dict[str, Any]]
    blockers: list[dict[str, Any]]
    failed_rows: list[str]
    actions: list[Action]
    recently_done: list[tuple[str, str]]


def find_context(document: Document | None, known: Known | None = None) -> Context:
    """Return the context in a checkpoint's public part; items of the wrong type are left out."""
    value = (document.value if document else None) or {}
    blockers = views.open_blockers(value)
    rows = read_objects(value, "progress_table")
    return Context(
        primer={key: [*filter(None, map(views.listed_path, views.read_primer(value, key)))] for key in PRIMER},
        decisions=[blocker for blocker in blockers if views.waits_on_user(blocker)],
        blockers=blockers,
        failed_rows=[str(row.get("label") or row.get("id")) for row in rows if row.get("status") == "failed"],
        actions=split_actions(document, known or {})[0] if document else [],
        recently_done=[
            (text, text_field(item, "at") if isinstance(item, dict) else "")
            for item in read_list(value, "recently_done")
            if (text := views.done_text(item))
        ],
    )


_CONTRADICTIONS = frozenset(["skill/blocked-by-nothing", "skill/complete-but-undecided", "skill/blocks-unknown-row"])
_SPELLED_OUT = 4


def find_contradictions(document: Document) -> list[Finding]:
    """Where a checkpoint says two things about where it stands; without line numbers where validate did not find it."""
    found = [finding for finding in document.findings if finding.code in _CONTRADICTIONS]
    more = [*_compare_status(document.value or {}, document.skill)]
    hint = advise("once it is reviewed", "checkpoint", "rotate", document.skill)
    for text in views.describe_superseded(document.value or {}):
        message = f"the other side of a merge: {text}"
        more.append(Finding("content/unreviewed", "warning", message, where="/superseded", hint=hint))
    return [*found, *(finding._replace(path=document.path) for finding in more)]


def _advise_skipping(skill: str, row: Any) -> AnyHint:
    what = "finish them, or mark them skipped"
    if not isinstance(row, str) or not row.isprintable() or set(row) & set("[]"):
        return what
    return advise(what, "checkpoint", "update", skill, f"--progress_table[{row}].status=skipped")


def _compare_status(value: dict[str, Any], skill: str) -> Iterator[Finding]:
    rows, waiting = read_objects(value, "progress_table"), views.open_rows(value)
    status, step = text_field(value, "status"), text_field(value, "step")
    if status == "complete" and waiting:
        names = [shorten(str(row.get("id") or row.get("label") or "?"), 40) for row in waiting]
        verb = "is" if len(waiting) == 1 else "are"
        open_ones = f"{len(waiting)} of {len(rows)} rows {verb} not: {join_some(names, _SPELLED_OUT)}"
        message = f"the status is complete, and {open_ones}"
        hint = _advise_skipping(skill, waiting[0].get("id"))
        yield Finding("resume/open-rows", "warning", message, where="/progress_table", hint=hint)
    elif status == "in_progress" and rows and not waiting:
        message = f"the status is in_progress, and all {len(rows)} rows of progress_table are complete"
        done = advise("if all is done", "checkpoint", "update", skill, "--status=complete")
        hint = join_hints(done, "else add the missing row")
        yield Finding("resume/no-open-row", "warning", message, where="/progress_table", hint=hint)
    elif status == "in_progress" and any(row.get("id") == step and row not in waiting for row in rows):
        message = f'the step is "{shorten(step, 60)}", but progress_table has that row as complete'
        hint = advise("name the current step", "checkpoint", "update", skill, blank("--step=", "the step"))
        yield Finding("resume/step-is-over", "warning", message, where="/step", hint=hint)
