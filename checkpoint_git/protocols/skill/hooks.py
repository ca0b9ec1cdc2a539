"""What tools call of skill checkpoints: their `$schema`, for `init --schemas` and uninstall."""

from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.changes import SCHEMA_FILE

_REFERENCE = f"./{SCHEMA_FILE}"


def list_schema_references(place: Place, *, present: bool) -> list[str]:
    """The paths of the checkpoints that can be read and whose $schema is ours, or else of those that have none."""
    return [layout.checkpoint_path(place, skill) for skill in _list_skills(place, _REFERENCE if present else None)]


def add_schema_references(place: Place, now: int) -> None:
    """Lets every checkpoint name its schema; updated_at stays: nothing of its work has changed."""
    for skill in _list_skills(place, None):
        store.change_checkpoint(place, skill, lambda value: {"$schema": _REFERENCE, **(value or {})}, now)


def remove_schema_references(place: Place, now: int) -> None:
    """Removes the $schema that add_schema_references wrote."""

    def without(value: dict[str, Any] | None) -> dict[str, Any]:
        return {key: inner for key, inner in (value or {}).items() if key != "$schema"}

    for skill in _list_skills(place, _REFERENCE):
        store.change_checkpoint(place, skill, without, now)


def _list_skills(place: Place, reference: str | None) -> list[str]:
    found = []
    for skill in store.list_skills(place):
        try:
            data = store.read_skill(place, skill)
            value = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else None
        except (CheckpointError, jsontext.JsonTextError):
            continue
        if isinstance(value, dict) and value.get("$schema") == reference:
            found.append(skill)
    return found
