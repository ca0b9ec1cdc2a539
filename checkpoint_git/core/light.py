"""The names of typing and collections.abc for modules that every command loads: those two cost a fifth of a start.

A type checker sees the real ones. At run time annotations are never looked at, so that their names stand for nothing;
NamedTuple alone does something, and does it with less ado. It knows nothing of what is typed.
"""

import sys
from _collections_abc import (  # what collections.abc is made of
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from types import ModuleType
    from typing import IO, Any, Literal, NamedTuple, NoReturn, Protocol, TextIO, cast
elif sys.version_info >= (3, 14) or sys.implementation.name != "cpython":
    # From 3.14 on a class body no longer holds its annotations, which the tuples below are made from.
    from typing import IO, Any, Literal, NamedTuple, NoReturn, Protocol, TextIO, cast

    ArgumentParser = ModuleType = Namespace = Any
else:
    from _collections import _tuplegetter  # how collections.namedtuple reads a field

    class _Nothing(type):
        """What an annotation's name stands for: it takes [...] and | as types do, and stays what it is."""

        def __getitem__(cls, _):
            return cls

        def __or__(cls, _):
            return cls

        __ror__ = __or__

    class Any(metaclass=_Nothing):
        """Any type."""

    class Protocol(metaclass=_Nothing):
        """An interface."""

    IO = ArgumentParser = Literal = ModuleType = Namespace = NoReturn = TextIO = Any

    def cast(_, value):
        """The value."""
        return value

    _make_tuple = tuple.__new__

    class _Tuple(tuple):
        """What all named tuples share."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012 (each class gets one of its own)

        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = cls._complete(values, named)
            return _make_tuple(cls, values)

        @classmethod
        def _complete(cls, values, named):
            rest = cls._fields[len(values) :]
            known = {**cls._field_defaults, **named}
            missing = [name for name in rest if name not in known]
            strange = named.keys() - set(rest)
            if len(values) > len(cls._fields) or missing or strange:
                raise TypeError(f"{cls.__name__}: missing {missing}, not expected {sorted(strange)} and {values!r}")
            return (*values, *(known[name] for name in rest))

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **named):
            values = [named.pop(name, value) for name, value in zip(self._fields, self, strict=True)]
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return tuple.__new__(type(self), values)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

    class _Maker(type):
        """Makes a class with annotated fields a tuple of them, as typing.NamedTuple does."""

        def __new__(cls, name, bases, space):
            fields = tuple(space.get("__annotations__", ()))
            space["__slots__"] = ()
            space["_fields"] = space["__match_args__"] = fields
            space["_field_defaults"] = {field: space[field] for field in fields if field in space}
            for at, field in enumerate(fields):
                space[field] = _tuplegetter(at, "")
            return type(name, (_Tuple,), space)

    class _NamedTuple:
        """Stands where the base of a class is written, and leaves the making to _Maker."""

        def __mro_entries__(self, bases):
            return (_Start,)

    _Start = type.__new__(_Maker, "_Start", (), {})
    NamedTuple = _NamedTuple()


def load_module(name: str) -> "ModuleType":
    """The module of that name, as importlib has it; that package alone would bring others."""
    __import__(name)
    return sys.modules[name]


__all__ = [
    "IO", "TYPE_CHECKING", "Any", "ArgumentParser", "Callable", "Collection", "Iterable", "Iterator", "Literal",
    "Mapping", "ModuleType", "NamedTuple", "Namespace", "NoReturn", "Protocol", "Sequence", "TextIO", "cast",
    "load_module",
]  # fmt: skip
