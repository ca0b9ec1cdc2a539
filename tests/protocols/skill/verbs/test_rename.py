"""checkpoint rename: what gets the new name, what git sees, and what is refused with nothing
changed.
"""

import json
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.protocols.skill.verbs import rename
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

FOLDER = ".checkpoints"
BUILD = f"{FOLDER}/build.checkpoint.json"
API = f"{FOLDER}/api.checkpoint.json"
PAST = f"{FOLDER}/history/build.20260302T120000Z.json"


def read_files(repo: GitRepo) -> dict[str, bytes]:
    files = [path for path in repo.path.rglob("*") if path.is_file() and ".git" not in path.parts]
    found = {str(path.relative_to(repo.path)): path.read_bytes() for path in files}
    return {**found, "index": repo.git("ls-files", "-s").encode()}


def run(repo: GitRepo, *words: str) -> int:
    return run_here(*words, cwd=repo.path).returncode


@pytest.fixture
def named(repo: GitRepo) -> GitRepo:
    """Build with a past, web that depends on it, and docs that mentions it, all committed."""
    repo.write(BUILD, checkpoint_text())
    repo.write(PAST, ' {"skill": "build"}\n')
    repo.write(f"{FOLDER}/history/build.tools.20260302T120000Z.json", ' {"skill": "build.tools"}\n')
    repo.write(
        f"{FOLDER}/web.checkpoint.json",
        checkpoint_text(skill="web", depends_on=["design", "build"]),
    )
    repo.write(
        f"{FOLDER}/docs.checkpoint.json",
        checkpoint_text(skill="docs", depends_on="the build (row api)"),
    )
    repo.commit("start")
    return repo


def test_everything_gets_the_new_name_and_going_back_restores_every_byte(named: GitRepo) -> None:
    before = read_files(named)
    ran = run_here("rename", "build", "api", cwd=named.path)
    assert ran.stdout.splitlines() == [
        f"build: renamed to api in {API}, staged; to go back: checkpoint rename api build",
        "  1 file of its history renamed, too",
        "  web: depends_on names api now",
        "  docs: depends_on still mentions build; look at it: checkpoint show docs",
    ]
    assert (named.path / API).read_bytes() == before[BUILD].replace(b'"build"', b'"api"')
    assert (named.path / PAST.replace("build", "api")).read_bytes() == before[PAST]
    assert (named.path / f"{FOLDER}/history/build.tools.20260302T120000Z.json").exists()
    assert json.loads((named.path / f"{FOLDER}/web.checkpoint.json").read_text())["depends_on"] == [
        "design",
        "api",
    ]

    # git sees two renames, and a commit of them passes the check of the hook
    names = named.git("diff", "--cached", "-M", "--name-status").split("\n")
    assert [line.split("\t")[1:] for line in names] == [
        [BUILD, API],
        [PAST, PAST.replace("build", "api")],
    ]
    assert run(named, "validate", "--staged") == 0

    assert run(named, "rename", "api", "build") == 0
    assert read_files(named) == before


def test_what_is_not_staged_stays_so_and_undo_works_under_the_new_name(named: GitRepo) -> None:
    assert run(named, "note", "build", "No cookies") == 0
    assert run(named, "rename", "build", "api") == 0
    assert "No cookies" not in named.git("show", f":{API}")
    assert json.loads(named.git("show", f":{API}"))["skill"] == "api"
    assert "No cookies" in (named.path / API).read_text()

    assert run(named, "undo", "api") == 0
    assert named.git("diff", "--", API) == ""
    assert run(named, "undo", "build") == 2  # nothing is kept under the old name


def test_a_branch_that_goes_on_under_the_old_name_merges(named: GitRepo) -> None:
    assert run(named, "init") == 0
    named.commit("init")
    named.git("checkout", "-q", "-b", "side")
    assert run(named, "note", "build", "No cookies") == 0
    named.commit("decide")
    named.git("checkout", "-q", "-")
    assert run(named, "rename", "build", "api") == 0
    named.commit("rename")
    named.git("merge", "-q", "-m", "merge", "side")
    value = json.loads((named.path / API).read_text())
    assert value["skill"] == "api"
    assert value["context_primer"]["key_decisions"][-1] == "No cookies"
    assert not (named.path / BUILD).exists()


