"""Find the subcommand in argv and parse its arguments with argparse. It runs no verb."""

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from checkpoint_git.cli.verbs import (
    FORMER,
    LONG_VERBS,
    NESTED,
    PLAIN_FORMATS,
    SHORT_VERBS,
    WITH_FINDINGS,
)
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, Hint, advise, command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, join_some, shorten
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.version import __version__

# else it imports locale, to look for translations that Python does not have
vars(argparse)["_"] = str


class UsageError(CheckpointError):
    """Invalid command-line arguments."""


class CommandLine(NamedTuple):
    program: str
    verb: str
    words: list[str]


_MOST_NAMES = 12  # checkpoints that a hint names
_MEANT_OPTIONS = {
    "--list": advise("did you mean", "checkpoint", "status", "--short"),
    "--open": advise("did you mean", "checkpoint", "report"),
}
_UNKNOWN = "no checkpoint named"
_GLOBAL_FLAGS = frozenset(("--json", "--no-color", "-P", "--no-pager", "-q", "--quiet"))
_GLOBAL_VALUES = ("-C", "--format")
_HELP_WORDS = frozenset(("-h", "--help", "-V", "--version"))


def count_global_words(word: str) -> int:
    """Return how many words the global option has that begins with this one, 0 if none does."""
    if word in _GLOBAL_VALUES:
        return 2
    has_value = word.startswith("--format=") or (word.startswith("-C") and word != "-C")
    return int(has_value or word in _GLOBAL_FLAGS)


def find_verb_at(words: list[str]) -> int | None:
    """Return the index of the first word that is not a global option; None if that is no verb."""
    index = 0
    while index < len(words):
        length = count_global_words(words[index])
        if not length:
            is_option = words[index].startswith("-")
            return None if is_option else index
        index += length
    return None


def find_nested(verb: str, words: list[str]) -> tuple[str, str, list[str]]:
    """Find the module of a verb that may be short for another, or have nested sub-verbs.

    Returns the verb whose module and page it is, the sub-verb that has its own module or "", and
    the words without that sub-verb.
    """
    verb = SHORT_VERBS.get(verb, verb)
    if verb in LONG_VERBS:
        verb = LONG_VERBS[verb][0]
    index = find_verb_at(words)
    if index is None:
        return verb, "", words

    before, after = words[:index], words[index + 1 :]
    spelled = f"{verb} {words[index]}"
    if spelled in NESTED:
        return NESTED[spelled], words[index], before + after
    if spelled in FORMER:
        return verb, "", [*before, FORMER[spelled], *after]
    return verb, "", words


