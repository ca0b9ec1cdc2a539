"""The forges' files as values: what they say, what they must not say, and what one found is to us."""

import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from checkpoint_git.cli.app import find_request
from checkpoint_git.cli.parser import parse
from checkpoint_git.cli.render import FORMATS
from checkpoint_git.cli.verbs import VERBS
from checkpoint_git.tools.setup.forge_templates import (
    COMMANDS,
    Forge,
    forge_files,
    is_plain_branch,
    is_unedited,
)
from tests.architecture.imports import ROOT

FORGES: tuple[Forge, ...] = get_args(Forge)
FILES = {file.path: file.data for forge in FORGES for file in forge_files(forge, "main", "1.2.3")}
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


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_one_that_the_command_line_takes(name: str) -> None:
    request = find_request(shlex.split(COMMANDS[name]))
    args = parse(request, import_module(VERBS[request.verb][0]), tuple(FORMATS), "")
    assert args.format == "text"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_stands_in_a_file_of_each_forge(name: str) -> None:
    for forge in FORGES:
        assert any(COMMANDS[name].encode() in file.data for file in forge_files(forge, "main", "1")), (
            f"{forge} lacks {name}"
        )


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


@pytest.mark.parametrize("script", EVERY_SCRIPT)
def test_every_script_is_one_that_a_shell_can_read(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=20)
    assert done.stderr == ""


def test_every_foreign_action_is_pinned_to_a_commit() -> None:
    text = b"\n".join([*FILES.values(), ACTION.read_bytes()]).decode()
    used = re.findall(r"^\s*(?:- )?uses: (.*)$", text, re.MULTILINE)
    assert len(used) >= 3
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", one) for one in used)


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
    assert premerge["jobs"]["premerge"]["permissions"] == {"contents": "write", "pull-requests": "read"}
    assert premerge["jobs"]["premerge"]["steps"][0]["with"]["ref"] == "main"
    assert "pull_request" not in premerge[True]
    for script in scripts(premerge):
        assert not re.search(r"git (checkout|switch|merge|pull|restore|reset|worktree)", script)


def test_the_gitlab_job_that_writes_runs_on_the_base_alone() -> None:
    jobs = load(".gitlab/checkpoints.gitlab-ci.yml")
    assert jobs["checkpoint-premerge"]["rules"] == [{"if": '$CI_COMMIT_BRANCH == "main" && $CHECKPOINT_PUSH_TOKEN'}]
    assert load(".gitlab-ci.yml") == {"include": [{"local": ".gitlab/checkpoints.gitlab-ci.yml"}]}


def test_the_version_that_is_installed_is_the_one_that_wrote_the_file() -> None:
    assert load(".github/workflows/checkpoints.yml")["env"]["CHECKPOINT_GIT"] == "checkpoint-git==1.2.3"


def test_a_file_is_ours_until_somebody_changes_a_byte_of_it() -> None:
    now = FILES[".gitlab-ci.yml"]
    older = forge_files("gitlab", "main", "1.2.2")[0].data
    assert is_unedited(now)
    assert is_unedited(older)
    assert not is_unedited(now + b"# mine\n")
    assert not is_unedited(b"stages: []\n")
    assert not is_unedited(b"")


@pytest.mark.parametrize("name", ["main", "release/1.x", "v2_next"])
def test_a_plain_branch_can_stand_in_a_list(name: str) -> None:
    assert is_plain_branch(name)


@pytest.mark.parametrize("name", ["", "a*", "it's", "a b", "!main", "-x", "é", "a\nb", "${{ x }}", "[a]", "a" * 300])
def test_a_branch_with_letters_that_mean_more_cannot(name: str) -> None:
    assert not is_plain_branch(name)


def test_the_docs_show_the_action_with_inputs_that_it_has() -> None:
    page = (ROOT / "docs/forges.md").read_text()
    (shown,) = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "uses:" in block]
    (step,) = yaml.safe_load(shown)
    inputs = yaml.safe_load(ACTION.read_text())["inputs"]
    assert set(step["with"]) <= set(inputs)
    assert all(f"{name}:" in shown for name in inputs if name != "working-directory")