def test_an_untracked_checkpoint_is_renamed_and_nothing_staged(repo: GitRepo) -> None:
    repo.write(BUILD, checkpoint_text())
    ran = run_here("rename", "build", "api", "--json", cwd=repo.path)
    answer = json.loads(ran.stdout)
    assert (answer["skill"], answer["new"], answer["path"]) == ("build", "api", API)
    assert (answer["written"], answer["staged"], answer["history"], answer["dependents"]) == (
        True,
        False,
        0,
        [],
    )
    assert repo.git("ls-files") == ""


def test_a_name_that_is_taken_or_invalid_is_refused(named: GitRepo) -> None:
    named.write(f"{FOLDER}/history/former.20260302T120000Z.json", "{}\n")
    named.write(f"{FOLDER}/gone.checkpoint.json", checkpoint_text(skill="gone"))
    named.git("add", ".")
    (named.path / f"{FOLDER}/gone.checkpoint.json").unlink()
    before = read_files(named)
    refused = {
        "web": "web already exists",
        "WEB": "web already exists",
        "build": "is its name already",
        "Build": "differs only in case",
        "former": "a former former has files in .checkpoints/history",
        "gone": "is not here, but still in git's index",
        "../x": "is not allowed",
        "a.json": "a checkpoint cannot be named",
        "step=x": "a checkpoint cannot be named",
    }
    for new, message in refused.items():
        ran = run_here("rename", "build", new, cwd=named.path)
        assert (ran.returncode, message in ran.stderr) == (2, True), ran.stderr
    assert "has no checkpoint" in run_here("rename", "nope", "x", cwd=named.path).stderr
    assert read_files(named) == before


def test_a_checkpoint_that_is_claimed_in_a_merge_or_unreadable_is_refused(named: GitRepo) -> None:
    assert run(named, "claim", "build", "--remote", ".") == 0
    ran = run_here("rename", "build", "api", cwd=named.path)
    assert (ran.returncode, "checkpoint release build" in ran.stdout) == (1, True)
    assert run(named, "release", "build", "--remote", ".") == 0

    blob = named.git("rev-parse", f":{BUILD}")
    stages = "".join(f"100644 {blob} {stage}\t{BUILD}\n" for stage in (1, 2, 3))
    named.git("update-index", "--force-remove", BUILD)
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=named.path, input=stages.encode(), check=True
    )
    assert "checkpoint resolve" in run_here("rename", "build", "api", cwd=named.path).stderr
    named.git("add", BUILD)

    named.write(BUILD, "{")
    before = read_files(named)
    assert run(named, "rename", "build", "api") == 2
    assert read_files(named) == before


def test_where_git_cannot_stage_nothing_is_renamed(named: GitRepo) -> None:
    before = read_files(named)
    lock = named.path / ".git/index.lock"
    lock.touch()
    assert run(named, "rename", "build", "api") == 2
    assert read_files(named) == before
    lock.unlink()


def test_a_session_of_one_checkpoint_renames_none(
    named: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKPOINT_SKILL", "build")
    assert (
        "is another skill's checkpoint" in run_here("rename", "build", "api", cwd=named.path).stderr
    )


def test_a_history_folder_that_is_a_link_is_not_followed(named: GitRepo, tmp_path: Path) -> None:
    folder = named.path / FOLDER / "history"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert run(named, "rename", "build", "api") == 2
    assert (named.path / BUILD).exists()
    assert (tmp_path / "elsewhere/build.20260302T120000Z.json").exists()


def test_mv_is_told_the_word_for_it(named: GitRepo) -> None:
    assert "did you mean rename?" in run_here("mv", "build", "api", cwd=named.path).stderr
    assert rename.HELP.startswith("rename a checkpoint")
