import pytest

from checkpoint_git.cli.parser import find_meant

OPTIONS = ["--brief", "--since", "--format", "-C"]


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("unrecognized arguments: --brif", "--brief"),
        ("unrecognized arguments: --sinse=2026-01-01 more", "--since"),
        ("unrecognized arguments: --zzz", ""),
        ("argument VERB: invalid choice: 'resum' (choose from 'start', 'resume')", "resume"),
        ("argument VERB: invalid choice: 'resum' (choose from start, resume)", "resume"),
        ("argument VERB: invalid choice: 'zzz' (choose from start, resume)", ""),
        ("the following arguments are required: NAME", ""),
        ("", ""),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest_known_one(message: str, meant: str) -> None:
    assert find_meant(message, OPTIONS) == meant
