"""rows(): that a wrong row is reported, and that all are tried."""

import inspect

import pytest

from tests.support.rows import rows


def test_every_row_is_tried_and_each_wrong_one_is_reported_with_its_values() -> None:
    tried = []

    @rows("first, second", [(1, 1), (1, 2), (3, 3), (4, 5)])
    def check(first: int, second: int) -> None:
        tried.append((first, second))
        assert first == second

    with pytest.raises(ExceptionGroup, match="2 of 4 rows are wrong") as raised:
        check()
    assert tried == [(1, 1), (1, 2), (3, 3), (4, 5)]
    assert [error.__notes__[-1] for error in raised.value.exceptions] == [
        "row 1: (1, 2)",
        "row 3: (4, 5)",
    ]


def test_an_error_that_is_no_assertion_is_reported_too() -> None:
    @rows("text", ["1", "x"])
    def check(text: str) -> None:
        int(text)

    with pytest.raises(ExceptionGroup) as raised:
        check()
    (error,) = raised.value.exceptions
    assert isinstance(error, ValueError)
    assert error.__notes__ == ["row 1: 'x'"]


def test_right_rows_pass_with_what_pytest_gives(tmp_path: object) -> None:
    given = []

    @rows("number", [1, 2])
    def check(number: int, tmp_path: object) -> None:
        given.append((number, tmp_path))

    assert list(inspect.signature(check).parameters) == ["tmp_path"]
    check(tmp_path=tmp_path)
    assert given == [(1, tmp_path), (2, tmp_path)]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        rows("number", [])


def test_a_row_of_the_wrong_length_is_reported() -> None:
    @rows(("first", "second"), [(1,)])
    def check(first: int, second: int) -> None:
        pass

    with pytest.raises(ExceptionGroup):
        check()
