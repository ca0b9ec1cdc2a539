"""What a skill checkpoint must mean beyond its shape. Pure: a value in, findings out, nothing read or written.

Values may break the schema: every check looks before it reads, and leaves to the schema what the schema says.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import DAY, is_plain_instant, read_instant, write_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.protocols.skill import names
from checkpoint_git.protocols.skill.shape import describe, empty_field, quote
from checkpoint_git.protocols.skill.views import (
    PUBLIC_FIELDS,
    action_done_when,
    action_text,
    is_open,
    open_blockers,
    public_view,
    read_list,
    read_objects,
    waits_on_user,
)

__all__ = [
    "PUBLIC_FIELDS",
    "action_done_when",
    "action_text",
    "check",
    "describe",
    "open_blockers",
    "public_view",
    "waits_on_user",
]

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
_BODY_FIELDS = frozenset(["body", "description", "content", "comments", "text", "summary"])
_INSTANT_HINT = "write an instant as 2026-03-31T14:00:00Z"


class _Facts(NamedTuple):
    skill: str
    size: int
    now: int
    plain_rows: bool


def check(value: dict[str, Any], *, skill: str, size: int, now: int) -> list[Finding]:
    """Every finding beyond shape, with `where` set and path, line and column left empty.

    skill: what the file's name says, "" where the name is not a checkpoint's. size: of the file, bytes. now: seconds.
    """
    facts = _Facts(skill, size, now, _are_plain_rows(value.get("progress_table", ())))
    findings: list[Finding] = []
    for key, look in _CHECKS:
        if key in value or not key:
            findings += look(value, facts)
    return findings


# Nearly every file passes nearly every check, and there may be ten thousand files: a check first asks as cheaply as it
# can whether there is anything to say, and only then where and what.
_NOTHING: tuple[Finding, ...] = ()


def _error(code: str, message: str, where: str, hint: str = "") -> Finding:
    return Finding(code, "error", message, where=where, hint=hint)


def _warning(code: str, message: str, where: str, hint: str = "") -> Finding:
    return Finding(code, "warning", message, where=where, hint=hint)


def _objects(value: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    """(where, item) of the objects in a list."""
    return [(f"/{key}/{at}", item) for at, item in enumerate(read_list(value, key)) if isinstance(item, dict)]


def _is_blank(text: Any) -> bool:
    """Whether it is a text of spaces alone; an empty one is the schema's business."""
    return isinstance(text, str) and text.isspace()


def _none_blank(texts: Iterable[Any]) -> bool:
    """Whether all are texts and none is blank; False may be wrong. Mapped, the interpreter asks them all in one go."""
    try:
        return not any(map(str.isspace, texts))
    except TypeError:
        return False


# the header


