"""One property over a table: a test that tries every row and shows all that are wrong.

For tables of values. Where a row needs a repository or a folder of its own, pytest.mark.parametrize
gives it one.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def rows(
    names: str | tuple[str, ...], table: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each row of the table, as pytest.mark.parametrize would, but as one test.

    names: of the arguments that a row gives; with one name a row is the value itself.
    """
    names = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else names
    table = list(table)
    assert table, "no rows"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            errors = []
            for number, row in enumerate(table):
                values = (row,) if len(names) == 1 else row
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except Exception as error:
                    error.add_note(f"row {number}: {row!r:.500}")
                    errors.append(error)
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(table)} rows are wrong", errors)

        signature = inspect.signature(test)
        remaining = [
            parameter for name, parameter in signature.parameters.items() if name not in names
        ]
        run.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]  # pytest reads it
        return run

    return decorate
