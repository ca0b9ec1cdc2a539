"""Sync, pushes with hooks and `ci premerge` over smart HTTP and ssh; servers that ask, refuse, wait
or break off.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import remotes
from checkpoint_git.tools.merges import ci
from checkpoint_git.tools.setup.init import Options, init
from tests.support.git_servers import (
    LOGIN,
    NEEDS_HTTP,
    NEEDS_SSH,
    NEEDS_SSHD,
    GitHttpServer,
    SshServer,
    serve_http,
    serve_silence,
    serve_ssh,
)
from tests.support.repos import NEEDS_MERGE_TREE
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb
from tests.tools.sync.clones import BUILD, Clone, Hub, create_hub


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return create_hub(tmp_path)


@pytest.fixture
def http(hub: Hub) -> Iterator[GitHttpServer]:
    with serve_http(hub.path.parent) as server:
        yield server


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    with serve_ssh(tmp_path / "sshd") as server:
        monkeypatch.setenv("GIT_SSH_COMMAND", server.command)
        yield server


@pytest.fixture(
    params=[pytest.param("http", marks=NEEDS_HTTP), pytest.param("ssh", marks=NEEDS_SSHD)]
)
def url(request: pytest.FixtureRequest, hub: Hub) -> str:
    """Where the hub is served."""
    server: GitHttpServer | SshServer = request.getfixturevalue(request.param)
    return server.url() if isinstance(server, GitHttpServer) else server.url(hub.path)


def clone_from(url: str, folder: Path) -> Clone:
    """A clone through a connection."""
    clone = Clone(folder)
    clone.run("git", "clone", "-q", url, str(folder), cwd=folder.parent)
    return clone


@pytest.fixture
def ann(hub: Hub) -> Clone:
    """A clone whose remote is elsewhere as soon as a test says so."""
    return hub.clone("ann")


def point(clone: Clone, url: str) -> None:
    clone.git("remote", "set-url", "origin", url)


def finding(clone: Clone, **wish: Any) -> tuple[str, str]:
    """The code and the message of what a sync that fails says."""
    (found,) = clone.sync(**wish).findings
    return found.code, f"{found.message}; {found.hint}"


# where everything works


def test_two_clones_sync_through_a_connection(hub: Hub, url: str, tmp_path: Path) -> None:
    ann, bob = (clone_from(url, tmp_path / name) for name in ("ann", "bob"))
    ann.change(cost={"total_usd": 2.0})
    assert ann.sync().sent == [BUILD]
    bob.change(project="atlas")
    assert bob.sync().merged == [BUILD]
    assert ann.sync().brought == [BUILD]
    assert (hub.load()["project"], hub.load()["cost"], ann.load()) == (
        "atlas",
        {"total_usd": 2.0},
        bob.load(),
    )


def test_a_push_through_a_connection_meets_the_hook(hub: Hub, url: str, tmp_path: Path) -> None:
    ann = clone_from(url, tmp_path / "ann")
    init(str(ann.path), Options(), os.environ)
    ann.commit()
    ann.write(BUILD, checkpoint_text(status="nearly"))
    ann.git("commit", "-q", "--no-verify", "-am", "broken")
    done = ann.run("git", "push", "-q", "origin", "HEAD:refs/heads/topic")
    assert done.returncode != 0
    assert b"invalid status" in done.stderr
    ann.git("reset", "-q", "--hard", "HEAD~1")
    ann.git("push", "-q", "origin", "HEAD:refs/heads/topic")
    assert hub.git("rev-parse", "topic") == ann.git("rev-parse", "HEAD")


@NEEDS_MERGE_TREE
def test_a_pull_request_is_merged_through_a_connection(hub: Hub, url: str, tmp_path: Path) -> None:
    ann = clone_from(url, tmp_path / "ann")
    diverge(ann)
    bob = clone_from(url, tmp_path / "bob")
    assert premerge(bob).exit_code == 0
    merged = json.loads(hub.git("show", f"topic:{BUILD}"))
    assert {"main's", "topic's"} <= set(merged["context_primer"]["key_decisions"])


def diverge(ann: Clone) -> None:
    """Branches main and topic, which both decided something: a merge by lines would be a
    conflict.
    """
    ann.git("branch", "topic")
    for branch in ("topic", "main"):
        ann.git("checkout", "-q", branch)
        ann.change(context_primer={"key_decisions": [f"{branch}'s"]})
        ann.commit()
        ann.git("push", "-q", "origin", branch)


def premerge(clone: Clone, remote: str = "origin") -> Any:
    words = (
        "merge",
        "--remote",
        remote,
        "--base",
        "origin/main",
        "--head",
        "origin/topic",
        "--push",
    )
    return run_verb(ci, *words, cwd=clone.path, env=dict(os.environ)).outcome


# a password


@NEEDS_HTTP
def test_a_password_that_a_helper_knows_is_used(ann: Clone, http: GitHttpServer) -> None:
    http.password = True
    point(ann, http.url())
    name, _, password = LOGIN.partition(":")
    ann.git(
        "config",
        "credential.helper",
        f"!f() {{ echo username={name}; echo 'password={password}'; }}; f",
    )
    ann.change(project="atlas")
    assert ann.sync().sent == [BUILD]


@NEEDS_HTTP
def test_a_password_is_asked_of_nobody(
    ann: Clone, http: GitHttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    http.password = True
    point(ann, http.url())
    asked = ann.path / ".git/asked"
    window = ann.write(".git/window", f"#!/bin/sh\ntouch {asked}\nsleep 60\n")
    window.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(window))
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.delenv("GIT_TERMINAL_PROMPT")
    ann.git("config", "core.askPass", str(window))
    ann.change(project="atlas")
    code, said = finding(ann)
    assert code == "sync/queued"
    assert "could not read Username" in said
    assert said.endswith("git ls-remote origin")
    assert not asked.exists()


@NEEDS_SSHD
def test_ssh_asks_nobody_for_a_password_nor_about_a_host(
    ann: Clone, hub: Hub, ssh: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ann.path / ".git/asked"
    window = ann.write(".git/window", f"#!/bin/sh\ntouch {asked}\nsleep 60\n")
    window.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(window))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    point(ann, ssh.url(hub.path))
    ann.change(project="atlas")
    for command, reason in (
        (ssh.stranger, "Permission denied"),
        ("ssh -F none", "Host key verification failed"),
    ):
        monkeypatch.setenv("GIT_SSH_COMMAND", command)
        code, said = finding(ann)
        assert (code, reason in said, "git ls-remote origin" in said) == (
            "sync/queued",
            True,
            True,
        ), said
    assert not asked.exists()


@NEEDS_HTTP
def test_no_address_is_shown_with_its_password(ann: Clone, http: GitHttpServer) -> None:
    http.password = True
    point(ann, http.url(login="ann:guessed@"))
    ann.change(project="atlas")
    assert "guessed" not in str(ann.sync())
    with pytest.raises(CheckpointError) as caught:
        premerge(ann, http.url(login="ann:guessed@"))
    assert "guessed" not in f"{caught.value.message} {caught.value.hint}"


# a refusal


@NEEDS_HTTP
def test_a_server_that_refuses_pushes_is_not_asked_again(ann: Clone, http: GitHttpServer) -> None:
    http.refused = ("git-receive-pack",)
    point(ann, http.url())
    ann.change(project="atlas")
    code, said = finding(ann)
    assert code == "sync/refused"
    assert "403" in said
    assert [one for one in http.asked if "receive" in one] == ["GET git-receive-pack"]


@NEEDS_HTTP
def test_a_server_that_refuses_everything_is_named(ann: Clone, http: GitHttpServer) -> None:
    http.refused = ("git-receive-pack", "git-upload-pack")
    point(ann, http.url())
    ann.change(project="atlas")
    code, said = finding(ann)
    assert code == "sync/queued"
    assert "403" in said


@NEEDS_HTTP
@NEEDS_MERGE_TREE
def test_a_merge_that_may_not_be_pushed_says_so(ann: Clone, http: GitHttpServer) -> None:
    diverge(ann)
    http.refused = ("git-receive-pack",)
    point(ann, http.url())
    with pytest.raises(CheckpointError) as caught:
        premerge(ann)
    assert "403" in caught.value.message
    assert "May this job's identity push" in str(caught.value.hint)


# silence, and an end in the middle


@pytest.fixture(
    params=[pytest.param("http", marks=NEEDS_HTTP), pytest.param("ssh", marks=NEEDS_SSH), "git"]
)
def silent(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that never answers."""
    with serve_silence() as port:
        yield f"{request.param}://127.0.0.1:{port}/hub.git"


