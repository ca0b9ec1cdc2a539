"""`checkpoint schema`: the JSON Schemas of our files, and how an editor or a CI job is told of them."""

import argparse
import json
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.tools.setup.schemas import FOLDER, Exported, list_schemas

SUMMARY = """\
print the JSON Schemas of checkpoints, workflows and records, and settings for editors

`checkpoint init --schemas` writes the schemas into .checkpoints/schemas and lets every checkpoint name its own."""
EXAMPLES = """\
  checkpoint schema                      which there are, and for which files
  checkpoint schema skill                the schema of a skill's checkpoint
  checkpoint schema --editor vscode      settings.json and tasks.json for VS Code
  checkpoint schema --matcher            a problem matcher for GitHub Actions

  check-jsonschema --schemafile .checkpoints/schemas/skill.schema.json .checkpoints/*.checkpoint.json"""

# what `checkpoint validate` and `checkpoint doctor` print, and what stands where in it
_LINE = r"^(.+?):(\d+):(\d+): (error|warning): (.*) \[([\w/-]+)\]$"
_PLACES = {"file": 1, "line": 2, "column": 3, "severity": 4, "message": 5, "code": 6}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[NAME] | --editor EDITOR | --matcher."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("name", metavar="NAME", nargs="?", help="the kind of file; all are listed where left out")
    which.add_argument("--editor", choices=("vscode",), help="settings that check files while they are edited")
    which.add_argument("--matcher", action="store_true", help="how GitHub Actions find findings in what we print")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The verb. What it prints is for a file, so it is the same in every format; only the list knows --json."""
    if args.editor:
        return _document(settings_of_vscode(list_schemas()))
    if args.matcher:
        return _document(github_matcher())
    schemas = list_schemas()
    if args.name:
        return _document(_find(schemas, args.name).document)
    rows = [{"name": one.name, "id": one.document.get("$id", ""), "files": one.files} for one in schemas]
    if args.format == "json":
        return _document({"schema_version": 1, "command": "schema", "schemas": rows, "findings": []})
    return Answer([f"{row['name']:20} {row['files']:42} {row['id']}\n" for row in rows], 0)


def _find(schemas: list[Exported], name: str) -> Exported:
    found = [one for one in schemas if one.name == name]
    if not found:
        raise CheckpointError(f"there is no schema {name!a}", f"there are: {', '.join(one.name for one in schemas)}")
    return found[0]


def _document(value: dict[str, Any]) -> Answer:
    return Answer([json.dumps(value, indent=2, ensure_ascii=False) + "\n"], 0)


def settings_of_vscode(schemas: list[Exported]) -> dict[str, Any]:
    """What goes into .vscode/settings.json and .vscode/tasks.json; paths are as `init --schemas` writes them."""
    urls = {one.name: f"./.checkpoints/{FOLDER}/{one.file}" for one in schemas}
    json_schemas = [{"fileMatch": [one.files], "url": urls[one.name]} for one in schemas if not one.is_yaml]
    yaml_schemas = {urls[one.name]: one.files for one in schemas if one.is_yaml}
    return {
        "settings.json": {"json.schemas": json_schemas, "yaml.schemas": yaml_schemas},
        "tasks.json": {"version": "2.0.0", "tasks": [_task("validate"), _task("doctor")]},
    }


def _task(verb: str) -> dict[str, Any]:
    matcher = {
        "owner": "checkpoint",
        "source": "checkpoint",
        "fileLocation": ["relative", "${workspaceFolder}"],
        "pattern": {"regexp": _LINE, **_PLACES},
    }
    return {"label": f"checkpoint {verb}", "type": "shell", "command": f"checkpoint {verb}", "problemMatcher": matcher}


def github_matcher() -> dict[str, Any]:
    """What `::add-matcher::` takes in a GitHub workflow; `--format github` needs none."""
    return {"problemMatcher": [{"owner": "checkpoint", "pattern": [{"regexp": _LINE, **_PLACES}]}]}