def _check_file_name(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    skill = value.get("skill")
    if skill == facts.skill != "":
        return _NOTHING
    if not facts.skill:
        message = "the file's name is not <skill>.checkpoint.json"
        return [_error("skill/file-name", message, "", "rename the file after its skill")]
    if not isinstance(skill, str) or not skill.strip():
        return _NOTHING
    message = f"skill is {quote(skill)}, but the file's name says {quote(facts.skill)}"
    hint = "rename the file, or correct the field: one skill, one file"
    return [_error("skill/file-name", message, "/skill", hint)]


def _check_required_texts(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    if _none_blank(map(value.get, _REQUIRED_TEXTS)):
        return _NOTHING
    return [empty_field(f"/{key}") for key in _REQUIRED_TEXTS if _is_blank(value.get(key))]


def _check_header_instants(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    created, updated = value.get("created_at"), value.get("updated_at")
    if _are_plain(created, updated, facts.now):
        return _NOTHING
    found: list[Finding] = []
    for key, text in (("created_at", created), ("updated_at", updated)):
        if isinstance(text, str) and text:
            found += _check_instant(text, f"/{key}", "error")
    made, changed = read_instant(created), read_instant(updated)
    if made and changed and changed < made:
        message = f"updated_at ({quote(updated)}) is before created_at ({quote(created)})"
        found.append(_error("skill/updated-before-created", message, "/updated_at", "correct the one that is wrong"))
    if changed and changed[0] > facts.now + DAY:
        message = f"updated_at is {quote(updated)}, and now is {write_instant(facts.now)}: it lies in the future"
        hint = "was a clock wrong? set it: --updated_at=..."
        found.append(_warning("skill/updated-in-future", message, "/updated_at", hint))
    return found


def _are_plain(created: Any, updated: Any, now: int) -> bool:
    """Whether both are plain instants in their order, the later one not in the future; False may be wrong."""
    if not isinstance(created, str) or not isinstance(updated, str) or not created <= updated <= _write_latest(now):
        return False
    return is_plain_instant(created) and is_plain_instant(updated)


def _write_latest(now: int) -> str:
    if now not in _LATEST:
        _LATEST.clear()
        _LATEST[now] = write_instant(now + DAY)
    return _LATEST[now]


_LATEST: dict[int, str] = {}  # of one now, which a process hardly ever changes


def _check_other_instants(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    found: list[Finding] = []
    for key in _OPTIONAL_INSTANTS:
        text = value.get(key)
        if isinstance(text, str) and not is_plain_instant(text):
            found += _check_instant(text, f"/{key}", "warning")
    for key, name in _INSTANTS_IN_LISTS:
        for at, item in enumerate(read_list(value, key) if key in value else ()):
            text = item.get(name) if isinstance(item, dict) else None
            if isinstance(text, str) and not is_plain_instant(text):
                found += _check_instant(text, f"/{key}/{at}/{name}", "warning")
    return found


def _check_instant(text: str, where: str, level: str) -> Sequence[Finding]:
    name = where.rpartition("/")[2]
    if read_instant(text) is None:
        message = f"{name} is {quote(text)}: {_instant_trouble(text)}"
        if level == "error":
            return [_error("skill/timestamp", message, where, _INSTANT_HINT)]
        return [_warning("skill/unclear-timestamp", message, where, _INSTANT_HINT)]
    if text[-1] in "Zz":
        return _NOTHING
    message = f"{name} is {quote(text)}: in local time"
    return [_warning("skill/offset-timestamp", message, where, "write it in UTC, ending in Z")]


def _instant_trouble(text: str) -> str:
    if read_instant(f"{text}Z") is not None:
        return "it has no time zone"
    if read_instant(f"{text}T00:00:00Z") is not None:
        return "it has no time of day"
    if len(text) >= 20 and text[4:5] == "-" and text[10:11] in ("T", "t"):
        return "it is no instant on the calendar"
    return "it is not an RFC 3339 timestamp"


def _check_project_dir(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    path = value.get("project_dir")
    if not isinstance(path, str) or _is_absolute(path) or not path.strip():
        return _NOTHING
    message = f"project_dir is {quote(path)}, which is not an absolute path"
    return [_warning("skill/relative-project-dir", message, "/project_dir", "write the whole path, from the root")]


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\\\")) or (path[1:3] in (":\\", ":/") and path[0].isalpha())


def _check_size(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    if facts.size <= MAX_SIZE:
        return _NOTHING
    message = f"the file has {facts.size / 1024:.1f} KB; {MAX_SIZE // 1024} KB are plenty for what every resume reads"
    return [_warning("skill/file-too-big", message, "", "move closed telemetry into history: checkpoint rotate")]


def _check_layout(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    """A retired layout: the checkpoint's telemetry is in event files, which are left alone and which nothing reads."""
    if value.get("layout") != "sharded":
        return _NOTHING
    message = 'layout "sharded" is no longer supported: the entries in .checkpoints/history/<skill>/ are not read'
    hint = "with the release that wrote it: checkpoint migrate --layout single; or restore the file from before in git"
    return [Finding("layout", "error", message, where="/layout", hint=hint)]


# progress


def _check_summary(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    summary = value.get("progress_summary")
    if not isinstance(summary, str) or len(summary) <= MAX_SUMMARY:
        return _NOTHING
    message = f"progress_summary has {len(summary)} characters; {MAX_SUMMARY} are the limit of what is read gladly"
    hint = "keep a few sentences; detail goes into progress_table"
    return [_warning("skill/summary-too-long", message, "/progress_summary", hint)]


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


def _check_rows(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    if facts.plain_rows:
        return _NOTHING
    found: list[Finding] = []
    for where, identity, first in _find_doubles(value, "progress_table"):
        message = f"two rows have the id {quote(identity)}; the first is {first}"
        found.append(_error("skill/row-id-twice", message, where, "give one of them another id, or remove it"))
    for where, row in _objects(value, "progress_table"):
        found += [empty_field(f"{where}/{key}") for key in ("id", "label") if _is_blank(row.get(key))]
    return found


def _find_doubles(value: dict[str, Any], key: str) -> Iterator[tuple[str, Any, str]]:
    """(where its id stands, the id, where the first one is) of every item whose id an earlier one has."""
    first: dict[tuple[type, Any], str] = {}
    for where, item in _objects(value, key):
        identity = item.get("id")
        if not isinstance(identity, (str, int, float)):
            continue
        seen = first.setdefault((type(identity), identity), where)
        if seen != where:
            yield f"{where}/id", identity, seen


def _check_running(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    """What a checkpoint needs while its status is in_progress."""
    if value.get("status") != "in_progress":
        return _NOTHING
    found: list[Finding] = []
    if value.get("next_actions", []) == []:
        message = "status is in_progress, but next_actions is empty"
        hint = "say what comes next (checkpoint update SKILL --next_actions+=...), or set status to complete"
        found.append(_error("skill/next-actions-empty", message, "/next_actions", hint))
    if value.get("progress_table", []) == []:
        message = "status is in_progress, but there is no progress_table"
        hint = "list the phases or steps: progress is counted from it"
        found.append(_warning("skill/no-progress-table", message, "/progress_table", hint))
    if value.get("context_primer", {}) == {}:
        message = "status is in_progress, but there is no context_primer"
        hint = "note the key decisions: a new session starts from them"
        found.append(_warning("skill/no-context-primer", message, "/context_primer", hint))
    return found


def _check_decisions(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    primer = value.get("context_primer")
    count = len(read_list(primer, "key_decisions")) if isinstance(primer, dict) else 0
    if count <= MAX_DECISIONS:
        return _NOTHING
    message = f"there are {count} key decisions; more than {MAX_DECISIONS} are not read"
    hint = "sum up the older ones, or move them into history: checkpoint rotate"
    return [_warning("skill/too-many-decisions", message, "/context_primer/key_decisions", hint)]


def _check_actions(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    actions = read_list(value, "next_actions")
    if _none_blank(actions):
        return _NOTHING
    found: list[Finding] = []
    for at, action in enumerate(actions):
        if isinstance(action, str):
            if action.isspace():
                where, hint = f"/next_actions/{at}", "say what to do, or remove it"
                found.append(_error("skill/action-shape", "the action is empty", where, hint))
        elif isinstance(action, dict) and _is_blank(action.get("text")):
            found.append(empty_field(f"/next_actions/{at}/text"))
    return found


# blockers and tickets


def _check_blockers(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    if not read_list(value, "blockers"):
        return _NOTHING
    found: list[Finding] = []
    for where, identity, first in _find_doubles(value, "blockers"):
        message = f"two blockers have the id {quote(identity)}; the first is {first}"
        found.append(_warning("skill/blocker-id-twice", message, where, "give one of them another id, or remove it"))
    known = {row.get("id") for row in read_objects(value, "progress_table") if isinstance(row.get("id"), (str, int))}
    for where, blocker in _objects(value, "blockers"):
        found += [empty_field(f"{where}/{key}") for key in ("id", "description") if _is_blank(blocker.get(key))]
        row = blocker.get("blocking")
        if known and isinstance(row, str) and row not in known and is_open(blocker):
            message = f"the blocker says it blocks {quote(row)}, and no row of progress_table has that id"
            found.append(_warning("skill/blocks-unknown-row", message, f"{where}/blocking", "name the row's id"))
    return found


def _check_status_and_blockers(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    status = value.get("status")
    if status == "blocked" and not open_blockers(value):
        message = "status is blocked, but no blocker is open"
        hint = "add what is in the way to blockers, or set another status"
        return [_warning("skill/blocked-by-nothing", message, "/status", hint)]
    if status == "complete" and any(waits_on_user(blocker) for blocker in open_blockers(value)):
        message = "status is complete, but a decision waits on the user"
        hint = "resolve the blocker, or set status to blocked"
        return [_warning("skill/complete-but-undecided", message, "/status", hint)]
    return _NOTHING


def _check_pm_refs(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    found: list[Finding] = []
    for where, ref in _objects(value, "pm_refs"):
        for key, member in ref.items():
            long = isinstance(member, str) and len(member) > MAX_PM_TEXT
            if long or (key in _BODY_FIELDS and member):
                message = f"the ticket carries its text in {quote(key)}; a checkpoint keeps ids and addresses only"
                hint = "remove it: tickets may hold private data"
                found.append(_warning("skill/pm-ref-body", message, join_pointer(where, key), hint))
        found += [empty_field(f"{where}/{key}") for key in ("provider", "id") if _is_blank(ref.get(key))]
    return found


# what 1.1 added


def _is_above(value: Any, limit: Any) -> bool:
    """Whether both are numbers and the first is the greater."""
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in (value, limit)):
        return False
    return bool(value > limit)


def _check_cost(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    cost = value.get("cost")
    if not isinstance(cost, dict):
        return _NOTHING
    total, budget = cost.get("total_usd"), cost.get("budget_usd")
    if not _is_above(total, budget):
        return _NOTHING
    message = f"the cost of {quote(total)} USD is over the budget of {quote(budget)}"
    return [_warning("skill/over-budget", message, "/cost/total_usd", "stop and ask, or raise budget_usd")]


def _check_scores(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    found: list[Finding] = []
    for where, score in _objects(value, "eval_scores"):
        reached, most = score.get("score"), score.get("max")
        if _is_above(reached, most):
            message = f"the score {quote(reached)} is above its max {quote(most)}"
            found.append(_error("skill/score-above-max", message, f"{where}/score", "correct the score, or its max"))
    return found


def _check_telemetry(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    if not _is_blank(value.get("telemetry_handle")):
        return _NOTHING
    message = "telemetry_handle is empty"
    return [_error("skill/telemetry-handle", message, "/telemetry_handle", "name it, or leave it out")]


# names


def _check_names(value: dict[str, Any], facts: _Facts) -> Sequence[Finding]:
    found: list[Finding] = []
    if not value.keys() <= names.ROOT:
        found += _check_operators(value, "")
        found += _check_spelling(value, "", names.ROOT)
    state = value.get("skill_state")
    if isinstance(state, dict):
        found += _check_operators(state, "/skill_state")
    for key, known in (("context_primer", names.CONTEXT_PRIMER), ("cost", names.COST)):
        member = value.get(key)
        if isinstance(member, dict):
            found += _check_spelling(member, f"/{key}", known)
    for key, known in _NAMES_IN_LISTS:
        if key in value and not (facts.plain_rows and key == "progress_table"):
            for at, item in enumerate(read_list(value, key)):
                if isinstance(item, dict) and not item.keys() <= known:
                    found += _check_spelling(item, f"/{key}/{at}", known)
    return found


_NAMES_IN_LISTS = (
    ("progress_table", names.ROW),
    ("blockers", names.BLOCKER),
    ("next_actions", names.ACTION),
    ("pm_refs", names.PM_REF),
)


def _check_operators(value: dict[str, Any], where: str) -> Sequence[Finding]:
    if not names.may_hold_operator(value) and "field" not in value:
        return _NOTHING
    found: list[Finding] = []
    for key in value:
        if names.is_misplaced_operator(key) or (key == "field" and not where):
            message = f"the field {quote(key)} looks like part of an update command that was typed wrong"
            hint = "move its content to the field that was meant, then remove it"
            found.append(_warning("skill/misplaced-operator", message, join_pointer(where, key), hint))
    return found


_MOST_SPELLED = 1_000  # unknown names of one object; nobody means that many


def _check_spelling(value: dict[str, Any], where: str, known: frozenset[str]) -> Sequence[Finding]:
    present = value.keys()
    if present <= known:
        return _NOTHING
    found: list[Finding] = []
    unknown, there = present - known, frozenset(present)
    for key in unknown if len(unknown) <= _MOST_SPELLED else sorted(unknown)[:_MOST_SPELLED]:
        meant = None if names.is_misplaced_operator(key) else names.find_near_miss(key, known, there)
        if meant:
            message = f"the field {quote(key)} is not known; {meant} is"
            found.append(_warning("skill/unknown-field", message, join_pointer(where, key), f"did you mean {meant}?"))
    return found


# the field that a check is about, "" where it is to be asked of every document
_CHECKS = (
    ("", _check_file_name),
    ("", _check_required_texts),
    ("", _check_header_instants),
    ("", _check_other_instants),
    ("", _check_project_dir),
    ("", _check_size),
    ("layout", _check_layout),
    ("", _check_summary),
    ("progress_table", _check_rows),
    ("", _check_running),
    ("context_primer", _check_decisions),
    ("next_actions", _check_actions),
    ("blockers", _check_blockers),
    ("", _check_status_and_blockers),
    ("pm_refs", _check_pm_refs),
    ("cost", _check_cost),
    ("eval_scores", _check_scores),
    ("telemetry_handle", _check_telemetry),
    ("", _check_names),
)
