"""`checkpoint doctor` on real repositories: silent on healthy ones, exact on planted drift."""

import json
import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.doctor.catalog import choose_checks, list_checks
from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import run_checkpoint, run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.set_up import copy_set_up
from tests.support.snapshot import take_snapshot
from tests.support.verbs import NOON, Ran, lines_of, run_verb

PATH = ".checkpoints/build.checkpoint.json"
CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpus" / "versions"


def examine(repo: GitRepo, *words: str, cwd: Path | None = None, now: str = NOON) -> Ran:
    return run_verb(doctor, *words, cwd=cwd or repo.path, now=now, env=dict(os.environ))


def found(repo: GitRepo, *words: str, now: str = NOON) -> list[tuple[str, str, str]]:
    """(level, code, where) of every finding, in order."""
    return [
        (one.level, one.code, one.where) for one in examine(repo, *words, now=now).outcome.findings
    ]


def write(repo: GitRepo, **changes: object) -> None:
    changes.setdefault("project_dir", str(repo.path))
    repo.write(PATH, checkpoint_text(**changes))


@pytest.fixture
def initialised(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository that is set up, with one fresh checkpoint, everything committed."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-02T10:00:00Z")
    copy_set_up(repo)
    repo.write("docs/plan.md", "the plan\n" * 20)
    write(repo)
    repo.commit("begin", hooks=False)
    return repo


@pytest.fixture
def healthy(initialised: GitRepo, untried_driver: None) -> GitRepo:
    """The same, for tests that are not about the driver."""
    return initialised


def test_a_healthy_repository_gives_no_alarm_and_is_left_as_it_was(initialised: GitRepo) -> None:
    before = take_snapshot(initialised.path)
    ran = examine(initialised, "--fail-on-warnings")
    assert ran.outcome.findings == []
    assert ran.outcome.exit_code == 0
    assert ran.outcome.data["checks"] == [check.code for check in choose_checks([])]
    assert ran.outcome.data["documents"] == 1
    assert take_snapshot(initialised.path) == before


def test_every_planted_drift_is_reported_and_nothing_else(healthy: GitRepo) -> None:
    repo = healthy
    repo.write("old.txt", "a file with enough in it to be known again\n" * 5)
    repo.write("gone.txt", "x")
    write(
        repo,
        project_dir="/nowhere/at/all",
        verified_for_sha="deadbeef",
        context_primer={
            "key_decisions": [],
            "generated_files": ["docs/plan.md", "old.txt", "gone.txt (new)", "no.txt"],
        },
        next_actions=[
            "Write the API",
            "Merge #12",
            "After #12 lands, tell Ada",
            "Merge #99",
            "Follow up on #12",
        ],
        blockers=[
            {
                "id": "b",
                "description": "waits",
                "needs": "code_fix",
                "proposed_resolution": "Lands with #13",
            }
        ],
        superseded=[{"step": "x"}],
    )
    repo.commit("checkpoint", hooks=False)
    repo.git("mv", "old.txt", "new.txt")
    repo.git("rm", "-q", "gone.txt")
    repo.write("docs/plan.md", "another plan\n")
    repo.commit("move things", hooks=False)
    repo.commit("Merge pull request #12 from ada/abc-7", hooks=False)
    repo.commit("ABC-7: search (#13)", hooks=False)
    assert sorted(found(repo, now="2026-03-12T12:00:00Z")) == [
        ("note", "drift/action-shipped", "/next_actions"),
        ("note", "drift/blocker-shipped", "/blockers/0/proposed_resolution"),
        ("note", "drift/file-changed", "/context_primer/generated_files/0"),
        ("warning", "content/unreviewed", "/superseded"),
        ("warning", "drift/action-shipped", "/next_actions/1"),
        ("warning", "drift/commit-unknown", "/verified_for_sha"),
        ("warning", "drift/file-missing", "/context_primer/generated_files/1"),
        ("warning", "drift/file-missing", "/context_primer/generated_files/2"),
        ("warning", "drift/file-missing", "/context_primer/generated_files/3"),
        ("warning", "drift/project-dir", "/project_dir"),
        ("warning", "drift/stale-in-progress", "/updated_at"),
    ]
    messages = " ".join(finding.message for finding in examine(repo).outcome.findings)
    assert "now called new.txt" in messages
    assert all(finding.line > 1 for finding in examine(repo).outcome.findings)


