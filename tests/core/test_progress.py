import io
import os

import pytest

from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.progress import follow, show_progress


def make_invocation(stream: io.StringIO, *, interactive: bool) -> Invocation:
    return Invocation("/", os.environ, 0, stream, stream, stream, interactive)


@pytest.mark.parametrize(
    ("interactive", "written"), [(True, "\r\x1b[Kfiles\r\x1b[Khistory\r\x1b[K"), (False, "")]
)
def test_each_text_replaces_the_one_before_and_the_line_is_cleared(
    interactive: bool, written: str
) -> None:
    stream = io.StringIO()
    with show_progress(make_invocation(stream, interactive=interactive)) as tell:
        tell("files")
        tell("history")
    assert stream.getvalue() == written


def test_the_line_is_cleared_before_an_error_is_shown() -> None:
    stream = io.StringIO()
    with pytest.raises(ZeroDivisionError):
        list(
            follow(
                (1 // each for each in (1, 0)),
                "reading",
                2,
                make_invocation(stream, interactive=True),
            )
        )
    assert stream.getvalue().endswith("\r\x1b[K")


def test_items_are_counted_as_they_come() -> None:
    stream = io.StringIO()
    assert [*follow("ab", "reading", 2, make_invocation(stream, interactive=True))] == ["a", "b"]
    assert stream.getvalue() == "\r\x1b[Kreading: 0 of 2\r\x1b[Kreading: 1 of 2\r\x1b[K"
