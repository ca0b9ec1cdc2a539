"""The words of a command line: which of them is the verb, and what they say where they are so plain that anybody could.

It knows the global options and no verb's; what is not plain is left to parsing.py, which brings argparse.
"""

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.light import Any, ModuleType, NamedTuple, Namespace, cast


class UsageError(CheckpointError):
    """The words on the command line make no sense."""


class Request(NamedTuple):
    """What the command line asks for, before its verb's own parser has seen it."""

    program: str
    verb: str
    words: list[str]


_GLOBAL_FLAGS = frozenset(("--json", "--no-color", "-q", "--quiet"))
_GLOBAL_VALUES = ("-C", "--format")


def global_span(words: list[str], at: int) -> int:
    """How many words the global option at a place takes, 0 where none stands there."""
    word = words[at]
    if word in _GLOBAL_VALUES:
        return 2
    return int(word in _GLOBAL_FLAGS or word.startswith("--format=") or (word[:2] == "-C" and len(word) > 2))


def find_verb_at(words: list[str]) -> int | None:
    """Where the verb stands among the words: the first that is not a global option; None where there is none."""
    at = 0
    while at < len(words):
        span = global_span(words, at)
        if not span:
            return None if words[at].startswith("-") else at
        at += span
    return None


# plain words


class _Plain:
    """Holds arguments as argparse.Namespace does."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)


class _Defaults:
    """Stands in for a parser where a verb adds its arguments, and notes what each is when nobody names it.

    flags: option -> (attribute, value) of those that stand for themselves.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.flags: dict[str, tuple[str, Any]] = {}
        self.is_plain = True

    def add_argument(self, *names: str, action: str = "store", nargs: Any = None, **more: Any) -> None:
        """As argparse's; what leaves a default in doubt makes the verb one for argparse."""
        long = next((each for each in names if each.startswith("--")), names[0])
        name = more.get("dest") or long.lstrip("-").replace("-", "_")
        if action == "store_true":
            self.values[name] = more.get("default", False)
            self.flags.update((option, (name, True)) for option in names)
        elif action == "append" and long.startswith("-") and not more.get("required"):
            self.values[name] = more.get("default")
        elif action == "store" and not more.get("required") and (long.startswith("-") or nargs in ("?", "*")):
            self.values[name] = more.get("default", [] if nargs == "*" and not long.startswith("-") else None)
        else:
            self.is_plain = False
        if isinstance(more.get("default"), str) and "type" in more:
            self.is_plain = False  # argparse would convert it

    def add_mutually_exclusive_group(self, **_: Any) -> "_Defaults":
        """A group whose options are left to argparse, which knows what may not stand beside what."""
        group = _Defaults()
        group.values = self.values  # the defaults are the verb's, the flags are not
        return group

    add_argument_group = add_mutually_exclusive_group

    def __getattr__(self, name: str) -> Any:
        raise _NotPlainError


class _NotPlainError(Exception):
    pass


_GLOBAL_DEFAULTS = {"format": "text", "directory": "", "quiet": False, "no_color": False}
_GLOBAL_PLAIN = {
    "--json": ("format", "json"),
    "-q": ("quiet", True),
    "--quiet": ("quiet", True),
    "--no-color": ("no_color", True),
}


def read_quickly(words: list[str], module: ModuleType) -> Namespace | None:
    """The verb's arguments as argparse would have them, where the words are flags alone; None where they are more.

    A tenth of an ordinary start is argparse, and most starts name nothing.
    """
    if not all(word.startswith("-") for word in words) or getattr(module, "RAW", False):
        return None
    verb = _Defaults()
    try:
        module.add_arguments(verb)
    except _NotPlainError:
        return None
    formats = {f"--format={name}": ("format", name) for name in getattr(module, "FORMATS", ())}
    known = {**verb.flags, **_GLOBAL_PLAIN, **formats}
    if not verb.is_plain or any(word not in known for word in words):
        return None
    values = {**verb.values, **_GLOBAL_DEFAULTS, **dict(known[word] for word in words)}
    return cast(Namespace, _Plain(values))
