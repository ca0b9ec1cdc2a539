"""What a write or a look answers where something is unusual: nothing is lost, hidden or started anew."""

import json
from typing import Any

import pytest

from checkpoint_git import Checkpoints
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint, checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
BLOCKERS = [{"id": "b1", "description": "No key"}, {"id": "b2", "description": "No region"}]
WRITES = (["update", "build", "--step=x"], ["note", "build", "x"], ["done", "build"], ["unblock", "build", "b1"])


@pytest.fixture
def build(repo: GitRepo) -> GitRepo:
    repo.write(PATH, checkpoint_text(blockers=BLOCKERS))
    repo.commit("one")
    return repo


def ask(repo: GitRepo, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_here(*words, "--json", cwd=repo.path).stdout)
    return document


def codes(document: dict[str, Any]) -> list[str]:
    return [each["code"] for each in document["findings"]]


@pytest.mark.parametrize("gone", ["ours", "theirs"])
def test_an_unmerged_checkpoint_is_not_written(build: GitRepo, gone: str) -> None:
    build.git("checkout", "-q", "-b", "other")
    for branch, is_gone in (("other", gone == "theirs"), ("main", gone == "ours")):
        build.git("checkout", "-q", branch)
        if is_gone:
            build.git("rm", "-q", PATH)
        else:
            build.write(PATH, checkpoint_text(blockers=BLOCKERS, project=branch))
        build.commit(branch)
    build.git("merge", "-q", "other", check=False)
    before = build.read(PATH)
    for words in WRITES:
        assert codes(ask(build, *words)) == ["git/unmerged"]
    (found,) = Checkpoints(build.path).note("build", "x").written.refused
    assert (build.read(PATH), found.hint) == (before, f"checkpoint resolve {PATH}")


@pytest.mark.parametrize(
    "changes",
    [
        {"blockers": [{**BLOCKERS[0], "resolved": "yes"}]},
        {"blockers": [{**BLOCKERS[0], "options": "a or b"}]},
        {"superseded": [{"step": "x", "reviewed": "yes"}]},
    ],
)
def test_a_value_that_its_readers_would_not_take_is_found(build: GitRepo, changes: dict[str, Any]) -> None:
    build.write(PATH, json.dumps(checkpoint(**changes)))
    assert codes(ask(build, "validate")) == ["skill/wrong-type"]


def test_a_stamp_leaves_undo_what_it_had(build: GitRepo) -> None:
    before = build.read(PATH)
    ask(build, "update", "build", "--step=zebra")
    ask(build, "update", "build")
    assert ask(build, "undo", "build")["fields"] == ["step"]
    assert build.read(PATH) == before


def test_of_another_version_that_alone_is_said_and_the_rest_once_it_is_corrected(build: GitRepo) -> None:
    build.write(PATH, json.dumps(checkpoint(protocol_version="2.0", status="zebra", nextActions=["x"])))
    assert codes(ask(build, "validate")) == ["skill/protocol-version"]
    assert ask(build, "update", "build", "--protocol_version=1.0")["written"]
    assert codes(ask(build, "validate")) == ["skill/unknown-status", "skill/unknown-field"]


def test_validate_looks_at_every_folder_below(build: GitRepo) -> None:
    build.git("mv", ".checkpoints", "moved")
    for folder in ("pkg/a", "pkg/b c"):
        build.write(f"{folder}/{PATH}", checkpoint_text())
    build.commit("two")
    assert len(ask(GitRepo(build.path / "pkg"), "validate")["checked"]) == 2


def test_an_item_is_removed_by_its_description(build: GitRepo) -> None:
    assert ask(build, "update", "build", "--blockers-=No key")["written"]
    assert json.loads(build.read(PATH))["blockers"] == BLOCKERS[1:]


@pytest.mark.parametrize("word", ["--blockers-=", "--decisions-=", "--Blockers-="])
def test_an_empty_removal_takes_no_list_of_several_items_and_nothing_by_another_name(build: GitRepo, word: str) -> None:
    before = build.read(PATH)
    hint = ask(build, "update", "build", word)["error"]["hint"]
    assert build.read(PATH) == before
    assert ask(build, "update", "build", hint.partition("all: ")[2].replace("'", ""))["written"]
