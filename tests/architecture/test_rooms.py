import importlib
import inspect
import json
from pathlib import Path
from typing import Any, get_args

from checkpoint_git.protocols import contract, drawers, fix
from checkpoint_git.protocols.registry import KINDS, PROTOCOLS, schema_path
from tests.architecture.imports import ROOT
from tests.support.rows import rows

ROOMS = [(kind.name, kind.package) for kind in KINDS]
DRAWERS = ("layout.py", "schema.json", "rules.py", "store.py", "README.md")
PROMISES = {"layout": drawers.Layout, "rules": drawers.Rules}


def folder_of(home: str) -> Path:
    """The folder of a room from its dotted name."""
    return ROOT.joinpath(*home.split("."))


def find_broken_promises(module: object, promise: type) -> list[str]:
    """What a drawer lacks of its typing.Protocol: missing names, and functions with other
    parameters.
    """
    wanted = [name for name in promise.__annotations__ if not hasattr(module, name)]
    for name, function in inspect.getmembers(promise, inspect.isfunction):
        if name.startswith("_"):
            continue
        offered = getattr(module, name, None)
        if offered is None or parameters(offered) != parameters(function)[1:]:
            wanted.append(name)
    return wanted


def parameters(function: Any) -> list[tuple[str, Any]]:
    """Names and kinds of a function's parameters, in order."""
    return [(each.name, each.kind) for each in inspect.signature(function).parameters.values()]


@rows(("name", "home"), [(row.name, row.package) for row in PROTOCOLS])
def test_a_room_has_its_drawers(name: str, home: str) -> None:
    missing = [drawer for drawer in DRAWERS if not (folder_of(home) / drawer).is_file()]
    assert not missing, f"the room of {name} lacks {missing}"


@rows("drawer", sorted(PROMISES))
@rows(("name", "home"), ROOMS)
def test_a_drawer_keeps_what_the_contract_promises(name: str, home: str, drawer: str) -> None:
    broken = find_broken_promises(importlib.import_module(f"{home}.{drawer}"), PROMISES[drawer])
    assert not broken, f"{name}/{drawer}.py: {broken}"


@rows(("name", "home"), ROOMS)
def test_a_room_opens_with_a_compiled_schema(name: str, home: str) -> None:
    assert (
        contract.open_room(name).schema.document["$schema"]
        == "https://json-schema.org/draft/2020-12/schema"
    )


@rows(("name", "folder", "parts"), [(kind.name, kind.folder, kind.parts) for kind in KINDS])
def test_the_merge_driver_finds_the_schema_of_a_kind(
    name: str, folder: str, parts: tuple[str, ...]
) -> None:
    found = schema_path(f"{folder}/{'some'.join(parts)}")
    assert found is not None
    assert json.loads(Path(found).read_text("utf-8")) == contract.open_room(name).schema.document


def test_repairs_are_offered_as_the_doctor_asks_for_them() -> None:
    fixers = fix.list_fixers()
    assert fixers
    assert [find_broken_promises(fixer, fix.Fixer) for fixer in fixers] == [[] for _ in fixers]


def test_every_room_is_in_the_registry() -> None:
    folders = {
        file.parent.name for file in (ROOT / "checkpoint_git/protocols").glob("*/__init__.py")
    }
    assert folders == {row.name for row in PROTOCOLS}


def test_every_hook_that_tools_call_is_offered_by_a_protocol() -> None:
    parts = [contract.load_part(row, part) for row in PROTOCOLS for part in ("hooks", "summary")]
    names: tuple[str, ...] = get_args(contract.Hook)
    assert [name for name in names if not any(hasattr(part, name) for part in parts)] == []
