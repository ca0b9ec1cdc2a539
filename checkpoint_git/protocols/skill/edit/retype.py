"""Correct an edit of a refused update, so that the schema takes it. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import steps_of
from checkpoint_git.protocols.skill.edit.apply import name_text
from checkpoint_git.protocols.skill.edit.parse import Edit, dump, path_text, typed_edit, untoken
from checkpoint_git.protocols.skill.names import TEXTS
from checkpoint_git.protocols.skill.shape import INCOMPLETE, find_parent, write_item


def retype(
    finding: Finding, advised: Sequence[str], edit: Edit, place: str
) -> tuple[str, list[str]]:
    """Return (advice, edits) about a finding of a refused update.

    advised: the words of the hint's command. place: the pointer that edit wrote. Raises
    LookupError if the edit for another finding corrects this one, too.
    """
    steps = steps_of(finding.hint)
    what = steps[0].text if steps else ""
    path = path_text(edit.path)
    value = untoken(edit.value)
    start = f"--{path}"
    if edit.action == "append":
        start += "+"

    parts = finding.where[len(place) :].split("/")[1:]
    if parts and list(advised[1:2]) == ["update"]:
        _correct_part(value, parts, finding, advised[-1], what)
        return what, [f"{start}:json={dump(value)}"]

    if isinstance(value, str) and value.strip():
        retyped = _retype_text(value, finding, edit, place)
        if retyped is not None:
            advice, line = retyped
            return advice or what, [line]

    is_texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
    if is_texts and place == "/context_primer":
        decisions = [typed_edit(f"--{path}.key_decisions+=", text) for text in value]
        return "add to its lists", decisions

    written = f"--{place[1:].replace('/', '.')}"
    return what, [word.replace(written, start) for word in advised[3:]]


def _correct_part(
    value: Any, parts: Sequence[str], finding: Finding, advised: str, what: str
) -> None:
    """Correct the part of an edit's value that a finding is about, in place.

    parts: of the pointer from the value to it. advised: the last word of the hint's command, and
    what: its advice. Raises LookupError if there is no such part.
    """
    *above, last = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    container = value
    for name in above:
        container, step = _find_key(container, name, finding)
        container = container[step]

    container, key = _find_key(container, last, finding)
    wrong = container[key] if isinstance(container, list) else container.get(key)
    if advised.endswith("-="):
        del container[key]
    elif " must be a list" in finding.message:
        container[key] = [wrong]
    else:
        container[key] = _guess_part(wrong, key, finding, advised, what)


def _find_key(container: Any, name: str, finding: Finding) -> tuple[Any, Any]:
    """Return a container, and the key or index in it that a part of a pointer names.

    Raises LookupError for another value: the edit for another finding corrects it.
    """
    if isinstance(container, list):
        return container, int(name)
    if isinstance(container, dict):
        return container, name
    raise LookupError(finding.where)


def _guess_part(wrong: Any, key: Any, finding: Finding, advised: str, what: str) -> Any:
    """Return the value of a wrong or missing part; "..." if only the user knows it."""
    if wrong is None:
        example = INCOMPLETE.get(find_parent(finding.where), ("", ""))[1]
        return json.loads(example or "{}").get(key, "...")
    if "the intended word" in what or "one of these" in what:
        return advised.rpartition("=")[2]
    if " must be a text" in finding.message:
        return str(wrong)
    return "..."


def _retype_text(text: str, finding: Finding, edit: Edit, place: str) -> tuple[str, str] | None:
    """Return (advice, edit) for a text where the schema wants another type, None if unknown.

    The advice is "" if the finding's own is right.
    """
    field = place.split("/")[1]
    path = path_text(edit.path)
    if field in TEXTS and (edit.action == "append" or len(edit.path) == 1):
        return "write an object", f"--{path}+:json={dump(write_item(field, text))}"
    if " must be a list" in finding.message:
        return "add to the list", typed_edit(f"--{path}+=", text)
    if field in TEXTS and len(edit.path) == 2:
        return "", f"--{path}{name_text(field, text)}"

    number = text.replace(",", ".", 1)
    is_number = number.replace(".", "", 1).isdecimal()
    if place == "/cost":
        return "", f"--{path}.total_usd={number if is_number else '...'}"
    if field == "cost" and is_number:
        return "", f"--{path}={number}"
    if place in _FOR_TEXT:
        return "name what it is in there", typed_edit(f"--{path}.{_FOR_TEXT[place]}=", text)
    return None


# what is in these objects that a text may be for
_FOR_TEXT = {"/skill_state": "notes", "/context_primer": "key_decisions+"}
