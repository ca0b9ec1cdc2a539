"""A checkpoint with a token in it: what hands its content on does not hand on the token."""

import json
from functools import partial
from typing import Any

import pytest

from checkpoint_git.mcp.calls import World, answer
from checkpoint_git.mcp.tools import TOOLS
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
    context_primer={
        "key_decisions": [TOKEN],
        "generated_files": [TOKEN],
        "user_preferences": [f"set {TOKEN}"],
    },
    blockers=[{"id": "b1", "description": f"{TOKEN} has expired", "needs": "user_decision"}],
)


@pytest.mark.parametrize(
    "words",
    ["prime", "resume build", "resume build --json", "show build --public", "show --public --json"],
)
def test_what_is_handed_on_shows_no_token(repo: GitRepo, words: str) -> None:
    repo.write(PATH, TEXT)
    done = run_here(*words.split(), cwd=repo.path)
    assert "[redacted]" in done.stdout
    assert not [secret for secret in (TOKEN, LOGIN) if secret in done.stdout + done.stderr]
    assert "json" not in words or json.loads(done.stdout)


def test_no_name_of_a_file_shows_a_token(repo: GitRepo) -> None:
    repo.write(f".checkpoints/{TOKEN}.checkpoint.json", checkpoint_text(skill=TOKEN))
    for words in ("show --public", "show --public --json", "prime"):
        done = run_here(*words.split(), cwd=repo.path)
        assert TOKEN not in done.stdout + done.stderr, words


def test_checkpoints_with_tokens_in_their_names_are_all_shown(repo: GitRepo) -> None:
    for name in (TOKEN, TOKEN[:-1] + "3"):
        repo.write(f".checkpoints/{name}.checkpoint.json", checkpoint_text(skill=name))
    shown = json.loads(run_here("show", "--public", "--json", cwd=repo.path).stdout)
    assert list(shown["checkpoints"]) == ["[redacted]", "[redacted] 2"]


def test_an_address_of_ssh_stays_whole_in_a_hint_that_repeats_it(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    text = "clone ssh://git@example.org/x"
    done = run_here(
        "update", "build", "--status=donee", f"--progress_summary={text}", cwd=repo.path
    )
    assert f"--progress_summary='{text}'" in done.stdout + done.stderr


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


def test_a_token_that_is_a_name_is_found_and_no_hint_adds_another_field(repo: GitRepo) -> None:
    held = {TOKEN: {"x": 1}, "a": {TOKEN: TOKEN}, "b/c": TOKEN, "d.e": [TOKEN], "f g": [TOKEN]}
    repo.write(PATH, checkpoint_text(skill_state=held))
    found = json.loads(run_here("validate", "--json", cwd=repo.path).stdout)["findings"]
    assert [one["code"] for one in found] == ["content/secret"] * 5
    by_hand = "remove it from the file"
    assert [one["hint"] for one in found] == [
        *[by_hand] * 4,
        "checkpoint update build '--skill_state.f g.0=[removed]'",
    ]


# where a finding repeats it: as a value, as a name, and cut off behind 60 characters
SPOTS: dict[str, dict[str, Any]] = {
    "a value": {"status": f"{TOKEN} or postgres://ada:{LOGIN}@h/x"},
    "a name": {"skill_state": {f"postgres://ada:{LOGIN}@h/x": f"see {TOKEN}", TOKEN: TOKEN}},
    "a value that is cut off": {"status": "x " * 15 + f"postgres://ada:{LOGIN}{'-' * 40}@h/x"},
}


@pytest.mark.parametrize("spot", SPOTS)
@pytest.mark.parametrize(
    "words", ["prime", "resume build", "resume build --json", "show build --public", "mcp"]
)
def test_no_finding_about_a_checkpoint_shows_its_token(
    repo: GitRepo, words: str, spot: str
) -> None:
    repo.write(PATH, checkpoint_text(**SPOTS[spot]))
    if words == "mcp":
        world = World(str(repo.path), "")
        tools = [tool for tool in TOOLS if not tool.writes and {*tool.needs} <= {"skill"}]
        said = ""
        for tool in tools:
            asked = {"skill": "build"} if tool.needs else {}
            said += answer(tool.name, tool.verb, partial(tool.run, asked, world)).text
    else:
        done = run_here(*words.split(), cwd=repo.path)
        said = done.stdout + done.stderr
    assert not [secret for secret in (TOKEN, LOGIN) if secret in said]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "md"])
@pytest.mark.parametrize("verb", ["validate", "doctor", "doctor --full"])
def test_no_check_repeats_a_password_of_what_it_finds_invalid(
    repo: GitRepo, verb: str, form: str
) -> None:
    password = f"password={LOGIN}"
    announced = {"status": password, "project_dir": password, "created_at": password}
    spots = [*SPOTS.values(), announced, {"blockers": [password]}]
    for number, fields in enumerate(spots):
        repo.write(
            f".checkpoints/build{number}.checkpoint.json",
            checkpoint_text(skill=f"build{number}", **fields),
        )
    done = run_here(*verb.split(), "--format", form, cwd=repo.path)
    assert done.stdout.count("redacted") >= len(spots) - 1  # what is a name is not repeated at all
    assert [number for number in range(len(spots)) if f"build{number}" not in done.stdout] == []
    assert not [secret for secret in (TOKEN, LOGIN) if secret in done.stdout + done.stderr]


def test_an_address_in_the_place_of_a_name_is_not_shown_with_its_password(repo: GitRepo) -> None:
    """Git takes an address for a branch's upstream, and a user pastes one for a name."""
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit("start")
    address = "https://ann:hunter2hunter2@127.0.0.1:1/x.git"
    repo.git("config", "branch.main.remote", address)
    repo.git("config", "branch.main.merge", "refs/heads/main")
    calls = (
        ("sync",),
        ("sync", "--status", "--json"),
        ("claim", "build"),
        ("release", "build"),
        ("claim", "build", f"--remote={address}"),
        ("ci", "verify", f"--base={address}"),
        ("ci", "merge", f"--base={address}", "--head=main"),
        ("restore-point", "create", "--database=sqlite://ann:hunter2hunter2@host/db"),
    )
    for words in calls:
        done = run_here(*words, cwd=repo.path)
        assert (done.returncode, "hunter2" in done.stdout + done.stderr) == (2, False), words
