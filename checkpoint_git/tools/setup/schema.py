"""`checkpoint schema`, and the JSON Schemas of our files beside the checkpoints, as `init
--schemas` writes them.
"""

import argparse
import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from checkpoint_git import merge
from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.disk.discover import Place, find_link
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.contract import find_hooks, open_room
from checkpoint_git.protocols.registry import KINDS
from checkpoint_git.tools.setup.steps import (
    Deed,
    RemoveFile,
    SetupStep,
    apply_steps,
    leave_hidden,
    write_step,
)
from checkpoint_git.tools.setup.survey import read_file

HELP = """\
print the JSON Schemas of our files

`checkpoint init --schemas` writes them to .checkpoints/schemas and points every checkpoint to its
own.

examples:
  checkpoint schema                      list the schemas and their files
  checkpoint schema skill                the schema of a checkpoint
  checkpoint schema x-merge              the schema of x-merge, for schemas of your own

  check-jsonschema --schemafile .checkpoints/schemas/skill.schema.json .checkpoints/*.checkpoint.json
"""

_META_SCHEMA = "x-merge"  # of the keywords that say how files merge
FOLDER = "schemas"  # in .checkpoints
_COMMENT = "Written by `checkpoint init --schemas`, which also brings it up to date. sha256:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="KIND", nargs="?", help="the kind of file; default: list them all"
    )


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The verb. What it prints is for a file, so it is the same in every format; only the list
    knows --json.
    """
    if args.name == _META_SCHEMA:
        return Answer([read_own(merge.__file__, "x_merge_schema.json")], 0)
    schemas = list_schemas()
    if args.name:
        found = [one.document for one in schemas if one.name == args.name]
        if not found:
            names = ", ".join([*(one.name for one in schemas), _META_SCHEMA])
            raise CheckpointError(f"unknown schema {args.name!a}", f"there are: {names}")
        return _document(found[0])

    rows = [
        {"name": one.name, "id": one.document.get("$id", ""), "files": one.files} for one in schemas
    ]
    if args.format == "json":
        return _document(
            {"schema_version": 1, "command": "schema", "schemas": rows, "findings": []}
        )

    return Answer([f"{row['name']}: {row['files']}\n" for row in rows], 0)


def _document(value: dict[str, Any]) -> Answer:
    return Answer([json.dumps(value, indent=2, ensure_ascii=False) + "\n"], 0)


class Exported(NamedTuple):
    name: str
    files: str
    document: dict[str, Any]

    @property
    def file(self) -> str:
        return f"{self.name}.schema.json"


def list_schemas() -> list[Exported]:
    return [
        Exported(kind.name, kind.pattern, _export(open_room(kind.name).schema.document))
        for kind in KINDS
    ]


def _export(schema: Any) -> Any:
    # Keywords of our own say how files merge: a strict checker would stumble over them
    if isinstance(schema, Mapping):
        return {key: _export(value) for key, value in schema.items() if not key.startswith("x-")}
    return [_export(each) for each in schema] if isinstance(schema, list) else schema


def write_text(document: dict[str, Any]) -> str:
    # It says who wrote it and whether it is still as it was written
    head = {key: document[key] for key in ("$schema", "$id") if key in document}
    return (
        json.dumps({**head, "$comment": _sign(document), **document}, indent=2, ensure_ascii=False)
        + "\n"
    )


def _sign(document: Any) -> str:
    return _COMMENT + hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def is_own_text(data: bytes) -> bool:
    try:
        document = jsontext.load(jsontext.decode(data))
    except jsontext.JsonTextError:
        return False
    comment = document.pop("$comment", "") if isinstance(document, dict) else ""
    return bool(comment == _sign(document))


def add_schemas(place: Place, invocation: Invocation, *, dry_run: bool) -> list[SetupStep]:
    steps = [_plan_file(place, schema) for schema in list_schemas()]
    steps = leave_hidden(steps, place.work_tree, invocation.env) if place.work_tree else steps
    # not before the first init, and a sparse checkout can leave it out
    is_there = os.path.isdir(place.directory)
    if not dry_run:
        apply_steps(steps, None)
    return steps + (
        _name_schemas(place, invocation.now, "add", dry_run=dry_run) if is_there else []
    )


def _name_schemas(place: Place, now: int, deed: Deed, *, dry_run: bool) -> list[SetupStep]:
    named = (
        name(place, now, wanted=deed == "add", dry_run=dry_run)
        for name in find_hooks("name_schemas")
    )
    return [
        SetupStep(deed, os.path.relpath(path, place.top), "$schema")
        for paths in named
        for path in paths
    ]


def _plan_file(place: Place, schema: Exported) -> SetupStep:
    path = os.path.join(place.directory, FOLDER, schema.file)
    label, wanted = os.path.relpath(path, place.top), write_text(schema.document).encode()
    if find_link(path, place.top):
        return SetupStep("skip", label, "a symbolic link is in its place")
    present = read_file(path).data
    if present is not None and present != wanted and not is_own_text(present):
        return SetupStep("skip", label, "it was edited")
    return write_step(label, path, present, wanted, "")


def remove_schemas(place: Place, now: int, *, dry_run: bool) -> list[SetupStep]:
    paths = [os.path.join(place.directory, FOLDER, schema.file) for schema in list_schemas()]
    own = [path for path in paths if is_own_text(read_file(path).data or b"")]
    steps = [
        SetupStep("remove", os.path.relpath(path, place.top), "", RemoveFile(path, folders=1))
        for path in own
    ]
    named = _name_schemas(place, now, "remove", dry_run=dry_run)
    if not dry_run:
        apply_steps(steps, None)
    return steps + named