def test_warnings_fail_only_when_asked_to(healthy: GitRepo) -> None:
    write(healthy, verified_for_sha="deadbeef")
    assert examine(healthy).outcome.exit_code == 0
    assert examine(healthy, "--fail-on-warnings").outcome.exit_code == 1
    write(healthy, status="nonsense")
    assert examine(healthy).outcome.exit_code == 1


def test_one_skill_or_one_check_can_be_asked_for(healthy: GitRepo) -> None:
    write(healthy, verified_for_sha="deadbeef", superseded=[{}])
    healthy.write(".checkpoints/ship.checkpoint.json", "{")
    assert {finding.path for finding in examine(healthy, "build").outcome.findings} == {PATH}
    assert found(healthy, "--check", "content") == [
        ("warning", "content/unreviewed", "/superseded")
    ]
    assert found(healthy, "--check", "drift/commit-unknown") == [
        ("warning", "drift/commit-unknown", "/verified_for_sha")
    ]
    with pytest.raises(CheckpointError) as raised:
        examine(healthy, "nobody")
    assert str(raised.value.hint)
    with pytest.raises(CheckpointError) as raised:
        examine(healthy, "--check", "drift/nothing")
    assert "--list" in str(raised.value.hint)


def test_the_list_shows_every_check_and_runs_none(repo: GitRepo) -> None:
    ran = examine(repo, "--list")
    assert [row["code"] for row in ran.outcome.data["checks"]] == [
        check.code for check in list_checks()
    ]
    assert all(check.code in ran.text for check in list_checks())


def test_the_list_explains_the_code_of_any_command_and_names_those_about_the_same(
    repo: GitRepo,
) -> None:
    ran = examine(repo, "--list", "--check", "resume/open-rows", "--check", "sync/")
    rows = {row["code"]: row for row in ran.outcome.data["checks"]}
    assert rows["resume/open-rows"]["level"] == "warning"
    assert {code.partition("/")[0] for code in rows} == {"resume", "sync"}
    assert "Both sides changed the same value. Fix: pick a side" in ran.text
    assert "also about a status that the rest contradicts: skill/next-actions-empty, " in ran.text
    with pytest.raises(CheckpointError) as raised:
        examine(repo, "--list", "--check", "resume/open-row")
    assert raised.value.message == 'unknown check "resume/open-row"'


def test_a_project_without_checkpoints_folder_is_told_what_to_do(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError) as raised:
        examine(repo)
    assert "checkpoint init" in str(raised.value.hint)


