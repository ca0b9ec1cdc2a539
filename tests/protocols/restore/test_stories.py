"""Users in trouble: a point was made, everything broke, and the way back is taken with the real
commands.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from checkpoint_git.protocols.restore import operations, snapshot
from checkpoint_git.protocols.restore.api import RestorePoints
from checkpoint_git.protocols.restore.layout import open_workspace
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo, needs_git
from tests.support.restore_points import ask, fork


@pytest.fixture(
    params=["files", pytest.param("reftable", marks=needs_git(2, 45, feature="reftable"))]
)
def in_operation(request: pytest.FixtureRequest, tmp_path: Path) -> GitRepo:
    """`work` in each way in which git keeps refs."""
    words = ["--ref-format=reftable"] if request.param == "reftable" else []
    return fill(GitRepo.create(tmp_path / "in-operation", *words))


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    return fill(repo)


def fill(repo: GitRepo) -> GitRepo:
    """Two branches that changed one file, and an ignored folder with work in it."""
    repo.write(".gitignore", "data/\n")
    repo.write("a", "a\n")
    repo.write("b", "b\n")
    repo.write("data/precious", "1\n")
    repo.commit()
    fork(repo)
    return repo


def refuse(work: GitRepo, *words: str) -> str:
    """What is said; the exit code must be 2."""
    done = run_here("rp", *words, cwd=work.path)
    assert done.returncode == 2, done.stdout
    return done.stderr


def state(work: GitRepo) -> list[str]:
    """HEAD, the branch, what is staged, and what status says."""
    words = (
        ["rev-parse", "HEAD"],
        ["symbolic-ref", "HEAD"],
        ["ls-files", "-s"],
        ["status", "--porcelain"],
    )
    return [work.git(*one) for one in words]


def stop(work: GitRepo, *words: str) -> None:
    """A git command that stops with a conflict."""
    assert work.run("git", *words).returncode != 0


def test_what_was_staged_is_told_and_comes_back(work: GitRepo) -> None:
    work.write("b", "staged\n")
    work.git("add", "b")
    work.write("b", "written\n")
    before = state(work)
    ask(work, "create", ".")
    work.git("reset", "-q", "--hard")
    work.git("gc", "-q", "--prune=now")
    told = ask(work, "rollback", "latest", "--dry-run")["moved_in_git"]
    assert len(told) == 1
    assert "--index" in told[0]
    assert told[0] in run_here("rp", "rollback", "latest", cwd=work.path).stdout
    assert work.git("diff", "--cached", "--name-only") == ""
    assert ask(work, "rollback", "latest", "--index")["moved_in_git"] == []
    assert state(work) == before
    assert work.git("show", ":b") == "staged"


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick", "revert"])
def test_what_was_under_way_comes_back_with_its_conflict(in_operation: GitRepo, way: str) -> None:
    work = in_operation
    if way == "revert":
        stop(work, "revert", "HEAD~1", "--no-edit")
    else:
        stop(work, way, "topic")
    before, picture = state(work) if way != "rebase" else [], work.git("status")
    made = ask(work, "create", ".")
    assert made["git"]["operation"] == way
    work.git(way, "--abort")
    work.git("checkout", "-q", "-f", "topic")
    work.git(
        "branch", "-q", "-D", "master" if "master" in picture else "main"
    ) if way == "merge" else None
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    answer = ask(work, "rollback", made["checkpoint_id"], "--operation")
    assert answer["moved_in_git"] == []
    assert work.git("status") == picture
    assert not before or state(work) == before
    ask(work, "rollback", answer["safety_checkpoint_id"], "--operation")
    assert work.git("symbolic-ref", "--short", "HEAD") == "topic"
    assert "conflict" not in work.git("status")


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_rebase_that_was_finished_or_whose_branch_is_gone_goes_on_where_it_was(
    in_operation: GitRepo, backend: str
) -> None:
    work = in_operation
    main, tip = work.git("symbolic-ref", "--short", "HEAD"), work.git("rev-parse", "HEAD")
    stop(work, "rebase", backend, "topic")
    made = ask(work, "create", ".")["checkpoint_id"]
    for gone in (False, True):
        work.write("a", "both\n")
        work.git("commit", "-qam", "both")
        work.git("rebase", "--skip")
        if gone:
            work.git("checkout", "-q", "--detach")
            work.git("branch", "-q", "-D", main)
        told = [
            f"{main} was at {tip[:10]}" in one
            for one in ask(work, "rollback", made, "--dry-run")["moved_in_git"]
        ]
        assert any(told)
        assert ask(work, "rollback", made, "--operation")["moved_in_git"] == []
        assert work.git("rev-parse", main) == tip
        assert "rebase in progress" in work.git("status")
    work.git("rebase", "--abort")
    assert work.git("symbolic-ref", "--short", "HEAD") == main


@needs_git(2, 38, feature="rebase --update-refs")
def test_branches_come_back_where_a_rebase_began_detached_and_the_undo_moves_them_again(
    work: GitRepo,
) -> None:
    main = work.git("symbolic-ref", "--short", "HEAD")
    work.git("branch", "below")
    work.write("b", "more\n")
    work.commit()
    work.git("checkout", "-q", "--detach")
    before = [work.git("rev-parse", ref) for ref in (main, "below")]
    stop(work, "rebase", "--update-refs", "topic")
    made = ask(work, "create", ".")["checkpoint_id"]
    work.write("a", "both\n")
    work.git("commit", "-qam", "both")
    work.git("rebase", "--skip")
    work.git("checkout", "-q", "below")
    work.write("c", "on it\n")
    work.commit()
    after = [work.git("rev-parse", ref) for ref in (main, "below")]
    assert not {*before} & {*after}
    work.git("checkout", "-q", "topic")
    planned = run_here("rp", "rollback", made, "--operation", "--dry-run", cwd=work.path).stdout
    answer = ask(work, "rollback", made, "--operation")
    assert [
        f"in git, would be restored: {one}" in planned for one in answer["restored_in_git"]
    ] == [True] * 5
    assert "restores it" not in planned
    assert [work.git("rev-parse", ref) for ref in (main, "below")] == before
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    undone = ask(work, "rollback", answer["safety_checkpoint_id"], "--operation")
    assert [work.git("rev-parse", ref) for ref in (main, "below")] == after
    assert (undone["moved_in_git"], work.git("symbolic-ref", "--short", "HEAD")) == ([], "topic")
    ask(work, "rollback", undone["safety_checkpoint_id"], "--operation")
    assert [work.git("rev-parse", ref) for ref in (main, "below")] == before


def test_the_undo_moves_a_branch_that_was_not_checked_out(work: GitRepo) -> None:
    main = work.git("symbolic-ref", "--short", "HEAD")
    made = ask(work, "create", ".")["checkpoint_id"]
    work.write("b", "later\n")
    work.commit()
    later = work.git("rev-parse", main)
    work.git("checkout", "-q", "topic")
    safety = ask(work, "rollback", made, "--operation")["safety_checkpoint_id"]
    assert work.git("rev-parse", main) != later
    ask(work, "rollback", safety, "--operation")
    assert work.git("rev-parse", main) == later


@needs_git(2, 38, feature="rebase --update-refs")
def test_branches_that_a_rebase_would_move_come_back_with_it(work: GitRepo) -> None:
    work.git("branch", "below")
    work.write("b", "more\n")
    work.commit()
    below = work.git("rev-parse", "below")
    stop(work, "rebase", "--update-refs", "topic")
    made = ask(work, "create", ".")["checkpoint_id"]
    work.write("a", "both\n")
    work.git("commit", "-qam", "both")
    work.git("rebase", "--skip")
    assert work.git("rev-parse", "below") != below
    other = work.path.parent / "other"
    work.git("worktree", "add", "-q", str(other), "below")
    assert "below is checked out in" in refuse(work, "rollback", made, "--operation")
    work.git("worktree", "remove", str(other))
    assert ask(work, "rollback", made, "--operation")["moved_in_git"] == []
    assert work.git("rev-parse", "below") == below


def test_the_list_names_the_work_tree_of_a_point_of_another_one(
    work: GitRepo, tmp_path: Path
) -> None:
    ask(work, "create", "a")
    work.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert "[work tree main]" in run_here("rp", "list", cwd=tmp_path / "linked").stdout
    assert "[work tree" not in run_here("rp", "list", cwd=work.path).stdout


def test_a_bisect_goes_on_where_it_was(in_operation: GitRepo) -> None:
    work = in_operation
    for number in range(6):
        work.write("a", f"{number}\n")
        work.commit()
    work.git("bisect", "start", "HEAD", "HEAD~6")
    log, refs = work.git("bisect", "log"), work.git("for-each-ref", "refs/bisect")
    made, before = ask(work, "create", "."), state_of_bisect(work)
    assert (made["git"]["operation"], bool(refs)) == ("bisect", True)
    work.git("bisect", "reset")
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    answer = ask(work, "rollback", made["checkpoint_id"], "--operation")
    assert (answer["moved_in_git"], state_of_bisect(work)) == ([], before)
    assert (work.git("bisect", "log"), work.git("for-each-ref", "refs/bisect")) == (log, refs)
    work.git("bisect", "good")
    ask(work, "rollback", answer["safety_checkpoint_id"], "--operation")
    assert not work.git("for-each-ref", "refs/bisect")


def state_of_bisect(work: GitRepo) -> tuple[str, str]:
    return work.git("rev-parse", "HEAD"), work.git("status", "--porcelain")


def test_what_was_staged_comes_back_for_a_part_alone(work: GitRepo) -> None:
    stop(work, "merge", "topic")
    work.write("b", "staged\n")
    work.write("new/c", "added\n")
    work.git("add", "b", "new")
    before = {path: work.git("ls-files", "-s", path) for path in ("a", "b", "new")}
    point = ask(work, "create", ".")["checkpoint_id"]
    work.git("reset", "-q", "--hard")
    work.write("new/d", "later\n")
    work.git("add", "new")
    ask(work, "rollback", point, "--index", "--scope", "new", "--scope", "a")
    assert [work.git("ls-files", "-s", path) == before[path] for path in ("a", "b", "new")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("scope", [(), ("--scope", "new")])
def test_a_change_within_the_second_of_its_staging_still_shows_after_a_rollback(
    work: GitRepo, scope: tuple[str, ...]
) -> None:
    point = ask(work, "create", ".")["checkpoint_id"]
    work.write("new/c", "added\n")
    work.write("b", "1\n")
    work.git("add", ".")
    # of the same size: only the index's own time tells that b is to be compared
    work.write("b", "2\n")
    now = os.stat(work.path / "b").st_mtime_ns
    os.utime(work.path / ".git/index", ns=(now, now))
    if not scope:
        point = ask(work, "create", ".")["checkpoint_id"]
    time.sleep(1.1)
    ask(work, "rollback", point, "--index", *scope)
    assert [work.git("show", ":b"), work.read("b")] == ["1", "2\n"]
    assert work.git("diff", "--name-only") == "b"


def test_a_point_whose_commit_is_gone_is_dropped_with_its_ref(work: GitRepo) -> None:
    point = str(ask(work, "create", ".")["checkpoint_id"])
    ref = next(
        line
        for line in work.git("for-each-ref", "--format=%(refname)").split("\n")
        if point in line
    )
    commit = work.git("rev-parse", ref)
    (work.path / ".git/objects" / commit[:2] / commit[2:]).unlink()
    ask(work, "drop", point)
    assert work.git("for-each-ref", ref) == ""
    work.git("gc", "-q")


def test_a_branch_that_another_work_tree_has_is_not_moved(work: GitRepo, tmp_path: Path) -> None:
    ask(work, "create", ".")
    name = work.git("symbolic-ref", "--short", "HEAD")
    work.git("checkout", "-q", "topic")
    work.git("worktree", "add", "-q", str(tmp_path / "other"), name)
    assert "is checked out in" in refuse(work, "rollback", "latest", "--operation")


def test_a_repository_without_a_commit_keeps_what_is_staged(repo: GitRepo) -> None:
    repo.write("a", "1")
    repo.git("add", "a")
    ask(repo, "create", ".")
    repo.git("rm", "-q", "--cached", "a")
    ask(repo, "rollback", "latest", "--index")
    assert repo.git("ls-files") == "a"


def test_what_was_ignored_when_the_point_was_made_is_never_removed(work: GitRepo) -> None:
    made = ask(work, "create", ".")
    assert made["left_out"] == [{"path": "data/", "reason": "ignored by git"}]
    (work.path / ".gitignore").unlink()
    work.write("new", "made since")
    answer = ask(work, "rollback", "latest")
    assert answer["removed"] == ["new"]
    assert work.read("data/precious") == "1\n"
    assert any("data/" in text for text in answer["warnings"])


def test_a_clean_takes_no_point_and_no_database(work: GitRepo) -> None:
    subprocess.run(
        [
            "python3",
            "-c",
            "import sqlite3; sqlite3.connect('app.db').executescript('create table t(x)')",
        ],
        cwd=work.path,
        check=True,
    )
    work.write("state.json", "[1]")
    ask(work, "create", "a", "--database", "sqlite:///app.db", "--state", "run=state.json")
    work.git("clean", "-q", "-x", "-f", "-d")
    assert not (work.path / ".checkpoints").exists()
    answer = ask(work, "rollback", "latest")
    assert answer["verified"]
    assert (work.path / "app.db").exists()
    assert work.read("state.json") == "[1]"
    assert work.run("sh", f".checkpoints/{answer['checkpoint_id']}/restore.sh").returncode == 0


def forge(work: GitRepo) -> str:
    """A whole and valid point that came with a branch."""
    point = str(ask(work, "create", "a", "--type", "file_backup")["checkpoint_id"])
    shutil.rmtree(work.path / ".checkpoints" / point)
    shutil.move(work.path / ".git/checkpoint-restore" / point, work.path / ".checkpoints" / point)
    work.git("add", "-f", ".checkpoints", ".audit")
    work.commit()
    return point


def test_a_point_of_a_branch_is_foreign_and_does_nothing_unasked(
    work: GitRepo, tmp_path: Path
) -> None:
    point = forge(work)
    clone = GitRepo(tmp_path / "clone")
    work.git("clone", "-q", ".", str(clone.path))
    (listed,) = ask(clone, "list")["restore_points"]
    assert listed["state"] == "foreign"
    clone.write("a", "mine\n")
    for words in (["verify"], ["diff"], ["rollback"], ["rollback", "--dry-run"], ["drop"]):
        assert "is not in this clone" in refuse(clone, words[0], point, *words[1:])
    assert "no live restore point" in refuse(clone, "rollback", "latest")
    verified = run_here("rp", "verify", point, "--foreign", "--json", cwd=clone.path)
    assert not json.loads(verified.stdout)["verified"]
    assert clone.read("a") == "mine\n"
    ask(clone, "rollback", point, "--foreign")
    assert clone.read("a") == "main\n"


def test_a_tracked_journal_hides_no_safety_point(work: GitRepo) -> None:
    first, decoy = (str(ask(work, "create", "a")["checkpoint_id"]) for _ in range(2))
    work.write(f".checkpoints/{first}/rollback-safety", decoy)
    answer = ask(work, "rollback", first)
    assert not answer["resumed"]
    assert answer["safety_checkpoint_id"] not in (None, decoy)


def test_names_make_no_secrets_of_code_of_documents_and_of_what_is_tracked(work: GitRepo) -> None:
    for name in ("src/credentials.py", "secrets.ts", "docs/secrets.md", "conf/credentials.json"):
        work.write(name, "x = 1\n")
    work.commit()
    secret = (
        "kubeconfig",
        "prod.tfstate",
        ".docker/config.json",
        ".vault-token",
        ".env",
        "secrets.yml",
        ".kube/config",
    )
    for name in secret:
        work.write(name, "x: 1\n")
    work.write("credentials.js", f"const key = 'ghp_{'a1B2' * 9}'\n")
    made = ask(work, "create", ".")
    kept = made["checkpoint"]["scope"]["files"]
    assert {"src/credentials.py", "secrets.ts", "docs/secrets.md", "conf/credentials.json"} <= set(
        kept
    )
    assert {one["path"] for one in made["left_out"]} == {*secret, "credentials.js", "data/"}
    named = ask(work, "create", ".", "--include", ".env")
    assert ".env" in named["checkpoint"]["scope"]["files"]
    work.write(".env", "broken")
    ask(work, "rollback", "latest")
    assert work.read(".env") == "x: 1\n"


def test_points_are_named_by_a_part_of_their_id_compared_and_cleared(work: GitRepo) -> None:
    ids = [str(ask(work, "create", "a")["checkpoint_id"]) for _ in range(4)]
    assert [one["id"] for one in ask(work, "list")["restore_points"]] == ids
    work.write("a", "broken\n")
    (work.path / "b").unlink()
    assert ask(work, "diff", ids[0][-6:])["changes"] == [{"path": "a", "change": "changed"}]
    assert "restore points match" in refuse(work, "show", "chk_")
    assert "no such restore point" in refuse(work, "show", "chk_20000101_000000_aaaaaa")
    assert ask(work, "show", "latest")["id"] == ids[3]
    assert ask(work, "gc", "--keep", "3", "--dry-run")["cleared"] == ids[:1]
    assert ask(work, "gc", "--keep", "3")["cleared"] == ids[:1]
    assert ask(work, "drop", ids[1], ids[2][4:])["dropped"] == ids[1:3]
    assert "takes a number" in refuse(work, "gc", "--keep", "x")
    assert os.listdir(work.path / ".checkpoints") == ids[3:]


def test_keep_counts_what_the_user_made_and_live_ones_first(work: GitRepo) -> None:
    old, lasting = (str(ask(work, "create", "a")["checkpoint_id"]) for _ in range(2))
    brief = str(ask(work, "create", "a", "--expiry", "1m")["checkpoint_id"])
    work.write("a", "broken\n")
    safety = ask(work, "rollback", lasting)["safety_checkpoint_id"]
    workspace = open_workspace(str(work.path), int(time.time()) + 120, dict(os.environ))
    gone = operations.collect_garbage(workspace, expired=False, keep=2, dry_run=True)
    assert {one.id for one in gone} == {brief}
    gone = operations.collect_garbage(workspace, expired=False, keep=1)
    assert {one.id for one in gone} == {old, brief}
    assert [one["id"] for one in ask(work, "list")["restore_points"]] == [lasting, safety]
    assert ask(work, "show", "latest")["id"] == lasting


def test_the_workspace_may_be_named_through_a_link_above_it(work: GitRepo, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(work.path)
    before = work.read("a")
    work.write("state.json", "{}")
    made = ask(work, "create", f"{link}/a", "--state", f"run={link}/state.json")
    assert made["checkpoint"]["scope"] == {"files": ["a"], "state_keys": ["run"]}
    work.write("a", "broken\n")
    work.write("state.json", "[]")
    ask(work, "rollback", "latest", "--scope", f"{link}/a")
    assert (work.read("a"), work.read("state.json")) == (before, "[]")
    ask(work, "rollback", "latest")
    assert work.read("state.json") == "{}"
    (work.path / "inner").symlink_to(".")
    assert "link" in refuse(work, "create", "inner/a")


def test_what_was_made_since_and_fits_a_pattern_of_the_scope_is_removed(work: GitRepo) -> None:
    work.write("src/a.py", "a\n")
    work.write("src/notes.md", "n\n")
    ask(work, "create", "src/*.py", "a")
    (work.path / "src/a.py").unlink()
    for name in ("src/later.py", "src/later.md", "src/below/later.py"):
        work.write(name, "later\n")
    changes = [
        {"path": "src/a.py", "change": "deleted"},
        {"path": "src/later.py", "change": "added"},
    ]
    assert ask(work, "diff", "latest")["changes"] == changes
    done = ask(work, "rollback", "latest")
    assert done["removed"] == ["src/later.py"]
    assert sorted(os.listdir(work.path / "src")) == ["a.py", "below", "later.md", "notes.md"]
    ask(work, "rollback", str(done["safety_checkpoint_id"]))
    assert (work.read("src/later.py"), (work.path / "src/a.py").exists()) == ("later\n", False)


def test_a_pattern_in_a_folder_that_git_ignores_names_what_it_matches(work: GitRepo) -> None:
    for name in ("data/a.csv", "data/b.txt"):
        work.write(name, "1\n")
    assert ask(work, "create", "data/*.csv")["checkpoint"]["scope"]["files"] == ["data/a.csv"]
    assert ask(work, "create", ".")["checkpoint"]["scope"]["files"] == [".gitignore", "a", "b"]
    for name in ("data/a.csv", "data/b.txt", "data/new.csv"):
        work.write(name, "2\n")
    ids = [one["id"] for one in ask(work, "list")["restore_points"]]
    assert ask(work, "rollback", ids[0])["removed"] == ["data/new.csv"]
    assert ask(work, "create", "data/none", "--absent")["left_out"] == []
    assert (work.read("data/a.csv"), work.read("data/b.txt")) == ("1\n", "2\n")


def test_what_an_agent_made_by_hand_is_foreign_and_goes_by_the_hint(work: GitRepo) -> None:
    work.write(".checkpoints/chk_20240115_150000_config/manifest.json", '{"reason": "by hand"}')
    work.write(".audit/checkpoint-operations.log", "2024-01-15 created\n")
    made = ask(work, "create", "a")["checkpoint_id"]
    done = run_here("rp", "verify", "--foreign", "chk_20240115_150000_config", cwd=work.path)
    words = done.stdout.partition("one, then: checkpoint ")[2].partition("\n")[0].split()
    assert run_here(*words, cwd=work.path).returncode == 0
    assert [one["id"] for one in ask(work, "list")["restore_points"]] == [made]


def test_a_typo_in_the_scope_is_an_error(work: GitRepo) -> None:
    assert "does not exist" in refuse(work, "create", "a", "srcc")
    assert ask(work, "create", "srcc", "--absent")["checkpoint_created"]


def test_a_log_that_cannot_be_written_makes_no_point(work: GitRepo) -> None:
    work.write(".audit", "a file")
    refuse(work, "create", "a")
    (work.path / ".audit").unlink()
    assert ask(work, "list")["restore_points"] == []


def test_the_answers_of_rollback_and_verify_have_their_evidence(work: GitRepo) -> None:
    point = str(ask(work, "create", "a")["checkpoint_id"])
    work.write("a", "broken\n")
    answer = ask(work, "rollback", point, "--reason", "it broke")
    verified = ask(work, "verify", point, "--reason", "to be sure")
    for one in (answer, verified):
        assert one["hash"].startswith("sha256:")
        assert any(text.startswith("tool:") for text in one["evidence_anchors"])
        assert any(text.startswith("file:") and point in text for text in one["evidence_anchors"])
    assert (answer["confidence"], answer["hash_before"] != answer["hash"]) == (1.0, True)
    assert (verified["confidence"], verified["reason"]) == (1.0, "to be sure")
    (record,) = (one for one in ask(work, "audit")["records"] if one["operation"] == "rollback")
    assert (record["details"]["restored"], record["details"]["reason"]) == (["a"], "it broke")


@pytest.mark.parametrize("kind", ["git_stash", "file_backup"])
def test_a_point_whose_process_was_killed_before_its_line_gets_it_with_the_next_command(
    work: GitRepo, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("checkpoint_git.protocols.restore.audit.append_record", stop_here)
        with pytest.raises(Killed):
            run_here("rp", "create", "a", "--type", kind, cwd=work.path)
    (point,) = ask(work, "list")["restore_points"]
    assert run_here("rp", "audit", "verify", cwd=work.path).returncode == 1
    ask(work, "create", "b")
    assert ask(work, "audit", "verify")["whole"]
    assert ask(work, "verify", point["id"])["verified"]


def test_after_git_clean_took_the_log_the_next_point_begins_one_that_says_so(work: GitRepo) -> None:
    points = [ask(work, "create", "a")["checkpoint_id"] for _ in range(2)]
    work.git("clean", "-xffdq")
    done = run_here("rp", "audit", "verify", cwd=work.path)
    assert (
        done.returncode,
        "the next restore point adds one" in " ".join(done.stdout.split()),
    ) == (1, True)
    points.append(ask(work, "create", "a")["checkpoint_id"])
    assert ask(work, "audit", "verify")["whole"]
    records = ask(work, "audit")["records"]
    ids = [one["checkpoint_id"] for one in records]
    # two of one second are told by their ids
    assert (sorted(ids), ids[-1]) == (
        sorted(points),
        points[-1],
    )
    lost = "the log had no record of it: cut off, or removed"
    assert [one["details"]["reason"] for one in records] == [lost, lost, ""]
    ask(work, "rollback", "latest")
    assert ask(work, "audit", "verify")["whole"]


def test_a_point_that_is_named_twice_is_dropped_once(work: GitRepo) -> None:
    point = ask(work, "create", "a")["checkpoint_id"]
    assert ask(work, "drop", "latest", point)["dropped"] == point


def test_a_process_that_was_killed_before_a_point_had_its_name_leaves_no_ref(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if not child:
        monkeypatch.setattr(
            "checkpoint_git.protocols.restore.folders.sync_folder", lambda *words: os._exit(9)
        )
        run_here("rp", "create", "a", cwd=work.path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert work.git("for-each-ref", "refs/checkpoints/")
    point = ask(work, "create", "b")["checkpoint_id"]
    assert work.git("for-each-ref", "--format=%(refname)", "refs/checkpoints/").split() == [
        f"refs/checkpoints/{point}"
    ]


def test_a_point_that_is_copied_to_where_no_git_is_does_not_get_a_line(
    work: GitRepo, tmp_path: Path
) -> None:
    point = ask(work, "create", "a", "--type", "file_backup")["checkpoint_id"]
    place = tmp_path / "elsewhere"
    found = next(path for path in work.path.rglob(point) if path.is_dir())
    shutil.copytree(found, place / ".checkpoints" / point)
    (place / "b").write_text("b")
    assert run_here("rp", "create", "b", cwd=place).returncode == 0
    assert "restore/unlogged" in run_here("rp", "verify", point, cwd=place).stdout


def test_a_folder_that_looks_unfinished_takes_no_ref_of_a_point_that_is_there(
    work: GitRepo,
) -> None:
    point = ask(work, "create", "a")["checkpoint_id"]
    (work.path / f".checkpoints/.new-4999999-{point}").mkdir(parents=True)
    ask(work, "gc", "--expired")
    assert ask(work, "verify", point)["verified"]


class Killed(BaseException):
    """As if the process ended here."""


def stop_here(*words: object) -> None:
    raise Killed


def test_the_latest_point_of_another_work_tree_is_offered(work: GitRepo, tmp_path: Path) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "other"))
    point = str(ask(tmp_path / "other", "create", "a")["checkpoint_id"])
    assert f"rollback {point} --here" in refuse(work, "rollback", "latest")
    ask(work, "rollback", point, "--here")


def kill_at(work: GitRepo, monkeypatch: pytest.MonkeyPatch, target: str, *words: str) -> None:
    """Runs `rp WORDS` in this process until the function of this name is called, which is as far as
    it comes.
    """

    def die(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"checkpoint_git.protocols.restore.{target}", die)
        with pytest.raises(KeyboardInterrupt):
            RestorePoints(work.path).rollback(*words, operation="git.restore" in target)


@pytest.mark.parametrize(
    "target", ["mechanisms.file_writes.sync_folders", "mechanisms.git.restore_index"]
)
def test_every_command_tells_of_a_rollback_that_was_cut_off_until_it_is_finished(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    point, before = str(ask(work, "create", ".")["checkpoint_id"]), work.read("a")
    work.write("a", "later\n")
    kill_at(work, monkeypatch, target, point)
    words = f"{point} --operation" if "git.restore" in target else point
    for told in (
        ask(work, "list"),
        ask(work, "verify", point),
        ask(work, "create", "b"),
        ask(work, "diff", point),
    ):
        found = [one for one in told["findings"] if one["code"] == "restore/cut-off"]
        assert f"finish it: checkpoint restore-point rollback {words};" in found[0]["hint"]
    assert "restore/cut-off" in run_here("doctor", cwd=work.path).stdout
    assert ask(work, "rollback", *words.split())["findings"] == []
    assert ask(work, "list")["findings"] == []
    assert work.read("a") == before


def test_a_rollback_that_was_cut_off_behind_its_last_file_is_finished_by_its_hint(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot.take(str(work.path), "s before Edit")
    point, before = f"auto-{work.git('rev-parse', snapshot.REF)[:12]}", work.read("a")
    work.write("a", "later\n")
    kill_at(work, monkeypatch, "mechanisms.file_writes.sync_folders", point)
    assert work.read("a") == before
    hint = ask(work, "list")["findings"][0]["hint"]
    ask(work, *shlex.split(hint.partition("checkpoint restore-point ")[2].partition(";")[0]))
    assert ask(work, "list")["findings"] == []


def test_a_rollback_that_was_cut_off_can_be_undone_instead(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    point, before = str(ask(work, "create", ".")["checkpoint_id"]), work.read("a")
    work.write("a", "later\n")
    kill_at(work, monkeypatch, "mechanisms.file_writes.sync_folders", point)
    assert work.read("a") == before
    hint = ask(work, "list")["findings"][0]["hint"]
    ask(work, *shlex.split(hint.rpartition("or undo it: checkpoint restore-point ")[2]))
    assert work.read("a") == "later\n"
    assert ask(work, "list")["findings"] == []


def test_a_rollback_that_changed_nothing_is_not_told_as_half_done(work: GitRepo) -> None:
    point = str(ask(work, "create", "a", "b")["checkpoint_id"])
    (work.path / "a").unlink()
    os.mkfifo(work.path / "a")
    assert "is not a file" in refuse(work, "rollback", point)
    assert ask(work, "list")["findings"] == []


def test_a_ref_lock_of_a_point_that_was_never_finished_does_not_stay(work: GitRepo) -> None:
    ask(work, "create", "a")
    point = "chk_20260101_000000_aaaaaa"
    work.write(f".git/checkpoint-restore/.new-999999999-{point}/manifest.json", "{}")
    work.write(f".git/refs/checkpoints/{point}.lock", "")
    ask(work, "create", "a")
    assert not (work.path / f".git/refs/checkpoints/{point}.lock").exists()


def test_a_git_that_is_killed_while_what_was_staged_comes_back_leaves_no_lock(
    work: GitRepo,
) -> None:
    work.write("a", "staged\n")
    work.git("add", "a")
    point = str(ask(work, "create", ".")["checkpoint_id"])
    work.git("reset", "-q", "--hard")
    script = 'case "$GIT_INDEX_FILE" in */.git/.index.*) : > "$GIT_INDEX_FILE.lock"; kill -9 $PPID; exit 1;; esac\n'
    git = work.path.parent / "bin/git"
    git.parent.mkdir()
    git.write_text(f'#!/bin/sh\n{script}exec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    words = [str(BIN / "checkpoint"), "rp", "rollback", point, "--index"]
    env = {**os.environ, "PATH": f"{git.parent}:{os.environ['PATH']}"}
    assert (
        subprocess.run(words, cwd=work.path, env=env, capture_output=True, check=False).returncode
        == -9
    )
    assert "restore/cut-off" in json.dumps(ask(work, "list"))
    ask(work, "rollback", point, "--index")
    assert [name for name in os.listdir(work.path / ".git") if "index." in name] == []
    assert work.git("show", ":a") == "staged"
