"""Check what the schema cannot: the meaning of a skill checkpoint. Pure.

A value may break the schema: a rule looks at members of the type it expects, and ignores others.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from checkpoint_git.core.clock import DAY, is_plain_instant, read_instant, write_instant
from checkpoint_git.core.finding import Finding, Level, make_error, make_warning
from checkpoint_git.core.hint import AnyHint, Blank, Word, advise, blank
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.document import read_list
from checkpoint_git.protocols.mismatch import OWN, find_doubles, list_objects, quote, quote_where
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.goals import find_named, is_pull_request
from checkpoint_git.protocols.skill.layout import HERE
from checkpoint_git.protocols.skill.shape import (
    FILL,
    advise_edit,
    advise_move,
    describe,
    empty_field,
)
from checkpoint_git.protocols.skill.views import (
    find_done_actions,
    is_number,
    is_open,
    open_blockers,
    read_objects,
    waits_on_user,
)

__all__ = ["check", "describe"]

MAX_SUMMARY = 1_200  # characters
MAX_DECISIONS = 20
MAX_SIZE = 32 * 1024  # bytes
MAX_PM_TEXT = 500  # characters: longer is a ticket's body, not its address

_REQUIRED_TEXTS = ("project", "project_dir", "phase", "step", "progress_summary")
_REQUIRED_INSTANTS = ("created_at", "updated_at")
_OPTIONAL_INSTANTS = ("verified_at", "record_updated_at")
_INSTANTS_IN_LISTS = (
    ("blockers", "resolved_at"),
    ("pm_refs", "first_seen_at"),
    ("eval_scores", "at"),
    ("recently_done", "at"),
)
# what a reader relies on, and the schema leaves open
_LOOSE_TYPES = (
    ("blockers", "resolved", "boolean"),
    ("blockers", "options", "array"),
    ("superseded", "reviewed", "boolean"),
)
_TICKET_BODIES = frozenset(["body", "description", "content", "comments", "text", "summary"])
_NAMES_IN_LISTS = ("blockers", "next_actions", "pm_refs")  # and progress_table, see _check_rows
_MOST_SPELLED = 1_000  # unknown names of one object; nobody means that many


def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Return every finding beyond shape, located by `where` alone.

    skill: of the file's name, "" for none. size: bytes. now: seconds since 1970.
    """
    found = _check_file_name(value, skill)
    found += _check_required_texts(value)
    found += _check_instants(value)
    found += _check_time_order(value, now)
    found += _check_sizes(value, size)
    found += _check_rows(value)
    if value.get("status") == "in_progress":
        found += _check_running(value)
    found += _check_actions(value)
    found += _check_blockers(value)
    found += _check_loose_types(value)
    found += _check_status(value)
    found += _check_tickets(value)
    found += _check_scores(value)
    found += _check_names(value)
    return found


def _find_blank(value: dict[str, Any], where: str, keys: Iterable[str]) -> Iterator[Finding]:
    """Yield the texts of spaces alone; an empty one is the schema's business."""
    for key in keys:
        text = value.get(key)
        if isinstance(text, str) and text.isspace():
            yield empty_field(f"{where}/{key}")


def _is_above(value: Any, limit: Any) -> bool:
    return is_number(value) and is_number(limit) and bool(value > limit)


def _check_file_name(value: dict[str, Any], skill: str) -> list[Finding]:
    if not skill:
        message = "the file's name is not <skill>.checkpoint.json"
        return [make_error("skill/file-name", message, "", "rename the file after its skill")]
    name = value.get("skill")
    if name == skill or not isinstance(name, str) or not name.strip():
        return []
    message = f"skill is {quote(name)}, but the file is named {quote(skill)}"
    hint = advise_edit(
        "one skill, one file: rename the file, or correct the field", "/skill", Word(("=", OWN))
    )
    return [make_error("skill/file-name", message, "/skill", hint)]


def _check_required_texts(value: dict[str, Any]) -> Iterator[Finding]:
    yield from _find_blank(value, "", _REQUIRED_TEXTS)


def _check_instants(value: dict[str, Any]) -> Iterator[Finding]:
    for key in _REQUIRED_INSTANTS:
        text = value.get(key)
        if text != "":
            yield from _check_instant(text, f"/{key}", "error")
    for key in _OPTIONAL_INSTANTS:
        yield from _check_instant(value.get(key), f"/{key}", "warning")
    for key, name in _INSTANTS_IN_LISTS:
        for where, item in list_objects(value, key):
            yield from _check_instant(item.get(name), f"{where}/{name}", "warning")


