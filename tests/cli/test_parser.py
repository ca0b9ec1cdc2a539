import pytest

from checkpoint_git.cli.app import main
from checkpoint_git.cli.parser import find_meant
from tests.support.rows import rows

OPTIONS = ["--brief", "--since", "--format", "-C"]


@rows(
    ("message", "meant"),
    [
        ("unrecognized arguments: --brif", "did you mean --brief?"),
        ("unrecognized arguments: --sinse=2026-01-01 more", "did you mean --since?"),
        ("unrecognized arguments: --list", "did you mean: checkpoint status --short"),
        ("unrecognized arguments: --zzz", ""),
        ("the following arguments are required: NAME", ""),
        ("", ""),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest_known_one(message: str, meant: str) -> None:
    assert str(find_meant(message, OPTIONS)) == meant


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["workflow", "strat"],
            'invalid verb "strat": expected start, status, ',
            "did you mean start?",
        ),
        (
            ["memory", "save", "--on", "monday"],
            'invalid --on "monday": expected milestone, ',
            "checkpoint memory save --help",
        ),
        (["completion", "tcsh"], 'invalid shell "tcsh": expected bash, fish or zsh', ""),
        (
            ["status", "--format", "\x1b[31m"],
            'invalid --format "\\x1b[31m": expected text, json or md',
            "checkpoint status --help",
        ),
        (
            ["workflow", "start", "--force", "x"],
            "workflow start takes no --force",
            "that is for advance; checkpoint work",
        ),
    ],
)
def test_a_value_that_is_not_a_choice_is_refused_in_our_words(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    first, second = capsys.readouterr().err.split("\n")[:2]
    assert first.startswith(f"checkpoint: {message}")
    assert second.startswith(f"  {hint}")
