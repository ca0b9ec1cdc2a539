"""Which code and hint a break of the schema gets. Pure."""

from typing import Any, cast

from checkpoint_git.core.finding import Finding, make_error
from checkpoint_git.core.jsontext import join_pointer
from checkpoint_git.core.schema import Mismatch
from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.mismatch import OWN, explain_mismatch, quote_where
from checkpoint_git.protocols.skill import names

# object that lacks a field or has it empty, with * for an index -> finding code, an example in JSON
_INCOMPLETE = {
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
_PLACES = {
    "/protocol_version": (
        "skill/protocol-version",
        'the file format is "1.0" or "1.1", which is not the release of a skill or a tool; if it is a mistake',
        "=1.0",
    ),
    "/status": ("skill/unknown-status", "", "=..."),
    "/progress_table/*/status": ("skill/unknown-row-status", "", "=..."),
    "/blockers/*/needs": ("skill/unknown-need", "", "=..."),
    "/pm_refs/*/role": ("skill/unknown-role", "", "=..."),
    "/next_actions/*": (
        "skill/action-shape",
        'say what to do, as text or {"text": ..., "done_when": ...}',
        '="..."',
    ),
    "/next_actions/*/text": ("skill/action-shape", "say what to do", '="..."'),
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
        '="..."',
    ),
    "/telemetry_handle": (
        "skill/telemetry-handle",
        "name it, describe it in an object, or leave it out",
        "-=",
    ),
    "/created_at": ("skill/timestamp", "write a timestamp like 2026-03-31T14:00:00Z", "=..."),
    "/updated_at": (
        "skill/timestamp",
        "write the time of the last change; every update sets it",
        "",
    ),
}

_LONGEST = 2_000  # characters of a hint
_KEYWORDS = {"type": "skill/wrong-type", "minimum": "skill/negative-amount", "minLength": "skill/empty-field"}


def describe(mismatch: Mismatch) -> Finding:
    """A break of the schema as a finding: an error with code, where, message and hint."""
    where, keyword = mismatch.where, mismatch.keyword
    code, advice, change = _PLACES.get(_star_indices(where), ("", "", ""))
    if keyword == "required":
        code = _INCOMPLETE.get(_find_parent(where), ("skill/missing-field", ""))[0]
        change = f"={OWN}" if where == "/skill" else change or ("" if where == "/updated_at" else '="..."')
        return make_error(code, f"{quote_where(where)} is missing", where, advise("add it", where, change))
    if keyword == "minLength" and not code:
        return empty_field(where)
    if keyword == "enum" and not advice:
        meant = names.find_choice(mismatch.value, mismatch.expected) if isinstance(mismatch.value, str) else ""
        advice = "use the intended word" if meant else "choose one of these"
        change = f"={meant or mismatch.expected[0]}"
    code = code or _KEYWORDS.get(keyword, "skill/shape")
    if not change and where != "/updated_at":
        advice, change = _write_line(where, mismatch)
    return Finding(code, "error", explain_mismatch(mismatch), where=where, hint=advise(advice, where, change))


def _write_line(where: str, mismatch: Mismatch) -> tuple[str, str]:
    """What to do about a value of the wrong type, and the end of the edit that does it."""
    if mismatch.keyword != "type":
        return "correct it", "=..."
    if (wanted := mismatch.expected) in ("array", "object"):
        import json  # late: reading and checking what is valid needs none of it

        from checkpoint_git.protocols.skill.changes import TEXTS

        place, value = where + "/*" * (wanted == "array"), mismatch.value
        said = value if isinstance(value, str) and value.strip() else "..."
        example = _INCOMPLETE.get(_star_indices(place), ("", ""))[1]
        entry = {**json.loads(example), TEXTS[place.split("/")[1]]: said} if example else said
        text = (
            quote_word(json.dumps([entry] if wanted == "array" else entry)) if example or place != where else "'{...}'"
        )
        return f"write {'a list' if wanted == 'array' else 'an object'}", f":json={text}"
    return "correct it", "=true" if wanted == "boolean" else "=..."


def advise(what: str, where: str, change: str) -> str:
    """What to do about a place, and the command. change: the edit's end: ="...", -=, :json='[]'; "" only stamps it."""
    command = f"checkpoint update {OWN}"
    parts = [part.replace("~1", "/").replace("~0", "~") for part in where.split("/")[1:]]
    if not change:
        return f"{what}: {command}"
    path = parts[0] + "".join(f"[{part}]" if set(part) & set(".[+:=-") else f".{part}" for part in parts[1:])
    ends = set(".=") if change == "-=" else set(".+:=")
    is_word = path.isprintable() and path != "field" and not set(parts[0]) & ends
    is_word = is_word and (change == "-=" or parts[0][-1:] != "-")
    # asked of each of ten thousand entries: reading the word as an edit takes ten times as long
    is_path = len(parts) <= 20 and all(part == part.strip() and part and not set(part) & set("[]") for part in parts)
    can_name = is_word and is_path
    return f"{what}: {command} {quote_word(f'--{path}')}{change}" if can_name else f"{what}, in the file itself"