class _Parser(argparse.ArgumentParser):
    """argparse with three changes.

    Its errors become a UsageError in our words, an option's value may be `--`, and the text of
    --help is read when it is asked for.
    """

    request: CommandLine
    sub_verb = ""
    typed: str  # the program with its sub-verb
    # by an option's dest, the sub-verbs that take it; all take the others
    takers: Mapping[str, Sequence[str]]

    @property
    def _get_validation_formatter(self) -> NoReturn:
        # Python 3.14 tries each help as its option is added, and loads dataclasses for it: 10 of
        # the 50 ms that a command takes
        raise AttributeError

    def format_help(self) -> str:
        from textwrap import fill

        from checkpoint_git.cli import help_text

        width = help_text.read_width()
        self.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=width)
        usage = " ".join(self.format_usage().split())
        filled = fill(usage, width, subsequent_indent=" " * 11, break_on_hyphens=False)
        self.usage = filled.removeprefix("usage: ")

        page = help_text.read_page(self.request.verb, self.sub_verb)
        self.description = help_text.wrap(page.summary, width)
        self.epilog = help_text.wrap(page.rest, width)
        return super().format_help()

    def format_usage(self) -> str:
        """Return the usage line. It names only what is required, and lists no choices."""
        from checkpoint_git.cli.help_text import read_page

        for action in self._actions:
            if action.choices and not action.metavar and action.help != argparse.SUPPRESS:
                action.help = f"{action.help}; one of {', '.join(action.choices)}"
                action.metavar = action.dest.upper()

        head = self.prog
        if self.sub_verb:
            head += f" {read_page(self.request.verb, self.sub_verb).head}"

        actions = [action for action in self._actions if action.help != argparse.SUPPRESS]
        shown = [action for action in actions if action.required or not action.option_strings]
        of_every_command = self._action_groups[-1]._group_actions
        if self.takers or len(actions) > len(shown) + len(of_every_command):
            head += " [OPTIONS]"

        formatter = self.formatter_class(prog=head)
        formatter.add_usage(self.usage, shown, ())
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a hint that fits what argparse complains about."""
        near = find_meant(message, list(self._option_string_actions))
        hint = near or " ".join(self.format_usage().split())

        words = self.request.words
        strange = message.partition("unrecognized arguments: ")[2].split(" ")[0]
        positionals = self._list_positionals()
        takes_name = bool(positionals) and positionals[0].dest == "skill"
        if takes_name and message.startswith(_UNKNOWN):
            hint = self._name_checkpoints()
        elif takes_name and "arguments are required" in message:
            hint = join_hints(hint, self._name_checkpoints())
        elif takes_name and self.takes_text() and strange in words:
            start = words.index(strange)
            line = [*self.prog.split(), *words[:start], "--", *words[start:]]
            as_text = advise("if it is part of a text", *line)
            hint = join_hints(hint, as_text) if near else as_text

        raise UsageError(escape_controls(message), join_hints(hint, self._show_help()))

    def _show_help(self) -> Hint:
        return command(*self.typed.split(), "--help", more=" shows more")

    def _list_positionals(self) -> list[argparse.Action]:
        return [action for action in self._actions if not action.option_strings]

    def _name_checkpoints(self) -> str:
        """Return a hint that names the checkpoint that the first word may mean, else the known."""
        known = list_names(self.request.words)
        _, words = _split_raw(self.request.words)
        if words:
            near = find_near(skill_layout().find_skill(words[0]) or words[0], known)
            if near and near not in words:
                return escape_controls(f"did you mean {near}?")
        if not known:
            return ""
        return escape_controls(f"there are: {join_some(known, _MOST_NAMES)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        if action.option_strings:
            name = action.option_strings[0]
        else:
            name = str(action.metavar or action.dest).lower()

        choices = [str(choice) for choice in action.choices]
        expected = choices[-1]
        if len(choices) > 1:
            expected = f"{', '.join(choices[:-1])} or {expected}"

        shown = escape_controls(shorten(str(value), 60))
        near = find_near(str(value), choices)
        hint = f"did you mean {near}?" if near else ""
        message = f'invalid {name} "{shown}": expected {expected}'
        raise UsageError(message, join_hints(hint, self._show_help()))

    def narrow(self, module: ModuleType) -> None:
        """In a family of sub-verbs, keep the options of the one that the words name.

        Those of the other sub-verbs are parsed, too, but not shown.
        """
        self.takers = getattr(module, "TAKERS", {})
        if self.takers:
            self.sub_verb = self._find_sub_verb()

        self.typed = f"{self.prog} {self.sub_verb}".rstrip()
        needs = getattr(module, "NEEDS", {}).get(self.sub_verb, ())
        for action in self._actions:
            # an operand that no row of TAKERS names belongs to the line without a sub-verb
            default = [self.sub_verb] if action.option_strings else [""]
            if self.sub_verb not in self.takers.get(action.dest, default):
                action.help = argparse.SUPPRESS
            action.required = action.required or action.dest in needs

    def _find_sub_verb(self) -> str:
        """Return the first operand if it is a sub-verb, else ""."""
        verbs = self._actions[0].choices or ()
        words = iter(self.request.words)
        for word in words:
            action = self._option_string_actions.get(word)
            if action and action.nargs is None:
                next(words, "")  # its value
            elif not word.startswith("-"):
                return word if word in verbs else ""
        return ""

    def check_taken(self, args: argparse.Namespace) -> None:
        """Raise UsageError for an option of another sub-verb."""
        verb = getattr(args, self._actions[0].dest)
        for action in self._actions:
            takers = self.takers.get(action.dest, [verb])
            if verb not in takers and getattr(args, action.dest) != action.default:
                message = f"{self.request.verb} {verb} takes no {action.option_strings[0]}"
                help_line = command(*self.prog.split(), verb, "--help", more=" shows its own")
                advice = f"that is for {', '.join(takers)}"
                raise UsageError(message, join_hints(advice, help_line))

    def add_only_name(self, words: list[str]) -> list[str]:
        """Return the words with the name of the only checkpoint in front, where none is given.

        One operand that is not nearly that name is a text or a number. With more of them the first
        may be the name of a checkpoint that does not exist, so nothing is added.
        """
        known = list_names(words)
        operands = self._find_operands(words)
        is_complete = len(operands) > 1 or len(operands) == len(self._list_positionals())
        asks_for_help = not _HELP_WORDS.isdisjoint(words)
        if len(known) != 1 or is_complete or asks_for_help:
            return words
        if operands and find_near(operands[0].casefold(), [known[0].casefold()]):
            return words
        return [known[0], *words]

    def _find_operands(self, words: list[str]) -> list[str]:
        """Return the words that are neither options nor values of options."""
        operands = list[str]()
        remaining = iter(words)
        for word in remaining:
            if word == "--":
                return [*operands, *remaining]
            action = self._option_string_actions.get(word)
            if action is not None and action.nargs is None:
                next(remaining, "")
            elif not word.startswith("-"):
                operands.append(word)

        return operands

    def takes_text(self) -> bool:
        return any(action.nargs == "+" and not action.option_strings for action in self._actions)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # in `--next=--` Python 3.11 reads the value as the end of the options, and leaves it out
        if arg_strings != ["--"] or not action.option_strings or action.nargs is not None:
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value


def find_meant(message: str, options: Sequence[str]) -> AnyHint:
    """Return what was probably meant by the option that argparse's message complains about, or "".

    options: those of the verb.
    """
    rest = message.partition("unrecognized arguments: ")[2]
    word = rest.split(" ")[0].split("=")[0]
    if word in _MEANT_OPTIONS:
        return _MEANT_OPTIONS[word]
    near = find_near(word, options) if word else ""
    return f"did you mean {near}?" if near else ""


def find_near(word: str, known: Sequence[str]) -> str:
    """Return the known word that resembles this one most, or ""."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word[:60], known, 1, 0.6)), "")


