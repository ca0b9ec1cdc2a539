import io
import os

import pytest

from checkpoint_git.core.outcome import Invocation
from checkpoint_git.core.progress import draw_bar, make_teller


@pytest.mark.parametrize(
    ("done", "total", "shown"),
    [
        (0, 10, "[>                       ]   0 % of 10"),
        (5, 10, "[============>           ]  50 % of 10"),
        (10, 10, "[========================] 100 % of 10"),
        (12, 10, "[========================] 100 % of 10"),
        (7, 0, "7"),
    ],
)
def test_a_bar_says_how_far_it_is_in_as_many_columns_as_ever(done: int, total: int, shown: str) -> None:
    assert draw_bar(done, total) == shown


def tell_all(*texts: str, interactive: bool = True) -> str:
    stream = io.StringIO()
    tell = make_teller(Invocation("/", os.environ, 0, stream, stream, stream, interactive))
    for text in texts:
        tell(text)
    return stream.getvalue()


def test_a_text_takes_the_place_of_the_one_before_it_and_the_last_one_goes() -> None:
    assert tell_all("files", "history", "") == "\r\x1b[Kfiles\r\x1b[Khistory\r\x1b[K"


def test_nobody_is_told_where_nobody_waits() -> None:
    assert tell_all("files", "", interactive=False) == ""
