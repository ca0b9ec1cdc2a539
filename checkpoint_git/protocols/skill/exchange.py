"""A skill's checkpoint as the fields of an initiative, and back: the same state under each one's
own names.
"""

from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.edit.parse import Edit, make_edits
from checkpoint_git.protocols.skill.store import find_own_place, iterate_documents, read_value
from checkpoint_git.protocols.skill.verbs.update import update
from checkpoint_git.protocols.skill.views import action_text, done_text, public_view, read_list

# field of an initiative -> field of a skill's checkpoint that is the same text
_TEXTS = {"initiative": "project", "milestone": "step", "phase": "phase"}


def read_fields(cwd: str, name: str, now: int) -> dict[str, str | list[str]]:
    """The public part of a skill's checkpoint. Raises CheckpointError if it cannot be read."""
    return fields_of_skill(public_view(read_value(find_place(cwd), name, now)))


def fields_of_skill(value: dict[str, Any]) -> dict[str, str | list[str]]:
    """The last action is what was done last, else the summary. Empty fields are left out."""
    done, ahead = read_list(value, "recently_done")[:1], read_list(value, "next_actions")[:1]
    primer = value.get("context_primer")
    files = read_list(primer, "generated_files") if isinstance(primer, dict) else []
    fields = {ours: _text(value.get(theirs)) for ours, theirs in _TEXTS.items()}
    fields["last_action"] = (done_text(done[0]) if done else "") or _text(
        value.get("progress_summary")
    )
    fields["next_action"] = action_text(ahead[0]) if ahead else ""
    paths = [name for name in files if isinstance(name, str)]
    texts = {key: text for key, text in fields.items() if text.strip()}
    return {**texts, **({"context_files": paths} if paths else {})}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def write_fields(
    cwd: str, name: str, fields: Mapping[str, str], now: int, env: Mapping[str, str]
) -> tuple[str, list[Finding], list[Finding]]:
    """Sets the skill's fields; its checkpoint is started where it is missing."""
    place = find_own_place(name, cwd, env)
    existing = {document.skill: document.value or {} for document in iterate_documents(place, now)}
    written = update(place, name, plan_edits(fields, existing.get(name, {})), now).written
    return written.document.path, written.refused, written.arisen


def plan_edits(fields: Mapping[str, str], value: Mapping[str, Any]) -> list[Edit]:
    """The edits that bring a skill's checkpoint to these fields. The next action goes to the head
    of its list.
    """
    texts = {**_TEXTS, "last_action": "progress_summary"}
    given = {theirs: fields[ours] for ours, theirs in texts.items() if ours in fields}
    replace: dict[str, Any] = {
        name: text for name, text in given.items() if value.get(name) != text
    }
    if "next_action" in fields:
        ahead = read_list(dict(value), "next_actions")
        if not ahead or action_text(ahead[0]) != fields["next_action"]:
            others = [action for action in ahead if action_text(action) != fields["next_action"]]
            replace["next_actions"] = [fields["next_action"], *others]

    return make_edits(replace, None)
