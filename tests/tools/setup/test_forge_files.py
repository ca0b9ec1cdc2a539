"""The forge's files: what they say and must not say, and how they come, are renewed and go with
init and uninstall.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkpoint_git.cli.app import find_request
from checkpoint_git.cli.parser import parse
from checkpoint_git.cli.render import FORMATS
from checkpoint_git.cli.verbs import load_verb
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.setup.forge_files import (
    COMMANDS,
    FORGES,
    PLAIN_BRANCH,
    UNKNOWN,
    forge_files,
    is_unedited,
)
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.uninstall import uninstall
from tests.architecture.imports import ROOT
from tests.support.command import run_here
from tests.support.repos import GitRepo, environ_in
from tests.support.rows import rows
from tests.support.snapshot import take_snapshot

FILES = {
    path: data for forge in FORGES for path, data in forge_files(forge, "main", "1.2.3").items()
}
ACTION = ROOT / "action.yml"


def load(path: str) -> Any:
    """A file as YAML has it; the key `on` is True there."""
    return yaml.safe_load(FILES[path])


def scripts(value: Any) -> list[str]:
    """Every script in a file of GitHub's."""
    if isinstance(value, list):
        return [script for item in value for script in scripts(item)]
    if not isinstance(value, dict):
        return []
    own = [value["run"]] if isinstance(value.get("run"), str) else []
    return own + [script for item in value.values() for script in scripts(item)]


WORKFLOWS = [path for path in FILES if path.startswith(".github/")]
EVERY_SCRIPT = [script for path in WORKFLOWS for script in scripts(load(path))] + scripts(
    yaml.safe_load(ACTION.read_text())
)


@rows("name", sorted(COMMANDS))
def test_every_command_is_one_that_the_command_line_takes(name: str) -> None:
    request = find_request(shlex.split(COMMANDS[name]))
    args = parse(request, load_verb(request.verb), tuple(FORMATS))
    assert args.format == "text"


@rows("name", sorted(COMMANDS))
def test_every_command_stands_in_a_file_of_each_forge(name: str) -> None:
    for forge in FORGES:
        assert any(
            COMMANDS[name].encode() in data for data in forge_files(forge, "main", "1").values()
        ), f"{forge} lacks {name}"


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("vendor.gitlab-ci", [path for path in FILES if "gitlab" in path]),
        ("vendor.github-actions", ["action.yml"]),
    ],
)
def test_the_forges_own_schemas_find_nothing(schema: str, paths: list[str], tmp_path: Path) -> None:
    for at, path in enumerate(paths):
        (tmp_path / f"{at}.yml").write_bytes(FILES.get(path) or ACTION.read_bytes())
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*words, *tmp_path.iterdir()], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_expression_is_ever_part_of_a_script() -> None:
    assert len(EVERY_SCRIPT) > 6
    assert not [script for script in EVERY_SCRIPT if "${{" in script]


@rows("script", EVERY_SCRIPT)
def test_every_script_is_one_that_a_shell_can_read(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=20)
    assert done.stderr == ""


def test_every_foreign_action_is_pinned_to_a_commit() -> None:
    text = b"\n".join([*FILES.values(), ACTION.read_bytes()]).decode()
    used = re.findall(r"^\s*(?:- )?uses: (.*)$", text, re.MULTILINE)
    assert len(used) >= 3
    assert all(
        re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+( \([\d-]{10}\))?", one) for one in used
    )


def test_the_job_that_sees_a_pull_requests_files_may_only_read_and_keeps_no_token() -> None:
    checks = load(".github/workflows/checkpoints.yml")
    assert checks["permissions"] == {"contents": "read"}
    assert list(checks[True]) == ["pull_request"]
    checkout = checks["jobs"]["check"]["steps"][0]["with"]
    assert checkout["persist-credentials"] is False
    assert "secrets" not in FILES[".github/workflows/checkpoints.yml"].decode()


def test_the_job_that_may_write_never_checks_out_anything_but_the_base() -> None:
    premerge = load(".github/workflows/checkpoint-premerge.yml")
    assert premerge["permissions"] == {}
    assert premerge["jobs"]["premerge"]["permissions"] == {
        "contents": "write",
        "pull-requests": "read",
    }
    assert premerge["jobs"]["premerge"]["steps"][0]["with"]["ref"] == "main"
    assert "pull_request" not in premerge[True]
    for script in scripts(premerge):
        assert not re.search(r"git (checkout|switch|merge|pull|restore|reset|worktree)", script)


