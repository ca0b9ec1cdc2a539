"""A checkpoint with a token in it: what hands its content on does not hand on the token."""

import json

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

TOKEN = "ghp_" + "a1B2" * 9
LOGIN = "s3cr3t-word"
PATH = ".checkpoints/build.checkpoint.json"
TEXT = checkpoint_text(
    phase=f"use {TOKEN}",
    progress_summary=f"cloned https://ada:{LOGIN}@example.org/x",
    next_actions=[f"push with {TOKEN}"],
    context_primer={"key_decisions": [TOKEN], "generated_files": [TOKEN], "user_preferences": [f"set {TOKEN}"]},
    blockers=[{"id": "b1", "description": f"{TOKEN} has expired", "needs": "user_decision"}],
)


@pytest.mark.parametrize(
    "words", ["prime", "resume build", "resume build --json", "show build --public", "show --public --json"]
)
def test_what_is_handed_on_shows_no_token(repo: GitRepo, words: str) -> None:
    repo.write(PATH, TEXT)
    done = run_here(*words.split(), cwd=repo.path)
    assert "[redacted]" in done.stdout
    assert not [secret for secret in (TOKEN, LOGIN) if secret in done.stdout + done.stderr]
    assert "json" not in words or json.loads(done.stdout)


def test_a_spelling_with_escapes_hides_no_token(repo: GitRepo) -> None:
    repo.write(PATH, TEXT.replace("ghp_", "\\u0067hp_"))
    for words in ("resume build", "show build --public"):
        done = run_here(*words.split(), cwd=repo.path)
        assert TOKEN[4:] not in done.stdout.replace("\\u0067hp_", ""), words


def test_a_token_is_not_sent(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit("start")
    repo.git("clone", "-q", "--bare", ".", str(repo.path.parent / "server.git"))
    repo.git("remote", "add", "origin", str(repo.path.parent / "server.git"))
    repo.git("fetch", "-q")
    repo.git("branch", "-q", "-u", "origin/main")
    repo.write(PATH, TEXT)
    done = run_here("sync", cwd=repo.path)
    assert done.returncode == 1
    assert "content/secret" in done.stdout
    sent = repo.run("git", "--git-dir=../server.git", "log", "-p", "--all").stdout.decode()
    assert TOKEN not in sent
