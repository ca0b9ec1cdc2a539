"""Our entry in a .pre-commit-config.yaml, and the offer to the framework, which the real framework
runs.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.tools.setup.framework import (
    add_entry,
    files_pattern,
    has_entry,
    is_current,
    new_file,
    remove_entry,
)
from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import BIN
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

MANIFEST = ".pre-commit-hooks.yaml"
ITEM = "repo: local\n{0}  hooks: []\n"
PLAIN = {
    "items at the margin": "repos:\n- repo: meta\n  hooks: []\n",
    "items indented": "# top\nrepos:\n    -   repo: meta\n        hooks:\n        -   id: x\n",
    "more keys after": "repos:\n- repo: meta\n  hooks: []\n\n# and then\nci:\n  skip: [x]\n",
    "keys before": "default_stages: [pre-commit]\nrepos: # all\n  - repo: meta\n    hooks: []\nfail_fast: true\n",
    "no final newline": "repos:\n- repo: meta\n  hooks: []",
    "CRLF": "repos:\r\n- repo: meta\r\n  hooks: []\r\n",
    "a block of text at the end": "repos:\n- repo: meta\n  hooks:\n  - id: x\n    entry: |\n      a\n      # b\n",
    "comments between": "repos:\n# first\n- repo: meta\n  hooks: []\n# second\n- repo: meta\n  hooks: []\n# end\n",
    "an empty list": "repos: []\n",
    "an empty list with more around it": "# top\nrepos: []  # none yet\n\n# and then\nci:\n  skip: [x]\n",
    "an empty list, CRLF": "repos: []\r\nfail_fast: true\r\n",
    "an empty list at the end": "fail_fast: true\nrepos: []",
    "a document start": "---\nrepos:\n- repo: meta\n  hooks: []\n",
}
NOT_PLAIN = {
    "an empty list of another spelling": "repos: [ ]\n",
    "an empty list twice": "repos: []\nrepos: []\n",
    "flow list": "repos: [{repo: meta, hooks: []}]\n",
    "no repos": "fail_fast: true\n",
    "an empty list": "repos:\n",
    "two documents": "repos:\n- repo: meta\n  hooks: []\n---\nx: 1\n",
    "an anchor": "repos: &all\n- repo: meta\n  hooks: []\n",
    "a dash alone": "repos:\n-\n  repo: meta\n",
    "twice": "repos:\n- repo: meta\n  hooks: []\nrepos:\n- repo: meta\n  hooks: []\n",
    "empty": "",
}


@rows("name", PLAIN)
def test_an_entry_goes_in_and_out_to_the_byte(name: str) -> None:
    before = PLAIN[name].encode()
    after = add_entry(before)
    assert after is not None
    assert has_entry(after)
    assert is_current(after)
    assert add_entry(after) == after
    assert remove_entry(after) == before


@rows("name", NOT_PLAIN)
def test_a_file_written_in_another_way_is_left_to_its_owner(name: str) -> None:
    assert add_entry(NOT_PLAIN[name].encode()) is None


@pytest.mark.parametrize("name", PLAIN)
def test_the_list_has_one_item_more_and_the_rest_is_equal(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    before = yaml.safe_load(PLAIN[name])
    after = yaml.safe_load(add_entry(PLAIN[name].encode()))
    assert after["repos"][0]["hooks"][0]["id"] == "checkpoint-validate"
    assert after == {**before, "repos": [after["repos"][0], *before["repos"]]}


def test_an_older_block_of_ours_is_not_current() -> None:
    after = add_entry(PLAIN["items at the margin"].encode())
    assert after is not None
    old = after.replace(b"language: system", b"language: script")
    assert not is_current(old)
    assert add_entry(old) == after


def test_an_entry_written_by_hand_counts() -> None:
    assert has_entry(b"repos:\n- repo: x\n  hooks:\n  - id: checkpoint-validate # ours\n")
    assert not has_entry(b"repos:\n- repo: x\n  hooks:\n  # - id: checkpoint-validate\n")


def test_a_file_made_for_us_goes_when_nothing_was_added() -> None:
    assert remove_entry(new_file()) is None
    assert remove_entry(new_file() + b"fail_fast: true\n") == b"repos:\nfail_fast: true\n"


# the manifest

ROOT = Path(__file__).parents[3]
FRAMEWORK = str(BIN / "pre-commit")
PATH = ".checkpoints/build.checkpoint.json"
BAD = checkpoint_text(status="nearly")
ON_PATH = {"PATH": f"{BIN}:/usr/bin:/bin"}


def _run(repo: GitRepo, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return repo.run(FRAMEWORK, *words, env={**os.environ, **env})


LOCAL_CONFIG = f"""\
repos:
- repo: local
  hooks:
  - id: checkpoint-validate
    name: checkpoints are valid
    language: system
    entry: checkpoint validate
    files: '{files_pattern()}'
