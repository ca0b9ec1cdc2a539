"""Drift of every kind, planted in a real repository: all of it is found, nothing else is, and it is
mended once.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.clock import write_instant
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.setup.init import Options, init
from tests.scenarios import planted
from tests.scenarios.planted import HOUR, NOW, WRITTEN, ago, path_of, primer, text_of
from tests.support.repos import GitRepo, Stage
from tests.support.snapshot import take_snapshot
from tests.support.verbs import Ran, run_verb

Place = tuple[str, str, str, str]  # level, code, the skill (or path), where
ACTION, BLOCKER = "/next_actions", "/blockers/0/proposed_resolution"
FILES = "/context_primer/generated_files"

PLANTED: list[Place] = [
    ("error", "skill/unknown-status", "broken", "/status"),
    ("warning", "json/byte-order-mark", "bom", ""),
    ("warning", "drift/project-dir", "moved-away", "/project_dir"),
    ("warning", "drift/stale-in-progress", "stale", "/updated_at"),
    ("warning", "drift/stale-blocked", "stuck", "/updated_at"),
    ("note", "drift/complete-but-moving", "finished", "/status"),
    ("warning", "drift/file-missing", "files", f"{FILES}/1"),
    ("warning", "drift/file-missing", "files", f"{FILES}/2"),
    ("warning", "drift/file-missing", "files", f"{FILES}/3"),
    ("warning", "drift/file-missing", "files", f"{FILES}/4"),
    ("note", "drift/file-missing", "files", f"{FILES}/5"),
    ("note", "drift/file-missing", "files", f"{FILES}/6"),
    ("note", "drift/file-uncommitted", "only-here", f"{FILES}/0"),
    ("note", "drift/file-changed", "outdated", f"{FILES}/0"),
    ("warning", "drift/action-shipped", "shipped", f"{ACTION}/1"),
    ("note", "drift/action-shipped", "shipped", ACTION),
    ("note", "drift/blocker-shipped", "unblocked", BLOCKER),
    ("warning", "drift/commit-unknown", "commits", "/verified_for_sha"),
    ("warning", "drift/commit-unknown", "commits", "/release_sha"),
    ("warning", "content/unreviewed", "unreviewed", "/superseded"),
    ("warning", "content/rotation-due", "long", "/skill_state/merged_prs"),
    ("warning", "skill/file-too-big", "big", ""),
    ("error", "json/conflict-markers", "markers", ""),
    ("error", "driver/inert", "glued", ""),
    ("warning", "driver/inert", ".checkpoints", ""),
    ("warning", "hooks/unreachable", ".checkpoints", ""),
]

# what `doctor --fix` leaves nothing of
SAFE = {
    ("json/byte-order-mark", "bom", ""),
    ("drift/file-missing", "files", f"{FILES}/1"),
    ("content/rotation-due", "long", "/skill_state/merged_prs"),
    ("driver/inert", ".checkpoints", ""),
    ("hooks/unreachable", ".checkpoints", ""),
}
BY_NAME = {"drift/project-dir": "moved-away", "content/unreviewed": "unreviewed"}


@pytest.fixture(scope="module")
def healthy_stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("healthy"), build_healthy)


@pytest.fixture(scope="module")
def drifted_stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("drifted"), lambda folder: drift(build_healthy(folder)))


@pytest.fixture
def healthy(healthy_stage: Stage) -> GitRepo:
    healthy_stage.put_back()
    return GitRepo(healthy_stage.folder / "repo")


@pytest.fixture
def drifted(drifted_stage: Stage, untried_driver: None) -> GitRepo:
    """The healthy one with a checkpoint more for every kind of drift."""
    drifted_stage.put_back()
    return GitRepo(drifted_stage.folder / "repo")


def build_healthy(folder: Path) -> GitRepo:
    repo = GitRepo.create(folder / "repo")
    planted.build_healthy(repo)
    repo.pack()
    return repo


def drift(repo: GitRepo) -> None:
    for skill, text in _plant(repo).items():
        repo.write(path_of(skill), text)
    repo.write(
        ".git/info/attributes",
        repo.read(".git/info/attributes") + f"/{path_of('glued')} merge=union\n",
    )
    planted.commit(repo, "Write more checkpoints", WRITTEN + HOUR)
    repo.git("mv", "lib/old.py", "lib/new.py")
    repo.git("rm", "-q", "lib/gone.py")
    repo.write("lib/moving.py", "# it moves on\n")
    planted.commit(repo, "Move things", WRITTEN + 2 * HOUR)
    (repo.path / "lib/held.py").unlink()
    repo.write("lib/mine.py", "# nobody else has it\n")
    repo.git("config", "--unset", "merge.checkpoint.recursive")
    (repo.path / ".git/hooks/pre-push").unlink()
    # the healthy one that lists lib/held.py and is complete since long would be right to complain
    # too
    for at in (5, 7):
        (repo.path / path_of(f"healthy-{at:02}")).unlink()
    planted.commit_paths(repo, [path_of("healthy-05"), path_of("healthy-07")], WRITTEN + 3 * HOUR)


def _plant(repo: GitRepo) -> dict[str, str]:
    side = _commit_elsewhere(repo)
    blocker = {
        "id": "b1",
        "description": "x",
        "needs": "code_fix",
        "proposed_resolution": "Fixed by #340",
    }
    files = [
        "docs/plan.md",
        "lib/old.py (the parser)",
        "lib/gone.py",
        "lib/never.py",
        "lib/held.py",
        "dist/app.js",
        "/etc/x",
    ]
    actions = [
        "Write the API",
        "Merge #340",
        "After #340 lands, tell Ada",
        {"text": "Merge PR #340", "done_when": "true"},
    ]
    merged = [{"number": 1_000 + at} for at in range(60)]
    plain: dict[str, dict[str, Any]] = {
        "broken": {"status": "nonsense"},
        "bom": {},
        "moved-away": {"project_dir": "/nowhere/at/all"},
        "stale": {"updated_at": ago(10)},
        "stuck": {
            "status": "blocked",
            "updated_at": ago(5),
            "blockers": [{**blocker, "proposed_resolution": "Ask Bo"}],
        },
        "finished": {
            "status": "complete",
            "updated_at": ago(20),
            "context_primer": primer("lib/moving.py"),
        },
        "files": {"context_primer": primer(*files)},
        "only-here": {"context_primer": primer("lib/mine.py")},
        "outdated": {"context_primer": primer("lib/moving.py")},
        "shipped": {"next_actions": actions},
        "unblocked": {"blockers": [blocker]},
        "commits": {"verified_for_sha": "deadbeef" * 5, "release_sha": side},
        "unreviewed": {"superseded": [{"step": "x"}]},
        "long": {"skill_state": {"merged_prs": merged, "kept": 1.50}},
        "big": {"skill_state": {"notes": ["y" * 80] * 500}},
        "glued": {},
    }
    texts = {skill: text_of(repo, skill, **changes) for skill, changes in plain.items()}
    texts["bom"] = "\ufeff" + texts["bom"]
    texts["markers"] = "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n"
    return texts


def _commit_elsewhere(repo: GitRepo) -> str:
    """A commit that HEAD's history does not hold."""
    tree = repo.git("rev-parse", "HEAD^{tree}")
    return repo.git("commit-tree", "-m", "elsewhere", tree)


