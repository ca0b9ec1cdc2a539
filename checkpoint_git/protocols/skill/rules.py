"""What a skill checkpoint must mean beyond its shape. Pure: what has another type is the schema's business.

Nearly every file passes nearly every rule: each first asks as cheaply as it can whether there is anything to say.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from checkpoint_git.core.clock import DAY, is_plain_instant, read_instant, write_instant
from checkpoint_git.core.finding import Finding, Level, make_error, make_warning
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import OWN, find_doubles, list_objects, quote, quote_where
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.shape import advise, advise_move, describe, empty_field
from checkpoint_git.protocols.skill.views import is_open, open_blockers, read_objects, waits_on_user

__all__ = ["check", "describe"]

MAX_SUMMARY = 1_200  # characters
MAX_DECISIONS = 20
MAX_SIZE = 32 * 1024  # bytes
MAX_PM_TEXT = 500  # characters: longer is a ticket's body, not its address

_REQUIRED_TEXTS = ("project", "project_dir", "phase", "step", "progress_summary")
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
_NAMES_IN_LISTS = ("progress_table", "blockers", "next_actions", "pm_refs")
_MOST_SPELLED = 1_000  # unknown names of one object; nobody means that many


def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Every finding beyond shape, located by `where` alone. skill: of the file's name, "" for none. size: bytes."""
    has_plain_rows = _are_plain_rows(value.get("progress_table", ()))
    found = [*_check_file_name(value, skill), *_check_header(value, now), *_check_sizes(value, size)]
    if not has_plain_rows:
        found += _check_rows(value)
    if value.get("status") == "in_progress":
        found += _check_running(value)
    return [*found, *_check_lists(value), *_check_names(value, has_plain_rows)]


def _find_blank(value: dict[str, Any], where: str, keys: Iterable[str]) -> Iterator[Finding]:
    """The texts of spaces alone; an empty one is the schema's business."""
    for key in keys:
        text = value.get(key)
        if isinstance(text, str) and text.isspace():
            yield empty_field(f"{where}/{key}")


def _are_plain_texts(texts: Iterable[Any]) -> bool:
    """Whether all are texts and none is blank; False may be wrong. Mapped, the interpreter asks them all in one go."""
    try:
        return not any(map(str.isspace, texts))
    except TypeError:
        return False


def _is_above(value: Any, limit: Any) -> bool:
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in (value, limit)):
        return False
    return bool(value > limit)


def _check_file_name(value: dict[str, Any], skill: str) -> list[Finding]:
    said = value.get("skill")
    if not skill:
        message = "the file's name is not <skill>.checkpoint.json"
        return [make_error("skill/file-name", message, "", "rename the file after its skill")]
    if said == skill or not isinstance(said, str) or not said.strip():
        return []
    message = f"skill is {quote(said)}, but the file's name says {quote(skill)}"
    hint = advise("one skill, one file: rename the file, or correct the field", "/skill", f"={OWN}")
    return [make_error("skill/file-name", message, "/skill", hint)]


def _check_header(value: dict[str, Any], now: int) -> list[Finding]:
    found: list[Finding] = []
    if not _are_plain_texts(map(value.get, _REQUIRED_TEXTS)):
        found += _find_blank(value, "", _REQUIRED_TEXTS)
    created, updated = value.get("created_at"), value.get("updated_at")
    if not _are_plain_instants(created, updated, now):
        for key, text in (("created_at", created), ("updated_at", updated)):
            if isinstance(text, str) and text:
                found += _check_instant(text, f"/{key}", "error")
        made, changed = read_instant(created), read_instant(updated)
        if made and changed and changed < made:
            message = f"updated_at ({quote(updated)}) is before created_at ({quote(created)})"
            hint = advise("correct created_at if that is wrong; to update updated_at", "/updated_at", "")
            found.append(make_error("skill/updated-before-created", message, "/updated_at", hint))
        if changed and changed[0] > now + DAY:
            message = f"updated_at is {quote(updated)}, and now is {write_instant(now)}: it is in the future"
            too = f" --created_at={write_instant(now)}" if made is not None and made[0] > now else ""
            hint = advise("if a clock was wrong, set it", "/updated_at", f"={write_instant(now)}{too}")
            found.append(make_warning("skill/updated-in-future", message, "/updated_at", hint))
    for key in _OPTIONAL_INSTANTS:
        if key in value:
            found += _check_instant(value[key], f"/{key}", "warning")
    for key, name in _INSTANTS_IN_LISTS:
        if not _have_plain_instants(value.get(key), name):
            for where, item in list_objects(value, key):
                found += _check_instant(item.get(name), f"{where}/{name}", "warning")
    return found