def advise_move(value: dict[str, Any], key: str, parent: str, meant: str) -> str:
    """What to do about a member whose name means another: the line that moves its content. parent: points to value."""
    import json

    content, held = value[key], cast(Any, value)
    for name in meant.split("."):
        held = held.get(name) if isinstance(held, dict) else None
    path = ".".join(filter(None, [parent[1:].replace("/", "."), meant]))
    kind, is_list = names.LISTS.get(path, object), isinstance(held, list) or path in names.LISTS
    items = content if is_list and isinstance(content, list) else [content]
    what = f"did you mean {meant}? To move it there"
    if content in ("", [], {}, None, held):
        items, what = [], f"did you mean {meant}? It says nothing new; to remove it"
    elif not (is_list or held in ("", {}, None)) or not all(isinstance(item, kind) for item in items):
        path, is_list = f"skill_state.{names.bare(key)}", True
        what = f"did you mean {meant}? It does not fit there; to keep it"
    ends = [f"={item}" if isinstance(item, str) else f":json={json.dumps(item, ensure_ascii=False)}" for item in items]
    edits = [quote_word(f"--{path}{'+' * is_list}{end}") for end in ends]
    typed, line = " ".join(edits), advise(what, join_pointer(parent, key), "-=")
    is_line = ": checkpoint " in line and typed.isprintable() and len(typed + line) < _LONGEST
    line = line if is_line else f"did you mean {meant}? Move it, in the file itself"
    return line.replace(OWN, f"{OWN} {typed}".rstrip())


def retype(finding: Finding, edit: Any, place: str) -> tuple[str, str]:
    """(advice, edits as a shell takes them) about a finding of a refused update. place: the pointer that edit wrote."""
    import json

    from checkpoint_git.protocols.skill.changes import TEXTS, dump, name_text, path_text, typed_edit, untoken

    what, _, old = finding.hint.partition(": checkpoint ")
    typed = old.partition(" --")[1].lstrip() + old.partition(" --")[2]
    more, field = "+" * (edit.action == "append"), place.split("/")[1]
    path, rest, value = path_text(edit.path), finding.where[len(place) :].split("/")[1:], untoken(edit.value)
    is_whole = more or len(edit.path) == 1
    start = quote_word(f"--{path}") + more
    typed = typed.replace(f"--{place[1:].replace('/', '.')}", start)
    if rest and old.startswith("update "):
        held: Any = value
        *above, last = [part.replace("~1", "/").replace("~0", "~") for part in rest]
        for name in above:
            key: Any = int(name) if isinstance(held, list) else name
            held = held[key] if isinstance(held, dict | list) else None
        if not isinstance(held, dict | list):  # the line for another finding says it otherwise
            raise LookupError(place)
        at: Any = int(last) if isinstance(held, list) else last
        wrong = held[at] if isinstance(held, list) else held.get(at)
        is_meant = "the intended word" in what or "one of these" in what
        end = old.rpartition("=")[2] if is_meant else str(wrong)
        is_known = is_meant or " must be a text" in finding.message
        least = json.loads(_INCOMPLETE.get(_find_parent(finding.where), ("", ""))[1] or "{}")
        held[at] = end if is_known and wrong is not None else least.get(at, "...") if wrong is None else "..."
        if old.endswith("-="):
            del held[at]
        elif " must be a list" in finding.message:
            held[at] = [wrong]
        return what, f"{start}:json={dump(value)}"
    if not isinstance(value, str) or not value.strip():
        if place == "/context_primer" and isinstance(value, list) and all(isinstance(each, str) for each in value):
            return "add to its lists", " ".join(typed_edit(f"--{path}.key_decisions+=", each) for each in value)
        return what, typed
    if field in TEXTS and is_whole:
        return "write an object", f"--{path}+:json={dump(write_item(field, value))}"
    if " must be a list" in finding.message:
        return "add to the list", typed_edit(f"--{path}+=", value)
    if field in TEXTS and len(edit.path) == 2:
        return what, quote_word(f"--{path}{name_text(field, value)}")
    number = value.replace(",", ".", 1)
    if field == "cost" and (place == "/cost" or number.replace(".", "", 1).isdecimal()):
        end = number if number.replace(".", "", 1).isdecimal() else "..."
        return what, f"--{path}{'.total_usd' * (place == '/cost')}={end}"
    if place in _FOR_TEXT:
        return "name what it is in there", typed_edit(f"--{path}.{_FOR_TEXT[place]}=", value)
    return what, typed


def write_item(field: str, text: str) -> dict[str, Any]:
    """The object of a list that says a text."""
    import json

    from checkpoint_git.protocols.skill.changes import TEXTS

    item = {**json.loads(_INCOMPLETE[f"/{field}/*"][1]), TEXTS[field]: text}
    if "status" in item or "description" in item:
        item["id"] = "-".join(names.spell(text)[:40].split("_"))
    return item


# what is in these objects that a text may be for
_FOR_TEXT = {"/skill_state": "notes", "/context_primer": "key_decisions+"}


def empty_field(where: str) -> Finding:
    """The finding for a text that must say something and does not."""
    code = _INCOMPLETE[parent][0] if (parent := _find_parent(where)) in _INCOMPLETE and parent else "skill/empty-field"
    return make_error(code, f"{quote_where(where)} is empty", where, advise("fill it in", where, '="..."'))


def _star_indices(where: str) -> str:
    return "/".join("*" if part.isascii() and part.isdigit() else part for part in where.split("/"))


def _find_parent(where: str) -> str:
    """The place's parent, with indices as *."""
    return _star_indices(where.rpartition("/")[0])
