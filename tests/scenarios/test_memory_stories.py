"""Initiative checkpoints where they are usually lost: agents' own hands, two repositories, odd
graphs and clocks.
"""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoint_git.core.outcome import Invocation
from checkpoint_git.protocols.memory import server
from checkpoint_git.protocols.memory.entity import Entity
from checkpoint_git.protocols.memory.layout import Home
from checkpoint_git.protocols.memory.transports import GraphError
from tests.support.command import ask_json, run_here
from tests.support.memory import (
    OTHERS,
    MemoryTransport,
    configure,
    entity_line,
    find_script,
    put_graph,
    read_observations,
    serve_files,
)
from tests.support.repos import GitRepo

SEED = (
    "initiative:plugin-perfect-alignment-2026", "milestone:M1-skill-centralization", "phase:implementation",
    "last_action:Created PHASE-0-PROTOCOL.md reference document",
    "next_action:Create QUALITY-GATES.md and CHECKPOINT-PROTOCOL.md",
    "context_files:skills/context-awareness/references/PHASE-0-PROTOCOL.md", "timestamp:2026-01-09T10:30:00Z",
)  # fmt: skip


@pytest.fixture
def graph(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "graph.jsonl"
    configure(repo, "stand-in", path)
    serve_files(monkeypatch)
    return path


def ask(repo: GitRepo, *words: str, code: int = 0, stdin: bytes = b"") -> dict[str, Any]:
    return ask_json(repo.path, "memory", *words, code=code, stdin=stdin)


def codes(answer: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in answer.get("findings", [])]


def test_the_seeds_example_is_loaded_in_the_seeds_words(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SEED))
    said = run_here("memory", "load", cwd=repo.path).stdout
    assert (
        "Last session you were working on M1-skill-centralization of plugin-perfect-alignment-2026"
        in said
    )
    for part in (
        "Last:",
        "Next:",
        "Resume from checkpoint?",
        "Resume where I left off",
        "Start fresh",
        "Show details",
    ):
        assert part in said
    answer = ask(repo, "load")
    assert "memory/outdated" in codes(answer)
    assert [one["id"] for one in answer["options"] if one["recommended"]] == ["fresh"]


def test_an_agent_that_only_adds_observations_is_read_by_the_newest(
    repo: GitRepo, graph: Path
) -> None:
    added = (
        "phase:validation",
        "last_action:Running coherence validators",
        "timestamp:2026-01-09T11:00:00Z",
    )
    put_graph(graph, entity_line(*SEED, *added))
    fields = ask(repo, "load")["fields"]
    assert (fields["phase"], fields["timestamp"]) == ("validation", "2026-01-09T11:00:00Z")
    assert fields["last_action"] == "Running coherence validators"


def test_a_minimal_checkpoint_of_the_seed_is_shown_and_completed_by_the_hint(
    repo: GitRepo, graph: Path
) -> None:
    put_graph(
        graph, entity_line("milestone:M1", "phase:complete", "timestamp:2026-01-09T10:00:00Z")
    )
    answer = ask(repo, "load", code=1)
    assert (answer["fields"]["milestone"], codes(answer)[0]) == ("M1", "memory/no-initiative")
    ask(repo, "update", "initiative=shop")
    assert ask(repo, "load")["fields"]["milestone"] == "M1"


