"""note, ask, decide, block, unblock, drop: what they write, when they refuse, and that all front
doors agree.
"""

import json
import re
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git import CheckpointError, Checkpoints
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.tools import choose_tools
from checkpoint_git.protocols.skill.edit import entries
from tests.support.command import run_here
from tests.support.rows import rows
from tests.support.samples import checkpoint, checkpoint_text


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def say(project: Path, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_here(*words, "--json", cwd=project).stdout)
    return document


def name_of(text: str, digits: int = 4) -> str:
    return f"b{sha256(text.encode()).hexdigest()[:digits]}"


def test_a_note_is_a_key_decision(build: Path, project: Path) -> None:
    assert say(project, "note", "build", "No cookies")["written"]
    assert read(build)["context_primer"]["key_decisions"][-1] == "No cookies"


def test_a_question_waits_until_it_is_answered(build: Path, project: Path) -> None:
    words = [
        "ask",
        "build",
        "Which region?",
        "--option",
        "eu",
        "--option",
        "us",
        "--blocks",
        "sprint-2",
    ]
    name = name_of("Which region?")
    assert say(project, *words)["id"] == name
    assert read(build)["blockers"] == [
        {
            "id": name,
            "description": "Which region?",
            "blocking": "sprint-2",
            "needs": "user_decision",
            "options": ["eu", "us"],
        }
    ]
    assert [each["id"] for each in say(project, "status")["decisions"]] == [name]
    answered = say(project, "decide", "build", "eu")
    assert (answered["id"], answered["fields"]) == (name, ["context_primer", "blockers"])
    assert read(build)["blockers"][0]["resolved"] is True
    day = read(build)["updated_at"][:10]
    assert read(build)["context_primer"]["key_decisions"][-1] == f"Which region? eu ({day})"
    assert say(project, "status")["decisions"] == []


def test_of_several_questions_one_must_be_named(build: Path, project: Path) -> None:
    one, two = (say(project, "ask", "build", question)["id"] for question in ("One", "Two"))
    before = build.read_bytes()
    for words, answer in (
        (["yes"], "yes"),
        (["b9", "yes"], "yes"),
        ([one], '"..."'),
        (["not", "now"], "'not now'"),
    ):
        ran = run_here("decide", "build", *words, cwd=project)
        assert ran.returncode == 1
        assert f"checkpoint decide build {one} {answer}" in ran.stdout
    assert build.read_bytes() == before
    assert say(project, "decide", "build", two, "not", "quoted")["id"] == two
    assert say(project, "decide", "build", "no")["id"] == one
    assert run_here("decide", "build", "no", cwd=project).returncode == 1


def test_a_blocker_is_added_and_resolved_and_work_goes_on(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(status="blocked"), "utf-8")
    assert say(project, "block", "build", "No key", "--needs", "external_dep")["id"] == name_of(
        "No key"
    )
    assert run_here("unblock", "build", "b7", cwd=project).returncode == 1
    ran = run_here("unblock", "build", cwd=project)
    assert "the status is in_progress again" in ran.stdout
    value = read(build)
    assert (value["status"], value["blockers"][0]["resolved"]) == ("in_progress", True)


def test_a_question_is_not_unblocked_but_answered(build: Path, project: Path) -> None:
    name = say(project, "ask", "build", "Which region?")["id"]
    ran = run_here("unblock", "build", name, cwd=project)
    assert ran.returncode == 1
    assert f'checkpoint decide build {name} "..."' in ran.stdout


def test_the_id_is_made_of_the_text_so_that_two_branches_do_not_share_one(
    build: Path, project: Path
) -> None:
    start = build.read_bytes()
    one = say(project, "ask", "build", "Which region?")["id"]
    build.write_bytes(start)
    two = say(project, "block", "build", "No key")["id"]
    assert (one, two) == (name_of("Which region?"), name_of("No key"))
    assert say(project, "block", "build", "No key")["id"] == name_of("No key", 5)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("user", "user_decision"), ("code", "code_fix"), ("external", "external_dep")],
)
def test_block_takes_the_needs_that_update_takes(
    build: Path, project: Path, typed: str, meant: str
) -> None:
    assert run_here("block", "build", "One", "--needs", typed, cwd=project).returncode == 0
    Checkpoints(project).block("build", "Two", typed)
    assert [each["needs"] for each in read(build)["blockers"]] == [meant, meant]
    assert run_here("block", "build", "Three", "--needs", "zebra", cwd=project).returncode == 2


