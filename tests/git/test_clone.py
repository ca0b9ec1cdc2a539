import io
import os
import shutil
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.clone import (
    add_gaps,
    find_claims,
    find_conflicts,
    find_gaps,
    find_nested,
    read_operation,
)
from checkpoint_git.git.driver_settings import Choices, plan_settings
from checkpoint_git.git.leases import OURS, SEEN
from checkpoint_git.git.run import GitResult, run_git
from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
NOW = 1_772_452_800  # 2026-03-02T12:00:00Z


@pytest.fixture
def shared(repo: GitRepo) -> GitRepo:
    repo.write(PATH, checkpoint_text())
    repo.write("docs/page.md", "a page\n")
    repo.commit("one")
    repo.commit("two")
    return repo


def gaps(folder: Path) -> list[tuple[str, str]]:
    place = find_place(str(folder))
    return [
        (gap.code, str(gap.fix)) for gap in find_gaps(place.work_tree, place.git_dir, os.environ)
    ]


def test_a_clone_without_driver_is_told_to_run_init_and_one_with_it_nothing(
    shared: GitRepo,
) -> None:
    assert gaps(shared.path) == [("install/missing", "checkpoint init")]
    init(str(shared.path), Options(hooks="none"), os.environ)
    assert gaps(shared.path) == []
    shared.git("worktree", "add", "-q", "../other")
    assert gaps(shared.path.parent / "other") == []


def test_another_driver_under_our_name_is_not_missing(shared: GitRepo) -> None:
    shared.git("config", "merge.checkpoint.driver", "mine %A")
    assert gaps(shared.path) == []


def test_a_driver_whose_python_is_gone_is_named(shared: GitRepo) -> None:
    for key, value in plan_settings("/gone/python", "/gone/package", Choices()).items():
        shared.git("config", key, value)
    assert gaps(shared.path) == [("driver/broken", "checkpoint init")]
    place = find_place(str(shared.path))
    (gap,) = find_gaps(place.work_tree, place.git_dir, os.environ)
    assert str(gap.line.hint) == "to fix it: checkpoint init"
    assert gap.message == "the merge driver's Python is gone: /gone/python"

    # Python is there, and the package is not; a path may need quotes
    python = shared.write("it's/python", "")
    package = shared.path / "it's/package"
    for mode, is_there, found in ((0o755, False, True), (0o644, True, True), (0o755, True, False)):
        python.chmod(mode)
        settings = plan_settings(str(python), str(package), Choices())
        for key, value in settings.items():
            shared.git("config", key, value)
        if is_there:
            shared.write("it's/package/driver.py", "")
        assert bool(gaps(shared.path)) is found

    # a damaged configuration is git's to refuse
    config = shared.path / ".git/config"
    config.write_bytes(config.read_bytes().replace(b"test -x '", b"test -x '\0"))
    assert find_gaps(place.work_tree, place.git_dir, os.environ) == []