def test_two_repositories_on_one_graph_keep_their_own(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    other = GitRepo.create(tmp_path / "other")
    configure(other, "stand-in", graph)
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    ask(other, "save", "--initiative", "blog", "--phase", "draft")
    ask(repo, "save", "--phase", "review")
    assert ask(repo, "load")["fields"]["initiative"] == "shop"
    assert ask(other, "load")["fields"]["phase"] == "draft"
    ask(other, "clear", "--yes")
    assert ask(repo, "load")["fields"]["phase"] == "review"


def test_two_clones_of_one_remote_share_one(repo: GitRepo, graph: Path, tmp_path: Path) -> None:
    repo.git("remote", "add", "origin", "git@example.org:team/shop.git")
    clone = GitRepo.create(tmp_path / "clone")
    clone.git("remote", "add", "origin", "https://user@example.org/team/shop")
    configure(clone, "stand-in", graph)
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    ask(clone, "save", "--phase", "review")
    assert ask(repo, "load")["fields"]["phase"] == "review"


def test_a_repository_that_is_moved_keeps_its_checkpoint_and_a_copy_gets_its_own(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    other = GitRepo.create(tmp_path / "other")
    configure(other, "stand-in", graph)
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    ask(other, "save", "--initiative", "blog", "--phase", "draft")
    for at, (old, initiative) in enumerate(
        [(repo, "shop"), (other, "blog"), (GitRepo(tmp_path / "1"), "blog")]
    ):
        moved = GitRepo(old.path.rename(tmp_path / str(at)))
        assert ask(moved, "load")["fields"]["initiative"] == initiative
        ask(moved, "save", "--phase", "review")
    copy = GitRepo(shutil.copytree(tmp_path / "2", tmp_path / "copy"))
    assert not ask(copy, "load")["exists"]
    ask(copy, "save", "--initiative", "copy", "--phase", "new")
    assert [ask(GitRepo(tmp_path / name), "load")["fields"]["phase"] for name in "02"] == [
        "review",
        "review",
    ]


def test_a_clone_of_a_repository_that_was_moved_does_not_hide_its_checkpoint(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    repo.commit()
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    moved = GitRepo(repo.path.rename(tmp_path / "moved"))
    moved.git("clone", "-q", str(moved.path), "../clone")
    clone = GitRepo(tmp_path / "clone")
    configure(clone, "stand-in", graph)
    ask(clone, "save", "--initiative", "blog", "--phase", "draft")
    assert ask(moved, "load")["fields"]["initiative"] == "shop"
    assert ask(clone, "load")["fields"]["initiative"] == "blog"


@pytest.mark.parametrize(
    "noted", [b"", b"[]", b'{"folder":1,"marks":[1]}', b'{"folder":"/gone","marks":["../x", 7]}']
)
def test_what_a_repository_notes_of_itself_is_read_with_care(
    repo: GitRepo, graph: Path, noted: bytes
) -> None:
    path = repo.path / ".git/checkpoint/memory-home"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(noted)
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    assert ask(repo, "load")["fields"]["initiative"] == "shop"
    assert b"../x" not in path.read_bytes()


def test_a_clone_finds_what_was_saved_before_there_was_a_remote(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    first, clone = (GitRepo.create(tmp_path / name) for name in ("first", "clone"))
    for one in (first, clone):
        configure(one, "stand-in", graph)
    ask(repo, "save", "--initiative", "blog", "--phase", "draft")
    ask(first, "save", "--initiative", "shop", "--phase", "build")
    for one in (first, clone):
        one.git("remote", "add", "origin", "https://example.org/team/shop")
    ask(first, "save", "--phase", "review")
    assert ask(clone, "load")["fields"]["phase"] == "review"
    ask(clone, "save", "--phase", "ship")
    assert ask(first, "load")["fields"]["phase"] == "ship"


def test_another_initiative_is_asked_about_and_the_old_one_kept(repo: GitRepo, graph: Path) -> None:
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    ask(repo, "save", "--initiative", "blog", code=2)
    assert ask(repo, "load")["fields"]["initiative"] == "shop"
    copy = Path(ask(repo, "save", "--initiative", "blog", "--yes")["copy"])
    ask(repo, "save", "--yes", "--fields", f"{copy}/memory-checkpoint.json")
    assert ask(repo, "load")["fields"]["phase"] == "build"


@pytest.mark.parametrize(
    "line",
    [
        "{",
        '{"type":"entity"}',
        '{"type":"entity","name":"x","entityType":"y","observations":[1,null]}',
        "[]",
        "\udcff",
    ],
)
def test_a_broken_graph_is_repaired_by_what_the_message_names(
    repo: GitRepo, graph: Path, line: str
) -> None:
    put_graph(graph, entity_line(*SEED))
    with graph.open("ab") as stream:
        stream.write(b"\n" + os.fsencode(line))
    found = ask(repo, "doctor", code=1)
    assert "memory/graph-broken" in codes(found)
    assert "checkpoint memory doctor --fix" in json.dumps(found)
    run_here("memory", "doctor", "--fix", "--yes", cwd=repo.path)
    assert "memory/graph-broken" not in codes(ask(repo, "doctor"))
    assert ask(repo, "load")["fields"]["milestone"] == "M1-skill-centralization"
    assert set(OTHERS[:2]) <= set(graph.read_text("utf-8").splitlines())


def test_an_entity_that_is_stored_twice_is_told_and_repaired(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SEED), entity_line(*SEED[:3]))
    done = run_here("memory", "save", "--phase", "x", cwd=repo.path)
    assert done.returncode == 2
    assert "times" in done.stderr
    ask(repo, "clear", "--yes")
    ask(repo, "save", "--initiative", "again", "--phase", "x")
    assert ask(repo, "load")["fields"]["phase"] == "x"


@pytest.mark.parametrize(
    "put", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)], ids=["fifo", "dir", "loop"]
)
def test_what_is_no_file_in_the_graphs_place_is_named_with_the_way_out(
    repo: GitRepo, graph: Path, put: Callable[[Path], None]
) -> None:
    put(graph)
    for words in (("load",), ("doctor",), ("doctor", "--fix"), ("clear", "--yes")):
        done = run_here("memory", *words, cwd=repo.path)
        assert (done.returncode, f"{graph} cannot be used: " in done.stderr) == (2, True), (
            done.stderr
        )
    assert "name another one: git config checkpoint.memoryFile PATH" in done.stderr
    repo.git("config", "checkpoint.memoryFile", f"{graph}.other")
    ask(repo, "save", "--initiative", "shop")


def test_a_graph_that_is_sound_needs_no_repair(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line(*SEED))
    before = graph.read_bytes()
    done = run_here("memory", "doctor", "--fix", cwd=repo.path)
    assert (done.returncode, "nothing to fix" in done.stdout, graph.read_bytes()) == (
        0,
        True,
        before,
    )


def test_a_trial_write_that_the_server_refuses_is_not_proved(repo: GitRepo) -> None:
    class FullDisk(MemoryTransport):
        def create_entities(self, entities: Sequence[Entity]) -> list[str]:
            raise GraphError("the server refused create_entities: ENOSPC", "the disk is full")

    invocation = cast(Invocation, SimpleNamespace(cwd=str(repo.path), now=0))
    data: dict[str, Any] = {"graph": "/graph.jsonl"}
    (found,) = server._try(FullDisk(), Home("initiative-checkpoint"), invocation, data)
    assert (found.code, str(found.hint), data.get("proved", False)) == (
        "memory/not-proved", "the disk is full", False,
    )  # fmt: skip


def test_what_sync_overwrites_in_the_checkpoint_comes_back_by_the_hint(
    repo: GitRepo, graph: Path
) -> None:
    ask(repo, "save", "--initiative", "shop", "--next-action", "n" * 300)
    repo.write(
        "WORKFLOW-STATUS.yaml", "active:\n  initiative: shop\nresume:\n  next_action: other\n"
    )
    answer = ask(repo, "sync")
    assert codes(answer) == ["memory/sync-differs", "memory/backup"]
    assert ask(repo, "load")["fields"]["next_action"] == "other"
    ask(repo, *shlex.split(answer["findings"][-1]["hint"].partition("checkpoint memory ")[2]))
    assert ask(repo, "load")["fields"]["next_action"] == "n" * 300
    # who went on since the last sync wins, nothing is lost
    assert "memory/backup" not in codes(ask(repo, "sync"))


def test_going_on_tells_of_the_copy_that_it_kept_of_several_values(
    repo: GitRepo, graph: Path
) -> None:
    put_graph(
        graph,
        entity_line("initiative:shop", "phase:a", "phase:b", "timestamp:2999-01-01T00:00:00Z"),
    )
    assert "memory/backup" in codes(ask(repo, "load", "--continue"))
    assert "memory/several-values" not in codes(ask(repo, "load"))


def test_wrong_words_name_what_to_give_instead(repo: GitRepo, graph: Path) -> None:
    for words, said in {
        ("save", "--initiative", ""): "leave it out",
        (
            "save",
            "--fields",
            "missing",
        ): "--fields missing could not be read: No such file or directory",
        ("save", "--entity", ""): "git config checkpoint.memoryEntity NAME",
        ("sync", "missing.yaml"): "missing.yaml could not be read: No such file or directory",
        ("sync", ".git"): ".git could not be read: it is not a regular file",
    }.items():
        done = run_here("memory", *words, cwd=repo.path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_missing_folder_above_the_graph_is_made(
    repo: GitRepo, graph: Path, tmp_path: Path
) -> None:
    repo.git("config", "checkpoint.memoryFile", str(tmp_path / "a b/c/graph.jsonl"))
    ask(repo, "save", "--initiative", "shop")
    assert ask(repo, "load")["fields"]["initiative"] == "shop"


def test_a_time_from_a_wrong_clock_is_replaced_and_not_followed(repo: GitRepo, graph: Path) -> None:
    put_graph(graph, entity_line("initiative:i", "phase:a", "timestamp:2199-01-01T00:00:00Z"))
    ask(repo, "save", "--phase", "b")
    fields = ask(repo, "load")["fields"]
    assert (fields["phase"], fields["timestamp"] < "2199") == ("b", True)
    assert len(read_observations(graph)) == len(fields)


def test_a_value_that_goes_back_to_an_earlier_one_stays(repo: GitRepo, graph: Path) -> None:
    for value in ("a", "b", "a"):
        ask(repo, "save", "--initiative", "i", "--phase", value)
    assert [text for text in read_observations(graph) if text.startswith("phase:")] == ["phase:a"]


def test_the_one_who_goes_on_wins_in_sync_without_an_option(repo: GitRepo, graph: Path) -> None:
    repo.write(
        "WORKFLOW-STATUS.yaml",
        "active:\n  initiative: shop  # ours\n  phase: build\nresume:\n  next_action: a\n",
    )
    ask(repo, "sync")
    ask(repo, "update", "next_action=b")
    repo.write("WORKFLOW-STATUS.yaml", repo.read("WORKFLOW-STATUS.yaml").replace("build", "review"))
    answer = ask(repo, "sync")
    assert "memory/sync-differs" not in codes(answer)
    assert repo.read("WORKFLOW-STATUS.yaml").splitlines()[1:] == [
        "  initiative: shop  # ours", "  phase: review", "resume:", "  next_action: b",
    ]  # fmt: skip
    assert ask(repo, "load")["fields"]["phase"] == "review"


def test_status_and_prime_say_that_there_is_an_initiative_without_a_server(
    repo: GitRepo, graph: Path
) -> None:
    ask(repo, "save", "--initiative", "shop", "--next-action", "ship it")
    graph.unlink()
    for verb in ("status", "prime"):
        assert "ship it" in run_here(verb, cwd=repo.path).stdout


def test_an_archive_leaves_a_copy_and_a_normal_start(repo: GitRepo, graph: Path) -> None:
    ask(repo, "save", "--initiative", "shop", "--phase", "build")
    answer = ask(repo, "archive", "--last-action", "done with it", "--yes")
    assert answer["final"]["last_action"] == "done with it"
    assert not ask(repo, "load")["exists"]
    assert "shop" not in run_here("status", cwd=repo.path).stdout


def test_one_machine_goes_on_where_another_stopped_on_a_real_server(
    repo: GitRepo, tmp_path: Path
) -> None:
    script, graph = find_script(), tmp_path / "shared/graph.jsonl"
    clone = GitRepo.create(tmp_path / "clone")
    for one in (repo, clone):
        configure(one, f"node {script}", graph)
        one.git("remote", "add", "origin", "https://example.org/team/shop.git")
    for one, phase in ((repo, "build"), (clone, "review"), (repo, "ship")):
        done = run_here(
            "memory", "save", "--initiative", "shop", "--phase", phase, "--strict", cwd=one.path
        )
        assert done.returncode == 0, done.stderr
    done = run_here("memory", "load", "--json", cwd=clone.path)
    assert json.loads(done.stdout)["fields"]["phase"] == "ship"


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        (("initiative:i",), "memory/no-timestamp"),
        (
            ("initiative:i", "timestamp:2026-01-09T10:30:00Z", "timestamp:2026-01-09T11:00:00Z"),
            "memory/interrupted",
        ),
        (("phase:a", "timestamp:2026-01-09T10:30:00Z"), "memory/no-initiative"),
    ],
)
def test_the_command_that_a_finding_names_ends_it(
    repo: GitRepo, graph: Path, texts: tuple[str, ...], code: str
) -> None:
    put_graph(graph, entity_line(*texts))
    found = ask(repo, "load", code=int(code == "memory/no-initiative"))
    (hint,) = [one["hint"] for one in found["findings"] if one["code"] == code]
    words = hint.rpartition("checkpoint memory ")[2].replace("NAME", "mine").split()
    ask(repo, *words)
    assert code not in codes(ask(repo, "load"))


def test_an_update_without_a_checkpoint_names_the_command_that_creates_one(
    repo: GitRepo, graph: Path
) -> None:
    put_graph(graph)
    done = run_here("memory", "update", "phase=x", cwd=repo.path)
    assert "checkpoint memory save --initiative NAME" in done.stderr
    ask(repo, "save", "--initiative", "mine")
