"""The main story in repositories of other kinds: SHA-256, reftable, monitored, partial clones,
linked worktrees.
"""

import json
import os
import time
from pathlib import Path

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.tools.session.work import find_work
from tests.support.command import run_here
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, needs_git
from tests.support.samples import checkpoint

BUILD = ".checkpoints/build.checkpoint.json"
REFTABLE = needs_git(2, 45, feature="reftable")
RELATIVE = needs_git(2, 48, feature="git worktree add --relative-paths")


def say(repo: GitRepo, *words: str) -> str:
    """What a command prints, which must succeed."""
    done = run_here(*words, cwd=repo.path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def decide(repo: GitRepo, *decisions: str) -> None:
    """A commit in which the checkpoint has these decisions."""
    value = checkpoint(context_primer={"key_decisions": list(decisions)})
    repo.write(BUILD, json.dumps(value, indent=2) + "\n")
    repo.commit(f"Decide {decisions[-1]}")


def merge_both(repo: GitRepo) -> None:
    """Two branches decide something, and their merge has both, with the driver and the hooks that
    init installed.
    """
    repo.git("checkout", "-q", "-b", "side")
    decide(repo, "first", "side's")
    repo.git("checkout", "-q", "main")
    decide(repo, "first", "main's")
    repo.git("merge", "-q", "--no-edit", "side")
    assert set(json.loads(repo.read(BUILD))["context_primer"]["key_decisions"]) == {
        "first",
        "side's",
        "main's",
    }
    repo.write(BUILD, "{}\n")
    repo.git("add", "-A")
    assert repo.exit_code("commit", "-q", "-m", "broken") != 0
    repo.git("reset", "-q", "--hard")


def look(repo: GitRepo) -> None:
    """Every way to look at the history says the same as in any repository."""
    found = {
        one["code"]
        for one in json.loads(say(repo, "doctor", "--json"))["findings"]
        if one["level"] != "note"
    }
    # the sample is old, and of another folder
    assert found == {
        "drift/project-dir",
        "drift/stale-in-progress",
    }
    assert "side's" in say(repo, "log", "build")
    assert "not checked" not in say(repo, "audit", "HEAD")
    assert "build" in say(repo, "status")


@pytest.mark.parametrize(
    "options",
    [
        ("--object-format=sha256",),
        pytest.param(("--ref-format=reftable",), marks=REFTABLE),
        pytest.param(("--object-format=sha256", "--ref-format=reftable"), marks=REFTABLE),
    ],
    ids=" ".join,
)
def test_the_story_holds_in_a_repository_of_another_format(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    repo = GitRepo.create(tmp_path / "repo", *options)
    say(repo, "init")
    decide(repo, "first")
    merge_both(repo)
    look(repo)
    hub = GitRepo.create(tmp_path / "hub.git", "--bare", *options)
    repo.git("remote", "add", "origin", str(hub.path))
    repo.git("push", "-q", "-u", "origin", "main")
    say(repo, "note", "build", "one more thing")
    assert BUILD in say(repo, "sync", "--json")


def test_a_file_system_monitor_hides_nothing_and_is_not_started_by_us(repo: GitRepo) -> None:
    say(repo, "init")
    decide(repo, "first")
    # version 2 of its protocol: a token, and that nothing has changed since, which is a lie
    monitor = repo.write(
        ".git/monitor", f"#!/bin/sh\ntouch '{repo.path}/.git/started'\nprintf 'token\\0'\n"
    )
    monitor.chmod(0o755)
    repo.git("config", "core.fsmonitor", ".git/monitor")
    repo.git("status")
    (repo.path / ".git/started").unlink()
    say(repo, "update", "build", "--step=another")
    assert json.loads(say(repo, "show", "build", "--json"))
    look_at = say(repo, "diff")
    assert "another" in look_at
    assert not (repo.path / ".git/started").exists()


def test_a_partial_clone_is_read_without_and_with_its_server(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(repo, "init")
    decide(repo, "first")
    merge_both(repo)
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = GitRepo(tmp_path / "partial")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.path}", str(clone.path))
    say(clone, "init")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_NO_LAZY_FETCH", "0")
        look(clone)
    clone.git("remote", "set-url", "origin", f"file://{tmp_path}/gone")
    assert "build" in say(clone, "status")
    done = run_here("doctor", cwd=clone.path)
    assert done.returncode in (0, 1), done.stderr


def clone_partly(repo: GitRepo, path: Path) -> GitRepo:
    for setting in ("allowFilter", "allowAnySHA1InWant"):
        repo.git("config", f"uploadpack.{setting}", "true")
    repo.git("clone", "-q", "--filter=blob:none", f"file://{repo.path}", str(path))
    return GitRepo(path)


def clone_merged(repo: GitRepo, path: Path) -> GitRepo:
    """A partial clone; in its HEAD~1, main's decision won over side's."""
    decide(repo, "first")
    repo.git("branch", "side")
    decide(repo, "first", "main's")
    repo.git("checkout", "-q", "side")
    decide(repo, "first", "side's")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "-X", "ours", "side")
    repo.write("README.md", "more\n")
    repo.commit("Say more")
    return clone_partly(repo, path)


@NEEDS_MERGE_TREE
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("audit HEAD", 2, "GIT_NO_LAZY_FETCH=0"),
        ("audit explain HEAD~1", 1, "side's"),
        ("audit explain --range HEAD~2..HEAD", 1, "1 lost"),
        ("ci verify --candidate HEAD~1", 1, "side's"),
        ("diff --rev HEAD~3..HEAD", 2, "GIT_NO_LAZY_FETCH=0"),
    ],
)
def test_what_compares_in_a_partial_clone_fetches_or_says_what_it_lacks(
    repo: GitRepo, tmp_path: Path, words: str, code: int, said: str
) -> None:
    done = run_here(*words.split(), cwd=clone_merged(repo, tmp_path / "partial").path)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), (
        done.stdout + done.stderr
    )