def test_without_git_nothing_is_said_of_the_driver(
    shared: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gaps(shared.path) == []


def test_a_shallow_clone_says_how_to_get_the_rest(shared: GitRepo, tmp_path: Path) -> None:
    shared.git("clone", "-q", "--depth=1", f"file://{shared.path}", str(tmp_path / "shallow"))
    assert ("drift/history-partial", "git fetch --unshallow") in gaps(tmp_path / "shallow")


def test_what_a_sparse_checkout_leaves_out_is_named(shared: GitRepo) -> None:
    shared.write("pkg/.checkpoints/api.checkpoint.json", checkpoint_text(skill="api"))
    shared.commit("three")
    shared.git("sparse-checkout", "init", "--cone")  # the default since git 2.37
    shared.git("sparse-checkout", "set", ".checkpoints", "docs")
    assert ("clone/sparse", "git sparse-checkout add pkg/.checkpoints") in gaps(shared.path)
    place = find_place(str(shared.path))
    gap = find_gaps(place.work_tree, place.git_dir, os.environ)[-1]
    assert gap.message == "the sparse checkout leaves out 1 file of ours, in pkg/.checkpoints"
    shared.git("config", "--worktree", "core.sparseCheckout", "false")
    assert [code for code, _ in gaps(shared.path)] == ["install/missing"]
    shared.git("config", "--worktree", "core.sparseCheckout", "true")
    shared.git("sparse-checkout", "set", "docs")
    with pytest.raises(CheckpointError) as raised:
        find_place(str(shared.path))
    assert "git sparse-checkout add .checkpoints" in str(raised.value.hint)


def test_a_damaged_index_hides_no_other_gap(shared: GitRepo) -> None:
    shared.git("config", "core.sparseCheckout", "true")
    (shared.path / ".git/index").write_bytes(b"DIRC")
    assert gaps(shared.path) == [("install/missing", "checkpoint init")]


def test_outside_git_nothing_is_missing(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    assert gaps(tmp_path) == []
    assert find_gaps(None, str(tmp_path), os.environ) == []
    assert find_gaps(str(tmp_path), None, os.environ) == []


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("folder", ["", "pkg/" + "x" * 221 + "/"])
def test_what_a_stash_left_unmerged_is_found_without_an_operation(
    shared: GitRepo, version: int, folder: str
) -> None:
    init(str(shared.path), Options(hooks="none"), os.environ)
    path = f"{folder}.checkpoints/a.checkpoint.json"
    shared.git("update-index", f"--index-version={version}")
    for step in ("one", "two", "three"):
        shared.write(path, checkpoint_text(skill="a", step=step))
        shared.git("add", "-A")
        shared.git(*(("stash", "-q") if step == "two" else ("commit", "-qm", step)))
    assert gaps(shared.path) == []
    shared.git("stash", "pop", "-q", check=False)
    assert gaps(shared.path) == [("merge/unresolved", "checkpoint resolve")]
    shared.git("add", "-A")
    assert gaps(shared.path) == []


def test_a_clone_in_order_is_looked_at_without_git(
    shared: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(str(shared.path), Options(hooks="none"), os.environ)
    monkeypatch.setattr("subprocess.Popen", None)
    assert gaps(shared.path) == []


@pytest.mark.parametrize("operation", ["cherry-pick", "revert", "merge"])
@pytest.mark.parametrize("linked", [False, True])
def test_an_operation_is_seen_where_git_keeps_its_refs_in_a_table(
    tmp_path: Path, operation: str, linked: bool
) -> None:
    if run_git(
        ["init", "-q", "--ref-format=reftable", str(tmp_path / "probe")], str(tmp_path), check=False
    ).code:
        pytest.skip("reftable came with git 2.45")
    repo = GitRepo.create(tmp_path / "repo", "--ref-format=reftable")
    repo.diverge({"a": "0\n"}, {"a": "1\n"}, {"a": "2\n"})
    if linked:
        repo.git("checkout", "-q", "main")
        repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "left")
        repo = GitRepo(tmp_path / "linked")
    git_dir = repo.git("rev-parse", "--absolute-git-dir")
    for name in ("MERGE_HEAD", "REVERT_HEAD", "CHERRY_PICK_HEAD"):
        repo.git("tag", name)  # as anybody may push them
    assert read_operation(git_dir) == ""
    if operation == "revert":
        repo.write("a", "3\n")
        repo.commit("more")
    assert (
        repo.exit_code(operation, *{"revert": ["--no-edit", "HEAD~1"]}.get(operation, ["right"]))
        == 1
    )
    assert read_operation(git_dir) == operation


def test_in_a_table_of_refs_git_is_asked_for_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reftable").mkdir()
    known = "REVERT_HEAD"
    asked = []

    def answer(words: list[str], cwd: str, *, check: bool) -> GitResult:
        assert (words[0], words[1], cwd, check) == ("--git-dir", str(tmp_path), cwd, False)
        asked.append(words[-1])
        return GitResult(int(words[-1] != known), b"", b"")

    monkeypatch.setattr("checkpoint_git.git.run.run_git", answer)
    assert read_operation(str(tmp_path)) == "revert"
    assert asked == ["CHERRY_PICK_HEAD", "REVERT_HEAD"]
    known = ""
    assert read_operation(str(tmp_path)) == ""


@rows(
    ("files", "operation"),
    [
        ([], ""),
        (["MERGE_HEAD"], "merge"),
        (["REVERT_HEAD"], "revert"),
        (["CHERRY_PICK_HEAD"], "cherry-pick"),
        (["rebase-merge/done", "CHERRY_PICK_HEAD"], "rebase"),
        (["rebase-apply/next"], "rebase"),
        (["rebase-apply/next", "rebase-apply/applying"], "am"),
    ],
)
def test_an_operation_that_waits_is_known_by_its_files(
    tmp_path: Path, files: list[str], operation: str
) -> None:
    folder = tmp_path / (operation or "none") / str(len(files))
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert read_operation(str(folder)) == operation


@pytest.fixture
def unmerged(repo: GitRepo) -> GitRepo:
    """Return a repository with two unmerged checkpoints, and a file that no driver merges."""
    blob = repo.git("hash-object", "-w", str(repo.write("x", "{}")))
    paths = [PATH, "memory/state/phase.json", "phase_1_a1.yaml"]
    lines = "".join(f"100644 {blob} {stage}\t{path}\n" for path in paths for stage in (2, 3))
    repo.run("git", "update-index", "--index-info", stdin=lines.encode())
    return repo


def test_what_waits_to_be_resolved_is_counted_and_its_operation_named(unmerged: GitRepo) -> None:
    top, git_dir = str(unmerged.path), str(unmerged.path / ".git")
    states = {
        "x": "git stopped at a conflict",
        "MERGE_HEAD": "git is in the middle of a merge",
        "rebase-apply/applying": "git is in the middle of an am",
    }
    for file, state in states.items():
        unmerged.write(f".git/{file}", "")
        (gap,) = find_conflicts(top, git_dir, os.environ)
        assert gap.message == f"{state}, with 2 checkpoints to resolve"
        assert (gap.code, str(gap.fix)) == ("merge/unresolved", "checkpoint resolve")
    assert list(find_conflicts(None, git_dir, os.environ)) == []
    assert list(find_conflicts(top, None, os.environ)) == []


def invocation(folder: Path) -> Invocation:
    stream = io.StringIO()
    return Invocation(str(folder), os.environ, NOW, stream, stream, stream, interactive=False)


def test_a_view_shows_what_the_clone_lacks_unless_its_findings_say_it(unmerged: GitRepo) -> None:
    tree = (str(unmerged.path), str(unmerged.path / ".git"))
    marked = Finding("json/conflict-markers", "error", "markers")
    for count, is_shown in ((0, True), (1, True), (2, False), (3, True)):
        findings = [Finding("skill/a", "note", "else"), *[marked] * count]
        before = Outcome({"answer": 1}, [], findings, summary=[Line("first")])
        outcome = add_gaps(before, tree, invocation(unmerged.path))
        codes = [gap["code"] for gap in outcome.data["clone"]]
        assert codes == ["merge/unresolved", "install/missing"]
        assert (outcome.data["answer"], outcome.data["claims"]) == (1, [])
        texts = [line.text for line in outcome.summary if isinstance(line, Line)]
        assert texts[0] == "first"
        assert any("2 checkpoints to resolve" in text for text in texts) == is_shown
        assert any("not set up" in text for text in texts)
        assert outcome.findings == findings


def claim(repo: GitRepo, ref: str, until: str, holder: str = "Ada") -> None:
    tree = repo.git("write-tree")
    subject = f"claimed until 2026-03-02T{until}Z by {holder}"
    repo.git("update-ref", ref, repo.git("commit-tree", tree, "-m", subject))


def test_claims_that_are_not_over_are_shown_as_last_seen(
    shared: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, git_dir = str(shared.path), str(shared.path / ".git")
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{NOW - 3_600} +0000")
    shared.git("worktree", "add", "-q", "../linked")
    linked = shared.git("-C", "../linked", "rev-parse", "--absolute-git-dir")

    # without any claim git is not started
    with monkeypatch.context() as patch:
        patch.setattr("checkpoint_git.git.run.stream_git", None)
        patch.setattr("checkpoint_git.git.leases.stream_git", None)
        assert find_claims(top, git_dir, os.environ, NOW) == []
        shared.git("pack-refs", "--all")
        assert find_claims(top, git_dir, os.environ, NOW) == []

    claim(shared, f"{OURS}build", "13:00:00")
    claim(shared, f"{SEEN}build", "14:00:00")
    claim(shared, f"{SEEN}docs", "15:00:00", "Grace")
    claim(shared, f"{OURS}over", "11:30:00")
    found = [("build", "Ada", NOW + 7_200), ("docs", "Grace", NOW + 10_800)]
    for place in (git_dir, linked):
        claims = find_claims(top, place, os.environ, NOW)
        assert [(claim.name, claim.holder, claim.until) for claim in claims] == found
    assert find_claims(None, git_dir, os.environ, NOW) == []
    assert find_claims(top, None, os.environ, NOW) == []
    end = claims[0].ends
    assert [claim.name for claim in find_claims(top, git_dir, os.environ, end - 1)] == [
        "build",
        "docs",
    ]
    assert [claim.name for claim in find_claims(top, git_dir, os.environ, end)] == ["docs"]

    init(top, Options(hooks="none"), os.environ)
    outcome = add_gaps(Outcome({}, [], []), (top, git_dir), invocation(shared.path))
    assert [claim["name"] for claim in outcome.data["claims"]] == ["build", "docs"]
    lines = [line.text for line in outcome.summary if isinstance(line, Line)]
    assert [line.partition(" since")[0] for line in lines] == [
        "build is claimed by Ada",
        "docs is claimed by Grace",
    ]
    outcome = add_gaps(Outcome({}, [], []), (top, git_dir), invocation(shared.path), claims[1:])
    assert [claim["name"] for claim in outcome.data["claims"]] == ["docs"]

    shared.git("pack-refs", "--all")
    shutil.rmtree(shared.path / ".git/refs/checkpoint")
    assert len(find_claims(top, git_dir, os.environ, NOW)) == 2
    shared.write(f".git/{OURS}build", "1" * 40 + "\n")
    assert find_claims(top, git_dir, os.environ, NOW) == []  # `claim` names the damaged ref


def test_checkpoints_below_are_named_at_the_top_alone(repo: GitRepo) -> None:
    top = str(repo.path)

    def find(work_tree: str | None, cwd: str) -> list[tuple[str, str]]:
        return [
            (gap.message, str(gap.fix))
            for gap in find_nested(work_tree, f"{top}/.git", os.environ, cwd)
        ]

    repo.write(".checkpoints/README.md", "x")
    repo.commit()
    assert find(top, top) == []
    repo.write("a b/.checkpoints/build.checkpoint.json", "{}")
    repo.commit()
    assert find(top, top) == [("there are checkpoints below: a b", "checkpoint -C 'a b' status")]
    (gap,) = find_nested(top, f"{top}/.git", os.environ, top)
    assert str(gap.line.hint) == "to see them: checkpoint -C 'a b' status"
    assert find(top, f"{top}/a b") == find(None, top) == []
    assert list(find_nested(top, None, os.environ, top)) == []
    repo.write("a b/c/.checkpoints/deploy.checkpoint.json", "{}")
    repo.commit()
    repo.write("not added/.checkpoints/deploy.checkpoint.json", "{}")
    ((message, fix),) = find(top, top)
    assert message == "there are checkpoints below: a b, a b/c"
    assert fix == "checkpoint -C 'a b' status"
