"""Small readers of a checkpoint's parts, for values that may break the schema: they return what is
usable. Pure.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.hint import Argument, Argv, Blank
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.document import read_list as read_list
from checkpoint_git.protocols.document import read_objects as read_objects

# days without a write after which work is old, by its status; a project sets others for the doctor
STALE_DAYS = {"in_progress": 7, "blocked": 3, "complete": 14}
UNREADABLE = "unreadable"

# A phase or step is at a gate when one of these is among its words (or "sign off" is), and none
# that says it is over.
GATE_WORDS = frozenset(
    [
        "gate",
        "gates",
        "approval",
        "approvals",
        "review",
        "reviews",
        "signoff",
        "acceptance",
        "uat",
        "qa",
    ]
)
OVER_WORDS = frozenset(
    ["passed", "approved", "cleared", "signed", "accepted", "done", "merged", "shipped", "skipped"]
)
ROWS_OVER = frozenset(["complete", "skipped", "deferred"])  # statuses of rows that ask for nothing
PUBLIC_FIELDS = (
    "protocol_version", "skill", "project", "project_dir", "created_at", "updated_at", "phase", "step", "status",
    "progress_summary", "progress_table", "context_primer", "blockers", "next_actions", "pm_refs", "depends_on",
)  # fmt: skip
_OUTLINED = {*PUBLIC_FIELDS, "cost", "superseded"} - {
    "skill",
    "project_dir",
    "progress_table",
    "context_primer",
}
_TICKET_FIELDS = ("role", "provider", "id", "url", "created_by_skill", "first_seen_at")
# what the rows of thousands of checkpoints say is one object each
_ROWS: dict[str, dict[str, Any]] = {
    status: {"status": status}
    for status in ("complete", "in_progress", "not_started", "skipped", "deferred")
}


def public_view(value: dict[str, Any]) -> dict[str, Any]:
    """What other skills may read, in the document's own order; never skill_state."""
    return {key: member for key, member in value.items() if key in PUBLIC_FIELDS}


def find_refs(documents: Iterable[Document], role: str | None = None) -> list[dict[str, Any]]:
    """The tickets of all documents in order, each with its skill; only known fields, never a
    ticket's body.
    """
    return [
        {"skill": document.skill, **{name: ref[name] for name in _TICKET_FIELDS if name in ref}}
        for document in documents
        for ref in read_objects(document.value or {}, "pm_refs")
        if role in (None, ref.get("role"))
    ]


def outline(document: Document) -> Document:
    """An eighth of a document, for commands that look at all of them: of most rows the status, no
    text, only errors.
    """
    value = document.value
    if value is None:
        return document._replace(text=None)
    kept = {key: member for key, member in value.items() if key in _OUTLINED}
    if "progress_table" in value:
        rows = kept["progress_table"] = list[dict[str, Any]]()
        for row in read_objects(value, "progress_table"):
            shared = _ROWS.get(text_field(row, "status"))
            rows.append(
                shared or {key: row[key] for key in ("id", "status", "label") if key in row}
            )

    if find_done_actions(value):
        kept["recently_done"] = value["recently_done"]
    errors = [finding for finding in document.findings if finding.level == "error"]
    return document._replace(value=kept, text=None, findings=errors)


