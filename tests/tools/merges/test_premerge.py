"""checkpoint ci premerge with real remotes: what is pushed, what is refused, and what a stranger
cannot do.
"""

import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import commands_of
from checkpoint_git.git.remotes import push_commit
from checkpoint_git.tools.merges import ci
from tests.scenarios.driven import PATH
from tests.support.command import run_checkpoint
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, copy_built
from tests.support.samples import checkpoint_text
from tests.support.streams import Entry, Stream
from tests.support.verbs import Ran, run_verb

pytestmark = NEEDS_MERGE_TREE

DECISIONS = [f"decision {n}" for n in range(6)]


def decided(*more: str, **fields: str) -> str:
    return checkpoint_text(context_primer={"key_decisions": [*DECISIONS, *more]}, **fields)


class Forge(NamedTuple):
    """origin: the bare repository of a forge, with the branches main, topic and clash. clone: a
    job's clone.
    """

    origin: GitRepo
    clone: GitRepo

    def head(self, branch: str = "topic") -> str:
        """What the forge has a branch at; "" for none."""
        return self.origin.git(
            "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False
        )

    def premerge(
        self, *words: str, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> Ran:
        """`checkpoint ci premerge` in the clone, for topic unless the words say otherwise."""
        named = [] if "--head" in words else ["--head", "origin/topic"]
        based = [] if "--base" in words else ["--base", "origin/main"]
        where = cwd or self.clone.path
        return run_verb(
            ci, "merge", *based, *named, *words, cwd=where, env={**os.environ, **(env or {})}
        )

    def hook(self, name: str, script: str) -> None:
        """A hook of the forge."""
        path = self.origin.write(f"hooks/{name}", f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def add(self, branch: str, parent: str, text: str) -> str:
        """A commit that appears on the forge; its id."""
        stream = Stream()
        stream.commit(branch, [parent], {PATH: text})
        stream.write(self.origin)
        return self.head(branch)


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    origin = GitRepo(tmp_path / "the forge" / "origin.git")
    clone = GitRepo(tmp_path / "clone")
    copy_built(build_forge, origin.path, clone.path)
    return Forge(origin, clone)


def build_forge(folder: Path) -> None:
    """0: the forge; 1: the clone."""
    origin = GitRepo.create(folder / "0", "--bare")
    stream = Stream()
    stream.commit("old", [], {PATH: decided(), "a.txt": "1\n"})
    stream.commit("main", ["old"], {PATH: decided("main's", project="main's")})
    stream.commit("topic", ["old"], {PATH: decided("head's")})
    stream.commit("clash", ["old"], {PATH: decided("head's", project="head's")})
    stream.write(origin)
    origin.git("clone", "-q", str(origin.path), str(folder / "1"))


def decisions(repo: GitRepo, rev: str) -> list[str]:
    found: list[str] = json.loads(repo.git("cat-file", "blob", f"{rev}:{PATH}"))["context_primer"][
        "key_decisions"
    ]
    return found


# what is pushed


def test_the_merge_is_pushed_to_the_pull_requests_branch(forge: Forge) -> None:
    old = forge.head()
    ran = forge.premerge("--push")
    assert (ran.outcome.code, ran.outcome.data["state"], ran.outcome.data["pushed"]) == (
        0,
        "merged",
        True,
    )
    assert forge.origin.git("rev-list", "--parents", "-1", "topic").split()[1:] == [
        old,
        forge.head("main"),
    ]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's", "main's"]
    assert forge.origin.git("merge-base", "--is-ancestor", old, "topic") == ""


def test_once_more_is_nothing_to_do(forge: Forge) -> None:
    forge.premerge("--push")
    head = forge.head()
    again = forge.premerge("--push")
    assert (again.outcome.code, again.outcome.data["state"]) == (0, "up-to-date")
    assert forge.head() == head


def test_nothing_is_pushed_unless_asked(forge: Forge) -> None:
    old = forge.head()
    data = forge.premerge().outcome.data
    assert forge.head() == old
    assert (data["pushed"], data["head"]["ref"]) == (False, "refs/heads/topic")
    assert decisions(forge.clone, data["commit"]) == [*DECISIONS, "head's", "main's"]


def test_a_dry_run_leaves_not_one_object(forge: Forge) -> None:
    before = forge.clone.git("count-objects", "-v")
    data = forge.premerge("--push", "--dry-run").outcome.data
    assert (data["state"], data["commit"], data["dry_run"]) == ("merged", None, True)
    assert forge.clone.git("count-objects", "-v") == before


def test_a_conflict_pushes_nothing_and_says_where(forge: Forge) -> None:
    old = forge.head("clash")
    ran = forge.premerge("--head", "origin/clash", "--push")
    assert (ran.outcome.code, forge.head("clash")) == (1, old)
    (finding,) = ran.outcome.findings
    assert (finding.code, finding.path, finding.where) == ("premerge/conflict", PATH, "/project")
    assert 'clash says "head\'s", main says "main\'s"' in finding.message
    assert f"checkpoint resolve {PATH} --where /project" in str(finding.hint)
    assert "git merge origin/main" in ran.text


def test_what_only_the_work_tree_has_is_left_alone(forge: Forge) -> None:
    forge.clone.write(PATH, "unsaved")
    forge.clone.write("new", "untracked")
    index = (forge.clone.path / ".git/index").read_bytes()
    forge.premerge("--push")
    assert (forge.clone.read(PATH), forge.clone.read("new")) == ("unsaved", "untracked")
    assert (forge.clone.path / ".git/index").read_bytes() == index


def test_it_works_from_a_bare_clone_and_a_linked_work_tree(forge: Forge, tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "linked"
    forge.origin.git("clone", "-q", "--bare", str(forge.origin.path), str(bare))
    forge.clone.git("worktree", "add", "-q", str(linked), "origin/old")
    first = forge.premerge("--base", "main", "--head", "topic", "--dry-run", cwd=bare)
    assert (
        first.outcome.data["tree"] == forge.premerge("--dry-run", cwd=linked).outcome.data["tree"]
    )
    assert forge.premerge("--base", "main", "--head", "topic", "--push", cwd=bare).outcome.data[
        "pushed"
    ]


def test_a_fork_is_pushed_to_by_its_address(forge: Forge, tmp_path: Path) -> None:
    fork = tmp_path / "fork.git"
    forge.origin.git("clone", "-q", "--bare", str(forge.origin.path), str(fork))
    forge.premerge("--remote", str(fork), "--branch", "topic", "--push")
    assert decisions(GitRepo(fork), "topic") == [*DECISIONS, "head's", "main's"]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's"]


def test_a_detached_head_needs_the_branchs_name(forge: Forge) -> None:
    forge.clone.git("checkout", "-q", "--detach", "origin/topic")
    with pytest.raises(CheckpointError, match="which branch to push to"):
        forge.premerge("--head", "HEAD", "--push")
    assert forge.premerge("--head", "HEAD", "--branch", "topic", "--push").outcome.data["pushed"]


def test_a_branch_alone_means_what_the_remote_has_it_at(forge: Forge) -> None:
    """A job may have checked out anything: here a trial merge of the pull request, in which nothing
    is left to do.
    """
    new = forge.add("topic", "topic", decided("head's", "more"))
    forge.clone.git("checkout", "-q", "--detach", "origin/main")
    ran = run_verb(ci, "merge", "--base=origin/main", "--branch=topic", "--push", cwd=forge.clone.path,
                   env={**os.environ})  # fmt: skip
    assert (ran.outcome.data["pushed"], ran.outcome.data["head"]["commit"]) == (True, new)
    with pytest.raises(CheckpointError, match="has no branch none to fetch"):
        run_verb(
            ci,
            "merge",
            "--base=origin/main",
            "--branch=none",
            cwd=forge.clone.path,
            env={**os.environ},
        )


@pytest.mark.parametrize("remote", [".", "./"])
def test_a_forge_can_merge_in_its_own_repository(forge: Forge, remote: str) -> None:
    words = ["--remote", remote, "--base", "main", "--head", "topic", "--branch", "topic", "--push"]
    assert forge.premerge(*words, cwd=forge.origin.path).outcome.data["pushed"]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's", "main's"]


# who made it


def test_the_commit_is_made_by_whom_git_is_configured_with(forge: Forge) -> None:
    forge.premerge("--push")
    assert (
        forge.origin.git("log", "-1", "--format=%an <%ae> %cn", "topic")
        == "Ada <ada@example.org> Ada"
    )


def test_without_an_identity_there_is_one_to_fall_back_on(
    forge: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        monkeypatch.delenv(f"GIT_{name}")
    forge.premerge("--push")
    said = forge.origin.git("log", "-1", "--format=%an <%ae> %cn <%ce>", "topic")
    assert said == " ".join(["checkpoint-git <checkpoint-git@localhost>"] * 2)


def test_a_branchs_name_cannot_command_a_service(forge: Forge) -> None:
    name = "x@all#1!`"
    forge.origin.git("branch", name, "topic")
    forge.premerge("--branch", name, "--push")
    message = forge.origin.git("log", "-1", "--format=%B", name)
    assert not set("@#!`") & set(message)


# what a stranger cannot do


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "a..b",
        "a b",
        "a\nb",
        "\x1b[31m",
        "a~1",
        "a:b",
        "refs/pull/1/head",
        "refs/heads/",
        "x.lock",
    ],
)
def test_a_branch_that_cannot_be_one_is_refused(forge: Forge, name: str) -> None:
    with pytest.raises(CheckpointError, match="cannot be a branch") as caught:
        forge.premerge(f"--branch={name}", "--push")
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("name", ["-delete", "--force", "HEAD", "+topic", "@"])
def test_a_branch_that_looks_like_something_else_is_a_branch(forge: Forge, name: str) -> None:
    forge.origin.git("update-ref", f"refs/heads/{name}", forge.head())
    assert forge.premerge(f"--branch={name}", "--push").outcome.data["pushed"]
    assert decisions(forge.origin, f"refs/heads/{name}") == [*DECISIONS, "head's", "main's"]


@pytest.mark.parametrize("remote", ["--upload-pack=touch x", "-x", "nowhere", "ext", "\x1b"])
def test_a_remote_that_is_none_is_refused(forge: Forge, remote: str) -> None:
    with pytest.raises(CheckpointError, match="no remote named") as caught:
        forge.premerge(f"--remote={remote}", "--branch=topic", "--push")
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "rev", ["--output=x", "-1", "no-such", "origin/topic:x", "a..b", "\x1b[31m", ""]
)
def test_a_revision_that_is_none_is_refused(forge: Forge, rev: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        run_verb(
            ci,
            "merge",
            "--base=origin/main",
            f"--head={rev or '..'}",
            cwd=forge.clone.path,
            env={**os.environ},
        )
    assert caught.value.message.isprintable()
    assert str(caught.value.hint)


def test_a_tag_cannot_pass_for_a_remotes_branch(forge: Forge) -> None:
    for name in ("main", "topic"):
        forge.clone.git("tag", f"origin/{name}", "origin/old")
    data = forge.premerge("--push").outcome.data
    assert (data["base"]["commit"], data["pushed"]) == (forge.head("main"), True)


def test_no_hook_of_the_clone_or_of_its_work_tree_runs(forge: Forge) -> None:
    for folder in (".git/hooks", ".husky"):
        for name in (
            "pre-push",
            "reference-transaction",
            "post-commit",
            "pre-commit",
            "commit-msg",
        ):
            forge.clone.write(
                f"{folder}/{name}", f"#!/bin/sh\ntouch '{forge.clone.path}/ran'\nexit 1\n"
            ).chmod(0o755)
    assert forge.premerge("--push").outcome.data["pushed"]
    forge.clone.git("config", "core.hooksPath", ".husky")
    forge.origin.git("branch", "again", forge.clone.git("rev-parse", "origin/topic~1"))
    assert forge.premerge("--head", "origin/topic~1", "--branch", "again", "--push").outcome.data[
        "pushed"
    ]
    assert not (forge.clone.path / "ran").exists()


# what servers do


def test_a_branch_that_moved_is_not_overwritten(forge: Forge) -> None:
    new = forge.add("topic", "topic", decided("head's", "more"))
    with pytest.raises(CheckpointError, match="topic moved: the remote has"):
        forge.premerge("--push")
    assert forge.head() == new


def test_a_branch_that_moved_is_followed_where_asked(forge: Forge) -> None:
    new = forge.add("topic", "topic", decided("head's", "more"))
    ran = forge.premerge("--push", "--retries", "1")
    assert ran.outcome.data["head"]["commit"] == new
    assert sorted(decisions(forge.origin, "topic")) == sorted(
        [*DECISIONS, "head's", "more", "main's"]
    )


def test_a_branch_that_was_merged_meanwhile_is_done(forge: Forge) -> None:
    job = GitRepo(forge.clone.path.parent / "another job")
    forge.origin.git("clone", "-q", str(forge.origin.path), str(job.path))
    forge.premerge("--push", cwd=job.path, env={"GIT_COMMITTER_NAME": "Bob"})
    ran = forge.premerge("--push", "--retries", "3")
    assert (ran.outcome.code, ran.outcome.data["state"]) == (0, "up-to-date")


def test_a_branch_that_is_gone_is_not_made_again(forge: Forge) -> None:
    forge.origin.git("branch", "-D", "topic")
    with pytest.raises(CheckpointError, match="gone from the remote"):
        forge.premerge("--push")
    assert forge.head() == ""


def test_a_refusal_is_told_in_the_servers_words_escaped(forge: Forge) -> None:
    forge.hook("pre-receive", "printf 'protected branch: \\033[31mask the owner\\n' >&2; exit 1")
    done = run_checkpoint(
        "ci", "merge", "--base=origin/main", "--head=origin/topic", "--push", cwd=forge.clone.path
    )
    assert done.returncode == 2
    said = (
        "[remote rejected] (pre-receive hook declined) / protected branch: \\x1b[31mask the owner"
    )
    assert f"refused the push to topic: {said}" in done.stderr
    assert "protected branch has to let it" in done.stderr


def test_a_connection_that_dies_after_the_push_has_pushed(forge: Forge) -> None:
    forge.hook("post-receive", 'kill -9 "$PPID"')
    ran = forge.premerge("--push")
    assert ran.outcome.data["pushed"]
    assert forge.head() == ran.outcome.data["commit"]


def test_a_connection_that_dies_before_the_push_has_not(forge: Forge) -> None:
    old = forge.head()
    forge.hook("pre-receive", 'kill -9 "$PPID"')
    with pytest.raises(
        CheckpointError, match=r"the remote did not confirm the push to topic: .*hung up"
    ) as caught:
        forge.premerge("--push")
    assert "run it again: it is safe to" in str(caught.value.hint)
    assert forge.head() == old


def test_a_remote_that_does_not_answer_any_more_is_told(forge: Forge) -> None:
    forge.hook(
        "post-receive", f"mv '{forge.origin.path}' '{forge.origin.path}.away'; kill -9 \"$PPID\""
    )
    with pytest.raises(CheckpointError, match="does not answer") as caught:
        forge.premerge("--push")
    assert "look whether it arrived" in str(caught.value.hint)


def test_the_lease_holds_without_a_tracking_branch(forge: Forge) -> None:
    commit, expected = forge.head("main"), forge.head("clash")
    before = forge.head()
    reply = push_commit(
        str(forge.clone.path), str(forge.origin.path), "refs/heads/topic", commit, expected
    )
    assert (reply.kind, forge.head()) == ("lost", before)


# clones that lack something


def test_a_branch_that_the_job_did_not_fetch_is_fetched(forge: Forge, tmp_path: Path) -> None:
    job = tmp_path / "job"
    forge.origin.git(
        "clone", "-q", "--single-branch", "-b", "topic", str(forge.origin.path), str(job)
    )
    for base in ("origin/main", "main", "refs/heads/main", forge.head("main")):
        assert (
            forge.premerge("--base", base, "--dry-run", cwd=job).outcome.data["state"] == "merged"
        )


@pytest.mark.parametrize("head", ["origin/topic", "topic", "refs/heads/topic"])
def test_a_pull_request_that_the_job_did_not_fetch_is_fetched_and_pushed(
    forge: Forge, tmp_path: Path, head: str
) -> None:
    job = tmp_path / "job"
    forge.origin.git(
        "clone", "-q", "--single-branch", "-b", "main", str(forge.origin.path), str(job)
    )
    assert forge.premerge("--head", head, "--push", cwd=job).outcome.data["pushed"]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's", "main's"]


def test_a_shallow_clone_is_deepened(forge: Forge, tmp_path: Path) -> None:
    for number in range(70):  # more than the first deepening brings
        forge.add("topic", "topic", decided("head's", str(number)))
    job = tmp_path / "job"
    forge.origin.git(
        "clone", "-q", "--depth=1", "--no-single-branch", f"file://{forge.origin.path}", str(job)
    )
    assert forge.premerge("--push", cwd=job).outcome.data["pushed"]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's", "69", "main's"]


def test_a_shallow_clone_that_cannot_be_deepened_is_told(forge: Forge, tmp_path: Path) -> None:
    job = tmp_path / "job"
    forge.origin.git(
        "clone", "-q", "--depth=1", "--no-single-branch", f"file://{forge.origin.path}", str(job)
    )
    forge.origin.path.rename(tmp_path / "away")
    with pytest.raises(CheckpointError, match="too shallow") as caught:
        forge.premerge(cwd=job)
    assert "--unshallow" in str(caught.value.hint)


def test_a_base_beside_which_another_is_cut_off_is_not_trusted(
    forge: Forge, tmp_path: Path
) -> None:
    """Both sides merged each other's past: with the first parents alone one merge base of two would
    be seen.
    """
    stream = Stream()
    for side in ("l", "r"):
        stream.commit(f"{side}1", ["old"], {PATH: decided(side)})
    stream.commit("l2", ["l1", "r1"], {PATH: decided("l", "r")})
    stream.commit("r2", ["r1", "l1"], {PATH: decided("l", "r")})
    for side in ("l", "r"):
        stream.commit(f"{side}3", [f"{side}2"], {PATH: decided("l", "r", f"{side}3")})
    stream.write(forge.origin)
    job = tmp_path / "job"
    forge.origin.git(
        "clone", "-q", "--depth=2", "--no-single-branch", f"file://{forge.origin.path}", str(job)
    )
    data = forge.premerge("--base", "origin/l3", "--head", "origin/r3", cwd=job).outcome.data
    assert len(data["merge_bases"]) == 2
    assert sorted(decisions(GitRepo(job), data["commit"])) == sorted(
        [*DECISIONS, "l", "r", "l3", "r3"]
    )


def test_a_clone_without_blobs_fetches_what_it_needs(forge: Forge, tmp_path: Path) -> None:
    forge.origin.git("config", "uploadpack.allowFilter", "true")
    job = tmp_path / "job"
    url = f"file://{forge.origin.path}"
    forge.origin.git("clone", "-q", "--filter=blob:none", "--no-checkout", url, str(job))
    assert forge.premerge("--push", cwd=job).outcome.data["pushed"]
    assert decisions(forge.origin, "topic") == [*DECISIONS, "head's", "main's"]


# how it is told


def test_the_answer_is_appended_to_the_jobs_page(forge: Forge, tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_text("before\n")
    words = ["ci", "merge", "--base=origin/main", "--head=origin/clash", "--format=github"]
    done = run_checkpoint(*words, cwd=forge.clone.path, env={"GITHUB_STEP_SUMMARY": str(page)})
    assert done.returncode == 1
    assert done.stdout.startswith(
        f"::error file={PATH},line=4,col=3,title=premerge/conflict::both sides changed"
    )
    assert page.read_text().startswith("before\n### checkpoint ci premerge\n")
    assert "| error |" in page.read_text()


def test_a_page_that_cannot_be_written_costs_no_merge(forge: Forge, tmp_path: Path) -> None:
    words = ["ci", "merge", "--base=origin/main", "--head=origin/topic", "--push", "--json"]
    done = run_checkpoint(
        *words, cwd=forge.clone.path, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no/such")}
    )
    assert (done.returncode, json.loads(done.stdout)["pushed"]) == (0, True)
    assert "could not be written" in done.stderr


def test_options_of_another_verb_are_refused(forge: Forge) -> None:
    with pytest.raises(CheckpointError, match="takes no --retries"):
        run_verb(
            ci,
            "verify",
            "--base=origin/main",
            "--head=origin/topic",
            "--retries=1",
            cwd=forge.clone.path,
        )


def test_without_a_base_nothing_is_guessed(forge: Forge) -> None:
    with pytest.raises(CheckpointError, match="target branch is unknown"):
        run_verb(ci, "merge", cwd=forge.clone.path, env={**os.environ})


# what is left to a person


def test_a_checkpoint_archived_on_one_side_does_not_take_the_others_work_with_it(
    forge: Forge,
) -> None:
    archive = ".checkpoints/history/build.20260301T120000Z.json"
    stream = Stream()
    stream.commit("reset", ["old"], {PATH: None, archive: decided()})
    stream.commit("moved", ["old"], {PATH: None, f"sub/{PATH}": decided()})
    stream.write(forge.origin)
    ran = forge.premerge("--base", "reset", "--push")
    (finding,) = ran.outcome.findings
    assert (ran.outcome.code, ran.outcome.data["state"]) == (1, "conflicts")
    assert (finding.code, finding.path) == ("premerge/removed", PATH)
    assert (
        finding.message
        == f"reset moved it to {archive}, where no checkpoint is, and topic changed it"
    )
    assert f"git checkout {forge.head()[:12]} -- {PATH}" in str(finding.hint)
    assert "its button works, but do not press it" in ran.text
    assert forge.premerge("--base", "topic", "--head", "origin/reset").codes == ["premerge/removed"]
    assert forge.premerge("--base", "moved").outcome.data["state"] == "mergeable"


def test_what_no_rule_settles_says_what_to_type(forge: Forge) -> None:
    stream = Stream()
    stream.commit(
        "left", ["old"], {"a.txt": "2\n", PATH: Entry("120000", b"elsewhere"), "b": "1\n"}
    )
    stream.commit("right", ["old"], {"a.txt": "3\n", PATH: decided("right's"), "b": b"\0"})
    stream.write(forge.origin)
    found = forge.premerge("--base", "left", "--head", "origin/right").outcome.findings
    ways = {finding.path: (finding.code, commands_of(finding.hint)) for finding in found}
    add = ("git", "add", "b")
    assert len(found) == len(ways) == 3
    assert ways["a.txt"] == ("premerge/file", [("git", "add", "a.txt")])
    assert ways["b"][1] == [
        ("git", "checkout", "--ours", "b"),
        add,
        ("git", "checkout", "--theirs", "b"),
        add,
    ]
    assert ways[PATH] == ("premerge/type", [("git", "add", PATH)])


def test_a_folder_in_a_files_way_is_told_under_its_own_name(forge: Forge) -> None:
    stream = Stream()
    stream.commit("folder", ["old"], {PATH: None, f"{PATH}/x": "1\n"})
    stream.write(forge.origin)
    (finding,) = forge.premerge("--base", "folder").outcome.findings
    assert (finding.code, finding.path) == ("premerge/removed", PATH)
    keep = ("git", "checkout", forge.head()[:12], "--", PATH)
    assert commands_of(finding.hint) == [keep, ("git", "rm", PATH)]