def _are_plain_instants(created: Any, updated: Any, now: int) -> bool:
    """Whether both are plain instants in their order, the later one not in the future; False may be wrong."""
    if now not in _LATEST:
        _LATEST.clear()
        _LATEST[now] = write_instant(now + DAY)
    if not isinstance(created, str) or not isinstance(updated, str) or not created <= updated <= _LATEST[now]:
        return False
    return is_plain_instant(created) and is_plain_instant(updated)


def _have_plain_instants(items: Any, name: str) -> bool:
    """Whether each has none, or a plain one; False may be wrong."""
    try:
        return not items or all(is_plain_instant(item[name]) for item in items if name in item)
    except TypeError:
        return False


_LATEST: dict[int, str] = {}  # of one now, which a process hardly ever changes


def _check_instant(text: Any, where: str, level: Level) -> list[Finding]:
    if not isinstance(text, str) or is_plain_instant(text):
        return []
    name = where.rpartition("/")[2]
    instant = read_instant(text)
    if instant is None:
        code = "skill/timestamp" if level == "error" else "skill/unclear-timestamp"
        is_shaped = len(text) >= 20 and text[4:5] == "-" and text[10:11] in ("T", "t")
        fault = "it is not on the calendar" if is_shaped else "it is not an RFC 3339 timestamp"
        ends = {"Z": "it has no time zone", "T00:00:00Z": "it has no time of day"}
        found = ((f"{text}{end}", why) for end, why in ends.items() if read_instant(f"{text}{end}"))
        guess, fault = next(found, ("", fault))
        message = f"{name} is {quote(text)}: {fault}"
        what = "if it is in UTC" if guess else "write a timestamp like 2026-03-31T14:00:00Z"
        hint = advise(what, where, f"={guess or '...'}")
        return [Finding(code, level, message, where=where, hint=hint)]
    if text[-1] in "Zz":
        return []
    message = f"{name} is {quote(text)}: in local time"
    fraction = f".{instant[1]}" if instant[1] else ""
    hint = advise("write it in UTC, ending in Z", where, f"={write_instant(instant[0])[:-1]}{fraction}Z")
    return [make_warning("skill/offset-timestamp", message, where, hint)]


def _check_sizes(value: dict[str, Any], size: int) -> Iterator[Finding]:
    """Single fields, nearly all of them: how long they are, and what they must not say."""
    path, summary, handle = (value.get(key) for key in ("project_dir", "progress_summary", "telemetry_handle"))
    path = path if isinstance(path, str) else ""
    is_windows = path[1:3] in (":\\", ":/") and path[0].isalpha()
    if path.strip() and not path.startswith(("/", "\\\\")) and not is_windows:
        message = f"project_dir is {quote(path)}, which is not an absolute path"
        here = '="$(git rev-parse --show-toplevel)"'
        hint = advise("write the whole path, from the root; if it is this checkout", "/project_dir", here)
        yield make_warning("skill/relative-project-dir", message, "/project_dir", hint)
    if size > MAX_SIZE:
        much = f"{size / 1024:.1f} KB, more than {MAX_SIZE // 1024} KB"
        message = f"the file has {much}, and every resume reads all of it"
        from checkpoint_git.protocols.skill.rotation import plan_rotation  # few checkpoints are that long

        hint = "shorten it, or move details into files (it has no closed entries to rotate)"
        if plan_rotation(value).moved:
            hint = f"move closed entries to history: checkpoint rotate {OWN}"
        yield make_warning("skill/file-too-big", message, "", hint)
    if isinstance(summary, str) and len(summary) > MAX_SUMMARY:
        message = f"progress_summary has {len(summary)} characters, more than {MAX_SUMMARY}"
        hint = "keep a few sentences, and put detail into progress_table"
        hint = advise(hint, "/progress_summary", '="..."')
        yield make_warning("skill/summary-too-long", message, "/progress_summary", hint)
    primer = value.get("context_primer")
    decisions = primer.get("key_decisions") if isinstance(primer, dict) else None
    if isinstance(decisions, list) and len(decisions) > MAX_DECISIONS:
        message = f"there are {len(decisions)} key decisions; more than {MAX_DECISIONS} are not read"
        hint = f"summarise the older ones, or move them to history: checkpoint rotate {OWN}"
        yield make_warning("skill/too-many-decisions", message, "/context_primer/key_decisions", hint)
    cost = value.get("cost")
    if isinstance(cost, dict) and _is_above(cost.get("total_usd"), cost.get("budget_usd")):
        message = f"the cost of {quote(cost['total_usd'])} USD is over the budget of {quote(cost['budget_usd'])}"
        hint = advise("stop and ask; if more is granted", "/cost/budget_usd", "=...")
        yield make_warning("skill/over-budget", message, "/cost/total_usd", hint)
    if isinstance(handle, str) and handle.isspace():
        hint = advise("name it, or leave it out", "/telemetry_handle", "-=")
        yield make_error("skill/telemetry-handle", "telemetry_handle is empty", "/telemetry_handle", hint)