def test_an_id_is_not_given_twice_and_a_file_with_one_can_still_be_written(
    build: Path, project: Path
) -> None:
    blocker = {"id": "b1", "description": "No key"}
    build.write_text(checkpoint_text(blockers=[blocker]), "utf-8")
    before = build.read_bytes()
    ran = run_here("update", "build", f"--blockers+:json={json.dumps(blocker)}", cwd=project)
    assert (ran.returncode, "skill/blocker-id-twice" in ran.stdout) == (1, True)
    assert build.read_bytes() == before
    build.write_text(checkpoint_text(blockers=[blocker, blocker]), "utf-8")
    assert run_here("update", "build", "--step=x", cwd=project).returncode == 0
    assert (
        run_here(
            "update", "build", f"--blockers+:json={json.dumps(blocker)}", cwd=project
        ).returncode
        == 1
    )


@pytest.mark.parametrize("verb", ["unblock", "decide"])
@pytest.mark.parametrize(
    "names", [["b1", "b1"], ["-x", "a b"], ["$(date)", "-x y"], ["it's", "\x1b"]]
)
@pytest.mark.parametrize("given", [0, 1])
def test_every_hint_of_a_refusal_is_taken(
    build: Path, project: Path, verb: str, names: list[str], given: int
) -> None:
    more = {"needs": "user_decision" if verb == "decide" else "code_fix"}
    text = checkpoint_text(blockers=[{"id": name, "description": name, **more} for name in names])
    build.write_text(text, "utf-8")
    answer = ["yes"] if verb == "decide" else []
    words = [names[0], *answer] if given and names[0] == names[1] else answer
    ran = run_here(verb, "build", *words, "--json", cwd=project)
    assert ran.returncode == 1
    hints = json.loads(ran.stdout)["findings"][0]["hint"].split("; ")
    assert len(hints) == 2
    for at, hint in enumerate(hints):
        build.write_text(text, "utf-8")
        assert run_here(*shlex.split(hint)[1:], cwd=project).returncode == 0, hint
        assert [each.get("resolved", False) for each in read(build)["blockers"]] == [
            at == 0,
            at == 1,
        ]


def test_a_question_whose_id_begins_with_a_dash_is_shown_with_what_answers_it(
    build: Path, project: Path
) -> None:
    asked = {"id": "-x", "description": "Which?", "needs": "user_decision"}
    build.write_text(checkpoint_text(blockers=[asked]), "utf-8")
    assert (
        say(project, "status")["decisions"][0]["answer_with"]
        == 'checkpoint decide build -- -x "..."'
    )


def test_the_usage_of_decide_says_what_it_takes(project: Path) -> None:
    usage = run_here("decide", "--help", cwd=project).stdout.splitlines()[0]
    assert usage == "usage: checkpoint decide NAME [ID] ANSWER"


def test_a_dropped_action_keeps_its_reason(build: Path, project: Path) -> None:
    assert run_here("drop", "build", "evaluator", "--why", "obsolete", cwd=project).returncode == 0
    value = read(build)
    assert value["next_actions"] == ["Write the notes API"]
    assert value["context_primer"]["key_decisions"][-1].startswith(
        "Dropped: Run the evaluator: obsolete ("
    )
    for words in (["xyzzy"], []):
        assert run_here("drop", "build", *words, "--why", "x", cwd=project).returncode == 1
    assert run_here("drop", "build", "--why", "x", "--next", "Ship", cwd=project).returncode == 0
    assert read(build)["next_actions"] == ["Ship"]
    assert run_here("drop", "build", "--why", "x", "--complete", cwd=project).returncode == 0
    assert read(build)["status"] == "complete"