@NEEDS_MERGE_TREE
def test_nothing_judged_without_the_server_is_not_nothing_lost(
    repo: GitRepo, tmp_path: Path
) -> None:
    clone = clone_merged(repo, tmp_path / "partial")
    clone.git("remote", "set-url", "origin", f"file://{tmp_path}/gone")
    sides = "--base HEAD~1^1 --head HEAD~1^2"
    for words in (
        f"audit HEAD~1 {sides}",
        "audit explain --range HEAD~2..HEAD",
        f"ci verify --candidate HEAD~1 {sides}",
    ):
        done = run_here(*words.split(), cwd=clone.path)
        assert (done.returncode, done.stdout) == (2, ""), words


def test_a_partial_clone_syncs(repo: GitRepo, tmp_path: Path) -> None:
    decide(repo, "first")
    repo.git("checkout", "-q", "-b", "elsewhere")
    partial = clone_partly(repo, tmp_path / "partial")
    partial.git("checkout", "-q", "main")
    say(partial, "note", "build", "of the clone")
    repo.git("checkout", "-q", "main")
    decide(repo, "first", "of the server")
    repo.git("checkout", "-q", "elsewhere")
    assert "merged" in say(partial, "sync")
    kept = json.loads(partial.read(BUILD))["context_primer"]["key_decisions"]
    assert kept == ["first", "of the clone", "of the server"]


@RELATIVE
def test_worktrees_with_relative_paths_are_worktrees(repo: GitRepo) -> None:
    say(repo, "init")
    decide(repo, "first")
    repo.git("worktree", "add", "-q", "--relative-paths", "../linked", "-b", "linked")
    linked = GitRepo(repo.path.parent / "linked")
    assert not linked.read(".git").startswith("gitdir: /")
    linked.git("branch", "-m", "main", "old")
    linked.git("branch", "-m", "linked", "main")
    merge_both(linked)
    look(linked)


@pytest.fixture
def table(tmp_path: Path) -> GitRepo:
    """A repository with reftable and one checkpoint, and a linked work tree beside it, on the
    branch topic.
    """
    repo = GitRepo.create(tmp_path / "table", "--ref-format=reftable")
    decide(repo, "first")
    repo.git("worktree", "add", "-q", "-b", "topic", "../linked")
    return repo


@REFTABLE
def test_with_reftable_another_work_tree_is_shown_once_and_with_its_branch(table: GitRepo) -> None:
    linked = GitRepo(table.path.parent / "linked")
    for branch, decisions in (
        ("topic", ["first", "second"]),
        ("other", ["first", "second", "third"]),
    ):
        linked.git("checkout", "-q", "-B", branch)
        decide(linked, *decisions)
        found = json.loads(say(table, "status", "--worktrees", "--json"))["worktrees"]
        assert [one["branch"] for one in found if one["work_tree"]] == [branch]
        assert branch not in [one["branch"] for one in found if not one["work_tree"]]


@REFTABLE
def test_with_reftable_a_linked_work_tree_sees_at_once_what_its_new_head_has(
    table: GitRepo,
) -> None:
    linked = GitRepo(table.path.parent / "linked")
    table.git("branch", "ahead")
    table.git("checkout", "-q", "ahead")
    decide(table, "first", "ahead's")
    table.git("checkout", "-q", "main")
    ahead = [
        one["branch"]
        for one in json.loads(say(linked, "status", "--worktrees", "--json"))["worktrees"]
    ]
    assert ahead == ["ahead"]
    linked.git("checkout", "-q", "--detach", "ahead")
    # rotated away
    linked.write(BUILD, json.dumps(checkpoint(context_primer={"key_decisions": ["first"]})))
    assert json.loads(say(linked, "status", "--worktrees", "--json"))["worktrees"] == []


@REFTABLE
@pytest.mark.parametrize("is_signed", [False, True])
def test_with_reftable_a_commit_counts_as_work_of_a_session(
    table: GitRepo, *, is_signed: bool
) -> None:
    signer = table.path.parent / "signer"
    signer.write_text(
        "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho x\n"
    )
    signer.chmod(0o755)
    table.git("config", "gpg.program", str(signer))
    table.git("config", "commit.gpgSign", str(is_signed).lower())
    table.git("config", "log.showSignature", "true")
    start = json.dumps({"session_id": "s", "source": "startup"}).encode()
    assert run_here("session", "start", cwd=table.path, stdin=start).returncode == 0
    later = time.time() + 5
    os.utime(table.write("code.txt", "x"), (later, later))
    table.git("add", "-A")
    env = {**os.environ, "GIT_COMMITTER_DATE": f"@{later:.0f} +0000"}
    table.run("git", "commit", "-qm", "work", env=env)
    found = find_work(find_place(str(table.path)), "s", os.environ)
    assert found
    assert (found.files, found.commits) == (("code.txt",), 1)