def examine(repo: GitRepo, *words: str, cwd: Path | None = None) -> Ran:
    return run_verb(doctor, *words, cwd=cwd or repo.path, now=NOW, env=dict(os.environ))


def places(ran: Ran) -> list[Place]:
    return sorted(
        (
            one.level,
            one.code,
            one.path.removeprefix(".checkpoints/").removesuffix(".checkpoint.json"),
            one.where,
        )
        for one in ran.outcome.findings
    )


def without(places: list[Place], gone: set[tuple[str, str, str]]) -> list[Place]:
    return sorted(place for place in places if place[1:] not in gone)


# finding


def test_a_healthy_repository_gives_no_finding_at_all(healthy: GitRepo) -> None:
    ran = examine(healthy, "--fail-on-warnings")
    assert (places(ran), ran.outcome.exit_code, ran.outcome.data["documents"]) == ([], 0, 12)


def test_nor_does_it_from_a_folder_below_a_linked_work_tree_and_a_detached_head(
    healthy: GitRepo, tmp_path: Path
) -> None:
    assert places(examine(healthy, cwd=healthy.path / "src")) == []
    healthy.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    assert places(examine(healthy, cwd=tmp_path / "linked")) == []
    healthy.git("checkout", "-q", "--detach")
    assert places(examine(healthy, cwd=healthy.path / "src")) == []