def _are_plain_rows(rows: Any) -> bool:
    """Whether each row has an id of its own, a label and a status, and nothing else; False may be wrong."""
    seen = set[str]()
    try:
        for row in rows:
            identity = row["id"]
            if len(row) != 3 or "status" not in row or identity in seen:
                return False
            if identity.isspace() or row["label"].isspace():
                return False
            seen.add(identity)
    except (AttributeError, KeyError, TypeError):
        return False
    return True


def _check_rows(value: dict[str, Any]) -> Iterator[Finding]:
    for where, identity, first in find_doubles(value, "progress_table"):
        message = f"two rows have the id {quote(identity)}; the first is {first}"
        hint = advise("make them one row, or give this one another id", where, '="..."')
        yield make_error("skill/row-id-twice", message, where, hint)
    for where, row in list_objects(value, "progress_table"):
        yield from _find_blank(row, where, ("id", "label"))


def _check_running(value: dict[str, Any]) -> Iterator[Finding]:
    """What a checkpoint needs while its status is in_progress."""
    if value.get("next_actions", []) == []:
        message = "status is in_progress, but next_actions is empty"
        hint = advise("if all is done, set --status=complete; else name the next action", "/next_actions", '+="..."')
        yield make_error("skill/next-actions-empty", message, "/next_actions", hint)
    if value.get("recently_done") and value.get("progress_table", []) == []:
        message = "status is in_progress, but progress_table is missing"
        row = """+:json='{"id": "...", "label": "...", "status": "in_progress"}'"""
        hint = advise("list the phases or steps, since progress is counted from them", "/progress_table", row)
        yield make_warning("skill/no-progress-table", message, "/progress_table", hint)
    if value.get("context_primer", {}) == {}:
        message = "status is in_progress, but context_primer is missing"
        hint = f'record the key decisions, since a new session starts from them: checkpoint note {OWN} "..."'
        yield make_warning("skill/no-context-primer", message, "/context_primer", hint)


def _check_lists(value: dict[str, Any]) -> Iterator[Finding]:
    actions = value.get("next_actions")
    for at, action in enumerate(actions if isinstance(actions, list) and not _are_plain_texts(actions) else ()):
        if isinstance(action, str) and action.isspace():
            where = f"/next_actions/{at}"
            hint = advise("say what to do", where, '="..."')
            yield make_error("skill/action-shape", "the action is empty", where, hint)
        elif isinstance(action, dict):
            yield from _find_blank(action, f"/next_actions/{at}", ("text",))
    if value.get("blockers"):
        yield from _check_blockers(value)
    for key, name, kind in _LOOSE_TYPES if value.keys() & {"blockers", "superseded"} else ():
        for where, item in list_objects(value, key):
            held = item.get(name)
            if held is not None and not isinstance(held, list if kind == "array" else bool):
                yield describe(Mismatch(f"{where}/{name}", "type", kind, held, ""))._replace(level="warning")
    status = value.get("status")
    if status == "blocked" and not open_blockers(value):
        hint = f'set another status, or say what blocks it: checkpoint block {OWN} "..."'
        yield make_warning("skill/blocked-by-nothing", "status is blocked, but no blocker is open", "/status", hint)
    if status == "complete" and any(map(waits_on_user, open_blockers(value))):
        message = "status is complete, but a decision waits on the user"
        hint = advise("resolve the blocker, or set --status=blocked", "/status", "=blocked")
        yield make_warning("skill/complete-but-undecided", message, "/status", hint)
    for where, ticket in list_objects(value, "pm_refs"):
        for key, member in ticket.items():
            if (isinstance(member, str) and len(member) > MAX_PM_TEXT) or (key in _TICKET_BODIES and member):
                message = f"the ticket has its text in {quote(key)}: store only ids and URLs"
                place, is_needed = join_pointer(where, key), key in ("provider", "id")
                what = f"{'shorten' if is_needed else 'remove'} it, since tickets may hold private data"
                hint = advise(what, place, '="..."' if is_needed else "-=")
                yield make_warning("skill/pm-ref-body", message, place, hint)
        yield from _find_blank(ticket, where, ("provider", "id"))
    for where, score in list_objects(value, "eval_scores"):
        if _is_above(score.get("score"), score.get("max")):
            message = f"the score {quote(score['score'])} is above its max {quote(score['max'])}"
            hint = advise("correct the score, or its max", f"{where}/score", "=...")
            yield make_error("skill/score-above-max", message, f"{where}/score", hint)


