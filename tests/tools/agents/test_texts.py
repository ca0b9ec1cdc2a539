"""What agents are told is right in form, and true: the commands in it exist."""

import re
import tomllib

import pytest

from checkpoint_git.cli.verbs import SHORT_VERBS, VERBS
from checkpoint_git.core.yamltext import load
from checkpoint_git.tools.agents.table import (
    AGENTS,
    NOTES,
    SIGNS,
    SKILL_FILES,
    TABLE,
    TEXTS,
    read_stamped,
    render_stamped,
)
from tests.support.rows import rows

WORDS = {"PATH"}  # what is in the place of a verb would, in prose


@rows("text", [*TEXTS.values(), NOTES])
def test_every_command_that_is_named_exists(text: str) -> None:
    verbs = (
        set(re.findall(r"(?:`checkpoint |run\(\S+ \[\"|exec \"\$@\" )([a-z][a-z-]*)", text)) - WORDS
    )
    assert verbs or "snapshot.py" in text
    assert sorted(verbs - {*VERBS, *SHORT_VERBS}) == []


@rows("kind", ["SKILL.md", "command", "command-skill", "rule"])
def test_front_matter_is_yaml_with_a_description(kind: str) -> None:
    text = TEXTS[kind]
    assert text.startswith("---\n")
    members = load(text.split("---\n")[1])
    assert 20 < len(members["description"]) < 1024
    if kind in ("SKILL.md", "command-skill"):
        assert re.fullmatch(r"[a-z0-9-]{1,64}", members["name"])


@rows("kind", ["command", "command-skill", "prompt", "toml"])
def test_every_word_that_the_command_offers_has_a_row(kind: str) -> None:
    text = TEXTS[kind]
    rows = set(re.findall(r"^\| (?:none, or )?`([a-z]+)`", text, re.MULTILINE))
    offered = re.search(r"this project: ([a-z, ]+)", text) or re.search(
        r"this project: ([a-z, ]+)", TEXTS["command"]
    )
    assert offered
    assert rows == set(offered[1].split(", "))
    assert set((re.search(r"/checkpoints ([a-z|]+)`", NOTES) or [""])[1].split("|")) == rows


def test_a_skill_lies_in_a_folder_of_its_name() -> None:
    for agent in TABLE.values():
        for kind, path in agent.files:
            if path.endswith("SKILL.md"):
                assert load(TEXTS[kind].split("---\n")[1])["name"] == path.split("/")[-2]


def test_the_toml_command_has_a_prompt_with_the_words_in_it() -> None:
    value = tomllib.loads(TEXTS["toml"])
    assert set(value) == {"description", "prompt"}
    assert "{{args}}" in value["prompt"]


def test_the_skill_is_short_and_every_reference_in_it_is_there() -> None:
    skill = TEXTS["SKILL.md"]
    # a tokenizer makes a little more of it than a quarter of the bytes
    assert len(skill.encode()) <= 4 * 800
    assert set(re.findall(r"\((references/[^)]+)\)", skill)) == {*SKILL_FILES} - {"SKILL.md"}


@rows("text", TEXTS.values())
def test_no_text_teaches_a_task_whose_result_would_be_lost(text: str) -> None:
    told = [line for line in text.splitlines() if "task start" in line]
    assert all("--output" in line for line in told)


def test_no_file_belongs_to_two_texts() -> None:
    files = {file for agent in TABLE.values() for file in agent.files}
    assert len(files) == len({path for _, path in files})


def test_every_agent_gets_the_protocol_as_a_skill() -> None:
    for agent in TABLE.values():
        path = next(path for kind, path in agent.files if kind == "SKILL.md")
        assert path.endswith("/skills/checkpoint-git/SKILL.md")


def test_every_agent_has_a_sign_and_something_to_get() -> None:
    assert {name for name, _ in SIGNS} == set(TABLE) == set(AGENTS)
    assert all(agent.files or agent.notes for agent in TABLE.values())


@rows(
    "word",
    ["in_progress", "skill_state", "context_primer", "user_decision", "next_actions", "resume"],
)
def test_the_protocol_says_what_it_is_about(word: str) -> None:
    assert any(word in TEXTS[path] for path in SKILL_FILES)


# the stamp


@pytest.mark.parametrize("path", ["a/SKILL.md", "a/x.toml", "a/rule.mdc"])
def test_a_file_of_ours_is_known_by_its_last_line(path: str) -> None:
    data = render_stamped(path, "one\ntwo\n", 3)
    assert data.startswith(b"one\ntwo\n")
    assert read_stamped(data) == ("ours", b"one\ntwo\n", 3)


def test_other_line_ends_make_no_difference() -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0).replace(b"\n", b"\r\n")).state == "ours"


@pytest.mark.parametrize(
    ("old", "new"), [(b"one", b"ONE"), (b"one\n", b""), (b"one\n", b"one\nmore\n")]
)
def test_what_a_person_changed_is_theirs(old: bytes, new: bytes) -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0).replace(old, new)).state == "changed"


@pytest.mark.parametrize("data", [b"", b"one\n", b"<!-- checkpoint-git 12 folders=1 -->\n"])
def test_what_has_no_stamp_is_somebody_elses(data: bytes) -> None:
    assert read_stamped(data).state == "foreign"


def test_a_line_after_the_stamp_makes_the_file_somebody_elses() -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0) + b"mine\n").state == "foreign"