def _check_time_order(value: dict[str, Any], now: int) -> Iterator[Finding]:
    created, updated = value.get("created_at"), value.get("updated_at")
    made, changed = read_instant(created), read_instant(updated)
    if changed is None:
        return

    if made is not None and changed < made:
        message = f"updated_at ({quote(updated)}) is before created_at ({quote(created)})"
        what = "correct created_at if that is wrong; to update updated_at"
        hint = advise_edit(what, "/updated_at", "")
        yield make_error("skill/updated-before-created", message, "/updated_at", hint)

    if changed[0] > now + DAY:
        today = write_instant(now)
        message = f"updated_at is {quote(updated)}, and now is {today}: it is in the future"
        edits = []
        if made is not None and made[0] > now:
            edits.append(f"--created_at={today}")
        hint = advise_edit("if a clock was wrong, set it", "/updated_at", f"={today}", edits)
        yield make_warning("skill/updated-in-future", message, "/updated_at", hint)


def _check_instant(text: Any, where: str, level: Level) -> list[Finding]:
    if not isinstance(text, str) or is_plain_instant(text):
        return []
    name = where.rpartition("/")[2]
    instant = read_instant(text)
    if instant is None:
        return [_describe_no_instant(text, where, name, level)]
    if text[-1] in "Zz":
        return []

    message = f"{name} is {quote(text)}: in local time"
    written = write_instant(instant[0])
    if instant[1]:
        written = f"{written[:-1]}.{instant[1]}Z"
    hint = advise_edit("write it in UTC, ending in Z", where, f"={written}")
    return [make_warning("skill/offset-timestamp", message, where, hint)]


def _describe_no_instant(text: str, where: str, name: str, level: Level) -> Finding:
    code = "skill/timestamp" if level == "error" else "skill/unclear-timestamp"
    fault, guess = "it is not an RFC 3339 timestamp", ""
    if len(text) >= 20 and text[4] == "-" and text[10] in ("T", "t"):
        fault = "it is not on the calendar"
    for end, missing in (("T00:00:00Z", "time of day"), ("Z", "time zone")):
        if read_instant(text + end):
            fault, guess = f"it has no {missing}", text + end

    if guess:
        hint = advise_edit("if it is in UTC", where, f"={guess}")
    else:
        hint = advise_edit("write a timestamp like 2026-03-31T14:00:00Z", where, FILL)

    return Finding(code, level, f"{name} is {quote(text)}: {fault}", where=where, hint=hint)


def _check_sizes(value: dict[str, Any], size: int) -> Iterator[Finding]:
    """Yield findings for fields that are too long, over budget, or empty."""
    path = value.get("project_dir")
    if isinstance(path, str) and path.strip() and path != HERE and not _is_absolute(path):
        message = f'project_dir is {quote(path)}, which is neither "{HERE}" nor an absolute path'
        hint = advise_edit("if it is this checkout", "/project_dir", f"={HERE}")
        yield make_warning("skill/relative-project-dir", message, "/project_dir", hint)

    if size > MAX_SIZE:
        much = f"{size / 1024:.1f} KB, more than {MAX_SIZE // 1024} KB"
        message = f"the file has {much}, and every resume reads all of it"
        yield make_warning("skill/file-too-big", message, "", _advise_size(value))

    summary = value.get("progress_summary")
    if isinstance(summary, str) and len(summary) > MAX_SUMMARY:
        message = f"progress_summary has {len(summary)} characters, more than {MAX_SUMMARY}"
        what = "keep a few sentences, and put detail into progress_table"
        hint = advise_edit(what, "/progress_summary", FILL)
        yield make_warning("skill/summary-too-long", message, "/progress_summary", hint)

    primer = value.get("context_primer")
    decisions = primer.get("key_decisions") if isinstance(primer, dict) else None
    if isinstance(decisions, list) and len(decisions) > MAX_DECISIONS:
        count = len(decisions)
        message = (
            f"there are {count} key decisions, more than {MAX_DECISIONS}: every session reads them"
        )
        what = "summarise the older ones, or move them to history"
        hint = advise(what, "checkpoint", "rotate", OWN)
        where = "/context_primer/key_decisions"
        yield make_warning("skill/too-many-decisions", message, where, hint)

    cost = value.get("cost")
    if isinstance(cost, dict) and _is_above(cost.get("total_usd"), cost.get("budget_usd")):
        total, budget = quote(cost["total_usd"]), quote(cost["budget_usd"])
        message = f"the cost of {total} USD is over the budget of {budget}"
        hint = advise_edit("stop and ask; if more is granted", "/cost/budget_usd", FILL)
        yield make_warning("skill/over-budget", message, "/cost/total_usd", hint)

    handle = value.get("telemetry_handle")
    if isinstance(handle, str) and handle.isspace():
        hint = advise_edit("name it, or leave it out", "/telemetry_handle", "-=")
        message = "telemetry_handle is empty"
        yield make_error("skill/telemetry-handle", message, "/telemetry_handle", hint)


