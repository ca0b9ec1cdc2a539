"""Words that are read without argparse, against argparse, whose word is law."""

import argparse
import importlib
import itertools
from types import ModuleType

import pytest

from checkpoint_git.cli.app import EXIT_CODES
from checkpoint_git.cli.argv import Request, UsageError, read_quickly
from checkpoint_git.cli.parser import build_parser, parse
from checkpoint_git.cli.verbs import PLAIN_FORMATS, VERBS

GLOBAL_FLAGS = ["--json", "-q", "--quiet", "--no-color"]
HOT = ("status", "next", "validate", "list")


def module_of(verb: str) -> ModuleType:
    return importlib.import_module(VERBS[verb][0])


def flags_of(verb: str) -> list[str]:
    """All options of a verb that stand for themselves."""
    parser = build_parser(Request("checkpoint", verb, []), module_of(verb), PLAIN_FORMATS, EXIT_CODES)
    return [option for action in parser._actions if action.nargs == 0 for option in action.option_strings]


def read_slowly(verb: str, words: list[str]) -> dict[str, object] | None:
    """What argparse reads, None where it refuses."""
    try:
        return vars(parse(Request("checkpoint", verb, words), module_of(verb), PLAIN_FORMATS, EXIT_CODES))
    except UsageError:
        return None


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_what_is_read_quickly_is_what_argparse_reads(verb: str) -> None:
    flags = [flag for flag in flags_of(verb) if flag not in ("-h", "--help", "--version")]
    for words in [[], *([flag] for flag in flags), *map(list, itertools.permutations(flags, 2))]:
        quick = read_quickly(words, module_of(verb))
        assert quick is None or vars(quick) == read_slowly(verb, words), words


@pytest.mark.parametrize("verb", HOT)
def test_the_commands_that_start_often_are_read_quickly(verb: str) -> None:
    for words in ([], *([flag] for flag in GLOBAL_FLAGS)):
        assert read_quickly(words, module_of(verb)) is not None, words


@pytest.mark.parametrize(
    "words",
    [["--help"], ["-h"], ["--version"], ["--format", "json"], ["--format=json"], ["-C/"], ["--al"], ["x"], ["--"]],
)
def test_other_words_are_left_to_argparse(words: list[str]) -> None:
    assert read_quickly(words, module_of("next")) is None


def test_a_verb_that_asks_its_parser_for_more_is_left_to_argparse() -> None:
    module = ModuleType("odd")
    module.add_arguments = lambda parser: parser.set_defaults(kind=1)  # type: ignore[attr-defined]  # what a verb is
    assert read_quickly([], module) is None
    module.add_arguments = lambda parser: parser.add_argument("-n", type=int, default="3")  # type: ignore[attr-defined]  # as above
    assert read_quickly([], module) is None
    module.add_arguments = lambda parser: parser.add_argument("--depth", required=True)  # type: ignore[attr-defined]  # as above
    assert read_quickly([], module) is None


def test_arguments_are_shown_as_argparse_holds_them() -> None:
    quick = read_quickly(["--all"], module_of("next"))
    assert argparse.Namespace(**vars(quick)).all is True
