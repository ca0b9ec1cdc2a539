"""Give a break of the schema its code, message and hint. Pure."""

from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.hint import (
    UNFILLED,
    AnyHint,
    Argument,
    Word,
    advise,
    blank,
    split_blanks,
)
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.protocols.mismatch import OWN, explain_mismatch, quote_where
from checkpoint_git.protocols.skill import names

FILL = blank("=", "the value")  # the end of an edit in which the user writes the value

# object that lacks a field or has it empty, with * for an index -> finding code, an example in JSON
INCOMPLETE = {
    "": ("skill/missing-field", ""),
    "/progress_table/*": (
        "skill/row-incomplete",
        '{"id": "...", "label": "...", "status": "not_started"}',
    ),
    "/blockers/*": ("skill/blocker-incomplete", '{"id": "...", "description": "..."}'),
    "/next_actions/*": ("skill/action-shape", ""),
    "/pm_refs/*": ("skill/pm-ref-incomplete", '{"provider": "...", "id": "..."}'),
    "/eval_scores/*": ("skill/eval-score-incomplete", '{"rubric": "...", "score": 0}'),
}
# place, whatever keyword failed -> finding code, what to do, the end of the edit that does it
_PLACES: dict[str, tuple[str, str, str | Word]] = {
    "/protocol_version": (
        "skill/protocol-version",
        (
            'the file format is "1.0" or "1.1", which is not the release of a skill or a tool; '
            "if it is a mistake"
        ),
        "=1.0",
    ),
    "/status": ("skill/unknown-status", "", FILL),
    "/progress_table/*/status": ("skill/unknown-row-status", "", FILL),
    "/blockers/*/needs": ("skill/unknown-need", "", FILL),
    "/pm_refs/*/role": ("skill/unknown-role", "", FILL),
    "/next_actions/*": (
        "skill/action-shape",
        'write what to do, as text or {"text": ..., "done_when": ...}',
        FILL,
    ),
    "/next_actions/*/text": ("skill/action-shape", "write what to do", FILL),
    "/next_actions/*/done_when": (
        "skill/action-shape",
        "it is a shell command, as text; or leave it out",
        "-=",
    ),
    "/next_actions/*/done_when_merged": (
        "skill/action-shape",
        'it is a list of pull requests, such as ["#12"]; or leave it out',
        "-=",
    ),
    "/next_actions/*/done_when_merged/*": (
        "skill/action-shape",
        "name a pull request, such as #12",
        FILL,
    ),
    "/telemetry_handle": (
        "skill/telemetry-handle",
        "name it, describe it in an object, or leave it out",
        "-=",
    ),
    "/created_at": ("skill/timestamp", "write a timestamp like 2026-03-31T14:00:00Z", FILL),
    "/updated_at": (
        "skill/timestamp",
        "write the time of the last change; every update sets it",
        "",
    ),
}

_LONGEST = 2_000  # characters of a hint
_MOST_PARTS = 20  # of a place that an edit names
_KEYWORDS = {
    "type": "skill/wrong-type",
    "minimum": "skill/negative-amount",
    "minLength": "skill/empty-field",
}


def describe(mismatch: Mismatch) -> Finding:
    """Return a break of the schema as a finding: an error with code, where, message and hint."""
    where, keyword = mismatch.where, mismatch.keyword
    code, advice, change = _PLACES.get(_star_indices(where), ("", "", ""))
    if keyword == "required":
        code = INCOMPLETE.get(find_parent(where), ("skill/missing-field", ""))[0]
        if where == "/skill":
            change = Word(("=", OWN))
        elif not change and where != "/updated_at":
            change = FILL
        hint = advise_edit("add it", where, change)
        return make_error(code, f"{quote_where(where)} is missing", where, hint)

    if keyword == "minLength" and not code:
        return empty_field(where)
    if keyword == "enum" and not advice:
        advice, change = _choose(mismatch)

    code = code or _KEYWORDS.get(keyword, "skill/shape")
    if not change and where != "/updated_at":
        advice, change = _write_line(where, mismatch)
    return make_error(code, explain_mismatch(mismatch), where, advise_edit(advice, where, change))


def _choose(mismatch: Mismatch) -> tuple[str, str]:
    """Return what to do about a value that is not one of the choices, and the end of the edit."""
    if isinstance(mismatch.value, str):
        choice = names.find_choice(mismatch.value, mismatch.expected)
        if choice:
            return "use the intended word", f"={choice}"
    return "choose one of these", f"={mismatch.expected[0]}"


def _write_line(where: str, mismatch: Mismatch) -> tuple[str, str | Word]:
    """Return what to do about a value of the wrong type, and the end of the edit that does it."""
    wanted = mismatch.expected
    if mismatch.keyword != "type" or wanted not in ("array", "object", "boolean"):
        return "correct it", FILL
    if wanted == "boolean":
        return "correct it", "=true"

    import json  # late: reading and checking what is valid needs none of it

    value = mismatch.value
    text = UNFILLED
    if isinstance(value, str) and value.strip():
        text = value

    if wanted == "object":
        what = "write an object"
        example = INCOMPLETE.get(_star_indices(where), ("", ""))[1]
        if not example:
            return what, blank(":json={", "its members", "}")
        content = json.dumps(_fill_example(example, where, text))
    else:
        what = "write a list"
        place = f"{where}/*"
        example = INCOMPLETE.get(_star_indices(place), ("", ""))[1]
        content = json.dumps([_fill_example(example, place, text) if example else text])

    end = f":json={content}"
    if text != UNFILLED and UNFILLED in text:
        return what, end
    return what, _blanks(end)


