import sys
from pathlib import Path

import pytest

import checkpoint_git
from tests.architecture.budget import (
    Installation,
    find_excess,
    loaded_modules,
    make_repository,
    read_allowed,
    starts,
)

CHECKOUT = Installation(sys.executable, Path(checkpoint_git.__file__).parent)
HEAVY = {"jsonschema", "git", "pathlib", "subprocess", "tempfile", "logging", "dataclasses", "importlib.metadata"}
HEAVY_FOR_GIT = {*HEAVY, "os", "json", "re", "typing", "collections", "argparse", "decimal", "datetime", "shutil"}


@pytest.mark.parametrize("command", sorted(starts(CHECKOUT)))
def test_a_command_on_valid_input_loads_only_what_is_allowed(command: str, tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    excess = find_excess(loaded_modules(starts(CHECKOUT)[command], repo.path), read_allowed()[command])
    assert not excess, f"{command} loads {excess}: load them later, or allow them with a reason"


@pytest.mark.parametrize(("command", "allowed"), sorted(read_allowed().items()))
def test_no_list_allows_what_is_too_heavy(command: str, allowed: set[str]) -> None:
    heavy = HEAVY_FOR_GIT if command in ("driver", "textconv") else HEAVY
    assert not heavy & allowed


def test_an_entry_with_a_star_allows_what_lies_below() -> None:
    loaded = {"checkpoint_git.core", "checkpoint_git.core.clock", "checkpoint_git.coreless", "json"}
    assert find_excess(loaded, {"checkpoint_git.core.*"}) == ["checkpoint_git.coreless", "json"]
