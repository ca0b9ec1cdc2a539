"""What a skill checkpoint must mean beyond its shape. Pure: a value in, findings out, nothing read or written.

A rule is one decorated function. It is asked where its field has the type that it names: other types are the schema's
business, and so is what is missing.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, is_plain_instant, read_instant, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.shape import describe, empty_field
from checkpoint_git.protocols.skill.views import is_open, open_blockers, waits_on_user

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
_TICKET_BODIES = frozenset(["body", "description", "content", "comments", "text", "summary"])
_NAMES_IN_LISTS = (
    ("progress_table", names.ROW),
    ("blockers", names.BLOCKER),
    ("next_actions", names.ACTION),
    ("pm_refs", names.PM_REF),
)
_MOST_SPELLED = 1_000  # unknown names of one object; nobody means that many
_INSTANT_HINT = "write an instant as 2026-03-31T14:00:00Z"


class _Case(NamedTuple):
    value: dict[str, Any]
    skill: str
    size: int
    now: int
    plain_rows: bool


Rule = Callable[[Any, _Case], Iterable[Finding]]
_RULES: list[tuple[str, type, Rule]] = []


def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Every finding beyond shape, with `where` set and path, line and column left empty.

    skill: what the file's name says, "" where the name is not a checkpoint's. size: of the file, bytes. now: seconds.
    """
    case = _Case(value, skill, size, now, _are_plain_rows(value.get("progress_table", ())))
    findings: list[Finding] = []
    for field, kind, rule in _RULES:
        member = value.get(field) if field else value
        if isinstance(member, kind):
            findings += rule(member, case)
    return findings


def _rule(field: str = "", kind: type = dict) -> Callable[[Rule], Rule]:
    """Registers a rule for a field of one type; without a field it gets the whole value."""

    def register(rule: Rule) -> Rule:
        _RULES.append((field, kind, rule))
        return rule

    return register


# Nearly every file passes nearly every rule, and there may be ten thousand files: a rule first asks as cheaply as it
# can whether there is anything to say, and only then where and what.
_NOTHING: tuple[Finding, ...] = ()


def _error(code: str, where: str, message: str, hint: str = "") -> Finding:
    return Finding(code, "error", message, where=where, hint=hint)


def _warning(code: str, where: str, message: str, hint: str = "") -> Finding:
    return Finding(code, "warning", message, where=where, hint=hint)


def _objects(field: str, items: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, item) of the objects in a list."""
    for at, item in enumerate(items):
        if isinstance(item, dict):
            yield f"/{field}/{at}", item


def _find_blank(value: dict[str, Any], where: str, keys: Iterable[str]) -> Iterator[Finding]:
    """The texts of spaces alone; an empty one is the schema's business."""
    for key in keys:
        text = value.get(key)
        if isinstance(text, str) and text.isspace():
            yield empty_field(f"{where}/{key}")


def _none_blank(texts: Iterable[Any]) -> bool:
    """Whether all are texts and none is blank; False may be wrong. Mapped, the interpreter asks them all in one go."""
    try:
        return not any(map(str.isspace, texts))
    except TypeError:
        return False


def _is_above(value: Any, limit: Any) -> bool:
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in (value, limit)):
        return False
    return bool(value > limit)


# the header


