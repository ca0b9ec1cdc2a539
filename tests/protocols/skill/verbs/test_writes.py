"""Writes as people type them, mostly slightly wrong: each is refused, or `checkpoint show` prints
what was typed.
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from checkpoint_git import CheckpointError, Checkpoints
from tests.support.command import run_here
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

WRITES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("writes.json").read_text("utf-8")
)
BLOCKER = {"id": "b1", "description": "Which region?", "needs": "user_decision"}
WRITTEN = checkpoint_text(blockers=[BLOCKER])
LINE = re.compile(r"(checkpoint [a-z]+ build.*?)(?:;|, with no|, or =|$)")


@pytest.fixture
def build(project: Path) -> Path:
    path = project / ".checkpoints/build.checkpoint.json"
    path.write_text(WRITTEN, "utf-8")
    return path


@rows("write", WRITES)
def test_nothing_typed_is_unfindable(build: Path, project: Path, write: dict[str, Any]) -> None:
    build.write_text(WRITTEN, "utf-8")
    before = build.read_bytes()
    ran = run_here("update", "build", "--json", *write["typed"], cwd=project)
    document = json.loads(ran.stdout)
    if "refused" in write:
        codes = [finding["code"] for finding in document.get("findings", [])]
        assert (ran.returncode, codes[:1]) == (
            (2, []) if write["refused"] == "usage" else (1, [write["refused"]])
        )
        hints = (
            [document["error"]["hint"]]
            if "error" in document
            else [each["hint"] for each in document["findings"]]
        )
        assert write.get("hint", "") in hints[0]
        # one line for all of it
        assert len({hint.partition(": checkpoint ")[2] for hint in hints}) == 1
        assert build.read_bytes() == before
        follow(hints[0], project, " ".join(write["typed"]))
        return
    understood = [[each["typed"], each["meant"]] for each in document["understood"]]
    assert (ran.returncode, understood) == (0, write.get("understood", []))
    assert build.read_bytes() != before
    assert write.get("written", document["fields"][0]) in document["fields"]
    if "zebra" in " ".join(write["typed"]):
        assert "zebra" in run_here("show", "build", cwd=project).stdout


def follow(hint: str, project: Path, asked: str) -> None:
    """What a hint says to type is written, and can be found; zebra is what goes in place of the
    dots.
    """
    line = LINE.search(hint)
    if line is None or "VALUE" in line[1]:
        return
    is_number = "cost" in line[1]
    ran = run_here(
        *shlex.split(line[1].replace("...", "5" if is_number else "zebra"))[1:], cwd=project
    )
    # no action has it, and nobody knows when
    if line[1].startswith(("checkpoint drop", "checkpoint done")) or '_at="..."' in line[1]:
        assert "zebra" in ran.stdout or "done: " in ran.stdout
        return
    assert ran.returncode == 0, f"{line[1]}\n{ran.stdout}{ran.stderr}"
    is_lost = (
        "zebra" in asked
        and "zebra" in line[1]
        and "zebra" not in run_here("show", "build", cwd=project).stdout
    )
    assert not is_lost or is_number


def test_a_kept_type_has_a_way_out(build: Path, project: Path) -> None:
    build.write_text(
        checkpoint_text(skill_state={"tags": ["a"], "run": {"at": 1}, "on": True}), "utf-8"
    )
    before = build.read_bytes()
    for word in ("--skill_state.tags=zebra", "--skill_state.run=zebra"):
        assert run_here("update", "build", word, cwd=project).returncode == 2
        assert build.read_bytes() == before
    assert run_here("update", "build", "--skill_state.on=no", cwd=project).returncode == 0
    assert json.loads(build.read_text("utf-8"))["skill_state"]["on"] is False
    assert (
        Checkpoints(project).update("build", {"skill_state.run": ["zebra"]}).written.refused == []
    )
    assert (
        run_here("update", "build", '--skill_state.tags:json="zebra"', cwd=project).returncode == 0
    )
    assert json.loads(build.read_text("utf-8"))["skill_state"] == {
        "tags": "zebra",
        "run": ["zebra"],
        "on": False,
    }


def test_what_was_understood_is_printed_unless_the_help_promises_the_name(
    build: Path, project: Path
) -> None:
    ran = run_here(
        "update",
        "build",
        "--decision+=zebra",
        "--decisions+=yak",
        "--status=in-progress",
        cwd=project,
    )
    assert "--decisions is context_primer.key_decisions" in ran.stdout
    assert "--decision is" not in ran.stdout
    assert '"in-progress" is in_progress' in ran.stdout


@rows("write", [write for write in WRITES if ":json" not in write["typed"][0]])
def test_the_api_gives_the_same_answers(build: Path, project: Path, write: dict[str, Any]) -> None:
    word = write["typed"][-1].removeprefix("--")
    path, equals, value = word.partition("=")
    if (
        not equals
        or not path.strip("+-. ")
        or len(write["typed"]) > 1
        or not write["typed"][0].startswith("--")
    ):
        return
    field, values = path.rstrip("+-"), {path.rstrip("+-"): [value]}
    arguments: dict[str, Any] = {"replace": {field: value}} if field == path else {}
    arguments |= (
        {"append": values}
        if path.endswith("+")
        else {"remove": values}
        if path.endswith("-")
        else {}
    )
    build.write_text(WRITTEN, "utf-8")
    before, seen = build.read_bytes(), None
    try:
        result = Checkpoints(project).update("build", **arguments)
    except CheckpointError as error:
        seen = error
    if seen is not None:
        assert write["refused"] == "usage"
    else:
        refused = result.written.refused
        assert [found.code for found in refused[:1]] == (
            [write["refused"]] if "refused" in write else []
        )
        understood = [[each.typed, each.meant] for each in result.understood]
        assert understood == write.get("understood", []) or result.written.refused
    assert ("refused" in write) == (build.read_bytes() == before)


def test_a_name_that_the_file_has_already_needs_no_flag(build: Path, project: Path) -> None:
    build.write_text(
        checkpoint_text(mood="calm", blockers=[{**BLOCKER, "severity": "high"}]), "utf-8"
    )
    for word in (
        "--mood=zebra",
        "--blockers[b1].severity=low",
        '--blockers:json=[{"id": "x", "description": "y"}]',
    ):
        assert run_here("update", "build", word, cwd=project).returncode == 0
    assert "zebra" in run_here("show", "build", cwd=project).stdout
    assert run_here("update", "build", "--mood-=", cwd=project).returncode == 0
    assert "mood" not in build.read_text("utf-8")


def test_a_name_beside_nearly_the_same_is_written_and_reported(build: Path, project: Path) -> None:
    ran = run_here("update", "builds", "--step=zebra", cwd=project)
    assert "builds is new; build already exists [skill/near-name]" in ran.stdout
    assert "if you meant the old one: checkpoint undo builds" in ran.stdout
    arisen = Checkpoints(project).update("biuld", {"step": "x"}).written.arisen
    assert "biuld is new; build already exists" in [each.message for each in arisen]
    assert "already exists" not in run_here("update", "builds", "--step=zebra", cwd=project).stdout
    ran = run_here(
        "update", "build", "--skill_state.iteratoin=2", "--skill_state.streak=2", cwd=project
    )
    assert "--skill_state.iteratoin is a new field beside skill_state.iteration" in ran.stdout
    assert ran.stdout.count(" is ") == 1
    assert json.loads(build.read_text("utf-8"))["skill_state"] == {
        "iteration": 1,
        "iteratoin": "2",
        "streak": "2",
    }


NAMES = [
    "status", "step", "next_actions", "context_primer", "progress_table[plan].status", "blockers[b1].resolved", "cost",
    "cost.total_usd", "skill_state", "nonsense", "rows", "field", "next_actions.0.done_when", "a'b", "$[",
]  # fmt: skip
VALUES = [
    "x",
    "",
    "almost",
    "5",
    "[1]",
    '{"a":1}',
    '{"id":"z"}',
    "a b",
    "it's",
    '"',
    "[",
    "1e999",
    "9" * 5_000,
    "\x1b",
]
WORD = st.tuples(
    st.sampled_from(["--", "--", "-", ""]),
    st.sampled_from(NAMES),
    st.sampled_from(["=", "+=", "-=", ":json=", ":json+=", "", "'"]),
    st.sampled_from(VALUES),
).map("".join)


@pytest.mark.parametrize(
    "words", [["--status'=x"], ['--blockers+:json={"status\'": 1}'], ["--status'", "status=x"]]
)
def test_a_name_with_a_quote_is_refused_with_a_line_that_a_shell_takes(
    project: Path, words: list[str]
) -> None:
    ran = run_here("update", "build", *words, cwd=project)
    assert ran.returncode in (1, 2), ran.stderr


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["--status'", "status=x"])
@example(['--blockers:json=[{"descr\'": 1}]'])
@given(st.lists(WORD, min_size=1, max_size=4))
def test_whatever_is_typed_is_written_or_refused(
    build: Path, project: Path, words: list[str]
) -> None:
    before = checkpoint_text(blockers=[BLOCKER])
    build.write_text(before, "utf-8")
    ran = run_here("update", "build", *words, cwd=project)
    assert ran.returncode in (0, 1, 2), ran.stderr
    assert (build.read_text("utf-8") == before) == (ran.returncode > 0)
