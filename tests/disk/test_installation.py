"""What a user is told of a package that is not installed beside us, by the way that we were installed."""

import shlex
import sys
from pathlib import Path

import pytest

from checkpoint_git.disk import installation
from checkpoint_git.disk.installation import find_missing


def test_by_pip_it_is_this_interpreters_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/an environment/bin/python")
    monkeypatch.setattr(installation, "find_spec", lambda name: object())
    error = find_missing(ModuleNotFoundError("x", name="git.repo"))
    assert error
    assert error.message == "the Python package GitPython is not installed"
    assert shlex.split(error.hint) == ["/an environment/bin/python", "-m", "pip", "install", "GitPython"]


def test_an_environment_of_uvs_has_no_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    error = find_missing(ModuleNotFoundError("x", name="yaml"))
    assert error
    assert shlex.split(error.hint) == ["uv", "pip", "install", "--python", sys.executable, "PyYAML"]


def test_an_environment_of_pipx_is_pipxs_to_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    error = find_missing(ModuleNotFoundError("x", name="mcp_types"))
    assert error
    assert error.hint == "pipx inject checkpoint-git mcp"


@pytest.mark.parametrize("name", ["checkpoint_git.mcp.nothing", "xml", "", None])
def test_a_module_that_no_package_brings_is_a_bug_of_ours(name: str | None) -> None:
    assert find_missing(ImportError("x", name=name)) is None
