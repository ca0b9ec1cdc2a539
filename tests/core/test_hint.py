"""A hint is words and commands as values: what is shown can be pasted, and nothing takes a text
apart again.
"""

import shlex

import pytest

from checkpoint_git.core.hint import (
    Blank,
    Hint,
    Output,
    Word,
    advise,
    blank,
    chain,
    change_texts,
    command,
    commands_of,
    fill_blank,
    join_hints,
    split_blanks,
    write_plain,
)
from tests.support.rows import rows

NAME = Blank("whose checkpoint", "NAME")


@rows(
    ("hint", "shown"),
    [
        (command("checkpoint", "next"), "checkpoint next"),
        (advise("see it", "git", "log", "--", "a b"), "see it: git log -- 'a b'"),
        (command("git", "fsck", more=" shows what is missing"), "git fsck shows what is missing"),
        (advise("add", "checkpoint", "update", NAME, blank("--a=", "x")), 'add: checkpoint update NAME --a="..."'),
        (command("checkpoint", "update", "b", "--step=two words"), "checkpoint update b --step='two words'"),
        (command("checkpoint", "update", "b", "--step-="), "checkpoint update b --step-="),
        (command("checkpoint", "update", "b", "--rows[a].x=1"), "checkpoint update b '--rows[a].x=1'"),
        (command("checkpoint", "note", "b", Blank("the decision")), 'checkpoint note b "..."'),
        (chain("commit it", (("git", "add", "a"), ("git", "commit"))), "commit it: git add a && git commit"),
        (join_hints("edit it", advise("or read it", "git", "show", "b")), "edit it; or read it: git show b"),
        (join_hints("did you mean a?", command("git", "show", "a")), "did you mean a? git show a"),
        (join_hints("", "say why"), "say why"),
        (command("echo", Word(("--a=", Output(("git", "show", "a b"))))), "echo --a=\"$(git show 'a b')\""),
        (
            command("checkpoint", "update", "b", split_blanks('--rows+:json={"id": "..."}', "the id")),
            "checkpoint update b --rows+:json='{\"id\": \"...\"}'",
        ),
    ],
)  # fmt: skip
def test_a_hint_is_shown_so_that_a_shell_takes_its_commands(hint: Hint, shown: str) -> None:
    assert str(hint) == shown


def test_what_is_shown_is_what_a_program_gets() -> None:
    words = (
        "checkpoint",
        "update",
        "it's",
        "--a.b+=x y",
        "--step=...",
        "$(rm)",
        "",
        "--",
        "-x",
        '"q"',
    )
    assert shlex.split(str(command(*words))) == list(words)
    assert write_plain(("checkpoint", NAME, blank("--a=", "a value", "}"))) == [
        "checkpoint",
        "NAME",
        "--a=...}",
    ]


def test_a_blank_is_filled_by_value_and_only_that_one() -> None:
    hint = advise(
        "NAME", "checkpoint", "update", NAME, Word(("--skill=", NAME)), "NAME", Blank("the step")
    )
    filled = fill_blank(hint, NAME, "a b")
    assert commands_of(filled) == [
        ("checkpoint", "update", "a b", "--skill=a b", "NAME", Blank("the step"))
    ]
    assert fill_blank("NAME", NAME, "a") == "NAME"


def test_every_text_in_it_can_be_changed_and_it_itself_not() -> None:
    hint = advise("say x", "echo", "x", Word(("x", Blank("x"))), more=" x")
    assert str(change_texts(hint, lambda text: text.replace("x", "y"))) == 'say y: echo y y"..." y'
    with pytest.raises(AttributeError):
        hint.steps = ()
    assert (
        hint == advise("say x", "echo", "x", Word(("x", Blank("x"))), more=" x"),
        bool(Hint()),
    ) == (True, False)
