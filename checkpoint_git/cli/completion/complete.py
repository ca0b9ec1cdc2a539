"""`checkpoint complete`: what the scripts of `checkpoint completion` ask: a candidate a line, a
tab, its text.
"""

import argparse
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from checkpoint_git.cli import render
from checkpoint_git.cli.completion.candidates import (
    Candidate,
    WordToComplete,
    find_wanted,
    keep_fitting,
    shorten_help,
)
from checkpoint_git.cli.parser import (
    CommandLine,
    build_parser,
    find_cwd,
    find_nested,
    find_verb_at,
    list_formats,
)
from checkpoint_git.cli.verbs import DEFAULT_VERB, NESTED, VERBS, load_verb
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_or_plan_place
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import StatusQuestion, read_summaries

HELP = """\
print completions of a command line; called by the scripts of `checkpoint completion`

examples:
  checkpoint complete --line="checkpoint up"

"""

_PROGRAMS = ("checkpoint", "git-checkpoint", "checkpoint-doctor")


# what may be at the end of a line; FILES or FOLDERS where the shell names them itself, else ""
Completed = tuple[list[Candidate], str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--line", metavar="TEXT", required=True, help="the line up to the cursor")
    parser.add_argument(
        "--breaks", metavar="LETTERS", default="", help="where bash breaks a word in two"
    )


# A line that begins with a colon tells the shell to name files or folders itself. It never fails: a
# prompt is no place for errors.
def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    try:
        words = split_line(args.line)
        candidates, shell = complete(words, invocation.cwd)
    except Exception:  # whatever was typed is not finished yet: nothing to say is the only answer
        return Answer([""], 0)
    start = find_start(words[-1], args.breaks)
    lines = [f"{one.value[start:]}\t{escape_controls(one.text)}\n" for one in candidates]
    return Answer(["".join(lines) + (f"{shell}\n" if shell else "")], 0)


def find_start(typed: str, breaks: str) -> int:
    # bash replaces only what follows the last letter that breaks words in two
    letters = [letter for letter in breaks if not letter.isspace() and letter not in "\"'"]
    return max((typed.rfind(letter) for letter in letters), default=-1) + 1


def split_line(line: str) -> list[str]:
    """A line's words behind the program's name, the last one being typed; quotes may be open, git's
    words go too.
    """
    words = [line, ""]
    for end in ("x", "x'", 'x"'):
        with suppress(ValueError):
            words = shlex.split(line + end)
            break

    words[-1] = words[-1][:-1]
    named = [at for at, word in enumerate(words[:-1]) if os.path.basename(word) in _PROGRAMS]
    first = named[0] if named else 0
    doctor = ["doctor"] if os.path.basename(words[first]) == "checkpoint-doctor" else []
    return [*doctor, *words[first + 1 :]] or [""]


def complete(words: Sequence[str], cwd: str) -> Completed:
    earlier, typed = list(words[:-1]), words[-1] if words else ""
    at = find_verb_at(earlier)
    if at is not None:
        verb, _, rest = find_nested(earlier[at], earlier[:at] + earlier[at + 1 :])
        return (
            _complete_verb(verb, rest, typed, find_cwd(earlier, cwd)) if verb in VERBS else ([], "")
        )

    # the default verb's own options
    if typed.startswith("-") or find_verb_at([*earlier, "x"]) is None:
        return _complete_verb(DEFAULT_VERB, earlier, typed, find_cwd(earlier, cwd))
    return keep_fitting(
        (Candidate(verb, row.summary) for verb, row in VERBS.items() if row.summary), typed
    ), ""


def _complete_verb(verb: str, words: list[str], typed: str, cwd: str) -> Completed:
    module = load_verb(verb)
    if (
        getattr(module, "RAW", False)
        and typed.startswith("--")
        and any(not word.startswith("-") for word in words)
    ):
        named = next(word for word in words if not word.startswith("-"))
        found = [
            Candidate(value, shorten_help(text))
            for value, text in module.complete_words(named, typed, cwd)
        ]
        return keep_fitting(found, typed), ""

    formats = list_formats(verb, module, tuple(render.FORMATS))
    wanted = find_wanted(
        build_parser(CommandLine(f"checkpoint {verb}", verb, words), module, formats), words, typed
    )
    nested = [
        Candidate(name.split()[1])
        for name in NESTED
        if name.startswith(f"{verb} ") and not wanted.words
    ]
    found = [*wanted.given, *nested, *read_values(verb, wanted, cwd)]
    shell = next((one.value for one in found if one.value in (FILES, FOLDERS)), "")
    fitting = keep_fitting((one for one in found if one.value != shell), wanted.typed)
    return [Candidate(wanted.prefix + one.value, one.text) for one in fitting], shell


FILES, FOLDERS = ":files", ":folders"  # the shell knows them better
_MOST_REFS = 500


# Each is read when a shell asks for it. Whatever goes wrong, the answer is shorter, never an error.
def read_values(verb: str, wanted: WordToComplete, cwd: str) -> list[Candidate]:
    if not wanted.kind or not os.path.isdir(cwd):
        return []
    # a prompt is no place for errors: the command itself will report them
    with suppress(Exception):
        reader = _READERS.get(wanted.kind)
        return list(reader(wanted.typed, cwd) if reader else _read_names(verb, wanted, cwd))
    return []


def _read_names(verb: str, wanted: WordToComplete, cwd: str) -> Iterator[Candidate]:
    """What the protocols name under "VERB KIND WORD WORD", of which the longest beginning counts,
    or under the kind.
    """
    place = find_or_plan_place(cwd)
    words = [verb, wanted.kind, *wanted.words]
    keys = [*(" ".join(words[:end]) for end in range(len(words), 1, -1)), wanted.kind]
    for summary in read_summaries(
        StatusQuestion(place, int(time.time()), os.environ, "completion")
    ):
        found = next((key for key in keys if key in summary.names), None)
        if found is not None:
            return (Candidate(name) for name in summary.names[found])
    return iter(())


def _read_refs(typed: str, cwd: str) -> Iterator[Candidate]:
    """The newest first; in a range the part after its dots."""
    shape = [
        "--format=%(refname:short)%09%(contents:subject)",
        "--sort=-creatordate",
        f"--count={_MOST_REFS}",
    ]
    listed = run_git(
        ["for-each-ref", *shape, "refs/heads", "refs/tags", "refs/remotes"], cwd, check=False
    ).out
    head = typed[: typed.rfind("..") + 2] if ".." in typed else ""
    yield Candidate(f"{head}HEAD", "what is checked out")
    for line in listed.decode("utf-8", "replace").splitlines():
        name, _, subject = line.partition("\t")
        yield Candidate(head + name, shorten_help(escape_controls(subject)))


def _read_codes(typed: str, cwd: str) -> Iterator[Candidate]:
    from checkpoint_git.tools.doctor.catalog import list_checks

    for check in list_checks():
        yield Candidate(check.code, shorten_help(check.looks_at))


# what a parser calls it -> who knows, by what is typed of it and the folder
_READERS: dict[str, Callable[[str, str], Iterable[Candidate]]] = {
    **dict.fromkeys(("COMMIT", "REV", "REF", "BRANCH", "RANGE", "REV..REV"), _read_refs),
    **dict.fromkeys(("PATH", "FILE"), lambda typed, cwd: (Candidate(FILES),)),
    **dict.fromkeys(("DIR", "FOLDER"), lambda typed, cwd: (Candidate(FOLDERS),)),
    "CODE": _read_codes,
}