def test_a_sync_with_a_server_that_never_answers_has_an_end(ann: Clone, silent: str) -> None:
    point(ann, silent)
    ann.change(project="atlas")
    code, said = finding(ann, timeout=1.0)
    assert code == "sync/queued"
    assert "no answer within 1 second" in said


@NEEDS_MERGE_TREE
def test_a_premerge_with_a_server_that_never_answers_has_an_end(
    ann: Clone, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remotes, "PATIENCE", 1.0)
    point(ann, silent)
    with pytest.raises(
        CheckpointError, match="origin gave no answer: fatal: no answer within 1 second"
    ):
        premerge(ann)


@NEEDS_HTTP
def test_a_fetch_that_breaks_off_leaves_the_clone_as_it_was(
    hub: Hub, ann: Clone, http: GitHttpServer
) -> None:
    bob = hub.clone("bob")
    bob.change(project="atlas")
    bob.sync()
    point(ann, http.url())
    http.dies_in = "git-upload-pack"
    before = ann.read(BUILD)
    assert finding(ann)[0] == "sync/unreachable"
    assert ann.read(BUILD) == before
    http.dies_in = ""
    assert ann.sync().brought == [BUILD]


@NEEDS_HTTP
def test_a_push_whose_answer_breaks_off_arrives_once(
    hub: Hub, ann: Clone, http: GitHttpServer
) -> None:
    point(ann, http.url())
    http.dies_in = "git-receive-pack"
    ann.change(project="atlas")
    done = ann.sync()
    assert (done.state, done.sent, done.findings) == ("synced", [BUILD], [])
    assert hub.load()["project"] == "atlas"
    assert len(hub.git("rev-list", "main").split()) == 2


@NEEDS_HTTP
@NEEDS_MERGE_TREE
def test_a_merge_whose_push_breaks_off_is_found_to_have_arrived(
    hub: Hub, ann: Clone, http: GitHttpServer
) -> None:
    diverge(ann)
    point(ann, http.url())
    http.dies_in = "git-receive-pack"
    done = premerge(ann)
    assert (done.exit_code, done.data["commit"]) == (0, hub.git("rev-parse", "topic"))
