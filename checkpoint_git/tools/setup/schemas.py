"""The JSON Schemas of our files for editors and other checkers: as values, and as files beside the checkpoints."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import KINDS
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.changes import SCHEMA_FILE
from checkpoint_git.tools.setup.steps import RemoveFile, Step, WriteFile
from checkpoint_git.tools.setup.survey import read_file

FOLDER = "schemas"  # in .checkpoints
REFERENCE = f"./{SCHEMA_FILE}"  # what a checkpoint's $schema says
_COMMENT = "Written by `checkpoint init --schemas`, which also brings it up to date. sha256:"


class Exported(NamedTuple):
    """The schema of one kind of file. files: which paths it is for, as a glob. is_yaml: they are YAML, not JSON."""

    name: str
    files: str
    document: dict[str, Any]

    @property
    def is_yaml(self) -> bool:
        """Whether the files are YAML."""
        return self.files.endswith(".yaml")

    @property
    def file(self) -> str:
        """Its file's name."""
        return f"{self.name}.schema.json"


def list_schemas() -> list[Exported]:
    """The schema of every kind of file that a repository keeps."""
    return [Exported(kind.name, kind.pattern, _export(open_room(kind.name).schema.document)) for kind in KINDS]


def _export(schema: Any) -> Any:
    """A schema without keywords of our own, which say how files merge: a strict checker would stumble over them."""
    if isinstance(schema, Mapping):
        return {key: _export(value) for key, value in schema.items() if not key.startswith("x-")}
    return [_export(each) for each in schema] if isinstance(schema, list) else schema


def write_text(document: dict[str, Any]) -> str:
    """A schema as a file's text, which says who wrote it and whether it is still as it was written."""
    head = {key: document[key] for key in ("$schema", "$id") if key in document}
    return json.dumps({**head, "$comment": _sign(document), **document}, indent=2, ensure_ascii=False) + "\n"


def _sign(document: Any) -> str:
    """The comment of a schema that is as it was written."""
    return _COMMENT + hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def is_own_text(data: bytes) -> bool:
    """Whether a file is a schema that init wrote, of whatever version, and nobody changed since."""
    try:
        document = jsontext.load(jsontext.decode(data))
    except jsontext.JsonTextError:
        return False
    comment = document.pop("$comment", "") if isinstance(document, dict) else ""
    return bool(comment == _sign(document))


def plan_schemas(place: Place) -> list[Step]:
    """What is missing of the files with schemas; one that somebody wrote or changed stays as it is."""
    return [_plan_file(place, schema) for schema in list_schemas()]


def _plan_file(place: Place, schema: Exported) -> Step:
    path = os.path.join(place.directory, FOLDER, schema.file)
    label, wanted = os.path.relpath(path, place.top), write_text(schema.document).encode()
    if os.path.islink(os.path.dirname(path)) or os.path.islink(path):
        return Step("skip", label, "a symbolic link is in its place")
    there = read_file(path).data
    if there is None:
        return Step("add", label, "", WriteFile(path, wanted))
    if there == wanted:
        return Step("keep", label)
    if not is_own_text(there):
        return Step("skip", label, "somebody wrote or changed it")
    return Step("update", label, "", WriteFile(path, wanted))


def plan_references(place: Place) -> list[Step]:
    """The checkpoints that do not name their schema yet; write_references() changes them, under the lock."""
    return [Step("add", os.path.relpath(path, place.top), "$schema") for _, path in _list_checkpoints(place, None)]


def write_references(place: Place, now: int) -> None:
    """Lets every checkpoint name its schema; updated_at stays: nothing of its work has changed."""
    for skill, _ in _list_checkpoints(place, None):
        store.change_checkpoint(place, skill, lambda value: {"$schema": REFERENCE, **(value or {})}, now)


def plan_removal(place: Place) -> list[Step]:
    """The files with schemas that are as init wrote them, and the $schema of checkpoints that lead to them."""
    folder = os.path.join(place.directory, FOLDER)
    paths = [os.path.join(folder, schema.file) for schema in list_schemas()]
    own = [path for path in paths if is_own_text(read_file(path).data or b"")]
    files = [Step("remove", os.path.relpath(path, place.top), "", RemoveFile(path, folder=True)) for path in own]
    named = [path for _, path in _list_checkpoints(place, REFERENCE)]
    return [*files, *(Step("remove", os.path.relpath(path, place.top), "$schema") for path in named)]


def remove_references(place: Place, now: int) -> None:
    """Takes the $schema out of checkpoints where it is the one that init wrote."""
    for skill, _ in _list_checkpoints(place, REFERENCE):
        store.change_checkpoint(place, skill, _without_reference, now)


def _without_reference(value: dict[str, Any] | None) -> dict[str, Any]:
    return {key: inner for key, inner in (value or {}).items() if key != "$schema"}


def _list_checkpoints(place: Place, reference: str | None) -> list[tuple[str, str]]:
    """(skill, path) of the checkpoints that can be read and whose $schema is this one, or missing."""
    found = []
    for skill in store.list_skills(place):
        try:
            data = store.read_skill(place, skill)
            value = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else None
        except (CheckpointError, jsontext.JsonTextError):
            continue
        if isinstance(value, dict) and value.get("$schema") == reference:
            found.append((skill, layout.checkpoint_path(place, skill)))
    return found