def test_a_drop_that_completes_says_so(build: Path, project: Path) -> None:
    start = build.read_bytes()
    assert (
        "the status is complete"
        in run_here("drop", "build", "--why", "x", "--complete", cwd=project).stdout
    )
    build.write_bytes(start)
    assert say(project, "drop", "build", "--why", "x", "--complete")["fields"][-1] == "status"


def test_a_drop_refuses_what_done_refuses(build: Path, project: Path) -> None:
    before = build.read_bytes()
    for words in (["--next", "N", "--complete"], ["--next", ""], ["--next", " "]):
        assert run_here("drop", "build", "--why", "x", *words, cwd=project).returncode == 2, words
        assert run_here("done", "build", *words, cwd=project).returncode == 2, words
    api = Checkpoints(project)
    for call in (api.done, lambda skill, **after: api.drop(skill, "x", **after)):
        for after in ({"next_action": "N", "complete": True}, {"next_action": ""}):
            with pytest.raises(CheckpointError):
                call("build", **after)
    assert build.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["note", "x"],
        ["ask", "x"],
        ["decide", "x"],
        ["block", "x"],
        ["unblock"],
        ["drop", "--why", "x"],
        ["undo"],
    ],
)
def test_they_refuse_as_update_does(build: Path, project: Path, words: list[str]) -> None:
    verb, *rest = words
    before = build.read_bytes()
    # where the one checkpoint need not be named, a single word is the action or the blocker
    assert run_here(verb, "other", *rest, cwd=project).returncode == (
        1 if verb in ("unblock", "drop") else 2
    )
    assert build.read_bytes() == before
    assert (
        run_here(verb, "build", *rest, cwd=project, env={"CHECKPOINT_SKILL": "deploy"}).returncode
        == 2
    )
    build.write_text("{", "utf-8")
    assert run_here(verb, "build", *rest, cwd=project).returncode in (1, 2)
    assert build.read_text("utf-8") == "{"


@pytest.mark.parametrize(
    "words",
    [
        ["note", " "],
        ["ask", ""],
        ["block", "\udcff"],
        ["drop", "--why", ""],
        ["drop", "", "--why", "x"],
        ["unblock", ""],
        ["decide", ""],
        ["decide", "q1", ""],
    ],
)
def test_a_text_says_something(build: Path, project: Path, words: list[str]) -> None:
    run_here("block", "build", "No key", cwd=project)  # the only one: a name would not be needed
    run_here(
        "update",
        "build",
        '--blockers+:json={"id": "q1", "description": "Go?", "needs": "user_decision"}',
        cwd=project,
    )
    before = build.read_bytes()
    assert b"q1" in before
    assert run_here(words[0], "build", *words[1:], cwd=project).returncode == 2
    assert build.read_bytes() == before


def test_python_and_mcp_write_the_same(build: Path, project: Path) -> None:
    start = build.read_bytes()
    now = 1_772_452_800
    api = Checkpoints(project, now=now)
    tools, world = choose_tools(read_only=False), World(str(project), "")
    calls: list[tuple[str, dict[str, Any], list[str]]] = [
        ("note", {"text": "No cookies"}, ["No cookies"]),
        (
            "ask",
            {"question": "Which?", "options": ["a", "b"], "blocks": "plan"},
            ["Which?", "--option=a", "--option=b"],
        ),
        ("decide", {"id": name_of("Which?"), "answer": "a"}, [name_of("Which?"), "a"]),
        ("block", {"text": "No key", "needs": "code_fix"}, ["No key", "--needs=code_fix"]),
        ("unblock", {"id": name_of("No key")}, [name_of("No key")]),
        ("drop", {"action": "evaluator", "why": "old"}, ["evaluator", "--why=old"]),
        ("undo", {}, []),
    ]
    calls[1][2].append("--blocks=plan")
    for verb, asked, _ in calls:
        assert not tools[f"checkpoint_{verb}"].run({"skill": "build", **asked}, world).failed
    told = read(build)
    build.write_bytes(start)
    for verb, _, words in calls:
        assert run_here(verb, "build", *words, cwd=project).returncode == 0
    said = read(build)
    build.write_bytes(start)
    api.note("build", "No cookies")
    assert (api.ask("build", "Which?", ["a", "b"], "plan").entry or [""])[2] == name_of("Which?")
    api.decide("build", "a", name_of("Which?"))
    api.block("build", "No key", "code_fix")
    api.unblock("build", name_of("No key"))
    api.drop("build", "old", "evaluator")
    assert api.undo("build") == (["context_primer", "next_actions"], False, True)
    done = read(build)
    for value in (told, said, done):
        value.pop("updated_at")
        for blocker in value["blockers"]:
            blocker.pop("resolved_at")
        value["context_primer"]["key_decisions"] = [
            each[:12] for each in value["context_primer"]["key_decisions"]
        ]
    assert told == said == done