def find_cwd(words: Sequence[str], cwd: str) -> str:
    """Return the folder that -C names, seen from cwd, else cwd."""
    for before, word in zip(["", *words], words, strict=False):
        if before == "-C":
            return os.path.join(cwd, os.path.expanduser(word))
        if word.startswith("-C") and word != "-C":
            return os.path.join(cwd, os.path.expanduser(word[2:]))
    return cwd


def list_names(words: Sequence[str]) -> list[str]:
    """Return the names of the checkpoints in the folder that a line's words name."""
    try:
        names = os.listdir(find_place(find_cwd(words, os.getcwd())).directory)
    except (CheckpointError, OSError):
        return []
    return sorted(filter(None, map(skill_layout().find_skill, names)))


def list_formats(verb: str, module: ModuleType, every: Sequence[str]) -> Sequence[str]:
    """Return every format for verbs with findings, else the module's FORMATS or the plain ones."""
    if verb in WITH_FINDINGS:
        return every
    return getattr(module, "FORMATS", PLAIN_FORMATS)


def build_parser(request: CommandLine, module: ModuleType, formats: Sequence[str]) -> _Parser:
    parser = _Parser(
        prog=request.program,
        # a width of our own keeps argparse from importing shutil for every option that is added
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=100),
        add_help=False,
        allow_abbrev=False,
    )
    parser.request = request
    parser._positionals.title = "arguments"
    module.add_arguments(parser)
    add = parser.add_argument_group("options of every command").add_argument
    add("--format", choices=formats, default="text", help="output format (default: text)")
    json_help = "short for --format json"
    add("--json", dest="format", action="store_const", const="json", help=json_help)
    add("-C", dest="directory", metavar="DIR", default="", help="run as if started in DIR")
    add("-q", "--quiet", action="store_true", help="show findings and errors only")
    add("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")
    add(
        "-P",
        "--no-pager",
        action="store_true",
        help="no pager for more than a screen (core.pager, as git has it)",
    )
    add(
        "-V",
        "--version",
        action="version",
        version=f"checkpoint {__version__}",
        help="show the version",
    )
    add("-h", "--help", action="help", help="show this help")
    parser.narrow(module)
    return parser


