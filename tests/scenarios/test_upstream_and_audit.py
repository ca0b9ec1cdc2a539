"""`checkpoint doctor` before a pull and after bad merges, in real clones: what is planted is told,
and nothing else.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.setup.init import Options, init
from tests.scenarios.driven import PATH
from tests.support.command import run_here
from tests.support.repos import GitRepo, Stage
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, run_verb
from tests.support.workflows import execution, phase, task, text_of

PHASE, EXECUTION = "memory/state/phase.json", "memory/state/execution.json"
OTHER = ".checkpoints/audit.checkpoint.json"
R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))


MORNING = "2026-03-02T10:00:00Z"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", MORNING)
        yield Stage(tmp_path_factory.mktemp("pair"), build_pair)


@pytest.fixture
def pair(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> tuple[GitRepo, GitRepo]:
    """A repository with a healthy checkpoint and a clone of it, both set up; all is of the same
    morning.
    """
    monkeypatch.setenv("GIT_COMMITTER_DATE", MORNING)
    stage.put_back()
    return GitRepo(stage.folder / "repo"), GitRepo(stage.folder / "clone")


def build_pair(folder: Path) -> None:
    repo, clone = GitRepo.create(folder / "repo"), GitRepo(folder / "clone")
    init(str(repo.path), Options(), dict(os.environ))
    write(repo)
    repo.write("docs/plan.md", "the plan\n")
    repo.commit("begin")
    repo.git("clone", "-q", str(repo.path), str(clone.path))
    init(str(clone.path), Options(), dict(os.environ))


def write(repo: GitRepo, *runs: object, path: str = PATH, **changes: object) -> None:
    skill = Path(path).name.partition(".")[0]
    state = {"run_history": [R1, *runs]}
    repo.write(path, checkpoint_text(skill=skill, project_dir="/", skill_state=state, **changes))


def look(repo: GitRepo, *words: str) -> list[Finding]:
    """What the doctor says of the upstream and of merges."""
    checks = ["--check", "upstream", "--check", "merge"]
    return list(
        run_verb(
            doctor, *words, *checks, cwd=repo.path, now=NOON, env=dict(os.environ)
        ).outcome.findings
    )


def codes(repo: GitRepo, *words: str) -> list[str]:
    return [finding.code for finding in look(repo, *words)]


def test_a_clone_that_has_all_is_told_nothing(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    assert codes(origin) == codes(clone) == []
    everything = run_verb(
        doctor, "--fail-on-warnings", cwd=clone.path, now=NOON, env=dict(os.environ)
    ).outcome
    assert [finding.code for finding in everything.findings if finding.level != "note"] == []


def test_the_doctor_tells_before_the_pull_what_the_pull_then_does(
    pair: tuple[GitRepo, GitRepo],
) -> None:
    origin, clone = pair
    write(origin, R3, step="sprint-4")
    write(origin, path=OTHER)
    origin.commit("theirs", hooks=False)
    clone.git("fetch", "-q")
    assert codes(clone) == ["upstream/behind"]
    write(clone, R2)
    assert codes(clone) == ["upstream/uncommitted", "upstream/behind"]
    clone.commit("mine", hooks=False)
    (found,) = look(clone)
    assert found.code == "upstream/diverged"
    assert f"a pull merges {PATH} cleanly and takes {OTHER} from there" in found.message
    write(clone, R2, step="sprint-5")
    clone.commit("mine again", hooks=False)
    (found,) = look(clone)
    assert (found.code, found.path, found.where) == ("upstream/conflict", PATH, "/step")
    assert found.line == clone.read(PATH).split("\n").index('  "step": "sprint-5",') + 1
    assert clone.exit_code("pull", "-q", "--no-rebase", "--no-edit") == 1
    assert codes(clone) == ["merge/unresolved", "merge/unresolved"]


def test_what_a_merge_lost_is_told_until_it_is_back(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    write(origin, R3)
    theirs = origin.commit("theirs", hooks=False)
    write(clone, R2)
    clone.commit("mine", hooks=False)
    clone.git("fetch", "-q")
    clone.git("merge", "-q", "-s", "ours", "-m", "keep \x1b[31mours", "origin/main")
    (found,) = look(clone)
    assert (found.code, found.level, found.path) == ("merge/lost-entry", "warning", PATH)
    assert found.where == "/skill_state/run_history"
    assert clone.read(PATH).split("\n")[found.line - 1] == '    "run_history": ['
    merge = clone.git("rev-parse", "HEAD")
    assert merge[:12] in found.message
    assert theirs[:8] in found.message
    command = str(found.hint).partition("git show ")[2].partition(";")[0]
    assert json.loads(clone.git("show", command))["skill_state"]["run_history"] == [R1, R3]
    assert (
        run_verb(
            doctor, "--fail-on-warnings", cwd=clone.path, now=NOON, env=dict(os.environ)
        ).outcome.exit_code
        == 1
    )
    write(clone, R2, R3)
    assert codes(clone) == [], "mended, though not committed"
    clone.commit("back", hooks=False)
    assert codes(clone) == []


def test_a_merge_that_threw_a_side_away_on_purpose_can_be_left_in_peace(
    pair: tuple[GitRepo, GitRepo],
) -> None:
    origin, clone = pair
    write(origin, R3)
    origin.commit("theirs", hooks=False)
    clone.write("readme", "mine")
    clone.commit("mine", hooks=False)
    clone.git("fetch", "-q")
    clone.git("merge", "-q", "-s", "ours", "-m", "on purpose", "origin/main")
    merge = clone.git("rev-parse", "--short=12", "HEAD")
    clone.write(
        ".checkpoints/doctor.toml",
        f'[[suppress]]\ncode = "merge/lost-entry"\ncontains = "{merge}"\nreason = "a trial, given up"\n',
    )
    assert codes(clone) == []


def test_a_skill_is_told_of_its_own_merges_only(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    write(clone, path=OTHER)
    clone.commit("another", hooks=False)
    write(origin, R3)
    origin.commit("theirs", hooks=False)
    clone.git("fetch", "-q")
    clone.git("merge", "-q", "-s", "ours", "-m", "mine", "origin/main")
    assert codes(clone, "audit") == []
    assert codes(clone, "build") == codes(clone) == ["merge/lost-entry"]


def test_a_workflows_files_are_looked_at_too(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    tasks = [task("a", "running"), task("b")]
    origin.write(PHASE, text_of(phase("IMPLEMENTATION")))
    origin.write(EXECUTION, text_of(execution(*tasks)))
    origin.commit("workflow", hooks=False)
    clone.git("pull", "-q")
    origin.write(
        EXECUTION, text_of(execution(task("a", "failed", attempts=3), task("b"), task("c")))
    )
    origin.commit("theirs", hooks=False)
    clone.write(EXECUTION, text_of(execution(task("a", "complete"), task("b"))))
    clone.commit("mine", hooks=False)
    clone.git("fetch", "-q")
    (found,) = look(clone)
    assert (found.code, found.path, found.where) == (
        "upstream/conflict",
        EXECUTION,
        "/tasks/0/status",
    )
    assert codes(clone, "build") == []
    clone.git("merge", "-q", "-s", "ours", "-m", "mine", "origin/main")
    (found,) = look(clone)
    assert (found.code, found.path) == ("merge/lost-entry", EXECUTION)
    assert "tasks[c]" in found.message
    clone.write(
        EXECUTION, text_of(execution(task("a", "complete", attempts=3), task("b"), task("c")))
    )
    assert codes(clone) == []


def test_text_of_strangers_reaches_the_terminal_escaped(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    write(origin, {"at": "\x1b[31mred\n::error::", "\u202e": 1})
    origin.commit("theirs", hooks=False)
    clone.write("readme", "mine")
    clone.commit("mine", hooks=False)
    clone.git("fetch", "-q")
    clone.git("merge", "-q", "-s", "ours", "-m", "keep \x1b[31mours", "origin/main")
    for form in ("text", "md", "github", "sarif", "json"):
        done = run_here("audit", "--format", form, cwd=clone.path)
        assert "lost" in done.stdout
        assert "\x1b" not in done.stdout
        assert not any(line.startswith("::error::") for line in done.stdout.splitlines())


def test_a_big_hostile_file_upstream_does_no_harm(pair: tuple[GitRepo, GitRepo]) -> None:
    origin, clone = pair
    for at, text in enumerate(("[" * 100_000, '{"a":' * 50_000, "\0" * 100, "9" * 100_000, "")):
        origin.write(f".checkpoints/bad-{at}.checkpoint.json", text)
    origin.write(PATH, "[" * 100_000)
    origin.git("add", "-A")
    origin.git("commit", "-q", "--no-verify", "-m", "hostile")
    write(clone, R2)
    clone.commit("mine", hooks=False)
    clone.git("fetch", "-q")
    assert [(finding.code, finding.path) for finding in look(clone)] == [
        ("upstream/conflict", PATH)
    ]