@_rule()
def _check_file_name(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    skill = value.get("skill")
    if skill == case.skill != "":
        return _NOTHING
    if not case.skill:
        message = "the file's name is not <skill>.checkpoint.json"
        return [_error("skill/file-name", "", message, "rename the file after its skill")]
    if not isinstance(skill, str) or not skill.strip():
        return _NOTHING
    message = f"skill is {quote(skill)}, but the file's name says {quote(case.skill)}"
    return [_error("skill/file-name", "/skill", message, "rename the file, or correct the field: one skill, one file")]


@_rule()
def _check_required_texts(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    if _none_blank(map(value.get, _REQUIRED_TEXTS)):
        return _NOTHING
    return _find_blank(value, "", _REQUIRED_TEXTS)


@_rule()
def _check_header_instants(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    created, updated = value.get("created_at"), value.get("updated_at")
    if _are_plain_instants(created, updated, case.now):
        return _NOTHING
    found: list[Finding] = []
    for key, text in (("created_at", created), ("updated_at", updated)):
        if isinstance(text, str) and text:
            found += _check_instant(text, f"/{key}", "error")
    made, changed = read_instant(created), read_instant(updated)
    if made and changed and changed < made:
        message = f"updated_at ({quote(updated)}) is before created_at ({quote(created)})"
        found.append(_error("skill/updated-before-created", "/updated_at", message, "correct the one that is wrong"))
    if changed and changed[0] > case.now + DAY:
        message = f"updated_at is {quote(updated)}, and now is {write_instant(case.now)}: it is in the future"
        hint = "was a clock wrong? set it: --updated_at=..."
        found.append(_warning("skill/updated-in-future", "/updated_at", message, hint))
    return found


def _are_plain_instants(created: Any, updated: Any, now: int) -> bool:
    """Whether both are plain instants in their order, the later one not in the future; False may be wrong."""
    if now not in _LATEST:
        _LATEST.clear()
        _LATEST[now] = write_instant(now + DAY)
    if not isinstance(created, str) or not isinstance(updated, str) or not created <= updated <= _LATEST[now]:
        return False
    return is_plain_instant(created) and is_plain_instant(updated)


_LATEST: dict[int, str] = {}  # of one now, which a process hardly ever changes


@_rule()
def _check_other_instants(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    found: list[Finding] = []
    for key in _OPTIONAL_INSTANTS:
        text = value.get(key)
        if isinstance(text, str) and not is_plain_instant(text):
            found += _check_instant(text, f"/{key}", "warning")
    for key, name in _INSTANTS_IN_LISTS:
        items = value.get(key)
        for at, item in enumerate(items if isinstance(items, list) else ()):
            text = item.get(name) if isinstance(item, dict) else None
            if isinstance(text, str) and not is_plain_instant(text):
                found += _check_instant(text, f"/{key}/{at}/{name}", "warning")
    return found


def _check_instant(text: str, where: str, level: str) -> Iterable[Finding]:
    name = where.rpartition("/")[2]
    if read_instant(text) is None:
        message = f"{name} is {quote(text)}: {_describe_fault(text)}"
        if level == "error":
            return [_error("skill/timestamp", where, message, _INSTANT_HINT)]
        return [_warning("skill/unclear-timestamp", where, message, _INSTANT_HINT)]
    if text[-1] in "Zz":
        return _NOTHING
    message = f"{name} is {quote(text)}: in local time"
    return [_warning("skill/offset-timestamp", where, message, "write it in UTC, ending in Z")]


def _describe_fault(text: str) -> str:
    if read_instant(f"{text}Z") is not None:
        return "it has no time zone"
    if read_instant(f"{text}T00:00:00Z") is not None:
        return "it has no time of day"
    if len(text) >= 20 and text[4:5] == "-" and text[10:11] in ("T", "t"):
        return "it is not on the calendar"
    return "it is not an RFC 3339 timestamp"


@_rule("project_dir", str)
def _check_project_dir(path: str, case: _Case) -> Iterable[Finding]:
    is_windows = path[1:3] in (":\\", ":/") and path[0].isalpha()
    if path.startswith(("/", "\\\\")) or is_windows or not path.strip():
        return _NOTHING
    message = f"project_dir is {quote(path)}, which is not an absolute path"
    return [_warning("skill/relative-project-dir", "/project_dir", message, "write the whole path, from the root")]


@_rule()
def _check_size(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    if case.size <= MAX_SIZE:
        return _NOTHING
    message = f"the file has {case.size / 1024:.1f} KB; {MAX_SIZE // 1024} KB are plenty for what every resume reads"
    return [_warning("skill/file-too-big", "", message, "move closed telemetry into history: checkpoint rotate")]


@_rule("layout", str)
def _check_layout(layout: str, case: _Case) -> Iterable[Finding]:
    """A retired layout: the checkpoint's telemetry is in event files, which are left alone and which nothing reads."""
    if layout != "sharded":
        return _NOTHING
    message = 'layout "sharded" is no longer supported: the entries in .checkpoints/history/<skill>/ are not read'
    hint = "with the release that wrote it: checkpoint migrate --layout single; or restore the file from before in git"
    return [Finding("layout", "error", message, where="/layout", hint=hint)]


# progress


@_rule("progress_summary", str)
def _check_summary(summary: str, case: _Case) -> Iterable[Finding]:
    if len(summary) <= MAX_SUMMARY:
        return _NOTHING
    message = f"progress_summary has {len(summary)} characters; {MAX_SUMMARY} are the limit of what is read gladly"
    hint = "keep a few sentences; detail goes into progress_table"
    return [_warning("skill/summary-too-long", "/progress_summary", message, hint)]


def _are_plain_rows(rows: Any) -> bool:
    """Whether every row has an id that no other has, a label and a status, no blank text and nothing else.

    False may be wrong: it asks for a closer look. Nearly all that a checkpoint lists are rows, so they get one look.
    """
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


@_rule("progress_table", list)
def _check_rows(rows: list[Any], case: _Case) -> Iterator[Finding]:
    if case.plain_rows:
        return
    for where, identity, first in _find_doubles("progress_table", rows):
        message = f"two rows have the id {quote(identity)}; the first is {first}"
        yield _error("skill/row-id-twice", where, message, "give one of them another id, or remove it")
    for where, row in _objects("progress_table", rows):
        yield from _find_blank(row, where, ("id", "label"))


def _find_doubles(field: str, items: list[Any]) -> Iterator[tuple[str, Any, str]]:
    """(where its id is, the id, where the first one is) of every item whose id an earlier one has."""
    first: dict[tuple[type, Any], str] = {}
    for where, item in _objects(field, items):
        identity = item.get("id")
        if isinstance(identity, (str, int, float)):
            seen = first.setdefault((type(identity), identity), where)
            if seen != where:
                yield f"{where}/id", identity, seen


@_rule()
def _check_running(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    """What a checkpoint needs while its status is in_progress."""
    if value.get("status") != "in_progress":
        return _NOTHING
    found: list[Finding] = []
    if value.get("next_actions", []) == []:
        message = "status is in_progress, but next_actions is empty"
        hint = "say what comes next (checkpoint update SKILL --next_actions+=...), or set status to complete"
        found.append(_error("skill/next-actions-empty", "/next_actions", message, hint))
    if value.get("progress_table", []) == []:
        message = "status is in_progress, but there is no progress_table"
        hint = "list the phases or steps: progress is counted from it"
        found.append(_warning("skill/no-progress-table", "/progress_table", message, hint))
    if value.get("context_primer", {}) == {}:
        message = "status is in_progress, but there is no context_primer"
        hint = "note the key decisions: a new session starts from them"
        found.append(_warning("skill/no-context-primer", "/context_primer", message, hint))
    return found


@_rule("context_primer", dict)
def _check_decisions(primer: dict[str, Any], case: _Case) -> Iterable[Finding]:
    decisions = primer.get("key_decisions")
    if not isinstance(decisions, list) or len(decisions) <= MAX_DECISIONS:
        return _NOTHING
    message = f"there are {len(decisions)} key decisions; more than {MAX_DECISIONS} are not read"
    hint = "sum up the older ones, or move them into history: checkpoint rotate"
    return [_warning("skill/too-many-decisions", "/context_primer/key_decisions", message, hint)]


@_rule("next_actions", list)
def _check_actions(actions: list[Any], case: _Case) -> Iterator[Finding]:
    if _none_blank(actions):
        return
    for at, action in enumerate(actions):
        if isinstance(action, str) and action.isspace():
            hint = "say what to do, or remove it"
            yield _error("skill/action-shape", f"/next_actions/{at}", "the action is empty", hint)
        elif isinstance(action, dict):
            yield from _find_blank(action, f"/next_actions/{at}", ("text",))


# blockers and tickets


@_rule("blockers", list)
def _check_blockers(blockers: list[Any], case: _Case) -> Iterator[Finding]:
    if not blockers:
        return
    for where, identity, first in _find_doubles("blockers", blockers):
        message = f"two blockers have the id {quote(identity)}; the first is {first}"
        yield _warning("skill/blocker-id-twice", where, message, "give one of them another id, or remove it")
    rows = case.value.get("progress_table")
    ids = [row.get("id") for _, row in _objects("", rows)] if isinstance(rows, list) else []
    known = {identity for identity in ids if isinstance(identity, (str, int))}
    for where, blocker in _objects("blockers", blockers):
        yield from _find_blank(blocker, where, ("id", "description"))
        row = blocker.get("blocking")
        if known and isinstance(row, str) and row not in known and is_open(blocker):
            message = f"the blocker says it blocks {quote(row)}, and no row of progress_table has that id"
            yield _warning("skill/blocks-unknown-row", f"{where}/blocking", message, "name the row's id")


@_rule("status", str)
def _check_status_and_blockers(status: str, case: _Case) -> Iterable[Finding]:
    if status == "blocked" and not open_blockers(case.value):
        message = "status is blocked, but no blocker is open"
        hint = "add what blocks it to blockers, or set another status"
        return [_warning("skill/blocked-by-nothing", "/status", message, hint)]
    if status == "complete" and any(waits_on_user(blocker) for blocker in open_blockers(case.value)):
        message = "status is complete, but a decision waits on the user"
        hint = "resolve the blocker, or set status to blocked"
        return [_warning("skill/complete-but-undecided", "/status", message, hint)]
    return _NOTHING


@_rule("pm_refs", list)
def _check_pm_refs(tickets: list[Any], case: _Case) -> Iterator[Finding]:
    for where, ticket in _objects("pm_refs", tickets):
        for key, member in ticket.items():
            is_long = isinstance(member, str) and len(member) > MAX_PM_TEXT
            if is_long or (key in _TICKET_BODIES and member):
                message = f"the ticket carries its text in {quote(key)}; a checkpoint keeps ids and addresses only"
                hint = "remove it: tickets may hold private data"
                yield _warning("skill/pm-ref-body", join_pointer(where, key), message, hint)
        yield from _find_blank(ticket, where, ("provider", "id"))


# what 1.1 added


@_rule("cost", dict)
def _check_cost(cost: dict[str, Any], case: _Case) -> Iterable[Finding]:
    total, budget = cost.get("total_usd"), cost.get("budget_usd")
    if not _is_above(total, budget):
        return _NOTHING
    message = f"the cost of {quote(total)} USD is over the budget of {quote(budget)}"
    return [_warning("skill/over-budget", "/cost/total_usd", message, "stop and ask, or raise budget_usd")]


@_rule("eval_scores", list)
def _check_scores(scores: list[Any], case: _Case) -> Iterator[Finding]:
    for where, score in _objects("eval_scores", scores):
        reached, most = score.get("score"), score.get("max")
        if _is_above(reached, most):
            message = f"the score {quote(reached)} is above its max {quote(most)}"
            yield _error("skill/score-above-max", f"{where}/score", message, "correct the score, or its max")


@_rule("telemetry_handle", str)
def _check_telemetry(handle: str, case: _Case) -> Iterable[Finding]:
    if not handle.isspace():
        return _NOTHING
    message = "telemetry_handle is empty"
    return [_error("skill/telemetry-handle", "/telemetry_handle", message, "name it, or leave it out")]


# names


@_rule()
def _check_names(value: dict[str, Any], case: _Case) -> Iterable[Finding]:
    found: list[Finding] = []
    if not value.keys() <= names.ROOT:
        found += _check_operators(value, "")
        found += _check_spelling(value, "", names.ROOT)
    state = value.get("skill_state")
    if isinstance(state, dict):
        found += _check_operators(state, "/skill_state")
    for key, known in (("context_primer", names.CONTEXT_PRIMER), ("cost", names.COST)):
        member = value.get(key)
        if isinstance(member, dict) and not member.keys() <= known:
            found += _check_spelling(member, f"/{key}", known)
    for key, known in _NAMES_IN_LISTS:
        items = value.get(key)
        if isinstance(items, list) and not (case.plain_rows and key == "progress_table"):
            for at, item in enumerate(items):
                if isinstance(item, dict) and not item.keys() <= known:
                    found += _check_spelling(item, f"/{key}/{at}", known)
    return found


def _check_operators(value: dict[str, Any], where: str) -> Iterator[Finding]:
    text = "\n".join(value)  # one search finds out that no key is such: cheaper than to ask of each
    if not ("+" in text or "=" in text or ":json" in text or "--" in text or "field" in value):
        return
    for key in value:
        if names.is_misplaced_operator(key) or (key == "field" and not where):
            message = f"the field {quote(key)} looks like part of an update command that was typed wrong"
            hint = "move its content to the field that was meant, then remove it"
            yield _warning("skill/misplaced-operator", join_pointer(where, key), message, hint)


def _check_spelling(value: dict[str, Any], where: str, known: frozenset[str]) -> Iterator[Finding]:
    unknown, present = value.keys() - known, frozenset(value)
    for key in unknown if len(unknown) <= _MOST_SPELLED else sorted(unknown)[:_MOST_SPELLED]:
        meant = None if names.is_misplaced_operator(key) else names.find_near_miss(key, known, present)
        if meant:
            message = f"unknown field {quote(key)}"
            yield _warning("skill/unknown-field", join_pointer(where, key), message, f"did you mean {meant}?")
