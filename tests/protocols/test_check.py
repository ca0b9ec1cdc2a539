"""Doctor checks: how they are registered, and how facts are read."""

import sys
from collections.abc import Iterator

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.check import Context, check, collect_checks, fact, run_checks
from tests.support.contexts import PLACE, make_context


class Weather:
    """Facts of which one cannot be read."""

    def __init__(self, context: Context) -> None:
        self.context, self.looks = context, 0

    @fact("the sky", "dark")
    def sky(self) -> str:
        """What is above."""
        self.looks += 1
        return "clear"

    @fact("the wind", "none", needs_git=False)
    def wind(self) -> str:
        """What nobody can find out."""
        raise CheckpointError("the vane is gone", "look for it")


@check("weather/sky", "warning", remedy="wait", fix="safe")
def find_clouds(context: Context) -> Iterator[Finding]:
    """The sky is not clear.

    See [the sky](#sky):
    it is above.
    """
    facts = context.facts(Weather)
    yield Finding("weather/sky", "note", facts.sky)
    yield Finding("weather/sky", "note", facts.sky)


@check("weather/wind", "note", remedy="wait")
def find_wind(context: Context) -> Iterator[Finding]:
    """There is wind."""
    yield Finding("weather/wind", "note", context.facts(Weather).wind)
    raise CheckpointError("it is too strong")


CHECKS = collect_checks(sys.modules[__name__])


def test_a_module_s_checks_are_collected_with_what_their_docstrings_say() -> None:
    first, second = CHECKS
    assert (first.code, first.level, first.fix, first.when, first.group) == (
        "weather/sky",
        "warning",
        "safe",
        "always",
        "weather",
    )
    assert (first.looks_at, first.details) == (
        "The sky is not clear",
        "See [the sky](#sky): it is above.",
    )
    assert (second.looks_at, second.details) == ("There is wind", "")
    assert first.matches("weather")
    assert first.matches("weather/")
    assert not first.matches("weath")


def test_a_fact_is_read_once_and_each_finding_reported_once() -> None:
    context = make_context()
    assert [finding.message for finding in run_checks(CHECKS[:1], context)] == ["clear"]
    assert context.facts(Weather).looks == 1


def test_what_cannot_be_read_has_its_default_and_is_reported() -> None:
    seen: list[str] = []
    context = make_context(tell=seen.append)
    assert [finding.message for finding in run_checks(CHECKS, context)] == ["clear", "none"]
    assert seen == ["looking at the sky", "looking at the wind"]
    assert [(one.code, one.level, one.message, str(one.hint)) for one in context.troubles] == [
        (
            "doctor/not-looked-at",
            "warning",
            "the wind could not be checked: the vane is gone",
            "look for it",
        ),
        (
            "doctor/not-looked-at",
            "warning",
            "weather/wind could not be checked: it is too strong",
            "",
        ),
    ]


def test_outside_git_what_needs_it_has_its_default_and_one_note_says_so() -> None:
    context = Context(PLACE._replace(work_tree=None, git_dir=None), 0, {})
    assert context.facts(Weather).sky == "dark"
    assert context.facts(Weather).looks == 0
    assert [(one.code, one.level) for one in context.troubles] == [("doctor/not-looked-at", "note")]
