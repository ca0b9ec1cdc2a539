"""Make and write hints: a hint says in words and commands what to do about a finding or error."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from checkpoint_git.core.terminal_text import quote_word

UNFILLED = "..."  # how a blank is shown; the verbs that write refuse it as a value


class Blank(NamedTuple):
    """Mark a place that the user has to fill in.

    name: what belongs there, such as "the decision". sign: how it is shown.
    """

    name: str
    sign: str = UNFILLED


class Output(NamedTuple):
    """Stand for what another command prints, within a word. argv: that of the command."""

    argv: tuple[str, ...]


class Word(NamedTuple):
    """Hold a word of a command that has blanks or outputs in it, such as `--step=` and a blank."""

    parts: tuple[str | Blank | Output, ...]


Argument: TypeAlias = str | Blank | Word
Argv: TypeAlias = tuple[Argument, ...]


class Step(NamedTuple):
    """Say one thing to do.

    text: in words. commands: run one after the other. more: words that follow the commands.
    """

    text: str = ""
    commands: tuple[Argv, ...] = ()
    more: str = ""


class Hint:
    """Say what to do, in steps: they follow one another, or the user chooses one.

    It does not change. It is not a tuple: JSON encoders ask their `default` about it.
    """

    __slots__ = ("steps",)
    steps: tuple[Step, ...]

    def __init__(self, *steps: Step) -> None:
        object.__setattr__(self, "steps", steps)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a hint does not change: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hint) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(self.steps)

    def __bool__(self) -> bool:
        return bool(self.steps)

    def __repr__(self) -> str:
        return f"Hint{self.steps!r}"

    def __str__(self) -> str:
        return write_hint(self, write_shell)


AnyHint: TypeAlias = Hint | str  # a text is prose: it has no command


def command(*argv: Argument, more: str = "") -> Hint:
    """Return the hint that is nothing but a command.

    more: words after it, such as " shows them".
    """
    return Hint(Step("", (argv,), more))


def advise(text: str, *argv: Argument, more: str = "") -> Hint:
    """Return what to do in words, and the command that does it."""
    return Hint(Step(text, (argv,), more))


def chain(text: str, commands: Sequence[Argv]) -> Hint:
    """Return what to do in words ("" for none), and the commands that do it, in their order."""
    return Hint(Step(text, tuple(commands)))


def join_hints(*hints: AnyHint) -> Hint:
    """Return the steps of several hints in one."""
    return Hint(*(step for hint in hints for step in steps_of(hint)))


def steps_of(hint: AnyHint) -> tuple[Step, ...]:
    if isinstance(hint, Hint):
        return hint.steps
    if hint:
        return (Step(hint),)
    return ()


def commands_of(hint: AnyHint) -> list[Argv]:
    return [argv for step in steps_of(hint) for argv in step.commands]


def blank(start: str, name: str, end: str = "") -> Word:
    """Return a word with one blank in it, such as `--step=` and what belongs behind it."""
    return Word(tuple(part for part in (start, Blank(name), end) if part))


def split_blanks(text: str, name: str) -> Argument:
    """Return a word with a blank for each "..." in it, such as an example in JSON."""
    if UNFILLED not in text:
        return text
    literal, *rest = text.split(UNFILLED)
    parts: list[str | Blank] = [literal]
    for literal in rest:
        parts += [Blank(name), literal]
    return Word(tuple(part for part in parts if part))


def change_words(hint: AnyHint, change: Callable[[Argument], Argument]) -> AnyHint:
    """Return the hint with each word of its commands changed."""
    if not isinstance(hint, Hint):
        return hint
    steps = []
    for step in hint.steps:
        commands = [tuple(map(change, argv)) for argv in step.commands]
        steps.append(step._replace(commands=tuple(commands)))
    return Hint(*steps)


def fill_blank(hint: AnyHint, wanted: Blank, value: str) -> AnyHint:
    """Return the hint with a value in place of a blank."""

    def fill(word: Argument) -> Argument:
        if word == wanted:
            return value
        if not isinstance(word, Word) or wanted not in word.parts:
            return word
        parts = list(word.parts)
        for index, part in enumerate(parts):
            if part == wanted:
                parts[index] = value

        filled = Word(tuple(parts))
        if any(isinstance(part, Blank) for part in parts):
            return filled
        return write_word(filled)

    return change_words(hint, fill)


def change_texts(hint: AnyHint, change: Callable[[str], str]) -> AnyHint:
    """Return the hint with every text in it changed, those in its commands too."""
    if not isinstance(hint, Hint):
        return change(hint)

    def change_part(part: str | Blank | Output) -> str | Blank | Output:
        if isinstance(part, str):
            return change(part)
        return part

    def change_word(word: Argument) -> Argument:
        if isinstance(word, Word):
            return Word(tuple(map(change_part, word.parts)))
        if isinstance(word, Blank):
            return word
        return change(word)

    steps = [step._replace(text=change(step.text), more=change(step.more)) for step in hint.steps]
    return change_words(Hint(*steps), change_word)


# writing it down


def write_hint(hint: AnyHint, write_commands: Callable[[Sequence[Argv]], str]) -> str:
    """Return a hint as one text.

    write_commands: how commands are written that run one after the other.
    """
    written = ""
    for step in steps_of(hint):
        if written.endswith("?"):
            written += " "
        elif written:
            written += "; "
        written += _write_step(step, write_commands)
    return written


def _write_step(step: Step, write_commands: Callable[[Sequence[Argv]], str]) -> str:
    if not step.commands:
        return step.text + step.more
    lead = ""
    if step.text:
        lead = f"{step.text}: "
    return f"{lead}{write_commands(step.commands)}{step.more}"


def write_shell(commands: Sequence[Argv]) -> str:
    """Return commands as a user pastes them into a shell."""
    return " && ".join(" ".join(_quote(word) for word in argv) for argv in commands)


def describe_hint(hint: AnyHint) -> dict[str, Any]:
    """Return the members of a JSON object that carry a hint.

    They are its text, and its commands as lists of words, if it has any.
    """
    commands = [write_plain(argv) for argv in commands_of(hint)]
    members: dict[str, Any] = {"hint": hint}
    if commands:
        members["commands"] = commands
    return members


def encode_hint(value: object) -> str:
    """Return a hint as JSON has it, for an encoder. Raises TypeError for anything else."""
    if isinstance(value, Hint):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def write_plain(argv: Argv) -> list[str]:
    """Return the words as a program gets them, with "..." where a user fills something in."""
    return [write_word(word) for word in argv]


def write_word(word: Argument) -> str:
    """Return a word as a program gets it."""
    if isinstance(word, str):
        return word
    if isinstance(word, Blank):
        return word.sign
    return "".join(map(_write_part, word.parts))


def _write_part(part: str | Blank | Output) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Blank):
        return part.sign
    return f"$({' '.join(map(quote_word, part.argv))})"


def _quote(word: Argument) -> str:
    if isinstance(word, str):
        return _quote_text(word)
    if isinstance(word, Blank):
        return _quote_part(word)

    literal = "".join(part for part in word.parts if isinstance(part, str))
    if any(isinstance(part, Output) for part in word.parts) or _quote_text(literal) == literal:
        return "".join(map(_quote_part, word.parts))
    return _quote_text(write_word(word))


def _quote_part(part: str | Blank | Output) -> str:
    if isinstance(part, str):
        return quote_word(part)
    if isinstance(part, Blank) and part.sign != UNFILLED:
        return part.sign
    return f'"{_write_part(part)}"'


def _quote_text(text: str) -> str:
    """Return a word, in quotes if it needs them.

    Of an option with a value, only the value is in quotes: --step='two words'.
    """
    name, sign, value = text.partition("=")
    if not (sign and value and text.startswith("--")) or quote_word(name) != name:
        return quote_word(text)
    return f"{name}={quote_word(value)}"
