"""Read parts of a checkpoint's value, which may break the schema: return what is usable. Pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeGuard

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.hint import Argument, Argv, Blank
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.document import read_list as read_list
from checkpoint_git.protocols.document import read_objects as read_objects

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
    "protocol_version",
    "skill",
    "project",
    "project_dir",
    "created_at",
    "updated_at",
    "phase",
    "step",
    "status",
    "progress_summary",
    "progress_table",
    "context_primer",
    "blockers",
    "next_actions",
    "pm_refs",
    "depends_on",
)
_OUTLINED = {*PUBLIC_FIELDS, "cost", "superseded"} - {
    "skill",
    "project_dir",
    "progress_table",
    "context_primer",
}
_TICKET_FIELDS = ("role", "provider", "id", "url", "created_by_skill", "first_seen_at")
_LONGEST_ID = 80  # letters of a blocker's id that a command names
# the rows of thousands of checkpoints share one object for each status
_ROWS: dict[str, dict[str, Any]] = {
    status: {"status": status}
    for status in ("complete", "in_progress", "not_started", "skipped", "deferred")
}


def public_view(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that other skills may read, in the document's order."""
    return {key: member for key, member in value.items() if key in PUBLIC_FIELDS}


def find_refs(documents: Iterable[Document], role: str | None = None) -> list[dict[str, Any]]:
    """Return the tickets of all documents in order, each with its skill and without its body.

    role: of the tickets, None for all.
    """
    found = list[dict[str, Any]]()
    for document in documents:
        for ref in read_objects(document.value or {}, "pm_refs"):
            if role in (None, ref.get("role")):
                known = {name: ref[name] for name in _TICKET_FIELDS if name in ref}
                found.append({"skill": document.skill, **known})
    return found


def outline(document: Document) -> Document:
    """Return a document with the parts that commands about all checkpoints need, about an eighth.

    It keeps the status of most rows, the errors, and no text.
    """
    value = document.value
    if value is None:
        return document._replace(text=None)
    kept = {key: member for key, member in value.items() if key in _OUTLINED}
    if "progress_table" in value:
        kept["progress_table"] = _outline_rows(value)

    if find_done_actions(value):
        kept["recently_done"] = value["recently_done"]
    errors = [finding for finding in document.findings if finding.level == "error"]
    return document._replace(value=kept, text=None, findings=errors)


def _outline_rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    rows = list[dict[str, Any]]()
    for row in read_objects(value, "progress_table"):
        shared = _ROWS.get(text_field(row, "status"))
        if shared is None:
            shared = {key: row[key] for key in ("id", "status", "label") if key in row}
        rows.append(shared)
    return rows


def text_field(value: dict[str, Any], key: str) -> str:
    """Return the text of a member, "" if it is missing or not a text."""
    return _text(value.get(key))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ""


def _member(value: Any, key: str) -> Any:
    """Return a member of an object, None if the value is not one or lacks it."""
    if isinstance(value, dict):
        return value.get(key)
    return None


def read_primer(value: dict[str, Any], key: str) -> list[Any]:
    """Return a list in context_primer, [] if it is missing or not a list."""
    primer = value.get("context_primer")
    if not isinstance(primer, dict):
        return []
    return read_list(primer, key)


def listed_path(entry: Any) -> str:
    """Return the text of an entry of generated_files, "" if it has none."""
    if isinstance(entry, dict):
        return text_field(entry, "path")
    return _text(entry)


def is_open(blocker: dict[str, Any]) -> bool:
    return blocker.get("resolved") is not True and not blocker.get("resolved_at")


