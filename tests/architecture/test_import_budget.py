import sys
from pathlib import Path

import pytest

import checkpoint_git
from tests.architecture.budget import Installation, find_forbidden, loaded_modules, make_repository, starts

CHECKOUT = Installation(sys.executable, Path(checkpoint_git.__file__).parent)


@pytest.mark.parametrize("command", sorted(starts(CHECKOUT)))
def test_a_command_on_valid_input_loads_nothing_heavy(command: str, tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    assert find_forbidden(command, loaded_modules(starts(CHECKOUT)[command], repo.path)) == []


def test_a_module_below_a_forbidden_package_is_found() -> None:
    loaded = {"git.repo", "gitdb", "json", "checkpoint_git.git.run"}
    assert find_forbidden("status", loaded) == ["git.repo", "json"]
    assert find_forbidden("driver", loaded) == ["git.repo", "json"]