def test_a_clone_without_installation_gets_one_clear_finding(
    healthy: GitRepo, tmp_path: Path
) -> None:
    healthy.git("clone", "-q", str(healthy.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    assert found(clone) == [("warning", "install/missing", "")]
    init(str(clone.path), Options(), dict(os.environ))
    assert found(clone) == []


def test_a_shallow_clone_says_that_evidence_is_partial(healthy: GitRepo, tmp_path: Path) -> None:
    write(healthy, next_actions=["Merge #12"], verified_for_sha=healthy.git("rev-parse", "HEAD"))
    healthy.commit("search (#12)", hooks=False)
    healthy.commit("more", hooks=False)
    healthy.git("clone", "-q", "--depth", "1", f"file://{healthy.path}", str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    init(str(clone.path), Options(), dict(os.environ))
    assert sorted(found(clone)) == [
        ("note", "drift/commit-unknown", "/verified_for_sha"),
        ("note", "drift/history-partial", ""),
    ]


def test_outside_git_the_files_are_still_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / ".checkpoints").mkdir(parents=True)
    (folder / PATH).write_text(checkpoint_text(project_dir=str(folder)))
    assert sorted(found(GitRepo(folder))) == [
        ("note", "doctor/not-looked-at", ""),
        ("warning", "drift/file-missing", "/context_primer/generated_files/0"),
    ]


def test_a_repository_without_commits_is_fine(repo: GitRepo) -> None:
    init(str(repo.path), Options(), dict(os.environ))
    repo.write("docs/plan.md", "x")
    write(repo, next_actions=["Merge #12"])
    assert found(repo) == []


def test_a_linked_worktree_and_a_detached_head_are_fine(healthy: GitRepo, tmp_path: Path) -> None:
    healthy.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert found(GitRepo(tmp_path / "linked")) == []


def test_a_project_in_a_monorepo_is_looked_at_from_its_own_root(healthy: GitRepo) -> None:
    healthy.write("one/docs/plan.md", "x")
    healthy.write(f"one/{PATH}", checkpoint_text(project_dir=str(healthy.path / "one")))
    healthy.commit("one", hooks=False)
    ran = examine(healthy, cwd=healthy.path / "one" / "docs")
    assert ran.outcome.findings == []
    assert ran.outcome.data["documents"] == 1


def test_what_git_ignores_or_has_elsewhere_is_only_a_note(healthy: GitRepo, tmp_path: Path) -> None:
    healthy.write(".gitignore", "dist/\n")
    primer = {
        "generated_files": [
            "dist/index.html",
            str(tmp_path / "plan.md"),
            "Everything that was deployed",
        ]
    }
    write(healthy, context_primer=primer)
    assert found(healthy) == [
        ("note", "drift/file-missing", "/context_primer/generated_files/0"),
        ("note", "drift/file-missing", "/context_primer/generated_files/1"),
    ]


def test_hostile_text_in_a_checkpoint_is_data(healthy: GitRepo) -> None:
    healthy.commit("search (#12)\n\nCloses #13", hooks=False)
    names = [
        "\ud800/x.py",
        "a\x00b/c",
        "../" * 50 + "etc/passwd",
        "x/" * 450,
        "**/" * 40 + "x.py",
        "-rf/x",
        ":(glob)**/x",
    ]
    text = checkpoint_text(
        project_dir="/\ud800",
        context_primer={"generated_files": [*names, "{a,b}" * 60, 3, {"path": "b.txt"}, None]},
        next_actions=["\x1b[2J. Merge #12", "\ud800: merge #13", "#" * 10_000],
        verified_for_sha="--all",
        release_sha="$(touch pwned)",
    )
    healthy.write(PATH, text.replace("\ud800", "\\ud800").encode("utf-8", "surrogatepass"))
    ran = run_here("doctor", "--json", cwd=healthy.path)
    assert ran.returncode in (0, 1), ran.stderr
    answer = json.loads(ran.stdout)
    codes = {finding["code"] for finding in answer["findings"]}
    assert {"drift/project-dir", "drift/action-shipped", "drift/file-missing"} <= codes
    assert not (healthy.path / "pwned").exists()


# merges


def test_an_unresolved_merge_is_an_error_until_it_is_resolved(healthy: GitRepo) -> None:
    healthy.git("checkout", "-qb", "side")
    write(healthy, project="left")
    healthy.commit("left", hooks=False)
    healthy.git("checkout", "-q", "main")
    write(healthy, project="right")
    healthy.commit("right", hooks=False)
    assert healthy.exit_code("merge", "side") == 1
    codes = [(level, code) for level, code, _ in found(healthy, "--check", "merge")]
    assert codes == [("error", "merge/unresolved"), ("note", "merge/unresolved")]
    healthy.git("add", "-A")
    codes = [(level, code) for level, code, _ in found(healthy, "--check", "merge")]
    assert codes == [("error", "merge/unresolved"), ("note", "merge/unresolved")]
    assert examine(healthy).outcome.exit_code == 1
    write(healthy, project="left")
    healthy.git("add", "-A")
    healthy.git("commit", "-qm", "joined")
    assert found(healthy) == []


# the driver


def only(repo: GitRepo, *checks: str) -> list[Finding]:
    words = [
        word for check in checks or ("driver", "hooks", "install") for word in ("--check", check)
    ]
    return list(examine(repo, *words).outcome.findings)


def test_a_driver_whose_interpreter_is_gone_is_an_error(initialised: GitRepo) -> None:
    command = initialised.git("config", "merge.checkpoint.driver")
    python = initialised.git("config", "checkpoint.install.python")
    initialised.git("config", "merge.checkpoint.driver", command.replace(python, "/gone/python"))
    assert [(one.level, one.code) for one in only(initialised, "driver")] == [
        ("error", "driver/broken")
    ]
    assert "/gone/python" in only(initialised, "driver/broken")[0].message


def test_a_driver_that_starts_but_does_wrong_fails_the_proof(initialised: GitRepo) -> None:
    command = initialised.git("config", "merge.checkpoint.driver")
    initialised.git(
        "config", "merge.checkpoint.driver", command.replace(" %O %A %B ", " %A %O %B ")
    )
    assert {one.code for one in only(initialised, "driver")} == {"driver/proof"}


def test_anothers_command_under_our_name_is_told_and_tried(initialised: GitRepo) -> None:
    initialised.git("config", "merge.checkpoint.driver", "true")
    assert [(one.level, one.code) for one in only(initialised, "driver")] == [
        ("warning", "driver/broken"),
        ("error", "driver/proof"),
        ("error", "driver/proof"),
    ]


@pytest.mark.parametrize(
    "line", ["*.json merge=union", "*.json -merge", "*.json merge=unheard-of", "*.json binary"]
)
@pytest.mark.parametrize("file", [".gitattributes", ".checkpoints/.gitattributes"])
def test_a_committed_attribute_that_gives_checkpoints_to_something_else_in_other_clones(
    initialised: GitRepo, file: str, line: str
) -> None:
    before = initialised.read(file) if file == ".gitattributes" else ""
    initialised.write(file, f"{before}{line}\n")
    initialised.commit("attributes", hooks=False)
    findings = only(initialised, "driver/inert")
    assert [(one.level, one.path) for one in findings] == [("warning", ".gitattributes")]
    assert f"other clones merge {PATH} otherwise" in findings[0].message


def test_a_union_merge_in_place_of_our_lines_is_told_once_and_mended(initialised: GitRepo) -> None:
    initialised.write(".gitattributes", "**/.checkpoints/*.checkpoint.json merge=union\n")
    initialised.commit("attributes", hooks=False)
    assert ["merge=union" in one.message for one in only(initialised, "driver/inert")] == [True]
    examine(initialised, "--fix")
    assert {one.level for one in only(initialised, "driver/inert")} == {"note"}  # it wants a commit


@pytest.mark.parametrize("line", ["*.json merge=union", "*.json -merge", "*.json merge=unheard-of"])
def test_an_attribute_that_overrules_ours_is_an_error(initialised: GitRepo, line: str) -> None:
    initialised.write(".checkpoints/.gitattributes", line + "\n")
    (initialised.path / ".git/info/attributes").write_text("")
    assert ("error", PATH) in [(one.level, one.path) for one in only(initialised, "driver/inert")]


def test_a_driver_that_is_no_longer_configured_is_told(initialised: GitRepo) -> None:
    initialised.git("config", "--remove-section", "merge.checkpoint")
    assert "error" in [one.level for one in only(initialised, "driver")]


# the hooks


def test_an_overwritten_hook_a_dead_one_and_a_missing_one_are_told(healthy: GitRepo) -> None:
    hooks = healthy.path / ".git/hooks"
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (hooks / "pre-push").chmod(0o644)
    (hooks / "post-merge").unlink()
    (finding,) = only(healthy)
    assert finding.code == "hooks/unreachable"
    for name in ("pre-commit", "pre-push", "post-merge"):
        assert name in finding.message
    assert "post-rewrite" not in finding.message


def test_hooks_elsewhere_are_told(healthy: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    healthy.git("config", "core.hooksPath", str(tmp_path / "hooks"))
    assert [one.code for one in only(healthy)] == ["hooks/unreachable"]


def test_another_repository_in_the_environment_is_not_the_one_examined(
    healthy: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(GitRepo.create(tmp_path / "other").path / ".git"))
    assert found(healthy) == []


# the command


def test_the_commands_answer_in_text_and_json(healthy: GitRepo) -> None:
    write(healthy, updated_at="2027-03-02T09:30:00Z", next_actions=["Merge #12"])
    healthy.commit("\x1b[2Jsearch\x1b]0;x\x07 (#12)", hooks=False)
    for words, command in ((["doctor"], "checkpoint"), ([], "checkpoint-doctor")):
        ran = run_checkpoint(
            *words, "--check", "drift/action-shipped", cwd=healthy.path, command=command
        )
        assert ran.returncode == 0, ran.stderr
        assert "drift/action-shipped" in ran.stdout
        assert "\x1b" not in ran.stdout
        assert "\x07" not in ran.stdout
        assert ran.stderr == ""
    ran = run_here("doctor", "--json", "--fail-on-warnings", "--check", "drift", cwd=healthy.path)
    assert ran.returncode == 1
    answer = json.loads(ran.stdout)
    assert [finding["code"] for finding in answer["findings"]] == ["drift/action-shipped"]
    assert answer["warnings"] == 1


def test_somebody_at_a_terminal_sees_what_is_looked_at(healthy: GitRepo) -> None:
    ran = run_verb(doctor, cwd=healthy.path, env=dict(os.environ), answer="")
    assert "the history since the checkpoints began" in ran.stderr
    assert ran.stderr.endswith("\r\x1b[K")


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not here")
def test_real_files_are_examined_without_trouble(healthy: GitRepo) -> None:
    paths = sorted(CORPUS.iterdir())
    for path in paths:
        healthy.write(f".checkpoints/{path.name.replace('__', '-')}", path.read_bytes())
    ran = examine(healthy, "--check", "drift", "--check", "content")
    assert {finding.code for finding in ran.outcome.findings} <= {
        check.code for check in choose_checks([])
    }
    assert len({finding.path for finding in ran.outcome.findings}) > len(paths) // 2


def test_files_that_are_not_read_for_their_names_are_noted(healthy: GitRepo) -> None:
    text = checkpoint_text()
    meant: tuple[str, ...] = ("a.checkpoint.jsonc", "b.json", "c.checkpoint.yaml")
    fine = ("d.checkpoint.json.bak", ".e.checkpoint.json.tmp", "notes.json", "README.txt")
    for name in (*meant, *fine):
        healthy.write(f".checkpoints/{name}", text if name != "notes.json" else "{}")
    healthy.write(".checkpoints/f.json/inner.txt", text)
    if not (healthy.path / ".checkpoints/A.CHECKPOINT.JSONC").exists():
        meant = ("D.Checkpoint.JSON", *meant)
        healthy.write(".checkpoints/D.Checkpoint.JSON", text)
    ran = examine(healthy, "--check", "content/not-read")
    assert [one.path for one in ran.outcome.findings] == [f".checkpoints/{name}" for name in meant]
    assert {one.level for one in ran.outcome.findings} == {"note"}
    assert found(healthy, "build", "--check", "content/not-read") == []


def test_folders_that_were_not_looked_at_are_named_and_all_looks_at_them(healthy: GitRepo) -> None:
    healthy.write(
        "pkg/a/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api", status="almost")
    )
    ran = examine(healthy)
    assert ran.outcome.data["not_looked_at"] == ["pkg/a"]
    assert "checkpoint doctor --all" in lines_of(ran.outcome.summary[-1])[0]
    whole = examine(healthy, "--all")
    assert (whole.outcome.exit_code, whole.outcome.data["documents"]) == (1, 2)
    assert {one.path for one in whole.outcome.findings if one.level == "error"} == {
        "pkg/a/.checkpoints/api.checkpoint.json"
    }
    assert "not_looked_at" not in examine(healthy, cwd=healthy.path / "pkg/a").outcome.data


def test_without_a_folder_at_the_top_all_looks_at_the_others(repo: GitRepo) -> None:
    repo.write("pkg/a/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api"))
    assert examine(repo, "--all").outcome.data["documents"] == 1


def test_all_of_no_folder_is_well(repo: GitRepo) -> None:
    ran = examine(repo, "--all")
    assert (ran.outcome.exit_code, ran.outcome.findings) == (0, [])


def test_all_fixes_in_every_folder(healthy: GitRepo) -> None:
    healthy.write("pkg/a/.checkpoints/api.checkpoint.json", "\ufeff" + checkpoint_text(skill="api"))
    healthy.write("it's/.checkpoints/api.checkpoint.json", "\ufeff" + checkpoint_text(skill="api"))
    code = "json/byte-order-mark"
    assert (
        len(
            examine(healthy, "--all", "--check", code, "--fix", "--dry-run").outcome.data["fix"][
                "changes"
            ]
        )
        == 2
    )
    ran = examine(healthy, "--all", "--check", code, "--fix")
    assert ran.outcome.findings == []
    assert len(ran.outcome.data["fix"]["fixed"]) == 2


def test_one_skill_is_not_looked_at_in_all_folders(healthy: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="--all"):
        examine(healthy, "build", "--all")
