"""Named tuples made without typing, against those that typing makes."""

import copy
import pickle
import typing
from typing import Any

import pytest

from checkpoint_git.core import light


class Real(typing.NamedTuple):
    """Made by typing."""

    name: str
    size: int = 0
    parts: Any = ()

    @property
    def first(self) -> str:
        """A letter."""
        return self.name[:1]


class Light(light.NamedTuple):
    """Made by us."""

    name: str
    size: int = 0
    parts: Any = ()

    @property
    def first(self) -> str:
        """A letter."""
        return self.name[:1]


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 1), {}),
    (("a", 1, [2]), {}),
    ((), {"name": "a"}),
    (("a",), {"parts": 3}),
    ((), {"size": 2, "name": "a", "parts": None}),
]
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a", 1, 2, 3), {}),
    (("a",), {"name": "b"}),
    (("a",), {"colour": 1}),
    ((), {"size": 1}),
]


@pytest.mark.parametrize(("values", "named"), ARGUMENTS)
def test_a_light_tuple_is_what_a_named_tuple_is(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    real, made = Real(*values, **named), Light(*values, **named)
    assert tuple(made) == tuple(real)
    assert made == tuple(made)
    assert (made.name, made.size, made.parts, made.first) == (real.name, real.size, real.parts, real.first)
    assert made._asdict() == real._asdict()
    assert repr(made) == repr(real).replace("Real", "Light")
    assert tuple(made._replace(size=9)) == tuple(real._replace(size=9))
    assert type(made._replace()) is Light
    assert Light._make(tuple(made)) == made
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 (our own)
    assert copy.deepcopy(made) == copy.copy(made) == made


@pytest.mark.parametrize(("values", "named"), WRONG)
def test_wrong_arguments_are_refused(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Real, Light):
        with pytest.raises(TypeError):
            kind(*values, **named)


def test_only_fields_are_replaced() -> None:
    for made in (Real("a"), Light("a")):
        with pytest.raises((ValueError, TypeError), match="colour"):  # which of them depends on the Python
            made._replace(colour=1)  # type: ignore[call-arg]  # wrong on purpose


def test_the_class_says_what_it_is_made_of() -> None:
    assert Light._fields == Real._fields
    assert Light._field_defaults == Real._field_defaults
    assert Light.__match_args__ == Real.__match_args__
    assert Light.__doc__ == "Made by us."
    assert not hasattr(Light("a"), "__dict__")
    with pytest.raises(AttributeError):
        Light("a").name = "b"  # type: ignore[misc]  # wrong on purpose


def test_names_of_types_take_what_types_take() -> None:
    names = (light.Any, light.Literal["a", "b"], light.Protocol, light.TextIO)
    for name in names:
        assert dict[str, name | None] is not None  # type: ignore[valid-type]  # at run time they are values
