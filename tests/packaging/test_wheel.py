import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from checkpoint_git.core.terminal_text import quote_path
from tests.architecture.budget import (
    CHECKED_COMMANDS,
    Installation,
    find_forbidden,
    loaded_modules,
    make_repository,
    starts,
)
from tests.architecture.imports import ROOT
from tests.packaging.conftest import run
from tests.support.repos import GitRepo

pytestmark = pytest.mark.wheel


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel in a fresh environment whose path has a space."""
    home = tmp_path_factory.mktemp("installed") / "an environment"
    run(sys.executable, "-m", "venv", home)
    python = home / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    package = run(
        python,
        "-I",
        "-c",
        "import checkpoint_git, os; print(os.path.dirname(checkpoint_git.__file__))",
    )
    return Installation(str(python), Path(package.strip()))


def user_env(installed: Installation) -> dict[str, str]:
    """The environment of a user who has the installed commands on PATH."""
    bin_folder = str(Path(installed.python).parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}


def test_the_wheel_holds_what_the_commands_need_beside_python(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    endings = (
        "checkpoint_git/py.typed",
        "checkpoint_git/protocols/skill/schema.json",
        "share/man/man1/git-checkpoint.1",
        "share/man/man1/checkpoint.1",
        "share/man/man1/checkpoint-doctor.1",
        "licenses/LICENSE",
    )
    assert [ending for ending in endings if not any(name.endswith(ending) for name in names)] == []


def test_the_wheel_holds_nothing_of_the_workshop(wheel: Path) -> None:
    roots = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {root for root in roots if not root.startswith("checkpoint_git")} == set()


@pytest.mark.parametrize(
    "command", ["checkpoint", "git-checkpoint", "checkpoint-git", "checkpoint-doctor"]
)
def test_an_installed_command_says_its_version(installed: Installation, command: str) -> None:
    said = run(Path(installed.python).with_name(command), "--version")
    assert (
        said.split()[-1]
        == run(
            installed.python, "-c", "import checkpoint_git; print(checkpoint_git.__version__)"
        ).strip()
    )


def test_init_status_and_the_hook_work_from_the_installed_wheel(
    installed: Installation, tmp_path: Path
) -> None:
    repo, env = GitRepo.create(tmp_path / "repo"), user_env(installed)
    repo.commit("first")
    run("git", "checkpoint", "init", cwd=repo.path, env=env)
    run(
        "checkpoint",
        "update",
        "build",
        "--step=one",
        "--next_actions+=Write the API",
        cwd=repo.path,
        env=env,
    )
    assert "build" in run("git", "checkpoint", "status", cwd=repo.path, env=env)
    run("git", "add", "-A", cwd=repo.path, env=env)
    run("git", "commit", "-q", "-m", "a checkpoint", cwd=repo.path, env=env)
    repo.write(".checkpoints/build.checkpoint.json", "null\n")
    repo.git("add", "-A")
    refused = subprocess.run(
        ["git", "commit", "-q", "-m", "broken"], cwd=repo.path, env=env, capture_output=True
    )
    assert refused.returncode == 1


def test_a_server_for_agents_needs_the_extra_that_the_wheel_names(
    installed: Installation, tmp_path: Path
) -> None:
    command = [str(Path(installed.python).with_name("checkpoint")), "mcp"]
    done = subprocess.run(
        command, cwd=tmp_path, env=user_env(installed), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{quote_path(installed.python)} -m pip install mcp\n" in done.stderr
    asked = "from importlib.metadata import metadata; print(*metadata('checkpoint-git').get_all('Provides-Extra'))"
    assert "mcp" in run(installed.python, "-c", asked).split()


def test_without_its_dependencies_it_names_the_one_that_is_missing(
    wheel: Path, tmp_path: Path
) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "bare")
    python = tmp_path / "bare/bin/python"
    run(
        python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", wheel
    )
    repo = GitRepo.create(tmp_path / "repo")
    done = subprocess.run(
        [python.with_name("checkpoint"), "init"], cwd=repo.path, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(
        rb"checkpoint: the Python package \w+ is not installed\n  .* -m pip install \w+\n",
        done.stderr,
    )


def test_git_finds_the_man_page(installed: Installation) -> None:
    page = Path(installed.python).parents[1] / "share" / "man" / "man1" / "git-checkpoint.1"
    assert page.is_file()
    if shutil.which("man"):
        assert run("man", "-w", "git-checkpoint", env=user_env(installed)).strip() == str(page)


@pytest.mark.parametrize("command", CHECKED_COMMANDS)
def test_an_installed_command_loads_nothing_heavy(
    installed: Installation, command: str, tmp_path: Path
) -> None:
    repo = make_repository(tmp_path / "repo")
    assert find_forbidden(command, loaded_modules(starts(installed)[command], repo.path)) == []


def newest_python() -> str:
    names = [f"python3.{minor}" for minor in (15, 14, 13, 12)]
    return next(
        (name for name in names if shutil.which(name) and starts_at_all(name)), sys.executable
    )


def starts_at_all(name: str) -> bool:
    return (
        subprocess.run([name, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0
    )


def test_what_the_action_installs_is_there_for_the_newest_python(tmp_path: Path) -> None:
    run(newest_python(), "-m", "venv", tmp_path)
    words = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
    run(
        tmp_path / "bin/python",
        "-m",
        "pip",
        "install",
        *words,
        "-r",
        ROOT / ".github/requirements.txt",
    )


def test_the_wheel_has_the_list_of_what_it_needs(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [name] = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
    document = json.loads(archive.read(name))
    assert document["bomFormat"] == "CycloneDX"
    assert {component["name"] for component in document["components"]} >= {
        "gitpython",
        "jsonschema",
        "pyyaml",
    }