def parse(request: CommandLine, module: ModuleType, formats: Sequence[str]) -> argparse.Namespace:
    """Return a verb's arguments.

    A RAW verb gets the words that its parser cannot know as args.words, as they were typed.
    """
    parser = build_parser(request, module, formats)
    if getattr(module, "RAW", False):
        return _parse_raw(parser, request.words)
    if getattr(module, "MAY_OMIT_NAME", False):
        request = request._replace(words=parser.add_only_name(request.words))
        parser.request = request

    args = _parse_words(parser, request.words, getattr(module, "SENTENCES", ()))
    if parser.takers:
        parser.check_taken(args)
    if parser.takes_text():
        _check_name(parser, getattr(args, "skill", None), list_names(request.words))
    return args


def _parse_words(parser: _Parser, words: list[str], sentences: Sequence[str]) -> argparse.Namespace:
    """Return the arguments; operands may come between options.

    sentences: the names of the options that take a text.
    """
    args, rest = parser.parse_known_args(words)
    if not rest and any(action.nargs == "*" for action in parser._actions):
        # Python 3.15 gives such an argument what follows an option, too: then it is no other text
        for option, word in zip(words, words[2:], strict=False):
            if option[2:] in sentences and not word.startswith("-"):
                rest.append(word)

    if not rest:
        return args
    if any(word.startswith("-") for word in rest):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")

    texts = [getattr(args, name, None) for name in sentences]
    if _lack_quotes([text for text in texts if text and text != rest], words):
        parser.error(f"put each text in quotes: {' '.join(rest)}")
    return parser.parse_intermixed_args(words)


def _lack_quotes(texts: list[Any], words: list[str]) -> bool:
    """Whether a text may lack quotes, so that other words of the line belong to it.

    A word with a space in it was quoted. Without any, the word after an option's value may be a
    part of that.
    """
    if any(isinstance(text, list) for text in texts):
        return True
    is_quoted = any(" " in word for word in words)
    return bool(texts) and not is_quoted


def _check_name(parser: _Parser, skill: str | None, known: list[str]) -> None:
    """Raise UsageError for a name without a checkpoint, if there are any: it may be text."""
    if skill and known and skill not in known:
        parser.error(f"{_UNKNOWN} {shorten(skill, 60)}")


def _parse_raw(parser: _Parser, typed: list[str]) -> argparse.Namespace:
    """Return the arguments of a verb that reads its words itself.

    Only NAME and the options of every command are parsed here.
    """
    options, words = _split_raw(typed)
    names = [word for word in words if not word.startswith("-")][:1]
    before = words[: words.index(names[0])] if names else []
    if before and "=" not in before[-1] and before[-1].replace("_", "-") != "--new-field":
        parser.error(f"NAME comes before {shorten(before[-1], 60)}")  # NAME may be its value

    args = parser.parse_args([*options, *names])
    words.remove(args.skill)
    args.words = words
    return args


def _split_raw(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the options of every command with their values, and the other words, in order."""
    options = list[str]()
    others = list[str]()
    index = 0
    while index < len(words):
        length = count_global_words(words[index])
        if not length and words[index] in _HELP_WORDS:
            length = 1
        if length:
            options += words[index : index + length]
            index += length
        else:
            others.append(words[index])
            index += 1

    return options, others
