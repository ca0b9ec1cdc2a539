"""A command line as a shell gives it, taken apart: its words, what is typed of the last one, and what completes it."""

import os
import shlex
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from checkpoint_git.cli import render
from checkpoint_git.cli.completion.candidates import Candidate, find_wanted, keep_fitting
from checkpoint_git.cli.completion.values import FILES, FOLDERS, Asked, read_values
from checkpoint_git.cli.parser import Request, build_parser, find_verb_at, list_formats
from checkpoint_git.cli.verbs import DEFAULT_VERB, SHORT_VERBS, VERBS

_PROGRAMS = ("checkpoint", "git-checkpoint", "checkpoint-doctor")


class Completed(NamedTuple):
    """What may stand at the end of a line. shell: FILES or FOLDERS where the shell names them itself, else ""."""

    candidates: list[Candidate]
    shell: str = ""


def split_line(line: str) -> list[str]:
    """A line's words without the program's own, as a shell would part them; the last one is what is being typed.

    Quotes may be open still. A line of git's (`git -C x checkpoint next`) loses all up to the command's name.
    """
    words = next((split for end in ("x", "x'", 'x"') if (split := _split(line + end)) is not None), [line, ""])
    words[-1] = words[-1][:-1]
    named = [at for at, word in enumerate(words[:-1]) if os.path.basename(word) in _PROGRAMS]
    first = named[0] if named else 0
    doctor = ["doctor"] if os.path.basename(words[first]) == "checkpoint-doctor" else []
    return [*doctor, *words[first + 1 :]] or [""]


def _split(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


def complete(words: Sequence[str], cwd: str) -> Completed:
    """What may stand in place of the last of some words, which follow the program's name."""
    earlier, typed = list(words[:-1]), words[-1] if words else ""
    at = find_verb_at(earlier)
    if at is not None:
        verb = SHORT_VERBS.get(earlier[at], earlier[at])
        rest = earlier[:at] + earlier[at + 1 :]
        return _complete_verb(verb, rest, typed, _find_cwd(earlier, cwd)) if verb in VERBS else Completed([])
    if typed.startswith("-") or find_verb_at([*earlier, "x"]) is None:  # the default verb's own options
        return _complete_verb(DEFAULT_VERB, earlier, typed, _find_cwd(earlier, cwd))
    return Completed(keep_fitting((Candidate(verb, text) for verb, (_, text) in VERBS.items() if text), typed))


def _find_cwd(words: list[str], cwd: str) -> str:
    """The folder that -C names, from where the shell stands."""
    for before, word in zip(["", *words], words, strict=False):
        if before == "-C" or (word.startswith("-C") and len(word) > len("-C")):
            return os.path.join(cwd, os.path.expanduser(word if before == "-C" else word[2:]))
    return cwd


def _complete_verb(verb: str, words: list[str], typed: str, cwd: str) -> Completed:
    module = import_module(VERBS[verb][0])
    if getattr(module, "RAW", False) and typed.startswith("--") and any(not word.startswith("-") for word in words):
        skill = [word for word in words if not word.startswith("-")][:1]
        return Completed(keep_fitting(read_values("EDIT", Asked(verb, skill, typed, cwd)), typed))
    formats = list_formats(verb, module, tuple(render.FORMATS))
    parser = build_parser(Request(f"checkpoint {verb}", verb, words), module, formats, "")
    wanted = find_wanted(parser, words, typed)
    found = [*wanted.given, *read_values(wanted.kind, Asked(verb, wanted.words, wanted.typed, cwd))]
    shell = next((one.value for one in found if one.value in (FILES, FOLDERS)), "")
    fitting = keep_fitting((one for one in found if one.value != shell), wanted.typed)
    return Completed([Candidate(wanted.prefix + one.value, one.text) for one in fitting], shell)
