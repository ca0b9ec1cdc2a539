"""What a user is told of a package that is not installed beside us, by the way that we were
installed.
"""

import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from checkpoint_git.__main__ import add_package_folder
from checkpoint_git.disk import installation
from checkpoint_git.disk.installation import (
    advise_installation,
    find_missing,
    find_pinned_source,
    find_source,
    find_start_trouble,
    import_all,
    starts_on_path,
)
from checkpoint_git.tools.setup.forge_files import FORGES, forge_files
from checkpoint_git.tools.setup.hook_files import PACKAGE
from checkpoint_git.version import __version__
from tests.support.rows import rows


def test_by_pip_it_is_this_interpreters_pip(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/an environment/bin/python")
    monkeypatch.setattr(installation, "find_spec", lambda name: object())
    error = find_missing(ModuleNotFoundError("x", name="git.repo"))
    assert error
    assert error.message == "the Python package GitPython is not installed"
    assert shlex.split(str(error.hint)) == [
        "/an environment/bin/python",
        "-m",
        "pip",
        "install",
        "GitPython",
    ]


def test_an_environment_of_uvs_has_no_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    error = find_missing(ModuleNotFoundError("x", name="yaml"))
    assert error
    assert shlex.split(str(error.hint)) == [
        "uv",
        "pip",
        "install",
        "--python",
        sys.executable,
        "PyYAML",
    ]


def test_an_environment_of_pipx_is_pipxs_to_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    error = find_missing(ModuleNotFoundError("x", name="mcp_types"))
    assert error
    assert str(error.hint) == "pipx inject checkpoint-git mcp"


def put_package(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Lets this package be in a folder."""
    monkeypatch.setattr(
        installation, "__file__", str(folder / "checkpoint_git/disk/installation.py")
    )


ORIGINS = {
    "checkpoint-git": None,
    "file:///a/b.whl": '{"url": "file:///a/b.whl", "archive_info": {}}',
    "git+https://forge.example/a": '{"url": "https://forge.example/a", "vcs_info": {"vcs": "git"}}',
}


@pytest.mark.parametrize(("source", "recorded"), ORIGINS.items())
@pytest.mark.parametrize(
    ("prefix", "start"), [("archive-v0/x", ["uvx", "--from"]), ("pipx", ["pipx", "run", "--spec"])]
)
def test_an_environment_in_a_cache_is_started_again_from_where_it_came(
    source: str,
    recorded: str | None,
    prefix: str,
    start: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    packages = tmp_path / prefix / "packages"
    beside = packages / f"checkpoint_git-{__version__}.dist-info"
    beside.mkdir(parents=True)
    (packages / "checkpoint_git/disk").mkdir(parents=True)
    (tmp_path / "CACHEDIR.TAG").touch()
    if prefix == "pipx":
        (tmp_path / prefix / "pipx_metadata.json").touch()
    if recorded:
        (beside / "direct_url.json").write_text(recorded)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix))
    put_package(monkeypatch, packages)
    error = find_missing(ModuleNotFoundError("x", name="mcp"), ["mcp", "--read-only"])
    assert error
    needed = "checkpoint-git[mcp]" + (f" @ {source}" if recorded else "")
    assert shlex.split(str(error.hint)) == [*start, needed, "checkpoint", "mcp", "--read-only"]
    for words, extra in ((["memory", "load"], "memory"), (["mcp", "memory"], "mcp"), ([], "mcp")):
        error = find_missing(ModuleNotFoundError("x", name="mcp"), words)
        assert error
        assert f"checkpoint-git[{extra}]" in str(error.hint)


@rows("name", ["checkpoint_git.mcp.nothing", "xml", "", None])
def test_a_module_that_no_package_brings_is_a_bug_of_ours(name: str | None) -> None:
    assert find_missing(ImportError("x", name=name)) is None


def test_a_start_by_path_finds_what_is_beside_the_package_before_what_is_installed() -> None:
    path = ["/python/lib", "/python/lib/site-packages", "/editable"]
    add_package_folder("/target", path)
    add_package_folder("/editable", path)
    assert path == ["/python/lib", "/target", "/python/lib/site-packages", "/editable"]


def test_a_python_that_cannot_start_the_package_is_known_by_its_last_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert find_start_trouble(sys.executable, PACKAGE) == ""
    gone = str(tmp_path / "gone")
    assert find_start_trouble(gone, PACKAGE) == f"{gone}: No such file or directory"
    for name, script, trouble in (
        ("python", "echo broken >&2\necho '\\0377really' >&2\nexit 1", "\ufffdreally"),
        ("quiet", "exit 3", "it exits with 3"),
    ):
        python = tmp_path / name
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        assert find_start_trouble(str(python), PACKAGE) == trouble
    assert capfd.readouterr() == ("", "")


PINNED = {
    None: f"checkpoint-git=={__version__}",
    '{"url": "file:///a", "dir_info": {}}': "",
    '{"url": "https://h.example/o/n.git", "vcs_info": {"commit_id": "%s"}}'
    % ("a1" * 20): "git+https://h.example/o/n.git@" + "a1" * 20,
    '{"url": "https://h.example/$(x)", "vcs_info": {"commit_id": "%s"}}' % ("a1" * 20): "",
}


@rows(("recorded", "source"), PINNED.items())
def test_a_job_installs_what_this_was_installed_from(
    recorded: str | None, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_package(monkeypatch, tmp_path)
    beside = tmp_path / f"checkpoint_git-{__version__}.dist-info"
    beside.mkdir(exist_ok=True)
    (beside / "direct_url.json").unlink(missing_ok=True)
    if recorded:
        (beside / "direct_url.json").write_text(recorded)
    assert find_pinned_source() == source


def test_from_a_checkout_no_job_installs_a_bare_name() -> None:
    assert find_pinned_source() == ""
    for forge in FORGES:
        for data in forge_files(forge, "main", "1.2.3", find_pinned_source()).values():
            lines = [
                line for line in data.decode().splitlines() if not line.lstrip().startswith("#")
            ]
            assert "checkpoint-git==" not in "\n".join(lines)


def test_a_checkpoint_on_path_has_to_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    env = {"PATH": str(tmp_path)}
    program = tmp_path / "checkpoint"
    answers = [starts_on_path(env)]
    for code in (0, 1):
        program.write_text(f"#!/bin/sh\necho 1.0\nexit {code}\n")
        program.chmod(0o755)
        answers.append(starts_on_path(env))
    assert answers == [False, True, False]
    assert not starts_on_path({})
    assert capfd.readouterr() == ("", "")


def test_an_installer_takes_a_checkout_or_what_was_recorded_and_else_the_user_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_package(monkeypatch, tmp_path)
    assert find_source() == find_pinned_source() == ""
    advice = advise_installation("install it permanently")
    assert "uv tool install FOLDER-OR-ADDRESS" in str(advice)

    (tmp_path / "pyproject.toml").touch()
    assert find_source() == str(tmp_path)
    assert shlex.split(str(advise_installation("install it")).partition(": ")[2]) == [
        "uv",
        "tool",
        "install",
        str(tmp_path),
    ]


def test_a_package_that_is_missing_is_known_before_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("git", "jsonschema", "yaml")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    import_all()
    for name in names:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(ImportError, match=name):
                import_all()