"""


def test_the_framework_accepts_the_manifest_and_our_own_configuration(repo: GitRepo) -> None:
    for words in (
        ["validate-manifest", str(ROOT / MANIFEST)],
        ["validate-config", str(ROOT / ".pre-commit-config.yaml")],
    ):
        assert _run(repo, *words).returncode == 0


@rows(
    "path",
    [
        PATH,
        "a/b/.checkpoints/x.checkpoint.json",
        ".checkpoints/README.md",
        "x.checkpoint.json",
        f"{PATH}.bak",
        ".checkpoints/history/x.checkpoint.json",
        ".checkpoints/history/x/5-y.event.json",
        ".checkpoints/history/5-y.event.json",
        "x.checkpoints/x.checkpoint.json",
        "memory/state/phase.json",
        "app/memory/state/execution.json",
        "state/phase.json",
        "memory/state/other.json",
    ],
)
def test_the_pattern_takes_the_paths_of_the_table(path: str) -> None:
    assert bool(re.search(files_pattern(), path)) == (protocol_of(path) is not None)


@pytest.mark.parametrize("name", [MANIFEST, ".pre-commit-config.yaml"])
def test_our_own_files_use_the_same_pattern(name: str) -> None:
    assert f"  files: '{files_pattern()}'\n" in (ROOT / name).read_text()


def test_the_real_framework_runs_validate_on_what_is_staged(repo: GitRepo) -> None:
    repo.write(".pre-commit-config.yaml", LOCAL_CONFIG)
    repo.write(PATH, BAD)
    repo.git("add", ".")
    blocked = _run(repo, "run", **ON_PATH)
    assert blocked.returncode == 1
    assert f"{PATH}:10".encode() in blocked.stdout
    repo.write(PATH, checkpoint_text())
    repo.git("add", ".")
    assert _run(repo, "run", "--all-files", **ON_PATH).returncode == 0


def test_the_entry_that_init_writes_blocks_a_commit_with_a_bare_search_path(repo: GitRepo) -> None:
    repo.write(
        ".pre-commit-config.yaml", "repos:\n- repo: meta\n  hooks:\n  - id: check-hooks-apply\n"
    )
    repo.commit()
    init(str(repo.path), Options(), os.environ)
    assert _run(repo, "install").returncode == 0
    repo.write(PATH, BAD)
    repo.git("add", ".")
    repo.write(PATH, checkpoint_text())
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    blocked = repo.run("git", "commit", "-m", "bad", env=bare)
    assert blocked.returncode == 1
    assert f"{PATH}:10".encode() in blocked.stderr
    repo.git("add", ".")
    assert repo.run("git", "commit", "-m", "good", env=bare).returncode == 0


@pytest.mark.wheel
def test_the_real_framework_installs_and_runs_both_hooks_from_a_clone(
    repo: GitRepo, tmp_path: Path
) -> None:
    unwanted = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", ".hypothesis")
    shutil.copytree(ROOT, tmp_path / "project", ignore=unwanted)
    project = GitRepo.create(tmp_path / "project")
    project.commit()
    repo.write(PATH, BAD)
    repo.git("add", ".")
    env = {
        "PRE_COMMIT_HOME": str(tmp_path / "cache"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    words = ["try-repo", str(project.path), "checkpoint-validate", "--verbose"]
    assert f"{PATH}:10".encode() in _run(repo, *words, **env).stdout
    repo.write(PATH, checkpoint_text())
    repo.git("add", ".")
    assert _run(repo, *words, **env).returncode == 0
    said = _run(
        repo, "try-repo", str(project.path), "checkpoint-doctor", "--verbose", **env
    ).stdout.decode()
    assert "checkpoint-doctor" in said
    assert "Traceback" not in said
