"""Contexts for doctor checks whose facts are given as values instead of being read."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.check import Context
from tests.support.documents import LIMITS

T = TypeVar("T")
PLACE = Place("/nowhere", "/nowhere/.checkpoints", "/nowhere", "/nowhere/.git")


def make_context(now: int = 0, **wanted: Any) -> Context:
    """A context of a place that is not there: a fact that is not given cannot be read."""
    context = Context(PLACE, now, {}, **wanted)
    context.limits = LIMITS
    return context


def give(context: Context, kind: Callable[[Context], T], **facts: Any) -> Context:
    """The context with these facts of one kind."""
    given = context.facts(kind)
    for name, value in facts.items():
        assert hasattr(type(given), name), name
        setattr(given, name, value)
    return context


def found(find: Callable[..., Iterable[Finding]], context: Context) -> list[Finding]:
    """What a check finds."""
    return list(find(context.facts(next(iter(find.__annotations__.values())))))
