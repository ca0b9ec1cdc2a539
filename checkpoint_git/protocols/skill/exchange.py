"""Read a skill's checkpoint as the fields of an initiative, and write them back into it."""

from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.edit.parse import Edit, make_edits
from checkpoint_git.protocols.skill.store import find_own_place, iterate_documents, read_value
from checkpoint_git.protocols.skill.verbs.update import update
from checkpoint_git.protocols.skill.views import (
    action_text,
    done_text,
    public_view,
    read_list,
    read_primer,
    text_field,
)

# field of an initiative -> field of a skill's checkpoint that is the same text
_TEXTS = {"initiative": "project", "milestone": "step", "phase": "phase"}


def read_fields(cwd: str, name: str, now: int) -> dict[str, str | list[str]]:
    """Return the public part of a skill's checkpoint as fields of an initiative.

    Raises CheckpointError if it cannot be read.
    """
    return fields_of_skill(public_view(read_value(find_place(cwd), name, now)))


def fields_of_skill(value: dict[str, Any]) -> dict[str, str | list[str]]:
    """Return the fields of an initiative that are not empty.

    The last action is the latest of recently_done, else the summary.
    """
    texts = {ours: text_field(value, theirs).strip() for ours, theirs in _TEXTS.items()}
    for entry in read_list(value, "recently_done")[:1]:
        texts["last_action"] = done_text(entry)
    if not texts.get("last_action"):
        texts["last_action"] = text_field(value, "progress_summary").strip()
    for action in read_list(value, "next_actions")[:1]:
        texts["next_action"] = action_text(action)

    fields: dict[str, str | list[str]] = {}
    fields.update({key: text for key, text in texts.items() if text.strip()})
    paths = [path for path in read_primer(value, "generated_files") if isinstance(path, str)]
    if paths:
        fields["context_files"] = paths
    return fields


def write_fields(
    cwd: str, name: str, fields: Mapping[str, str], now: int, env: Mapping[str, str]
) -> tuple[str, list[Finding], list[Finding]]:
    """Set fields of a skill's checkpoint, which is started if it is missing.

    Return its path, the findings that refused the write, and those that arose.
    """
    place = find_own_place(name, cwd, env)
    existing = {document.skill: document.value or {} for document in iterate_documents(place, now)}
    written = update(place, name, plan_edits(fields, existing.get(name, {})), now).written
    return written.document.path, written.refused, written.arisen


def plan_edits(fields: Mapping[str, str], value: Mapping[str, Any]) -> list[Edit]:
    """Return the edits that bring a skill's checkpoint to these fields.

    The next action becomes the first of its list.
    """
    replace: dict[str, Any] = {}
    for ours, theirs in {**_TEXTS, "last_action": "progress_summary"}.items():
        if ours in fields and value.get(theirs) != fields[ours]:
            replace[theirs] = fields[ours]

    if "next_action" in fields:
        first = fields["next_action"]
        actions = read_list(dict(value), "next_actions")
        if not actions or action_text(actions[0]) != first:
            others = [action for action in actions if action_text(action) != first]
            replace["next_actions"] = [first, *others]

    return make_edits(replace, None)