def test_undo_takes_back_the_last_write_and_brings_it_back(build: Path, project: Path) -> None:
    before = build.read_bytes()
    run_here("update", "build", "--step=x", cwd=project)
    after = build.read_bytes()
    first = say(project, "undo", "build")
    assert (first["fields"], first["brought_back"]) == (["step", "progress_table"], False)
    assert build.read_bytes() == before
    said = run_here("undo", "build", cwd=project)
    assert (said.returncode, "restored the last write (step, progress_table)" in said.stdout) == (
        0,
        True,
    )
    assert build.read_bytes() == after
    assert (
        "reverted the last write (step, progress_table)"
        in run_here("undo", "build", cwd=project).stdout
    )
    assert say(project, "undo", "build")["brought_back"] is True
    run_here("update", "build", "--step=y", cwd=project)
    assert say(project, "undo", "build")["brought_back"] is False


def test_undo_takes_back_a_start(project: Path) -> None:
    run_here("update", "deploy", "--step=x", cwd=project)
    path = project / ".checkpoints/deploy.checkpoint.json"
    after = path.read_bytes()
    assert say(project, "undo", "deploy")["exists"] is False
    assert not path.exists()
    run_here("undo", "deploy", cwd=project)
    assert path.read_bytes() == after


def test_undo_leaves_alone_what_something_else_wrote(build: Path, project: Path) -> None:
    with pytest.raises(CheckpointError, match="is recorded"):
        Checkpoints(project).undo("build")
    run_here("update", "build", "--step=x", cwd=project)
    build.write_text(checkpoint_text(step="by hand"), "utf-8")
    ran = run_here("undo", "build", cwd=project)
    assert ran.returncode == 2
    assert "changed since" in ran.stderr
    assert read(build)["step"] == "by hand"


def test_every_screen_that_shows_a_question_shows_what_answers_it(
    build: Path, project: Path
) -> None:
    name = say(project, "ask", "build", "Which region?", "--option", "eu", "--option", "us")["id"]
    command = f'checkpoint decide build {name} "..."'
    for words in (
        ["status"],
        ["status", "build"],
        ["status", "--brief"],
        ["next"],
        ["resume", "build"],
        ["prime"],
    ):
        shown = run_here(*words, cwd=project).stdout
        assert (command in shown, "options: 1 eu | 2 us" in shown) == (True, True), words
    assert say(project, "status")["decisions"][0]["answer_with"] == command
    assert say(project, "next")["answer_with"] == command
    run_here("report", "--output", "report.html", cwd=project)
    assert f"checkpoint decide build {name}" in (project / "report.html").read_text("utf-8")


def test_every_screen_that_shows_a_blocker_shows_what_resolves_it(
    build: Path, project: Path
) -> None:
    build.write_text(checkpoint_text(status="blocked", next_actions=[]), "utf-8")
    name = say(project, "block", "build", "No key")["id"]
    for words in (["status"], ["status", "build"], ["next"], ["resume", "build"]):
        assert f"checkpoint unblock build {name}" in run_here(*words, cwd=project).stdout, words


