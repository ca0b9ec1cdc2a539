import os
import re
from pathlib import Path

import pytest

from checkpoint_git.cli import help_text
from checkpoint_git.cli.app import main
from checkpoint_git.cli.parser import CommandLine, build_parser
from checkpoint_git.cli.verbs import MEANT_VERBS, VERBS, load_verb
from tests.support.command import run_checkpoint
from tests.support.rows import rows

LISTED = [verb for verb, row in VERBS.items() if row.summary]


def test_every_listed_command_and_no_other_belongs_to_a_topic() -> None:
    assert sorted(verb for verbs in help_text.TOPICS.values() for verb in verbs) == sorted(LISTED)
    assert {row.topic for row in VERBS.values() if not row.summary} == {""}


def test_the_overview_shows_a_dozen_commands_and_the_way_to_the_others() -> None:
    shown = help_text.overview("checkpoint")
    assert sum(len(verbs) for verbs in help_text.GROUPS.values()) == 12
    assert shown.count("\n") < 30
    assert max(map(len, shown.split("\n"))) <= 100
    assert all(topic in shown for topic in help_text.TOPICS)
    assert all(f"\n  {verb} " in help_text.overview("checkpoint", every=True) for verb in LISTED)


def test_what_people_type_leads_to_a_command() -> None:
    assert {verb.split()[0] for verb in MEANT_VERBS.values()} <= {*LISTED, "--version"}
    assert not MEANT_VERBS.keys() & VERBS.keys()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["help", "merge"], 0, "  audit  "),
        (["help", "done"], 0, "usage: checkpoint done "),
        (["help", "restore-point", "guard"], 0, "usage: checkpoint restore-point guard "),
        (["help", "audit", "explain"], 0, "usage: checkpoint audit "),
        (["help", "workflow", "start"], 0, "usage: checkpoint workflow start ID "),
        (["help", "--all"], 0, "  completion  "),
        (["--help", "--all"], 0, "  completion  "),
        (["help", "nonsense"], 2, '"nonsense" is not a command'),
        (["new", "x"], 2, "did you mean update?"),
        (["list"], 2, "no .checkpoints folder found"),
        (["ls", "--help"], 0, "usage: checkpoint status "),
        (["refs", "--help"], 0, "usage: checkpoint show "),
        (["delete", "x"], 2, "did you mean reset?"),
        (["-V"], 0, "checkpoint "),
    ],
)
def test_help_is_found_where_people_look_for_it(
    words: list[str], code: int, says: str, tmp_path: Path
) -> None:
    done = run_checkpoint(*words, cwd=tmp_path)
    assert (done.returncode, says in done.stdout + done.stderr) == (code, True)


PAGES = [
    *([*verb.split(), "--help"] for verb in (*VERBS, "restore-point guard")),
    ["--help"],
    ["help", "--all"],
]
PAGES += [["help", topic] for topic in help_text.TOPICS]


@rows("words", PAGES)
@rows("columns", [50, 80])
def test_a_help_fits_the_terminal_except_for_commands(
    words: list[str],
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", str(columns))
    assert main(words) == 0
    long = [line for line in capsys.readouterr().out.split("\n") if len(line) > columns]
    assert [
        line
        for line in long
        if not re.match("  (checkpoint|git|eval|check-jsonschema|    --)", line)
    ] == []


@rows("words", PAGES)
def test_a_help_says_each_thing_once(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", "80")
    assert main(words) == 0
    shown = capsys.readouterr().out
    lines = [line for line in shown.split("\n") if len(line) > 40]
    assert len(lines) == len(set(lines))
    assert shown.count("--format") <= 6  # once among the options; else in examples


def test_a_usage_names_what_must_be_given() -> None:
    request = CommandLine("checkpoint drop", "drop", [])
    usage = build_parser(request, load_verb("drop"), ("text",)).format_usage()
    assert usage == "usage: checkpoint drop [OPTIONS] --why TEXT NAME [ACTION ...]\n"


def test_wrapping_breaks_prose_and_remarks_but_no_command() -> None:
    text = (
        "a few words of prose in a line\n\n"
        "  checkpoint next --all --json    the whole queue\n  checkpoint next  the first\n\n"
        "  add  one more word than fits here"
    )
    assert help_text.wrap(text, 24) == (
        "a few words of prose in\na line\n\n  checkpoint next --all --json\n      the whole queue\n"
        "  checkpoint next\n      the first\n\n"
        "  add  one more word\n       than fits here"
    )
