"""The settings of a project: what is read of a file that comes with a branch, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import plan_place
from checkpoint_git.disk.project_file import (
    ProjectFileError,
    find_path,
    parse_table,
    read_text,
)
from tests.support.rows import rows


def test_the_text_is_read_without_a_byte_order_mark_and_an_error_is_named(tmp_path: Path) -> None:
    place = plan_place(str(tmp_path))
    path = Path(find_path(place))
    assert read_text(place) == ""

    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read_text(place) == "a = 1\n"
    assert parse_table(read_text(place)) == {"a": 1}

    path.write_bytes(b"\xff")
    with pytest.raises(ProjectFileError, match="not UTF-8"):
        read_text(place)

    path.write_bytes(b"#" * 65_536)
    assert len(read_text(place)) == 65_536
    path.write_bytes(b"#" * 65_537)
    with pytest.raises(ProjectFileError, match="cannot be read: it has 65537 bytes"):
        read_text(place)

    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(ProjectFileError, match="cannot be read: "):
        read_text(place)

    path.unlink()
    path.mkdir()
    with pytest.raises(ProjectFileError, match=r"^it cannot be read: it is not a regular file$"):
        read_text(place)


def test_a_key_may_have_a_thousand_dots() -> None:
    table: Any = parse_table("a = 1\n" + "b." * 1_000 + "c = 1")
    for _ in range(1_000):
        table = table["b"]
    assert table == {"c": 1}


@rows(
    ("text", "message", "line"),
    [
        ("a = 1\nb = \n", "this is not TOML: ", 2),
        ("a = " + "9" * 5_000, "this is not TOML: ", 0),  # Python says no line of it
        ("a = 1\n" + "b." * 1_001 + "c = 1", "a key has too many parts", 2),
        ("a = " + "[" * 100_000, "it is nested too deeply", 0),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line_if_that_is_known(
    text: str, message: str, line: int
) -> None:
    with pytest.raises(ProjectFileError) as caught:
        parse_table(text)
    assert caught.value.message.startswith(message)
    assert str(caught.value) == caught.value.message
    assert caught.value.line == line