def _check_blockers(value: dict[str, Any]) -> Iterator[Finding]:
    for where, identity, first in find_doubles(value, "blockers"):
        message = f"two blockers have the id {quote(identity)}; the first is {first}"
        hint = advise("make them one blocker, or give this one another id", where, '="..."')
        yield make_warning("skill/blocker-id-twice", message, where, hint)
    ids = [row.get("id") for row in read_objects(value, "progress_table")]
    known = {identity for identity in ids if isinstance(identity, (str, int))}
    for where, blocker in list_objects(value, "blockers"):
        yield from _find_blank(blocker, where, ("id", "description"))
        row = blocker.get("blocking")
        if known and isinstance(row, str) and row not in known and is_open(blocker):
            message = f"the blocker says it blocks {quote(row)}, but progress_table has no row with that id"
            hint = advise("use a row's id, or remove the field", f"{where}/blocking", "-=")
            yield make_warning("skill/blocks-unknown-row", message, f"{where}/blocking", hint)


def _check_names(value: dict[str, Any], has_plain_rows: bool) -> list[Finding]:
    found: list[Finding] = []
    if not value.keys() <= names.ROOT:
        found += _check_operators(value, "")
        found += _check_spelling(value, "", "")
    state = value.get("skill_state")
    if isinstance(state, dict):
        found += _check_operators(state, "/skill_state")
    for key in ("context_primer", "cost"):
        member = value.get(key)
        if isinstance(member, dict) and not member.keys() <= names.KNOWN[key]:
            found += _check_spelling(member, f"/{key}", key)
    for key in _NAMES_IN_LISTS:
        for where, item in () if has_plain_rows and key == "progress_table" else list_objects(value, key):
            if not item.keys() <= names.KNOWN[key]:
                found += _check_spelling(item, where, key)
    return found


def _check_operators(value: dict[str, Any], where: str) -> Iterator[Finding]:
    text = "\n".join(value)  # one search finds out that no key is such: cheaper than to ask of each
    if not ("+" in text or "=" in text or ":json" in text or "--" in text or "field" in value):
        return
    for key in value:
        if names.is_misplaced_operator(key) or (key == "field" and not where):
            message = f"the field {quote(key)} looks like part of an update command that was typed wrong"
            place = join_pointer(where, key)
            bare = names.bare(key)
            meant = bare if where else names.find_meaning(bare) or f"skill_state.{bare}"
            yield make_warning("skill/misplaced-operator", message, place, advise_move(value, key, where, meant))


def _check_spelling(value: dict[str, Any], where: str, parent: str) -> Iterator[Finding]:
    """Names that mean or resemble a known one, be that there too or not; parent: the object, as names.KNOWN has it."""
    known = names.KNOWN[parent]
    unknown = value.keys() - known
    for key in unknown if len(unknown) <= _MOST_SPELLED else sorted(unknown)[:_MOST_SPELLED]:
        meant = names.find_meaning(key, parent) or names.find_near_miss(key, known)
        if meant and not names.is_misplaced_operator(key):
            message = f"unknown field {quote(key)}" + (f" in {quote_where(where)}" if where else "")
            place = join_pointer(where, key)
            yield make_warning("skill/unknown-field", message, place, advise_move(value, key, where, meant))