def test_every_planted_drift_is_found_and_nothing_else(drifted: GitRepo) -> None:
    ran = examine(drifted)
    assert places(ran) == sorted(PLANTED)
    assert all(one.line for one in ran.outcome.findings if one.where)


def test_each_kind_is_found_alone_too(drifted: GitRepo) -> None:
    for group in ("drift", "content", "merge", "driver", "hooks", "schema"):
        expected = [place for place in PLANTED if place[1].partition("/")[0] == group]
        if group == "schema":
            expected = [place for place in PLANTED if place[1].startswith(("skill/", "json/"))]
        if group == "content":  # without validate's word that the file is too big
            expected.append(("warning", "content/rotation-due", "big", ""))
        if group == "merge":  # without validate's word that the file has conflict markers
            expected.append(("error", "merge/unresolved", "markers", ""))
        assert places(examine(drifted, "--check", group)) == sorted(expected), group


# mending


def test_fix_mends_what_is_safe_once_and_for_all(drifted: GitRepo) -> None:
    before = {
        path.name: path.read_bytes() for path in (drifted.path / ".checkpoints").glob("*.json")
    }
    first = examine(drifted, "--fix")
    assert places(first) == without(
        PLANTED, SAFE | {("drift/action-shipped", "shipped", f"{ACTION}/1")}
    )
    after = take_snapshot(drifted.path / ".checkpoints")
    second = examine(drifted, "--fix")
    assert second.outcome.data["fix"]["fixed"] == []
    assert second.outcome.data["fix"]["steps"] == []
    assert second.outcome.data["fix"]["backups"] == []
    assert take_snapshot(drifted.path / ".checkpoints") == after
    assert places(second) == places(first)
    changed = {
        name
        for name, data in before.items()
        if (drifted.path / ".checkpoints" / name).read_bytes() != data
    }
    assert changed == {f"{skill}.checkpoint.json" for skill in ("bom", "files", "shipped", "long")}
    (backup,) = first.outcome.data["fix"]["backups"]
    for name in changed:
        assert (drifted.path / backup / ".checkpoints" / name).read_bytes() == before[name]
    assert (drifted.path / backup / "git/config").read_text()


def test_what_is_mended_keeps_every_other_byte_and_its_age(drifted: GitRepo) -> None:
    before = {skill: drifted.read(path_of(skill)) for skill in ("files", "shipped", "long", "bom")}
    examine(drifted, "--fix")
    after = {skill: drifted.read(path_of(skill)) for skill in before}
    assert after["files"] == before["files"].replace(
        "lib/old.py (the parser)", "lib/new.py (the parser)"
    )
    assert after["bom"] == before["bom"].removeprefix("\ufeff")
    assert '"kept": 1.5' in after["long"]
    record = json.loads(after["shipped"])["recently_done"]
    assert [(one["text"], one["at"]) for one in record] == [
        ("Merge #340", write_instant(planted.BEGAN + 240 * HOUR))
    ]
    assert record[0]["evidence"].startswith("#340 was merged on ")
    for skill, text in after.items():
        assert (
            json.loads(text)["updated_at"]
            == json.loads(before[skill].removeprefix("\ufeff"))["updated_at"]
        )
    (history,) = (drifted.path / ".checkpoints/history").glob("long.*.json")
    assert len(json.loads(history.read_bytes())["entries"][0]["items"]) == 60


def test_what_could_be_wrong_is_mended_only_by_its_name(drifted: GitRepo) -> None:
    left = {place[1:3] for place in places(examine(drifted, "--fix"))}
    assert BY_NAME.items() <= left
    ran = examine(drifted, *(f"--fix={code}" for code in BY_NAME))
    assert not {place[1] for place in places(ran)} & BY_NAME.keys()
    assert json.loads(drifted.read(path_of("moved-away")))["project_dir"] == "."
    again = examine(drifted, *(f"--fix={code}" for code in BY_NAME))
    assert again.outcome.data["fix"]["fixed"] == []


