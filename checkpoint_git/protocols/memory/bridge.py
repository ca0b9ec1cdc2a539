"""Between a skill's checkpoint and an initiative's: the same state under each one's own names."""

from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import scan_tokens
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.memory.entity import join_files
from checkpoint_git.protocols.skill.edits import Edit, make_edit
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.store import check_owner
from checkpoint_git.protocols.skill.verbs.show import show
from checkpoint_git.protocols.skill.verbs.update import update
from checkpoint_git.protocols.skill.views import action_text, public_view, read_list
from checkpoint_git.protocols.write import Written

# field of the graph -> field of a skill's checkpoint that is the same text
_TEXTS = {"initiative": "project", "milestone": "step", "phase": "phase"}


def read_skill(cwd: str, skill: str, now: int) -> dict[str, str]:
    """The public part of a skill's checkpoint as fields. Raises CheckpointError where it cannot be read."""
    check_skill_name(skill)
    document = show(find_place(cwd), skill, now)[0]
    if document.value is None:
        found = document.findings[0]
        raise CheckpointError(f"{document.path}:{found.line}: {found.message}", found.hint)
    return fields_of_skill(public_view(document.value))


def fields_of_skill(value: dict[str, Any]) -> dict[str, str]:
    """A skill's state as fields: its last action is what was done last, else its summary."""
    fields = {ours: text for ours, theirs in _TEXTS.items() if (text := _text(value.get(theirs)))}
    done, ahead = read_list(value, "recently_done")[:1], read_list(value, "next_actions")[:1]
    last = (action_text(done[0]) if done else "") or _text(value.get("progress_summary"))
    primer = value.get("context_primer")
    files = read_list(primer, "generated_files") if isinstance(primer, dict) else []
    found = {
        "last_action": last,
        "next_action": action_text(ahead[0]) if ahead else "",
        "context_files": join_files([name for name in files if isinstance(name, str)]),
    }
    return {**fields, **{key: text for key, text in found.items() if text.strip()}}


def write_skill(cwd: str, skill: str, fields: Mapping[str, str], now: int, env: Mapping[str, str]) -> Written:
    """Sets the skill's fields to what the graph says; its checkpoint is started where it is missing."""
    check_skill_name(skill)
    check_owner(skill, env)
    place = find_place(cwd)
    existing = {document.skill: document.value or {} for document in show(place, None, now)}
    return update(place, skill, plan_edits(fields, existing.get(skill, {})), now).written


def plan_edits(fields: Mapping[str, str], value: Mapping[str, Any]) -> list[Edit]:
    """The edits that bring a skill's checkpoint to these fields. The next action goes to the head of its list."""
    edits = [
        make_edit(theirs, "replace", fields[ours])
        for ours, theirs in _TEXTS.items()
        if ours in fields and value.get(theirs) != fields[ours]
    ]
    if "last_action" in fields and value.get("progress_summary") != fields["last_action"]:
        edits.append(make_edit("progress_summary", "replace", fields["last_action"]))
    if "next_action" in fields:
        ahead = read_list(dict(value), "next_actions")
        if not ahead or action_text(ahead[0]) != fields["next_action"]:
            others = [action for action in ahead if action_text(action) != fields["next_action"]]
            edits.append(make_edit("next_actions", "replace", _tokens([fields["next_action"], *others])))
    return edits


def _tokens(value: Any) -> Any:
    import json

    return scan_tokens(json.dumps(value))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