def _fill_example(example: str, place: str, text: str) -> dict[str, Any]:
    """Return an example of an entry, which is JSON, with a text where it belongs."""
    import json

    return {**json.loads(example), names.TEXTS[place.split("/")[1]]: text}


def _blanks(text: str) -> str | Word:
    """Return the end of an edit with blanks where the user has to write a value."""
    word = split_blanks(text, "the value")
    if isinstance(word, Word):
        return word
    return text


def advise_edit(
    what: str, where: str, change: str | Word, edits: Sequence[Argument] = ()
) -> AnyHint:
    """Return what to do about a place, and the update that does it.

    change: the edit's end, such as "=1.0" or "-="; "" only stamps it. edits: further ones.
    """
    if not change:
        return advise(what, "checkpoint", "update", OWN, *edits)
    start = _name_place(where, is_removed=change == "-=")
    if not start:
        return f"{what}, in the file itself"

    word: Argument
    if isinstance(change, str):
        word = f"{start}{change}"
    else:
        word = Word((f"{start}{change.parts[0]}", *change.parts[1:]))
    return advise(what, "checkpoint", "update", OWN, word, *edits)


def _name_place(where: str, *, is_removed: bool) -> str:
    """Return the edit's start, such as --cost.total_usd, "" for a place that no edit can name."""
    # called for each of ten thousand entries: reading the word as an edit takes ten times as long
    parts = [part.replace("~1", "/").replace("~0", "~") for part in where.split("/")[1:]]
    if not 0 < len(parts) <= _MOST_PARTS:
        return ""
    for part in parts:
        if part != part.strip() or not part or set(part) & set("[]"):
            return ""

    path = parts[0]
    for part in parts[1:]:
        path += f"[{part}]" if set(part) & set(".[+:=-") else f".{part}"
    ends = set(".=") if is_removed else set(".+:=")
    if not path.isprintable() or path == "field" or set(parts[0]) & ends:
        return ""
    if not is_removed and parts[0].endswith("-"):
        return ""
    return f"--{path}"


def advise_move(value: dict[str, Any], key: str, parent: str, meaning: str) -> AnyHint:
    """Return what to do about a member whose name means another, with the update that moves it.

    parent: the pointer to value. meaning: the path of the other member.
    """
    content = value[key]
    target = _look_up(value, meaning)
    path = ".".join(filter(None, [parent[1:].replace("/", "."), meaning]))
    is_list = isinstance(target, list) or path in names.LISTS
    items = [content]
    if is_list and isinstance(content, list):
        items = content

    kind = names.LISTS.get(path, object)
    has_room = is_list or target in ("", {}, None)
    what = f"did you mean {meaning}? To move it there"
    if content in ("", [], {}, None, target):
        what = f"did you mean {meaning}? It adds nothing; to remove it"
        items = []
    elif not has_room or not all(isinstance(item, kind) for item in items):
        what = f"did you mean {meaning}? It does not fit there; to keep it"
        path = f"skill_state.{names.bare(key)}"
        is_list = True

    operator = "+" if is_list else ""
    edits = [_write_item_edit(f"--{path}{operator}", item) for item in items]
    where = join_pointer(parent, key)
    start = _name_place(where, is_removed=True)
    is_short = sum(map(len, edits)) + len(what) < _LONGEST
    if not (start and is_short and all(map(str.isprintable, edits))):
        return f"did you mean {meaning}? Move it, in the file itself"
    return advise(what, "checkpoint", "update", OWN, *edits, f"{start}-=")


def _look_up(value: Any, path: str) -> Any:
    """Return the member at the end of a path of names with dots between them, or None."""
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _write_item_edit(start: str, item: Any) -> str:
    import json  # late: reading and checking what is valid needs none of it

    if isinstance(item, str):
        return f"{start}={item}"
    return f"{start}:json={json.dumps(item, ensure_ascii=False)}"


def write_item(field: str, text: str) -> dict[str, Any]:
    """Return the object that a list of objects has for a text."""
    item = _fill_example(INCOMPLETE[f"/{field}/*"][1], f"/{field}/*", text)
    if "status" in item or "description" in item:
        item["id"] = "-".join(names.spell(text)[:40].split("_"))
    return item


def empty_field(where: str) -> Finding:
    """Return the finding for a required text that is empty."""
    code = "skill/empty-field"
    parent = find_parent(where)
    if parent and parent in INCOMPLETE:
        code = INCOMPLETE[parent][0]
    hint = advise_edit("fill it in", where, FILL)
    return make_error(code, f"{quote_where(where)} is empty", where, hint)


def _star_indices(where: str) -> str:
    """Return a pointer with * for each index."""
    parts = where.split("/")
    return "/".join("*" if part.isascii() and part.isdigit() else part for part in parts)


def find_parent(where: str) -> str:
    """Return the pointer to the parent of a place, with * for each index."""
    return _star_indices(where.rpartition("/")[0])