def open_blockers(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [blocker for blocker in read_objects(value, "blockers") if is_open(blocker)]


def waits_on_user(blocker: dict[str, Any]) -> bool:
    return is_open(blocker) and blocker.get("needs") == "user_decision"


def describe_blocker(blocker: dict[str, Any], notes: Iterable[str] = ()) -> str:
    """Return a blocker in one line: its description, the row that it blocks, the proposal with
    notes on it, and the options.
    """
    what = text_field(blocker, "description") or text_field(blocker, "id") or "(no description)"
    details = []
    for key, verb in (("blocking", "blocks"), ("proposed_resolution", "proposed:")):
        if isinstance(blocker.get(key), str):
            details.append(f"{verb} {blocker[key]}")
    details += notes

    options = [option for option in read_list(blocker, "options") if isinstance(option, str)]
    if options:
        numbered = [f"{number} {option}" for number, option in enumerate(options, start=1)]
        details.append(f"options: {' | '.join(numbered)}")
    if not details:
        return what
    return f"{what} ({'; '.join(details)})"


def name_open_blockers(value: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return each open blocker with its name in commands.

    That is its id, or its place if it has no id of its own.
    """
    blockers = {
        index: blocker
        for index, blocker in enumerate(read_list(value, "blockers"))
        if isinstance(blocker, dict) and is_open(blocker)
    }
    times = Counter(_blocker_id(blocker) for blocker in blockers.values())

    found = list[tuple[dict[str, Any], str]]()
    for index, blocker in blockers.items():
        name = _blocker_id(blocker)
        if not name or times[name] > 1:
            name = f"blockers.{index}"
        found.append((blocker, name))
    return found


def find_answers(
    skill: str | Blank, value: dict[str, Any], answer: str = ""
) -> list[tuple[dict[str, Any], Argv]]:
    """Return each open blocker with the command that settles it."""
    return [
        (blocker, answer_command(skill, name, blocker, answer))
        for blocker, name in name_open_blockers(value)
    ]


def answer_command(
    skill: str | Blank, name: str, blocker: dict[str, Any], answer: str = ""
) -> Argv:
    """Return the command that settles a blocker. answer: of the user, "" if it is not known yet."""
    dashes = ("--",) if name.startswith("-") or answer.startswith("-") else ()
    if not waits_on_user(blocker):
        return ("checkpoint", "unblock", skill, *dashes, name)
    word: Argument = answer
    if not answer or not answer.isprintable():
        word = Blank("the answer")
    return ("checkpoint", "decide", skill, *dashes, name, word)


def _blocker_id(blocker: dict[str, Any]) -> str:
    """Return the id of a blocker if a shell and a terminal take it as it is, else ""."""
    name = blocker.get("id")
    if isinstance(name, bytes):  # a number as a token value
        name = name.decode()
    if type(name) not in (str, int):
        return ""
    text = str(name)
    if len(text) >= _LONGEST_ID or escape_controls(text) != text:
        return ""
    return text


def is_reviewed(superseded: Any) -> bool:
    """Whether an entry of superseded is marked as reviewed."""
    if not isinstance(superseded, dict):
        return False
    return superseded.get("reviewed") is True or bool(superseded.get("reviewed_at"))


def describe_superseded(value: dict[str, Any]) -> list[str]:
    """Return the values of the head that merges set aside and nobody reviewed, in words."""
    found = []
    for entry in read_objects(value, "superseded"):
        if is_reviewed(entry):
            continue
        parts = []
        for name in ("phase", "step", "status", "progress_summary"):
            text = text_field(entry, name)
            if text and text != text_field(value, name):
                parts.append(f'{name} "{shorten(text, 100)}"')
        found.append(", ".join(parts) or "the same as now")
    return found


def action_text(action: Any) -> str:
    """Return the text of an item of next_actions, "" if it has none."""
    if isinstance(action, dict):
        return text_field(action, "text")
    return _text(action)


def done_text(entry: Any) -> str:
    """Return the text of an entry of recently_done, "" if it has none.

    {"at": ..., "action": ...}, with a whole action in it, is how the JavaScript original writes it.
    """
    return action_text(entry) or action_text(_member(entry, "action"))


def find_done_actions(value: dict[str, Any]) -> list[int]:
    """Return the indexes of next_actions whose text recently_done has too.

    An action is not done if its `added_at` is not before its last entry in recently_done: it was
    added again.
    """
    last: dict[str, tuple[int, str]] = {}
    for entry in read_list(value, "recently_done"):
        text = done_text(entry).strip()
        last[text] = max(last.get(text, (0, "")), read_when(entry))

    found = []
    for index, action in enumerate(read_list(value, "next_actions")):
        text = action_text(action).strip()
        added = read_instant(_member(action, "added_at"))
        if text and text in last and (added is None or added < last[text]):
            found.append(index)

    return found


def read_when(entry: Any) -> tuple[int, str]:
    """Return the instant at which an entry of a record was made, 1970 for none: for sorting."""
    return read_instant(_member(entry, "at")) or (0, "")


def action_done_when(action: Any) -> str | None:
    """Return the shell command that checks whether the action is done, None for none.

    Never run it without asking.
    """
    command = _text(_member(action, "done_when"))
    return command if command.strip() else None


def list_waits(value: dict[str, Any]) -> list[Any]:
    """Return the entries of depends_on, which may be one text."""
    waits = value.get("depends_on")
    if isinstance(waits, str):
        return [waits]
    return read_list(value, "depends_on")


def list_requests(value: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the texts that may name references: those of next actions, and those of proposals for
    open blockers and of depends_on.
    """
    actions = [action_text(action) for action in read_list(value, "next_actions")]
    proposals = [text_field(blocker, "proposed_resolution") for blocker in open_blockers(value)]
    waits = [text for text in list_waits(value) if isinstance(text, str)]
    return actions, proposals + waits


def count_rows(value: dict[str, Any]) -> tuple[int, int]:
    """Return the number of complete rows of progress_table, and of all."""
    rows = read_objects(value, "progress_table")
    return sum(row.get("status") == "complete" for row in rows), len(rows)


def open_rows(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of progress_table that ask for work."""
    rows = read_objects(value, "progress_table")
    return [row for row in rows if str(row.get("status")) not in ROWS_OVER]


def failed_rows(value: dict[str, Any]) -> list[str]:
    """Return the names of the rows that failed: the label, else the id."""
    failed = [row for row in read_objects(value, "progress_table") if row.get("status") == "failed"]
    return [str(row.get("label") or row.get("id")) for row in failed]


def is_unstarted(value: dict[str, Any]) -> bool:
    rows = read_objects(value, "progress_table")
    return bool(rows) and all(row.get("status") == "not_started" for row in rows)


def find_age(value: dict[str, Any], now: int) -> int | None:
    """Return the seconds since updated_at, negative for a future one; None if it is no instant."""
    instant = read_instant(value.get("updated_at"))
    if instant is None:
        return None
    return now - instant[0]


def is_stale(value: dict[str, Any], now: int, days: int) -> bool:
    """Return whether work in progress was not written for more than so many days."""
    age = find_age(value, now)
    return value.get("status") == "in_progress" and age is not None and age > days * DAY


def describe_budget(value: dict[str, Any]) -> str:
    """Return a text such as "over budget (12.5 of 10 USD)", "" if the cost is not over budget."""
    cost = value.get("cost")
    if not isinstance(cost, dict):
        return ""
    total = cost.get("total_usd")
    budget = cost.get("budget_usd")
    if not is_number(total) or not is_number(budget) or total <= budget:
        return ""
    return f"over budget ({_write_amount(total)} of {_write_amount(budget)} USD)"


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _write_amount(amount: int | float) -> str:
    if isinstance(amount, int):  # which may be beyond any float
        return shorten(str(amount), 20)
    return f"{amount:.12g}"


def find_gate(value: dict[str, Any]) -> str:
    """Return the phase or step that names a gate still ahead, "" for none.

    A step "gate-passed" applies to its phase too.
    """
    for key in ("step", "phase"):
        text = text_field(value, key)
        words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
        if GATE_WORDS.intersection(words) or " sign off " in f" {' '.join(words)} ":
            if OVER_WORDS.intersection(words):
                return ""
            return text
    return ""
