"""Find what may be at the end of a command line, by a verb's parser. Pure."""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.core.terminal_text import shorten


class Candidate(NamedTuple):
    """A word that may be at the end of a line. text: what it means, "" if the word says it."""

    value: str
    text: str = ""


class WordToComplete(NamedTuple):
    """Describes what the last word of a line may be.

    given: words known from the parser alone. kind: what else may be there, named as the parser's
    metavar does, or "". prefix: what the last word already has that no candidate repeats, such
    as `--rev=`. typed: the rest of it. words: the positional words before it.
    """

    given: list[Candidate]
    kind: str
    prefix: str
    typed: str
    words: list[str]


_SAFE = re.compile(r"[\w@%+,./:=\[\]-]+", re.ASCII)
_LONGEST = 200  # letters of a word
_LONGEST_TEXT = 80


def keep_fitting(candidates: Iterable[Candidate], typed: str) -> list[Candidate]:
    """Return the candidates that begin with what is typed, each word once.

    Only words that a shell takes as they are: names are untrusted, and `$(...)` must not get onto
    a prompt.
    """
    fitting = dict[str, Candidate]()
    for candidate in candidates:
        word = candidate.value
        if word.startswith(typed) and len(word) <= _LONGEST and _SAFE.fullmatch(word):
            fitting.setdefault(word, candidate)

    return list(fitting.values())


def shorten_help(text: str | None) -> str:
    return shorten(" ".join((text or "").partition("\n")[0].split()), _LONGEST_TEXT)


def find_wanted(
    parser: argparse.ArgumentParser, words: Sequence[str], typed: str
) -> WordToComplete:
    # argparse has no public way to ask for its actions
    options = {name: action for action in parser._actions for name in action.option_strings}
    positionals = [action for action in parser._actions if not action.option_strings]
    plain, waiting, ended = _read_words(words, options)
    if waiting is not None:
        return _want_value(waiting, "", typed, plain)
    name, equals, rest = typed.partition("=")
    if not ended and equals and name in options and options[name].nargs != 0:
        return _want_value(options[name], f"{name}=", rest, plain)
    if not ended and typed.startswith("-"):
        return WordToComplete(list(_name_options(options, words)), "", "", typed, plain)
    if len(plain) < len(positionals):
        return _want_value(positionals[len(plain)], "", typed, plain)
    if positionals and positionals[-1].nargs in ("*", "+"):
        return _want_value(positionals[-1], "", typed, plain)
    return WordToComplete([], "", "", typed, plain)


def _read_words(
    words: Sequence[str], options: dict[str, argparse.Action]
) -> tuple[list[str], argparse.Action | None, bool]:
    """Return the positional words, the option that still waits for its value, and whether `--`
    ended the options.
    """
    plain = list[str]()
    waiting = None
    ended = False
    for word in words:
        if waiting is not None:
            waiting = None
        elif ended or not word.startswith("-") or word == "-":
            plain.append(word)
        elif word == "--":
            ended = True
        elif word in options and options[word].nargs not in (0, "?"):
            waiting = options[word]

    return plain, waiting, ended


def _name_options(options: dict[str, argparse.Action], words: Sequence[str]) -> Iterator[Candidate]:
    for name, action in options.items():
        is_given = any(word.split("=", 1)[0] in action.option_strings for word in words)
        repeats = isinstance(action, argparse._AppendAction)
        is_short = not name.startswith("--") and any(
            other.startswith("--") for other in action.option_strings
        )
        if action.help != argparse.SUPPRESS and not is_short and (repeats or not is_given):
            yield Candidate(name, shorten_help(action.help))


def _want_value(
    action: argparse.Action, prefix: str, typed: str, plain: list[str]
) -> WordToComplete:
    choices = [Candidate(str(choice)) for choice in action.choices or ()]
    kind = action.metavar if isinstance(action.metavar, str) and not choices else ""
    return WordToComplete(choices, kind, prefix, typed, plain)
