"""`checkpoint schema`: print the JSON Schemas of our files; and `init --schemas`, which writes
them beside the checkpoints.
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

  check-jsonschema --schemafile .checkpoints/schemas/skill.schema.json \
.checkpoints/*.checkpoint.json
"""

_META_SCHEMA = "x-merge"  # of the keywords that say how files merge
FOLDER = "schemas"  # in .checkpoints
_COMMENT = "Written by `checkpoint init --schemas`, which also brings it up to date. sha256:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="KIND", nargs="?", help="the kind of file; default: list them all"
    )


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Print a schema, or the list of schemas. A schema goes into a file, so it is the same in
    every format; only the list has --json.
    """
    if args.name == _META_SCHEMA:
        return Answer([read_own(merge.__file__, "x_merge_schema.json")], 0)
    schemas = list_schemas()
    if args.name:
        for schema in schemas:
            if schema.name == args.name:
                return _document(schema.document)
        names = ", ".join([*(schema.name for schema in schemas), _META_SCHEMA])
        raise CheckpointError(f"unknown schema {args.name!a}", f"there are: {names}")

    rows = [
        {"name": schema.name, "id": schema.document.get("$id", ""), "files": schema.files}
        for schema in schemas
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
    # without our keywords x-..., which say how files merge: a strict checker would refuse them
    if isinstance(schema, Mapping):
        return {key: _export(value) for key, value in schema.items() if not key.startswith("x-")}
    if isinstance(schema, list):
        return [_export(item) for item in schema]
    return schema


def write_text(document: dict[str, Any]) -> str:
    """Return a schema's text, with a comment by which an unedited file is recognized."""
    head: dict[str, Any] = {key: document[key] for key in ("$schema", "$id") if key in document}
    signed = {**head, "$comment": _sign(document), **document}
    return json.dumps(signed, indent=2, ensure_ascii=False) + "\n"


def _sign(document: Any) -> str:
    return _COMMENT + hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def is_own_text(data: bytes) -> bool:
    """Whether write_text wrote a file, and nobody edited it."""
    try:
        document = jsontext.load(jsontext.decode(data))
    except jsontext.JsonTextError:
        return False
    if not isinstance(document, dict):
        return False
    comment = document.pop("$comment", "")
    return bool(comment == _sign(document))


def add_schemas(place: Place, invocation: Invocation, *, dry_run: bool) -> list[SetupStep]:
    """Write the schemas, and point every checkpoint to its own."""
    steps = [_plan_file(place, schema) for schema in list_schemas()]
    if place.work_tree:
        steps = leave_hidden(steps, place.work_tree, invocation.env)
    # it does not exist before the first init, and a sparse checkout can leave it out
    has_folder = os.path.isdir(place.directory)
    if not dry_run:
        apply_steps(steps, None)
    if has_folder:
        steps += _name_schemas(place, invocation.now, "add", dry_run=dry_run)
    return steps


def _name_schemas(place: Place, now: int, deed: Deed, *, dry_run: bool) -> list[SetupStep]:
    """Add the member $schema to every file of the protocols, or remove it."""
    steps = []
    for name_schemas in find_hooks("name_schemas"):
        for path in name_schemas(place, now, wanted=deed == "add", dry_run=dry_run):
            steps.append(SetupStep(deed, os.path.relpath(path, place.top), "$schema"))
    return steps


def _plan_file(place: Place, schema: Exported) -> SetupStep:
    path = os.path.join(place.directory, FOLDER, schema.file)
    label = os.path.relpath(path, place.top)
    wanted = write_text(schema.document).encode()
    if find_link(path, place.top):
        return SetupStep("skip", label, "a symbolic link is in its place")
    present = read_file(path).data
    if present is not None and present != wanted and not is_own_text(present):
        return SetupStep("skip", label, "it was edited")
    return write_step(label, path, present, wanted, "")


def remove_schemas(place: Place, now: int, *, dry_run: bool) -> list[SetupStep]:
    """Remove the schemas that nobody edited, and the member $schema of every checkpoint."""
    steps = []
    for schema in list_schemas():
        path = os.path.join(place.directory, FOLDER, schema.file)
        if is_own_text(read_file(path).data or b""):
            label = os.path.relpath(path, place.top)
            steps.append(SetupStep("remove", label, "", RemoveFile(path, folders=1)))

    named = _name_schemas(place, now, "remove", dry_run=dry_run)
    if not dry_run:
        apply_steps(steps, None)
    return steps + named