def test_a_dry_run_shows_what_fix_will_write_to_the_byte_and_changes_nothing(
    drifted: GitRepo,
) -> None:
    examine(drifted)  # which leaves a cache behind
    before = take_snapshot(drifted.path)
    ran = examine(drifted, "--fix", "--dry-run")
    assert take_snapshot(drifted.path) == before
    assert places(ran) == sorted(PLANTED)
    changes = ran.outcome.data["fix"]["changes"]
    assert any("checkpoint-base" in change.get("command", "") for change in changes)
    examine(drifted, "--fix")
    after = {
        change["path"]: (drifted.path / change["path"]).read_bytes()
        for change in changes
        if "diff" in change
    }
    for change in (
        one for one in changes if "diff" in one and one["path"].startswith(".checkpoints")
    ):
        path = drifted.path / change["path"]
        path.write_bytes(before[change["path"]][1])
        patch = "".join(f"{line}\n" for line in change["diff"]).encode()
        done = drifted.run("git", "apply", "-", stdin=patch)
        assert done.returncode == 0, done.stderr.decode()
        assert path.read_bytes() == after[change["path"]]


# other states of a repository


def test_a_clone_that_never_saw_init_is_set_up_by_name_only(
    healthy: GitRepo, tmp_path: Path
) -> None:
    healthy.git("clone", "-q", str(healthy.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    missing = [("warning", "install/missing", ".checkpoints", "")]
    assert places(examine(clone)) == missing
    assert places(examine(clone, "--fix")) == missing
    assert places(examine(clone, "--fix=install/missing")) == []


def test_a_driver_whose_interpreter_is_gone_is_mended(healthy: GitRepo) -> None:
    command = healthy.git("config", "merge.checkpoint.driver")
    healthy.git(
        "config", "merge.checkpoint.driver", command.replace(command.split("'")[1], "/gone/python3")
    )
    assert [place[1] for place in places(examine(healthy))] == ["driver/broken"]
    assert places(examine(healthy, "--fix")) == []
    assert healthy.git("config", "merge.checkpoint.driver") == command


def test_a_default_branch_without_the_driver_is_a_note(healthy: GitRepo) -> None:
    healthy.git("branch", "-q", "feature")
    healthy.git("checkout", "-q", "feature")
    healthy.git("update-ref", "refs/heads/main", "HEAD~1")
    assert places(examine(healthy)) == [("note", "driver/inert", ".gitattributes", "")]


def test_unusual_states_are_told_in_words_and_never_a_traceback(healthy: GitRepo) -> None:
    env = {**os.environ, "GIT_SEQUENCE_EDITOR": "perl -pi -e s/^pick/edit/"}
    assert healthy.run("git", "rebase", "-q", "-i", "HEAD~1", env=env).returncode == 0
    assert places(examine(healthy)) == [("note", "merge/unresolved", ".checkpoints", "")]
    healthy.git("rebase", "--abort")
    healthy.git("branch", "-q", "-m", "trunk")  # no default branch
    assert places(examine(healthy)) == []
    healthy.git("checkout", "-q", "--orphan", "fresh")
    assert {place[0] for place in places(examine(healthy))} <= {"note", "warning"}


def test_no_hooks_are_missed_where_init_was_told_that_none_are_wanted(repo: GitRepo) -> None:
    repo.commit("begin")
    init(str(repo.path), Options(hooks="none"), dict(os.environ))
    repo.commit("set up")
    assert places(examine(repo)) == []
    init(str(repo.path), Options(), dict(os.environ))
    assert places(examine(repo)) == []
    init(str(repo.path), Options(hooks="native"), dict(os.environ))
    (repo.path / ".git/hooks/pre-push").unlink()
    assert [place[1] for place in places(examine(repo))] == ["hooks/unreachable"]


@pytest.mark.usefixtures("untried_driver")
def test_days_are_counted_by_the_projects_own_thresholds(healthy: GitRepo) -> None:
    healthy.write(path_of("stale"), text_of(healthy, "stale", updated_at=ago(10)))
    healthy.commit()
    assert [place[1] for place in places(examine(healthy))] == ["drift/stale-in-progress"]
    healthy.write(".checkpoints/doctor.toml", "[thresholds]\nin_progress_days = 12\n")
    assert places(examine(healthy)) == []