INSTALLS = [script for script in EVERY_SCRIPT if " pip install " in script]
INSTALLS += [
    line
    for job in load(".gitlab/checkpoints.gitlab-ci.yml").values()
    for line in job.get("script", [])
    if " pip install " in line
]


def test_every_python_of_an_installation_looks_only_at_its_own_modules() -> None:
    starts = [
        start for script in INSTALLS for start in re.findall(r"\bpython3?\b\"? (-.*)", script)
    ]
    assert len(starts) == 8
    assert [start for start in starts if not start.startswith("-I -m ")] == []


# the quick one is a line that makes no environment, which takes seconds
@pytest.mark.parametrize(
    "script",
    [INSTALLS[-1], *(pytest.param(line, marks=pytest.mark.deep) for line in INSTALLS[:-1])],
)
def test_an_installation_runs_nothing_of_what_is_checked_out(script: str, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in (
        "venv.py",
        "pip.py",
        "ensurepip.py",
        "subprocess.py",
        "sitecustomize.py",
        "logging.py",
    ):
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "temporary").mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    nowhere = {
        "CHECKPOINT_GIT": "/nowhere/x",
        "ACTION": "/nowhere/x",
        "REQUIREMENTS": "nowhere",
    }
    folders = {
        "RUNNER_TEMP": str(tmp_path / "temporary"),
        "GITHUB_WORKSPACE": "/nowhere",
        "CI_PROJECT_DIR": "/nowhere",
    }
    env = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": "", **nowhere, **folders}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=checkout, env=env, capture_output=True, text=True, timeout=120
    )
    assert "nowhere" in done.stdout + done.stderr  # pip has looked for what it was to install
    assert not (tmp_path / "ran").exists()


def test_a_job_that_may_write_installs_only_what_hashes_vouch_for() -> None:
    gitlab = load(".gitlab/checkpoints.gitlab-ci.yml")["checkpoint-premerge"]["script"]
    for job in (scripts(load(".github/workflows/checkpoint-premerge.yml")), gitlab):
        (install,) = (script for script in job if " pip install " in script)
        assert re.search("--require-hashes --only-binary '?:all:'? ", install)
        assert "CHECKPOINT_GIT" not in install


def test_the_gitlab_job_that_writes_runs_on_the_base_alone() -> None:
    jobs = load(".gitlab/checkpoints.gitlab-ci.yml")
    assert jobs["checkpoint-premerge"]["rules"] == [
        {"if": '$CI_COMMIT_BRANCH == "main" && $CHECKPOINT_PUSH_TOKEN'}
    ]
    assert load(".gitlab-ci.yml") == {"include": [{"local": ".gitlab/checkpoints.gitlab-ci.yml"}]}


def test_the_jobs_install_what_they_are_told_or_what_fails_until_it_is_edited() -> None:
    assert load(".github/workflows/checkpoints.yml")["env"]["CHECKPOINT_GIT"] == UNKNOWN
    for forge, path in (
        ("github", ".github/workflows/checkpoints.yml"),
        ("gitlab", ".gitlab/checkpoints.gitlab-ci.yml"),
    ):
        source = "git+https://forge.example/o/n@" + "a1" * 20
        data = forge_files("github" if forge == "github" else "gitlab", "main", "1.2.3", source)[
            path
        ]
        settings = yaml.safe_load(data)
        assert settings["env" if forge == "github" else "variables"]["CHECKPOINT_GIT"] == source


def test_a_file_is_ours_until_somebody_changes_a_byte_of_it() -> None:
    now = FILES[".gitlab-ci.yml"]
    older = next(iter(forge_files("gitlab", "main", "1.2.2").values()))
    assert is_unedited(now)
    assert is_unedited(older)
    assert not is_unedited(now + b"# mine\n")
    assert not is_unedited(b"stages: []\n")
    assert not is_unedited(b"")


@pytest.mark.parametrize("name", ["main", "release/1.x", "v2_next"])
def test_a_plain_branch_can_stand_in_a_list(name: str) -> None:
    assert PLAIN_BRANCH.fullmatch(name)


@rows("name", ["", "a*", "it's", "a b", "!main", "-x", "é", "a\nb", "${{ x }}", "[a]", "a" * 300])
def test_a_branch_with_letters_that_mean_more_cannot(name: str) -> None:
    assert not PLAIN_BRANCH.fullmatch(name)


def test_the_docs_show_the_action_with_inputs_that_it_has() -> None:
    page = (ROOT / "docs/forges.md").read_text()
    (shown,) = [
        block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "uses:" in block
    ]
    (step,) = yaml.safe_load(shown)
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert set(step["with"]) <= set(inputs)
    assert all(f"{name}:" in shown for name in inputs if name != "working-directory")


