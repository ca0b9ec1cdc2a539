"""git's hook lines, taken apart."""

import pytest

from checkpoint_git.git.pushed import Push, is_zero, parse_pushes

ZERO = "0" * 40


def test_every_line_of_a_push_is_read_but_deletions() -> None:
    text = f"refs/heads/a {'1' * 40} refs/heads/b {ZERO}\n(delete) {ZERO} refs/heads/c {'2' * 40}\n"
    assert parse_pushes(text) == [Push("refs/heads/a", "1" * 40, "refs/heads/b", ZERO)]


@pytest.mark.parametrize("text", ["", "\n", "a b c\n", "a b c d e\n"])
def test_other_lines_are_none(text: str) -> None:
    assert parse_pushes(text) == []


@pytest.mark.parametrize(("text", "zero"), [(ZERO, True), ("0" * 64, True), ("0" * 39 + "1", False)])
def test_zero_ids_are_known_in_either_length(text: str, zero: bool) -> None:
    assert is_zero(text) == zero