def _is_absolute(path: str) -> bool:
    is_windows = path[1:3] in (":\\", ":/") and path[0].isalpha()
    return is_windows or path.startswith(("/", "\\\\"))


def _advise_size(value: dict[str, Any]) -> AnyHint:
    # late: few checkpoints are that long
    from checkpoint_git.protocols.skill.rotation import plan_rotation

    if plan_rotation(value).moved:
        return advise("move closed entries to history", "checkpoint", "rotate", OWN)
    return "shorten it, or move details into files (it has no closed entries to rotate)"


def _check_rows(value: dict[str, Any]) -> Iterator[Finding]:
    for where, identity, first in find_doubles(value, "progress_table"):
        message = f"two rows have the id {quote(identity)}; the first is {first}"
        hint = advise_edit("make them one row, or give this one another id", where, FILL)
        yield make_error("skill/row-id-twice", message, where, hint)
    for where, row in list_objects(value, "progress_table"):
        yield from _find_blank(row, where, ("id", "label"))
        yield from _check_spelling(row, where, "progress_table")


def _check_running(value: dict[str, Any]) -> Iterator[Finding]:
    """Yield findings for what is missing while the status is in_progress."""
    if value.get("next_actions", []) == []:
        message = "status is in_progress, but next_actions is empty"
        what = "if all is done, set --status=complete; else name the next action"
        hint = advise_edit(what, "/next_actions", blank("+=", "the next action"))
        yield make_error("skill/next-actions-empty", message, "/next_actions", hint)

    if value.get("recently_done") and value.get("progress_table", []) == []:
        message = "status is in_progress, but progress_table is missing"
        step = Blank("the step")
        row = Word(('+:json={"id": "', step, '", "label": "', step, '", "status": "in_progress"}'))
        hint = advise_edit(
            "list the phases or steps, since progress is counted from them", "/progress_table", row
        )
        yield make_warning("skill/no-progress-table", message, "/progress_table", hint)

    if value.get("context_primer", {}) == {}:
        message = "status is in_progress, but context_primer is missing"
        what = "record the key decisions, since a new session starts from them"
        hint = advise(what, "checkpoint", "note", OWN, Blank("the decision"))
        yield make_warning("skill/no-context-primer", message, "/context_primer", hint)


def _check_actions(value: dict[str, Any]) -> Iterator[Finding]:
    for index, action in enumerate(read_list(value, "next_actions")):
        where = f"/next_actions/{index}"
        if isinstance(action, dict):
            yield from _find_blank(action, where, ("text",))
            if "done_when_merged" in action:
                yield from _check_merges(action["done_when_merged"], f"{where}/done_when_merged")
        elif isinstance(action, str) and action.isspace():
            hint = advise_edit("write what to do", where, FILL)
            yield make_error("skill/action-shape", "the action is empty", where, hint)

    for index in find_done_actions(value):
        message = f"next action {index + 1} is in recently_done too"
        again = "reword it if it is to be done again; if it is done, take it off"
        hint = advise(again, "checkpoint", "drop", OWN, str(index + 1), "--why", "It is done")
        yield make_warning("drift/action-done", message, f"/next_actions/{index}", hint)


def _check_loose_types(value: dict[str, Any]) -> Iterator[Finding]:
    for key, name, kind in _LOOSE_TYPES:
        wanted = list if kind == "array" else bool
        for where, item in list_objects(value, key):
            member = item.get(name)
            if member is not None and not isinstance(member, wanted):
                mismatch = Mismatch(f"{where}/{name}", "type", kind, member, "")
                yield describe(mismatch)._replace(level="warning")


def _check_status(value: dict[str, Any]) -> Iterator[Finding]:
    status = value.get("status")
    if status == "blocked" and not open_blockers(value):
        message = "status is blocked, but no blocker is open"
        what = "set another status, or add a blocker"
        hint: AnyHint = advise(what, "checkpoint", "block", OWN, Blank("what blocks it"))
        yield make_warning("skill/blocked-by-nothing", message, "/status", hint)
    if status == "complete" and any(waits_on_user(blocker) for blocker in open_blockers(value)):
        message = "status is complete, but a decision waits on the user"
        hint = advise_edit("resolve the blocker, or set --status=blocked", "/status", "=blocked")
        yield make_warning("skill/complete-but-undecided", message, "/status", hint)


def _check_tickets(value: dict[str, Any]) -> Iterator[Finding]:
    for where, ticket in list_objects(value, "pm_refs"):
        for key, member in ticket.items():
            is_long = isinstance(member, str) and len(member) > MAX_PM_TEXT
            if is_long or (key in _TICKET_BODIES and member):
                yield _describe_body(where, key)
        yield from _find_blank(ticket, where, ("provider", "id"))