REGION = {
    "id": "b1",
    "description": "Which region?",
    "needs": "user_decision",
    "options": ["eu-west", "us-east"],
}
KEY = {"id": "k2", "description": "No sandbox key", "needs": "external_dep"}
SAID: list[tuple[list[str], str]] = [
    (["note", "two", "words"], "noted: two words"),
    (["note", "--", "--x"], "noted: --x"),
    (["block", "No", "key", "yet", "--needs", "external"], '"external" is external_dep'),
    (["unblock", "No", "sandbox", "key"], "k2 is resolved"),
    (["ask", "Which", "key?"], "waits on an answer: Which key?"),
    (["unblock", "K2"], "k2 is resolved"),
    (["unblock", "blockers.1"], "k2 is resolved"),
    (["decide", "EU West"], '"EU West" is eu-west'),
    (["decide", "b1", "eu", "west"], '"eu west" is eu-west'),
    (["decide", "b1", "2"], '"2" is us-east'),
    (["decide", "b)"], '"b)" is us-east'),
    (["decide", "b1", "E"], '"E" is eu-west'),
    (["decide", "b1", "U"], '"U" is us-east'),
    (["decide", "3"], "the options were eu-west | us-east"),
    (["decide", "b1:", "neither"], "decided: Which region? neither"),
    (["decide", "Which region?", "neither"], "the options were eu-west | us-east"),
    (["drop", "Run", "the", "evaluator", "--why", "x"], "dropped: Run the evaluator"),
    (["drop", "2", "--why", "x"], "dropped: Run the evaluator"),
    (["done", "2"], "done: Run the evaluator"),
    (["done", "evaluator"], "done: Run the evaluator"),
    (["done", "Run", "the", "evaluator"], "next: Write the notes API"),
    (["drop", "--why", "too slow", "evaluator"], "dropped: Run the evaluator"),
]
REFUSED: list[tuple[list[str], str]] = [
    (["note"], "checkpoint note NAME TEXT"),
    (["ask", "Which", "one?", "--option", "eu", "west"], "put each text in quotes: west"),
    (["drop", "evaluator", "--why", "too", "slow"], "put each text in quotes: slow"),
    (["done", "--next", "Ship", "it"], "put each text in quotes: it"),
    (["done", "--next"], "checkpoint done [OPTIONS] NAME [ACTION ...]"),
    (["drop", "evaluator", "--why"], "checkpoint drop [OPTIONS] --why TEXT NAME [ACTION ...]"),
    (["note", "..."], "write your own text in its place"),
    (["ask", "Which?", "--option", "..."], "write your own text in its place"),
    (["done", "--next", "..."], "write your own text in its place"),
    (["update", "--step=..."], "write your own text in its place"),
    (
        ["update", '--blockers+:json={"id": "...", "description": "x"}'],
        "write your own text in its place",
    ),
    (
        ["done", "3"],
        "checkpoint done build 'Write the notes API'; checkpoint done build 'Run the evaluator'",
    ),
    (["drop", "zebra", "--why", "{x}"], "checkpoint drop build 'Write the notes API' --why '{x}'"),
    (["decide", "not", "now"], "checkpoint decide build b1 'not now'"),
    (["decide", "b2", "eu-west"], "checkpoint decide build b1 eu-west"),
    (["decide"], "checkpoint decide NAME [ID] ANSWER"),
    (["unblock", "b1"], 'checkpoint decide build b1 "..."'),
    (["unblock", "k2", "for", "now"], "checkpoint unblock build k2"),
    (["block", "x", "--needs", "zebra"], "--needs is one of user_decision, code_fix, external_dep"),
]


@pytest.fixture
def asked(build: Path) -> Path:
    build.write_text(checkpoint_text(blockers=[REGION, KEY]), "utf-8")
    return build


@pytest.mark.parametrize(
    ("words", "answer"), SAID, ids=lambda each: " ".join(each) if isinstance(each, list) else ""
)
def test_words_are_taken_as_they_are_meant(
    asked: Path, project: Path, words: list[str], answer: str
) -> None:
    ran = run_here(words[0], "build", *words[1:], cwd=project)
    assert (ran.returncode, answer in ran.stdout) == (0, True), ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("words", "hint"), REFUSED, ids=lambda each: " ".join(each) if isinstance(each, list) else ""
)
def test_what_is_refused_says_what_to_type(
    asked: Path, project: Path, words: list[str], hint: str
) -> None:
    before = asked.read_bytes()
    ran = run_here(words[0], "build", *words[1:], cwd=project)
    assert ran.returncode in (1, 2)
    assert hint in ran.stdout + ran.stderr
    assert asked.read_bytes() == before