def text_field(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


def read_primer(value: dict[str, Any], key: str) -> list[Any]:
    primer = value.get("context_primer")
    return read_list(primer, key) if isinstance(primer, dict) else []


def listed_path(entry: Any) -> str:
    """What an entry of generated_files says, "" if it is not a text."""
    text = entry.get("path") if isinstance(entry, dict) else entry
    return text if isinstance(text, str) else ""


def is_open(blocker: dict[str, Any]) -> bool:
    return blocker.get("resolved") is not True and not blocker.get("resolved_at")


def open_blockers(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [blocker for blocker in read_objects(value, "blockers") if is_open(blocker)]


def waits_on_user(blocker: dict[str, Any]) -> bool:
    return is_open(blocker) and blocker.get("needs") == "user_decision"


def describe_blocker(blocker: dict[str, Any], notes: Iterable[str] = ()) -> str:
    """Return a blocker in one line: what it is, which row it blocks, what is proposed, and notes on
    that.
    """
    what = text_field(blocker, "description") or text_field(blocker, "id") or "(no description)"
    pairs = (("blocking", "blocks"), ("proposed_resolution", "proposed:"))
    more = [f"{verb} {blocker[key]}" for key, verb in pairs if isinstance(blocker.get(key), str)]
    more += notes
    options = [option for option in read_list(blocker, "options") if isinstance(option, str)]
    numbered = [f"{number} {option}" for number, option in enumerate(options, start=1)]
    more += [f"options: {' | '.join(numbered)}"] if options else []
    return f"{what} ({'; '.join(more)})" if more else what


def find_answers(
    skill: str | Blank, value: dict[str, Any], answer: str = ""
) -> list[tuple[dict[str, Any], Argv]]:
    """Return each open blocker with the command that settles it.

    It names the blocker by its id, or by its place where no id names it alone.
    """
    every = enumerate(read_list(value, "blockers"))
    named = [
        (one, _blocker_id(one), f"blockers.{at}")
        for at, one in every
        if isinstance(one, dict) and is_open(one)
    ]
    times = Counter(name for _, name, _ in named)
    found = list[tuple[dict[str, Any], Argv]]()
    for blocker, name, place in named:
        is_unique = name and times[name] == 1
        found.append(
            (blocker, answer_command(skill, name if is_unique else place, blocker, answer))
        )

    return found


def answer_command(
    skill: str | Blank, name: str, blocker: dict[str, Any], answer: str = ""
) -> Argv:
    """Return the command that settles a blocker. answer: of the user, "" if it is not known yet."""
    is_text = ("--",) if name.startswith("-") or answer.startswith("-") else ()
    if not waits_on_user(blocker):
        return ("checkpoint", "unblock", skill, *is_text, name)
    given: Argument = answer if answer and answer.isprintable() else Blank("the answer")
    return ("checkpoint", "decide", skill, *is_text, name, given)


def _blocker_id(blocker: dict[str, Any]) -> str:
    """An id that a shell and a terminal take as it is, "" for another."""
    name = blocker.get("id")
    text = (
        name.decode()
        if isinstance(name, bytes)
        else str(name)
        if type(name) in (str, int) and name != ""
        else ""
    )
    return text if len(text) < 80 and escape_controls(text) == text else ""


def is_reviewed(superseded: Any) -> bool:
    return isinstance(superseded, dict) and (
        superseded.get("reviewed") is True or bool(superseded.get("reviewed_at"))
    )


def describe_superseded(value: dict[str, Any]) -> list[str]:
    """What merges set aside of the head, and nobody has reviewed."""
    return [
        ", ".join(
            f'{name} "{shorten(text, 100)}"'
            for name in ("phase", "step", "status", "progress_summary")
            if (text := text_field(entry, name)) and text != text_field(value, name)
        )
        or "the same as now"
        for entry in read_objects(value, "superseded")
        if not is_reviewed(entry)
    ]


def action_text(action: Any) -> str:
    """What an item of next_actions says to do, "" if it says nothing."""
    text = action.get("text") if isinstance(action, dict) else action
    return text if isinstance(text, str) else ""


def done_text(entry: Any) -> str:
    """Return what an entry of recently_done says was done, "" if nothing.

    {"at": ..., "action": ...}, with a whole action in it, is how the JavaScript original writes it.
    """
    text = action_text(entry)
    return text or (action_text(entry.get("action")) if isinstance(entry, dict) else "")


def find_done_actions(value: dict[str, Any]) -> list[int]:
    """Return the indexes of next_actions whose text recently_done has too: what is done stands
    there to do again. An action whose `added_at` is not before its last entry in recently_done was
    added again on purpose.
    """
    last: dict[str, tuple[int, str]] = {}
    for entry in read_list(value, "recently_done"):
        text = done_text(entry).strip()
        last[text] = max(last.get(text, (0, "")), read_when(entry))

    found = []
    for index, action in enumerate(read_list(value, "next_actions")):
        text = action_text(action).strip()
        added = read_instant(action.get("added_at")) if isinstance(action, dict) else None
        if text and text in last and (added is None or added < last[text]):
            found.append(index)

    return found


def read_when(entry: Any) -> tuple[int, str]:
    """The instant at which an entry of a record was made, 1970 for none: for sorting."""
    return (read_instant(entry.get("at")) if isinstance(entry, dict) else None) or (0, "")


def action_done_when(action: Any) -> str | None:
    """The shell command that checks whether the action is done. Never run it without asking."""
    command = action.get("done_when") if isinstance(action, dict) else None
    return command if isinstance(command, str) and command.strip() else None


def list_waits(value: dict[str, Any]) -> list[Any]:
    waits = value.get("depends_on")
    return [waits] if isinstance(waits, str) else read_list(value, "depends_on")


def list_requests(value: dict[str, Any]) -> tuple[list[str], list[str]]:
    """(next actions, what should resolve open blockers and what is waited for): the texts that may
    name references.
    """
    proposals = [text_field(blocker, "proposed_resolution") for blocker in open_blockers(value)]
    actions = [action_text(action) for action in read_list(value, "next_actions")]
    return actions, [*proposals, *(text for text in list_waits(value) if isinstance(text, str))]


def count_rows(value: dict[str, Any]) -> tuple[int, int]:
    """(rows that are complete, all rows) of progress_table."""
    rows = read_objects(value, "progress_table")
    return sum(row.get("status") == "complete" for row in rows), len(rows)


def open_rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        row
        for row in read_objects(value, "progress_table")
        if str(row.get("status")) not in ROWS_OVER
    ]


def failed_rows(value: dict[str, Any]) -> list[str]:
    """Return the names of the rows that failed: the label, else the id."""
    failed = [row for row in read_objects(value, "progress_table") if row.get("status") == "failed"]
    return [str(row.get("label") or row.get("id")) for row in failed]


def is_unstarted(value: dict[str, Any]) -> bool:
    rows = read_objects(value, "progress_table")
    return bool(rows) and all(row.get("status") == "not_started" for row in rows)


def find_age(value: dict[str, Any], now: int) -> int | None:
    """Seconds since updated_at, negative for a time ahead; None if updated_at is not an instant."""
    instant = read_instant(value.get("updated_at"))
    return None if instant is None else now - instant[0]


def is_stale(value: dict[str, Any], now: int, days: int) -> bool:
    """Return whether work in progress was not written for more than so many days."""
    age = find_age(value, now)
    return value.get("status") == "in_progress" and age is not None and age > days * DAY


def describe_budget(value: dict[str, Any]) -> str:
    """Such as "over budget (12.5 of 10 USD)"; "" for a checkpoint that is not, or says nothing of
    the kind.
    """
    cost = value.get("cost")
    if not isinstance(cost, dict):
        return ""
    amounts = [cost.get(key) for key in ("total_usd", "budget_usd")]
    numbers = [
        amount
        for amount in amounts
        if isinstance(amount, int | float) and not isinstance(amount, bool)
    ]
    if len(numbers) < 2 or numbers[0] <= numbers[1]:
        return ""
    # an int may be beyond any float
    total, budget = (
        shorten(str(each), 20) if isinstance(each, int) else f"{each:.12g}" for each in numbers
    )
    return f"over budget ({total} of {budget} USD)"


def find_gate(value: dict[str, Any]) -> str:
    """The phase or step that names a gate still ahead, "" for none; a step "gate-passed" speaks for
    its phase too.
    """
    for key in ("step", "phase"):
        text = text_field(value, key)
        words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
        if GATE_WORDS.intersection(words) or " sign off " in f" {' '.join(words)} ":
            return "" if OVER_WORDS.intersection(words) else text
    return ""
