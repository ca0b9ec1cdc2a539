"""What a write or a look answers where something is unusual: nothing is lost, hidden or started
over.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git import CheckpointError, Checkpoints
from tests.support.command import ask_json, run_here
from tests.support.repos import GitRepo, copy_built
from tests.support.rows import rows
from tests.support.samples import checkpoint, checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
BLOCKERS = [{"id": "b1", "description": "No key"}, {"id": "b2", "description": "No region"}]
WRITES = (
    ["update", "build", "--step=x"],
    ["note", "build", "x"],
    ["done", "build"],
    ["unblock", "build", "b1"],
)


@pytest.fixture
def build(repo: GitRepo) -> GitRepo:
    copy_built(build_committed, repo.path)
    return repo


def build_committed(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(PATH, checkpoint_text(blockers=BLOCKERS))
    repo.commit("one")


def ask(repo: GitRepo, *words: str) -> dict[str, Any]:
    return ask_json(repo.path, *words, code=None)


def codes(document: dict[str, Any]) -> list[str]:
    return [each["code"] for each in document["findings"]]


@pytest.mark.parametrize("version", ["2", "4", "split"])
@pytest.mark.parametrize("gone", ["ours", "theirs"])
def test_an_unmerged_checkpoint_is_not_written(build: GitRepo, gone: str, version: str) -> None:
    build.git("checkout", "-q", "-b", "other")
    for branch, is_gone in (("other", gone == "theirs"), ("main", gone == "ours")):
        build.git("checkout", "-q", branch)
        if is_gone:
            build.git("rm", "-q", PATH)
        else:
            build.write(PATH, checkpoint_text(blockers=BLOCKERS, project=branch))
        build.commit(branch)
    build.git("merge", "-q", "other", check=False)
    build.git(
        "update-index", *(["--split-index"] if version == "split" else ["--index-version", version])
    )
    before = build.read(PATH)
    for words in (*WRITES, ["undo", "build"], ["reset", "build"], ["rotate"]):
        assert ask(build, *words)["error"]["hint"] == f"checkpoint resolve {PATH}"
    with pytest.raises(CheckpointError, match="not resolved"):
        Checkpoints(build.path).note("build", "x")
    assert build.read(PATH) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"blockers": [{**BLOCKERS[0], "resolved": "yes"}]},
        {"blockers": [{**BLOCKERS[0], "options": "a or b"}]},
        {"superseded": [{"step": "x", "reviewed": "yes"}]},
    ],
)
def test_a_value_that_its_readers_would_not_take_is_found(
    build: GitRepo, changes: dict[str, Any]
) -> None:
    build.write(PATH, json.dumps(checkpoint(**changes)))
    assert codes(ask(build, "validate")) == ["skill/wrong-type"]


def test_a_stamp_leaves_undo_what_it_had(build: GitRepo) -> None:
    before = build.read(PATH)
    ask(build, "update", "build", "--phase=zebra")
    ask(build, "update", "build")
    assert ask(build, "undo", "build")["fields"] == ["phase"]
    assert build.read(PATH) == before


def test_of_another_version_that_alone_is_said_and_the_rest_once_it_is_corrected(
    build: GitRepo,
) -> None:
    build.write(
        PATH, json.dumps(checkpoint(protocol_version="2.0", status="zebra", nextActions=["x"]))
    )
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
def test_an_empty_removal_takes_no_list_of_several_items_and_nothing_by_another_name(
    build: GitRepo, word: str
) -> None:
    before = build.read(PATH)
    hint = ask(build, "update", "build", word)["error"]["hint"]
    assert build.read(PATH) == before
    assert ask(build, "update", "build", hint.partition("all: ")[2].replace("'", ""))["written"]


@pytest.mark.parametrize(
    ("word", "removed"),
    [
        ("--blockers-=No key", {"blockers": ["No key"]}),
        ("--blockers:json=[]", {"blockers": ["No key", "No region"]}),
        ("--next_actions-=Write the notes API", {"next_actions": ["Write the notes API"]}),
        (
            '--context_primer={"key_decisions": ["x"]}',
            {"context_primer.key_decisions": ["SQLite for storage", "Passkeys only"]},
        ),
        ("--blockers[b1].needs=code_fix", {}),
        ("--step=x", {}),
    ],
)
def test_what_a_write_removes_is_named_and_undo_brings_it_back(
    build: GitRepo, word: str, removed: dict[str, list[str]]
) -> None:
    before = build.read(PATH)
    answer = ask(build, "update", "build", word)
    assert {
        where: answer["removed"].get(where) for where in removed or answer["removed"]
    } == removed
    ask(build, "undo", "build")
    assert build.read(PATH) == before


@pytest.mark.parametrize("is_sparse_index", [False, True])
def test_what_a_sparse_checkout_leaves_out_is_not_started_anew(
    build: GitRepo, is_sparse_index: bool
) -> None:
    build.write("src/a", "a")
    build.commit("two")
    build.git("sparse-checkout", "set", *(["--sparse-index"] if is_sparse_index else []), "src")
    for words in (["resume", "build"], ["prime"]):
        ran = run_here(*words, cwd=build.path)
        assert "git sparse-checkout add .checkpoints" in ran.stdout + ran.stderr
    (build.path / ".checkpoints").mkdir()
    for words in (*WRITES, ["resume", "build"], ["show", "build"], ["undo", "build"]):
        assert (
            ask(build, *words)["error"]["hint"]
            == "bring it here: git sparse-checkout add .checkpoints"
        )
    with pytest.raises(CheckpointError, match="leaves it out"):
        Checkpoints(build.path).resume("build")
    assert ask(build, "update", "other", "--step=x")["written"]


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [
            leaf
            for member in (value.values() if isinstance(value, dict) else value)
            for leaf in leaves(member)
        ]
    return [value]


@pytest.mark.parametrize(
    "changes",
    [
        {"key_decisions": ["a", "it's $b"]},
        {"next": "do this"},
        {"nextActions": [{"text": "x", "done_when": "true"}]},
        {"summary": "another text"},
        {"blocker": "no key"},
        {"key_decisions": {"a": 1}},
        {"user_preference": [1, 2]},
        {"rows": [{"id": "z", "label": "Z", "status": "complete"}]},
        {"budget": 5},
        {"context_primer": {"decisions": ["q"]}},
        {"blockers": [{"id": "b", "text": "No key"}]},
        {"blockers": [{"id": "b", "text": "No key", "description": "other"}]},
        {"cost": {"total": 5}},
        {"merged_prs+": ["#4"]},
        {"skill_state": {"merged_prs": [1], "merged_prs+": 2}},
        {"--step": "v"},
        {"status+": "done"},
        {"own:json": "w"},
    ],
)
def test_the_line_for_a_misplaced_field_moves_what_it_says(
    build: GitRepo, changes: dict[str, Any]
) -> None:
    build.write(PATH, json.dumps(checkpoint(**changes)))
    (hint,) = [
        each["hint"]
        for each in ask(build, "validate")["findings"]
        if each["code"] in ("skill/unknown-field", "skill/misplaced-operator")
    ]
    _, *words = shlex.split(hint.partition(": ")[2])
    assert ask(build, *words)["written"], hint
    assert not {"skill/unknown-field", "skill/misplaced-operator"}.intersection(
        codes(ask(build, "validate"))
    )
    kept = leaves(json.loads(build.read(PATH)))
    assert [leaf for leaf in leaves(changes) if leaf not in kept] == []


@rows(
    ("typed", "shown"),
    [
        ("note", "usage: checkpoint note NAME TEXT"),
        ("note build", "usage: checkpoint note NAME TEXT"),
        ("note we use sqlite", "there are: build"),
        ("note biuld 'we use'", "did you mean build?"),
        ("note build use --quick", "checkpoint note build use -- --quick"),
        ("decide", "usage: checkpoint decide NAME [ID] ANSWER; there are: build"),
        ("ask --option A", "usage: checkpoint ask [OPTIONS] NAME QUESTION"),
        ("drop build Write", "--why TEXT NAME"),
        ("undo", "usage: checkpoint undo NAME; there are: build"),
        ("update --step=x", "usage: checkpoint update NAME [EDIT ...]; there are: build"),
    ],
)
def test_where_a_name_or_a_text_is_missing_the_usage_and_the_names_are_shown(
    build: GitRepo, typed: str, shown: str
) -> None:
    hint = ask(build, *shlex.split(typed))["error"]["hint"]
    assert shown in hint.replace("python -m checkpoint_git", "checkpoint")


def test_where_several_names_could_be_meant_none_is_guessed(build: GitRepo) -> None:
    ask(build, "update", "other")
    assert "there are: build, other" in ask(build, "note", "we", "use")["error"]["hint"]


def test_what_is_below_the_top_is_named_there(build: GitRepo) -> None:
    build.write(f"pkg/a b/{PATH}", checkpoint_text())
    build.commit("two")
    line = "checkpoint -C 'pkg/a b' status"
    for words in (["status"], ["next"], ["resume", "build"], ["prime"]):
        assert line in run_here(*words, cwd=build.path).stdout
        assert line not in run_here(*words, cwd=build.path / "pkg").stdout
    (build.path / PATH).unlink()
    (build.path / ".checkpoints").rmdir()
    assert line in run_here("prime", cwd=build.path).stdout


def test_two_names_that_differ_by_capital_letters_are_found_and_not_written(build: GitRepo) -> None:
    build.write(".checkpoints/Build.checkpoint.json", json.dumps(checkpoint(skill="Build")))
    if len(list((build.path / ".checkpoints").iterdir())) < 2:
        pytest.skip("this file system takes both for one")
    for verb in ("validate", "doctor"):
        assert "file/name-twice" in codes(ask(build, verb))
    for words in WRITES:
        assert "checkpoint reset Build" in ask(build, *words)["error"]["hint"]
    build.run("git", "add", "--all")
    refused = run_here("hook", "pre-commit", cwd=build.path)
    assert (refused.returncode, "file/name-twice" in refused.stdout) == (1, True)
    ask(build, "reset", "Build")
    assert "file/name-twice" not in codes(ask(build, "validate"))
    assert ask(build, *WRITES[0])["written"]


def test_git_is_not_asked_for_what_it_never_had(build: GitRepo) -> None:
    for path in (PATH, ".checkpoints/new.checkpoint.json"):
        build.write(path, "{")
    for verb in ("validate", "status", "doctor"):
        hints = {
            each["path"]: each["hint"]
            for each in ask(build, verb)["findings"]
            if each["code"] == "json/syntax"
        }
        assert [f"git checkout HEAD -- {path}" in hint for path, hint in sorted(hints.items())] == [
            True,
            False,
        ]


@pytest.mark.parametrize(
    "changes",
    [
        {"progress_table": "Zebra"},
        {"next_actions": "Zebra"},
        {"blockers": ["Zebra"]},
        {"pm_refs": "Zebra"},
    ],
)
def test_the_line_for_a_value_of_a_wrong_type_keeps_its_text(
    build: GitRepo, changes: dict[str, Any]
) -> None:
    build.write(PATH, json.dumps(checkpoint(**changes)))
    (hint,) = [
        each["hint"]
        for each in ask(build, "validate")["findings"]
        if each["code"].startswith("skill/")
    ]
    _, *words = shlex.split(hint.partition(": ")[2])
    assert ask(build, *[word.replace("...", "zebra") for word in words])["written"], hint
    assert "Zebra" in build.read(PATH)
    assert codes(ask(build, "validate")) == []