def _describe_body(where: str, key: str) -> Finding:
    message = f"the ticket has its text in {quote(key)}: store only ids and URLs"
    place = join_pointer(where, key)
    if key in ("provider", "id"):
        hint = advise_edit("shorten it, since tickets may contain private data", place, FILL)
    else:
        hint = advise_edit("remove it, since tickets may contain private data", place, "-=")
    return make_warning("skill/pm-ref-body", message, place, hint)


def _check_scores(value: dict[str, Any]) -> Iterator[Finding]:
    for where, score in list_objects(value, "eval_scores"):
        if _is_above(score.get("score"), score.get("max")):
            message = f"the score {quote(score['score'])} is above its max {quote(score['max'])}"
            hint = advise_edit("correct the score, or its max", f"{where}/score", FILL)
            yield make_error("skill/score-above-max", message, f"{where}/score", hint)


def _check_merges(stated: Any, where: str) -> Iterator[Finding]:
    """Yield findings for a done_when_merged that never finishes its action."""
    if not isinstance(stated, list):
        return
    if not stated:
        message = "done_when_merged is empty, so nothing finishes it"
        hint = advise_edit("name the pull requests, or leave it out", where, "-=")
        yield make_warning("skill/action-never-done", message, where, hint)

    for index, entry in enumerate(stated):
        if not isinstance(entry, str):
            continue
        named = find_named(entry)
        if not named or not all(map(is_pull_request, named)):
            what = "which is not a pull request: only those are merged"
            message = f"done_when_merged names {quote(entry)}, {what}"
            hint = advise_edit("name a pull request, such as #12", f"{where}/{index}", FILL)
            yield make_warning("skill/action-never-done", message, f"{where}/{index}", hint)


def _check_blockers(value: dict[str, Any]) -> Iterator[Finding]:
    for where, identity, first in find_doubles(value, "blockers"):
        message = f"two blockers have the id {quote(identity)}; the first is {first}"
        hint = advise_edit("make them one blocker, or give this one another id", where, FILL)
        yield make_warning("skill/blocker-id-twice", message, where, hint)

    ids = [row.get("id") for row in read_objects(value, "progress_table")]
    known = {identity for identity in ids if isinstance(identity, (str, int))}
    for where, blocker in list_objects(value, "blockers"):
        yield from _find_blank(blocker, where, ("id", "description"))
        row = blocker.get("blocking")
        if known and isinstance(row, str) and row not in known and is_open(blocker):
            message = f"the blocker blocks {quote(row)}, but progress_table has no row with that id"
            hint = advise_edit("use a row's id, or remove the field", f"{where}/blocking", "-=")
            yield make_warning("skill/blocks-unknown-row", message, f"{where}/blocking", hint)


def _check_names(value: dict[str, Any]) -> Iterator[Finding]:
    yield from _check_operators(value, "")
    yield from _check_spelling(value, "", "")

    state = value.get("skill_state")
    if isinstance(state, dict):
        yield from _check_operators(state, "/skill_state")

    for key in ("context_primer", "cost"):
        member = value.get(key)
        if isinstance(member, dict):
            yield from _check_spelling(member, f"/{key}", key)

    for key in _NAMES_IN_LISTS:
        for where, item in list_objects(value, key):
            yield from _check_spelling(item, where, key)


def _check_operators(value: dict[str, Any], where: str) -> Iterator[Finding]:
    for key in value:
        if names.is_misplaced_operator(key) or (key == "field" and not where):
            message = (
                f"the field {quote(key)} looks like part of an update command that was typed wrong"
            )
            meaning = names.bare(key)
            if not where:
                meaning = names.find_meaning(meaning) or f"skill_state.{meaning}"
            hint = advise_move(value, key, where, meaning)
            yield make_warning("skill/misplaced-operator", message, join_pointer(where, key), hint)


def _check_spelling(value: dict[str, Any], where: str, parent: str) -> Iterator[Finding]:
    """Yield findings for names that mean or resemble a known one, which may be there too.

    parent: the object's key in names.KNOWN.
    """
    known = names.KNOWN[parent]
    for key in sorted(value.keys() - known)[:_MOST_SPELLED]:
        meaning = names.find_meaning(key, parent) or names.find_near_miss(key, known)
        if meaning and not names.is_misplaced_operator(key):
            message = f"unknown field {quote(key)}"
            if where:
                message += f" in {quote_where(where)}"
            hint = advise_move(value, key, where, meaning)
            yield make_warning("skill/unknown-field", message, join_pointer(where, key), hint)