# init --ci, and uninstall

CHECKS = ".github/workflows/checkpoints.yml"


def set_up(repo: GitRepo, *forges: str) -> list[str]:
    """What init did to the forges' files, as "deed what"."""
    steps = init(str(repo.path), Options(ci=forges), os.environ).steps
    return [
        f"{step.deed} {step.what}" for step in steps if ".git" in step.what and ".yml" in step.what
    ]


def test_both_forges_get_their_files_and_a_second_run_changes_nothing(repo: GitRepo) -> None:
    done = run_here("init", "--ci", "github", "--ci", "gitlab", cwd=repo.path)
    assert done.returncode == 0
    assert ".github/workflows/checkpoint-premerge.yml" in done.stdout
    assert ".gitlab-ci.yml" in done.stdout
    assert "checkpoint-git is not on PyPI yet: write into CHECKPOINT_GIT" in done.stdout
    before = take_snapshot(repo.path)
    assert {line.split()[0] for line in set_up(repo, "github", "gitlab")} == {"keep"}
    assert set_up(repo) == []
    assert take_snapshot(repo.path) == before


def test_a_dry_run_writes_nothing(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    init(str(repo.path), Options(ci=("github",), dry_run=True), os.environ)
    assert take_snapshot(repo.path) == before


def test_the_jobs_name_the_default_branch(repo: GitRepo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/trunk")
    set_up(repo, "github")
    assert "branches: ['trunk']" in repo.read(".github/workflows/checkpoint-premerge.yml")


def test_a_default_branch_that_no_list_can_hold_is_refused(repo: GitRepo) -> None:
    repo.git("symbolic-ref", "HEAD", "refs/heads/it's")
    with pytest.raises(CheckpointError, match="cannot be in"):
        set_up(repo, "github")


def test_what_an_older_release_wrote_is_renewed_without_asking_again(repo: GitRepo) -> None:
    for path, data in forge_files("github", "main", "0.0.1", "checkpoint-git==0.0.1").items():
        repo.write(path, data)
    assert [line.split()[0] for line in set_up(repo)] == ["update", "update"]
    assert "==0.0.1" not in repo.read(CHECKS)


def test_a_file_of_somebody_elses_stays_as_it_is_with_and_without_uninstall(repo: GitRepo) -> None:
    repo.write(CHECKS, "name: mine\n")
    repo.write(".gitlab-ci.yml", "stages: [test]\n")
    repo.write(".gitlab/notes.txt", "mine\n")
    before = take_snapshot(repo.path)
    steps = init(str(repo.path), Options(ci=("github", "gitlab")), os.environ).steps
    told = {step.what: step.text for step in steps if step.deed == "skip"}
    assert set(told) == {CHECKS, ".gitlab-ci.yml"}
    assert "include: [{local: .gitlab/checkpoints.gitlab-ci.yml}]" in told[".gitlab-ci.yml"]
    assert repo.read(CHECKS) == "name: mine\n"
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_a_pipeline_that_includes_ours_already_leaves_nothing_to_do(repo: GitRepo) -> None:
    repo.write(
        ".gitlab-ci.yml", "include:\n  - local: .gitlab/checkpoints.gitlab-ci.yml\nstages: [test]\n"
    )
    assert "keep .gitlab-ci.yml" in set_up(repo, "gitlab")


def test_uninstall_takes_the_files_and_the_folders_that_held_nothing_else(repo: GitRepo) -> None:
    before = take_snapshot(repo.path)
    set_up(repo, "github", "gitlab")
    uninstall(str(repo.path), os.environ)
    assert take_snapshot(repo.path) == before


def test_uninstall_leaves_a_file_that_was_edited(repo: GitRepo) -> None:
    set_up(repo, "github")
    repo.write(CHECKS, repo.read(CHECKS).replace("ubuntu-latest", "self-hosted"))
    uninstall(str(repo.path), os.environ)
    assert "self-hosted" in repo.read(CHECKS)
    assert not (repo.path / ".github/workflows/checkpoint-premerge.yml").exists()


def test_a_folder_that_leads_elsewhere_is_not_written_into(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repo.path / ".github").symlink_to(tmp_path / "elsewhere")
    assert [line.split()[0] for line in set_up(repo, "github")] == ["skip", "skip"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_outside_git_and_in_a_bare_repository_there_is_no_place_for_them(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a git repository"):
        init(str(tmp_path), Options(ci=("github",)), os.environ)
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    with pytest.raises(CheckpointError, match="work tree"):
        init(str(bare.path), Options(ci=("github",)), environ_in(bare.path))
