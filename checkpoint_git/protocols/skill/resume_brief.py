"""How a session goes on with one skill: the five lines that orient it, and whether it may, must ask, or starts afresh.

Pure: a document in, a plan out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from checkpoint_git.core.clock import DAY, age_text
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import quote_word, shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.views import (
    action_done_when,
    action_text,
    count_rows,
    find_age,
    is_stale,
    open_blockers,
    read_list,
    read_objects,
    text_field,
    waits_on_user,
)

Decision = Literal["continue", "ask", "complete", "start_fresh"]

QUESTION = "Continue from here, restart, or show the full checkpoint?"
VERSIONS = ("1.0", "1.1")
LOOK_AFTER = DAY  # seconds since the last write, from when on the listed files are looked at


class Answer(NamedTuple):
    """One of the answers to the question. command: what carries it out."""

    name: str
    command: str


class Plan(NamedTuple):
    """What is to happen.

    reasons: why it is not simply "continue": missing, corrupt, incompatible, invalid, blocked, failed, stale, complete.
    why: the same as a sentence. orientation: the protocol's five lines, () where nothing can be read.
    """

    skill: str
    decision: Decision
    reasons: tuple[str, ...]
    why: str
    orientation: tuple[str, ...]
    question: str
    answers: tuple[Answer, ...]


Shipped = Mapping[str, str]  # the text of an action that the history shows as done -> the evidence


def plan_resume(document: Document | None, skill: str, now: int, shipped: Shipped | None = None) -> Plan:
    """The plan for a skill's checkpoint; None: it has none."""
    if document is None:
        return Plan(skill, "start_fresh", ("missing",), f"{skill} has no checkpoint yet", (), "", ())
    unusable = _find_unusable(document)
    word = quote_word(document.skill)
    restart = Answer("restart", f"checkpoint reset {word}")
    if unusable:
        reason, why = unusable
        afresh = Answer("restart", f"checkpoint reset {word} && checkpoint update {word}")
        mend = Answer("mend", f"checkpoint validate {quote_word(document.path)}")
        return Plan(skill, "start_fresh", (reason,), why, (), "", (afresh, mend))
    value = document.value or {}
    orientation = orient(value, skill, now, shipped or {})
    reasons = find_reasons(document, now)
    if text_field(value, "status") == "complete":
        queued = find_actions(value, shipped or {})
        why = "complete, with work still queued" if queued else "all of it is complete"
        answers = (
            [Answer("continue", f"checkpoint update {word} --status=in_progress")]
            if read_list(value, "next_actions")
            else []
        )
        answers += [restart, Answer("elsewhere", "checkpoint next")]
        return Plan(skill, "complete", ("complete", *reasons), why, orientation, "", tuple(answers))
    why = "; ".join(_REASONS[reason].format(days=(find_age(value, now) or 0) // DAY) for reason in reasons)
    if reasons:
        go_on, show = (
            Answer("continue", f"checkpoint resume {word} --continue"),
            Answer("show", f"checkpoint show {word}"),
        )
        return Plan(skill, "ask", reasons, why, orientation, QUESTION, (go_on, restart, show))
    return Plan(skill, "continue", (), "in progress and fresh", orientation, "", ())


_REASONS = {
    "invalid": "the checkpoint breaks the schema, so it may not say what was meant",
    "blocked": "it is blocked",
    "failed": "it failed: restart it, or fix it by hand and go on",
    "stale": "it is stale: nothing was written for {days} days",
}


def _find_unusable(document: Document) -> tuple[str, str] | None:
    """(reason, sentence) for a file that cannot be gone on with."""
    if document.value is None:
        found = document.findings[0].message if document.findings else "it is no checkpoint"
        return "corrupt", f"{document.path} cannot be read as a checkpoint: {found}"
    version = document.value.get("protocol_version")
    if version in VERSIONS:
        return None
    said = f"has the protocol_version {version!r}" if version is not None else "has no protocol_version"
    return "incompatible", f"{document.path} {said}; this tool reads {' and '.join(VERSIONS)}"


def find_reasons(document: Document, now: int) -> tuple[str, ...]:
    value = document.value or {}
    status = text_field(value, "status")
    found = {
        "invalid": not document.is_valid,
        "blocked": status == "blocked",
        "failed": status == "failed",
        "stale": is_stale(value, now),
    }
    return tuple(reason for reason, holds in found.items() if holds)


def orient(value: dict[str, Any], skill: str, now: int, shipped: Shipped) -> tuple[str, ...]:
    complete, rows = count_rows(value)
    actions = find_actions(value, shipped)
    return (
        f"RESUMING: {skill} on {text_field(value, 'project') or '?'}",
        f"Last session: {text_field(value, 'updated_at') or '?'}{_ago(find_age(value, now))}",
        f"Status: {text_field(value, 'status') or '?'} — {text_field(value, 'progress_summary')}",
        f"Progress: {complete}/{rows} phases complete",
        f"Next: {actions[0].text if actions else '(nothing is noted)'}",
    )


class Action(NamedTuple):
    """One of next_actions. at: its place in the list. done_when: its own proof, None where it has none."""

    at: int
    text: str
    done_when: str | None


def find_actions(value: dict[str, Any], shipped: Shipped) -> list[Action]:
    items = enumerate(read_list(value, "next_actions"))
    actions = [Action(at, action_text(item), action_done_when(item)) for at, item in items]
    return [action for action in actions if action.text not in shipped]


def _ago(age: int | None) -> str:
    if age is None:
        return ""
    text = age_text(age)
    return f" ({'just now' if text == 'now' else text if age < 0 else f'{text} ago'})"


# what a session must know


class Context(NamedTuple):
    """What is read before anything new is done.

    decisions: blockers that need the user, to be asked about first. actions: (text, done_when), without those that
    have shipped.
    """

    key_decisions: list[str]
    generated_files: list[str]
    user_preferences: list[str]
    decisions: list[dict[str, Any]]
    blockers: list[dict[str, Any]]
    failed_rows: list[str]
    actions: list[tuple[str, str | None]]


def find_context(value: dict[str, Any], shipped: Shipped | None = None) -> Context:
    """The context in a checkpoint's public part; items of the wrong type are left out."""
    primer = value.get("context_primer")
    primer = primer if isinstance(primer, dict) else {}
    blockers = open_blockers(value)
    rows = [row for row in read_list(value, "progress_table") if isinstance(row, dict)]
    return Context(
        key_decisions=_texts(primer, "key_decisions"),
        generated_files=_texts(primer, "generated_files"),
        user_preferences=_texts(primer, "user_preferences"),
        decisions=[blocker for blocker in blockers if waits_on_user(blocker)],
        blockers=blockers,
        failed_rows=[str(row.get("label") or row.get("id")) for row in rows if row.get("status") == "failed"],
        actions=[(action.text, action.done_when) for action in find_actions(value, shipped or {})],
    )


def _texts(primer: dict[str, Any], key: str) -> list[str]:
    items = (item.get("path") if isinstance(item, dict) else item for item in read_list(primer, key))
    return [item for item in items if isinstance(item, str)]


# what does not fit together

_OVER = frozenset(["complete", "skipped", "deferred"])  # statuses of rows that ask for nothing
_TELLING = frozenset(["skill/blocked-by-nothing", "skill/complete-but-undecided", "skill/blocks-unknown-row"])
_SPELLED_OUT = 4


def find_contradictions(document: Document) -> list[Finding]:
    """Where a checkpoint says two things about where it stands; without line numbers where validate did not find it."""
    value = document.value or {}
    found = [finding for finding in document.findings if finding.code in _TELLING]
    return [*found, *(finding._replace(path=document.path) for finding in _contradict(value, document.skill))]


def _contradict(value: dict[str, Any], skill: str) -> Iterator[Finding]:
    rows = read_objects(value, "progress_table")
    status, waiting = text_field(value, "status"), [row for row in rows if str(row.get("status")) not in _OVER]
    if status == "complete" and waiting:
        message = f"the status is complete, and {_count(waiting, rows)}"
        hint = f"finish them, or say that they are skipped: checkpoint update {quote_word(skill)} ..."
        yield Finding("resume/open-rows", "warning", message, where="/progress_table", hint=hint)
    elif status == "in_progress" and rows and not waiting:
        message = f"the status is in_progress, and all {len(rows)} rows of progress_table are complete"
        done = f"checkpoint update {quote_word(skill)} --status=complete"
        hint = f"if all is done: {done}; else add the row that is worked on"
        yield Finding("resume/no-open-row", "warning", message, where="/progress_table", hint=hint)
    step = text_field(value, "step")
    if status == "in_progress" and waiting and any(row.get("id") == step and row not in waiting for row in rows):
        message = f'the step is "{shorten(step, 60)}", and progress_table has that row behind it'
        hint = f"say what is worked on: checkpoint update {quote_word(skill)} --step=..."
        yield Finding("resume/step-is-over", "warning", message, where="/step", hint=hint)


def _count(waiting: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    names = [shorten(str(row.get("id") or row.get("label") or "?"), 40) for row in waiting[:_SPELLED_OUT]]
    more = f" and {len(waiting) - _SPELLED_OUT} more" if len(waiting) > _SPELLED_OUT else ""
    verb = "is" if len(waiting) == 1 else "are"
    return f"{len(waiting)} of {len(rows)} rows {verb} not: {', '.join(names)}{more}"


# what happened to the listed files


def is_covered(path: str, name: str) -> bool:
    """Whether a listed name stands for a path: it is the path, a folder above it, or a pattern that it matches."""
    if path == name or path.startswith(name.rstrip("/") + "/"):
        return True
    if not any(letter in name for letter in "*?["):
        return False
    from fnmatch import fnmatchcase

    pairs = list(zip(path.split("/"), name.split("/"), strict=False))
    same_depth = path.count("/") == name.count("/")
    return fnmatchcase(path, name) if "**" in name else same_depth and all(fnmatchcase(*pair) for pair in pairs)