def test_the_answer_says_that_the_status_changed_at_every_door(build: Path, project: Path) -> None:
    text = checkpoint_text(status="blocked", blockers=[KEY])
    build.write_text(text, "utf-8")
    assert say(project, "unblock", "build")["fields"] == ["blockers", "status"]
    build.write_text(text, "utf-8")
    entry = Checkpoints(project).unblock("build").entry
    assert entry is not None
    assert entry.fields == ("blockers", "status")


def test_a_name_that_is_misspelt_or_missing_is_named(build: Path, project: Path) -> None:
    for words, hint in (
        (["note", "bild", "x"], "did you mean build?"),
        (["note", ".checkpoints/build.checkpoint.json", "x"], "did you mean build?"),
        (["update", "step=x"], 'checkpoint update build --step="..."'),
    ):
        ran = run_here(*words, cwd=project)
        assert (ran.returncode, hint in ran.stderr) == (2, True), ran.stderr
    assert [path.name for path in build.parent.iterdir()] == [build.name]


@pytest.mark.parametrize("names", [["b1", "b1"], ["a b", "it's"], ["-x", "\x1b"], ["x" * 200, ""]])
@pytest.mark.parametrize("needs", ["user_decision", "code_fix"])
def test_every_command_that_a_screen_prints_for_a_blocker_runs(
    build: Path, project: Path, names: list[str], needs: str
) -> None:
    text = checkpoint_text(
        status="blocked",
        blockers=[{"id": name, "description": "Which?", "needs": needs} for name in names],
    )
    build.write_text(text, "utf-8")
    shown = say(project, "status", "build")
    printed = [
        run_here(*words, cwd=project).stdout
        for words in (["status"], ["next"], ["resume", "build"], ["prime"])
    ]
    found = re.findall(r"(?:checkpoint|answer:) +((?:decide|unblock) build .*)", "\n".join(printed))
    lines = {line.removeprefix("checkpoint ").rstrip() for line in found}
    assert len(lines) == 2, printed
    for line in lines:
        build.write_text(text, "utf-8")
        assert run_here(*shlex.split(line.replace("...", "x")), cwd=project).returncode == 0, line
        assert sum(each.get("resolved", False) for each in read(build)["blockers"]) == 1
    assert len(shown["decisions"]) == (2 if needs == "user_decision" else 0)


@rows(
    ("options", "answer", "meant"),
    [
        (["1 GB", "2 GB", "4 GB"], "2", "2 GB"),
        (["1 GB", "2 GB", "4 GB"], "4", "4 GB"),
        (["1 GB", "4 GB", "2 GB"], "2", "2"),
        (["1", "3", "2"], "2", "2"),
        (["10", "20"], "1", "10"),
        (["20", "10"], "1", "20"),
        (["backend", "api"], "a", "a"),
        (["yes", "no"], "N", "no"),
        (["b) eu", "a) us"], "a", "a"),
        (["eu", "eu"], "1", "eu"),
        (["eu", "us"], "0", "0"),
        (["eu", "us"], "\u00b2", "\u00b2"),
    ],
)
def test_a_sign_means_an_option_where_it_means_one_alone(
    options: list[str], answer: str, meant: str
) -> None:
    value = checkpoint(blockers=[{**REGION, "options": options}])
    entries.decide(value, 0, answer)
    assert value["context_primer"]["key_decisions"][-1] == f"Which region? {meant} (1970-01-01)"


def test_undo_of_a_name_without_a_checkpoint_names_the_near_one(build: Path, project: Path) -> None:
    ran = run_here("undo", "biuld", cwd=project)
    assert ran.returncode == 2
    assert "did you mean build?" in ran.stderr
