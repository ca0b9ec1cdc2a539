"""checkpoint ci verify and audit: what they take, what they answer to programs, and what they
cannot do.
"""

import json
import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.merges import audit
from checkpoint_git.tools.merges import ci as ci
from tests.support.command import run_checkpoint
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, needs_git
from tests.support.served import PATH, Server, changed, run, start
from tests.support.verbs import NOON, Ran, run_verb


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Main and topic each logged a run."""
    server = Server(tmp_path / "server")
    for name, day in (("topic", 8), ("other", 9)):
        value = start()
        value["skill_state"]["run_history"].append(run(day))
        server.branch(name, value)
    server.merge("other")
    return server


def verify(repo: GitRepo, *words: str) -> Ran:
    return run_verb(ci, "verify", *words, cwd=repo.path, now=NOON, env=dict(os.environ))


def test_both_sides_are_asked_for(server: Server) -> None:
    with pytest.raises(CheckpointError, match="which branch is merged into which"):
        verify(server.repo)
    with pytest.raises(CheckpointError, match="for a squash, name both sides"):
        verify(server.repo, "--candidate", "HEAD", "--head", "topic")
    with pytest.raises(CheckpointError, match="is not a merge"):
        verify(server.repo, "--candidate", "topic")
    with pytest.raises(CheckpointError, match="takes no --push"):
        verify(server.repo, "--base", "main", "--push")


def test_sides_that_have_nothing_in_common_cannot_be_verified(
    server: Server, tmp_path: Path
) -> None:
    server.repo.git("checkout", "-q", "--orphan", "alone")
    server.repo.commit("alone")
    with pytest.raises(CheckpointError, match="no common ancestor"):
        verify(server.repo, "--base", "main", "--head", "alone")
    url = f"file://{server.repo.path}"
    server.repo.git(
        "clone", "-q", "--depth", "1", "--no-single-branch", url, str(tmp_path / "shallow")
    )
    with pytest.raises(CheckpointError) as raised:
        verify(GitRepo(tmp_path / "shallow"), "--base", "origin/main", "--head", "origin/topic")
    assert "--unshallow" in str(raised.value.hint)


def test_a_candidate_at_which_a_shallow_clone_was_cut_off_is_told(
    server: Server, tmp_path: Path
) -> None:
    server.repo.git(
        "clone", "-q", "--depth", "1", f"file://{server.repo.path}", str(tmp_path / "shallow")
    )
    ran = verify(GitRepo(tmp_path / "shallow"), "--candidate", "HEAD")
    assert (ran.codes, ran.outcome.code) == (["merge/not-audited"], 0)
    assert "--unshallow" in ran.text


@NEEDS_MERGE_TREE
def test_a_side_that_has_the_other_already_is_silent(server: Server) -> None:
    for base, head in (("main", "main"), ("main", "other"), ("main~1", "main")):
        ran = verify(server.repo, "--base", base, "--head", head)
        assert (ran.codes, ran.outcome.code) == ([], 0)


@NEEDS_MERGE_TREE
def test_an_answer_for_programs_names_file_place_and_side(server: Server) -> None:
    done = run_checkpoint(
        "ci", "verify", "--base", "main", "--head", "topic", "--json", cwd=server.repo.path
    )
    answer = json.loads(done.stdout)
    (merge,) = answer["merges"]
    (file,) = merge["files"]
    assert (done.returncode, merge["sides"], file["path"], file["made_by"]) == (
        1,
        ["main", "topic"],
        PATH,
        "foreseen",
    )
    assert [(hit["kind"], hit["path"], hit["where"]) for hit in file["hits"]] == [
        ("conflict", PATH, "")
    ]
    server.merge("topic", "-X", "ours")
    done = run_checkpoint("audit", "--json", cwd=server.repo.path)
    answer = json.loads(done.stdout)
    (hit,) = answer["merges"][0]["files"][0]["hits"]
    assert (hit["kind"], hit["side"], hit["meant"]) == ("lost", "second", False)
    assert (answer["merges_looked_at"], answer["counts"], answer["schema_version"]) == (
        2,
        {"lost": 1},
        1,
    )
    done = run_checkpoint("audit", "--fix", "--json", cwd=server.repo.path)
    fix = json.loads(done.stdout)["fix"]
    assert (done.returncode, fix["commit"], fix["dry_run"]) == (
        0,
        server.repo.git("rev-parse", "HEAD"),
        False,
    )
    assert [file["path"] for file in fix["files"]] == [PATH]


@NEEDS_MERGE_TREE
def test_other_files_that_stop_the_merge_are_counted_and_no_finding(server: Server) -> None:
    for name in ("left", "right"):
        server.repo.git("checkout", "-q", "-b", name, "main")
        server.repo.write("code.py", f"print('{name}')\n")
        server.repo.commit(name)
    ran = verify(server.repo, "--base", "left", "--head", "right")
    assert (ran.codes, ran.outcome.code, ran.outcome.data["merges"][0]["other_conflicts"]) == (
        [],
        0,
        1,
    )


@NEEDS_MERGE_TREE
def test_a_file_that_one_side_removed_stops_the_merge(server: Server) -> None:
    server.repo.git("checkout", "-q", "-b", "without", "main~1")
    server.repo.git("rm", "-q", PATH)
    server.repo.commit("without")
    (found,) = verify(server.repo, "--base", "main", "--head", "without").outcome.findings
    assert (found.code, "modify/delete" in found.message) == ("merge/conflict", True)


def test_only_the_sessions_own_checkpoint_is_repaired(server: Server) -> None:
    server.merge("topic", "-X", "ours")
    env = {**os.environ, "CHECKPOINT_SKILL": "audit"}
    ran = run_verb(audit, "--fix", cwd=server.repo.path, now=NOON, env=env)
    assert ran.codes == ["merge/lost-entry", "merge/not-repaired"]
    env["CHECKPOINT_SKILL"] = "build"
    assert run_verb(audit, "--fix", cwd=server.repo.path, now=NOON, env=env).codes == []


def test_a_repair_that_would_be_invalid_is_refused(server: Server) -> None:
    server.branch("invalid", changed(lambda value: value["next_actions"].append({"text": " "})))
    server.commit(changed(lambda value: value["next_actions"].append("Ask Ada")))
    server.merge("invalid", "-X", "ours")
    before = server.repo.git("rev-parse", "HEAD")
    ran = run_verb(audit, "--fix", cwd=server.repo.path, now=NOON, env=dict(os.environ))
    assert ran.codes == ["merge/lost-entry", "merge/not-repaired"]
    assert (
        "the result would be invalid: next_actions.7.text is empty"
        in ran.outcome.findings[-1].message
    )
    assert server.repo.git("rev-parse", "HEAD") == before


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    done = run_checkpoint("audit", cwd=tmp_path)
    assert (done.returncode, "not a git repository" in done.stderr) == (2, True)


@needs_git(2, 35, 2, feature="a check of who owns a repository")
def test_another_owners_checkout_is_named_with_the_command(server: Server) -> None:
    for words in (
        ["verify", "--base=main"],
        ["verify", "--candidate=HEAD"],
        ["merge", "--base=main", "--head=HEAD"],
    ):
        done = run_checkpoint(
            "ci", *words, cwd=server.repo.path, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
        )
        assert done.returncode == 2
        assert "safe.directory" in done.stderr, done.stderr
        assert "names no commit" not in done.stderr


def test_an_empty_repository_has_no_range(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="invalid range"):
        run_verb(audit, cwd=repo.path, now=NOON, env=dict(os.environ))


@NEEDS_MERGE_TREE
def test_a_file_archived_here_and_changed_there_is_not_settled_by_following_the_rename(
    server: Server,
) -> None:
    archive = ".checkpoints/history/build.20260301T120000Z.json"
    server.repo.git("checkout", "-q", "-b", "archived", "main~1")
    server.repo.write(archive, server.repo.read(PATH))
    server.repo.git("rm", "-q", PATH)
    server.repo.commit("archived")
    server.repo.git("checkout", "-q", "main")
    ran = verify(server.repo, "--base", "main", "--head", "archived")
    assert (ran.codes, ran.outcome.findings[0].path) == (["merge/undecided"], PATH)
    server.merge("archived")
    ran = run_verb(audit, "--fix", cwd=server.repo.path, now=NOON, env=dict(os.environ))
    assert ran.codes == ["merge/undecided", "merge/not-repaired"]
    assert "git checkout" in str(ran.outcome.findings[-1].hint)
    server.repo.git("checkout", "-q", "HEAD^", "--", PATH)
    server.repo.commit("brought back")
    assert run_verb(audit, cwd=server.repo.path, now=NOON, env=dict(os.environ)).codes == []
    server.repo.git("rm", "-q", PATH)
    server.repo.commit("and removed on purpose")
    assert run_verb(audit, cwd=server.repo.path, now=NOON, env=dict(os.environ)).codes == []


def test_a_branch_that_the_job_has_not_fetched_is_asked_for(server: Server) -> None:
    for words in (
        ("--base", "origin/main"),
        ("--candidate", "origin/queue"),
        ("--base", "main", "--head", "gone"),
    ):
        with pytest.raises(CheckpointError, match="names no commit") as caught:
            verify(server.repo, *words)
        assert "git fetch origin" in str(caught.value.hint)
    with pytest.raises(CheckpointError, match="names no commit") as caught:
        verify(server.repo, "--candidate", "main", "--base", "main~1", "--head", "gone")
    assert "git fetch origin" in str(caught.value.hint)


@NEEDS_MERGE_TREE
@pytest.mark.parametrize(
    "pushed", ["refs/tags/origin/main", "refs/heads/origin/main", "refs/tags/main"]
)
def test_the_base_is_the_branch_whatever_else_was_pushed_under_its_name(
    server: Server, pushed: str
) -> None:
    server.repo.git("update-ref", "refs/remotes/origin/main", "main")
    expected = [
        verify(server.repo, "--base", base, "--head", "topic") for base in ("origin/main", "main")
    ]
    server.repo.git("update-ref", pushed, "topic")
    found = [
        verify(server.repo, "--base", base, "--head", "topic") for base in ("origin/main", "main")
    ]
    assert [(one.codes, one.text) for one in found] == [(one.codes, one.text) for one in expected]
    assert expected[0].codes


@NEEDS_MERGE_TREE
@pytest.mark.parametrize("branch", ["stable", "v1/HEAD", "x" * 40, "x" * 33])
def test_a_base_that_only_the_remote_has_is_not_a_tag_of_its_name(
    server: Server, branch: str
) -> None:
    expected = verify(server.repo, "--base", "main", "--head", "topic")
    server.repo.git("update-ref", f"refs/remotes/origin/{branch}", "main")
    for tag in (branch, f"origin/{branch}"):
        server.repo.git("update-ref", f"refs/tags/{tag}", "topic")
        assert verify(server.repo, "--base", tag, "--head", "topic").codes == expected.codes
