"""`checkpoint complete`, which the scripts of `checkpoint completion` call.

It prints one candidate a line: the word, a tab, and what it means. A line that begins with a colon
tells the shell to name files or folders itself.
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
FILES, FOLDERS = ":files", ":folders"  # the shell knows them better
_MOST_REFS = 500

# what may be at the end of a line; FILES or FOLDERS if the shell is to name them itself, else ""
Completed = tuple[list[Candidate], str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--line", metavar="TEXT", required=True, help="the line up to the cursor")
    parser.add_argument(
        "--breaks", metavar="LETTERS", default="", help="where bash breaks a word in two"
    )


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    try:
        words = split_line(args.line)
        candidates, shell = complete(words, invocation.cwd)
    except Exception:  # the line is not finished yet, and a prompt is no place for errors
        return Answer([""], 0)

    start = find_start(words[-1], args.breaks)
    lines = [
        f"{candidate.value[start:]}\t{escape_controls(candidate.text)}\n"
        for candidate in candidates
    ]
    if shell:
        lines.append(f"{shell}\n")
    return Answer(["".join(lines)], 0)


def find_start(typed: str, breaks: str) -> int:
    """Return where the part of a word begins that bash replaces.

    It replaces only what follows the last letter that breaks words in two.
    """
    letters = [letter for letter in breaks if not letter.isspace() and letter not in "\"'"]
    return max((typed.rfind(letter) for letter in letters), default=-1) + 1


def split_line(line: str) -> list[str]:
    """Return a line's words behind the name of the program; the last one is still being typed.

    A quote may be open in it. In `git checkpoint`, what is before `checkpoint` is left out, too.
    """
    words = [line, ""]
    for end in ("x", "x'", 'x"'):
        with suppress(ValueError):
            words = shlex.split(line + end)
            break

    words[-1] = words[-1][:-1]
    program_at = 0
    for index, word in enumerate(words[:-1]):
        if os.path.basename(word) in _PROGRAMS:
            program_at = index
            break

    after = words[program_at + 1 :]
    if os.path.basename(words[program_at]) == "checkpoint-doctor":
        return ["doctor", *after]
    return after or [""]


def complete(words: Sequence[str], cwd: str) -> Completed:
    """Return what may be at the end of a line. words: at least the one being typed, which may be
    empty.
    """
    earlier, typed = list(words[:-1]), words[-1]
    index = find_verb_at(earlier)
    if index is not None:
        verb, _, rest = find_nested(earlier[index], earlier[:index] + earlier[index + 1 :])
        if verb not in VERBS:
            return [], ""
        return _complete_verb(verb, rest, typed, find_cwd(earlier, cwd))

    # options before a verb are those of the default verb
    if typed.startswith("-") or find_verb_at([*earlier, "x"]) is None:
        return _complete_verb(DEFAULT_VERB, earlier, typed, find_cwd(earlier, cwd))
    verbs = [Candidate(verb, row.summary) for verb, row in VERBS.items() if row.summary]
    return keep_fitting(verbs, typed), ""


def _complete_verb(verb: str, words: list[str], typed: str, cwd: str) -> Completed:
    module = load_verb(verb)
    if getattr(module, "RAW", False) and typed.startswith("--"):
        operands = [word for word in words if not word.startswith("-")]
        if operands:
            fields = module.complete_words(operands[0], typed, cwd)
            named = [Candidate(value, shorten_help(text)) for value, text in fields]
            return keep_fitting(named, typed), ""

    formats = list_formats(verb, module, tuple(render.FORMATS))
    parser = build_parser(CommandLine(f"checkpoint {verb}", verb, words), module, formats)
    wanted = find_wanted(parser, words, typed)
    found = [*wanted.given]
    if not wanted.words:
        found += [Candidate(key.split()[1]) for key in NESTED if key.startswith(f"{verb} ")]
    found += read_values(verb, wanted, cwd)

    shell = ""
    for candidate in found:
        if candidate.value in (FILES, FOLDERS):
            shell = candidate.value
            break

    words_only = [candidate for candidate in found if candidate.value != shell]
    fitting = keep_fitting(words_only, wanted.typed)
    return [Candidate(wanted.prefix + value, text) for value, text in fitting], shell


def read_values(verb: str, wanted: WordToComplete, cwd: str) -> list[Candidate]:
    """Return the values of what a parser wants, such as the refs. If that fails, return fewer."""
    if not wanted.kind or not os.path.isdir(cwd):
        return []
    # a prompt is no place for errors: the command itself will report them
    with suppress(Exception):
        reader = _READERS.get(wanted.kind)
        if reader is None:
            return list(_read_names(verb, wanted, cwd))
        return list(reader(wanted.typed, cwd))
    return []


def _read_names(verb: str, wanted: WordToComplete, cwd: str) -> Iterator[Candidate]:
    """Return what a protocol names under the longest beginning of "VERB KIND WORD WORD" that it
    knows, or under the kind.
    """
    place = find_or_plan_place(cwd)
    words = [verb, wanted.kind, *wanted.words]
    keys = [" ".join(words[:end]) for end in range(len(words), 1, -1)]
    keys.append(wanted.kind)
    for summary in read_summaries(
        StatusQuestion(place, int(time.time()), os.environ, "completion")
    ):
        for key in keys:
            if key in summary.names:
                return (Candidate(name) for name in summary.names[key])
    return iter(())


def _read_refs(typed: str, cwd: str) -> Iterator[Candidate]:
    """Yield the refs, the newest first. In a range they stand behind its dots."""
    shape = [
        "--format=%(refname:short)%09%(contents:subject)",
        "--sort=-creatordate",
        f"--count={_MOST_REFS}",
    ]
    patterns = ["refs/heads", "refs/tags", "refs/remotes"]
    listed = run_git(["for-each-ref", *shape, *patterns], cwd, check=False).out
    before, dots, _ = typed.rpartition("..")
    yield Candidate(f"{before}{dots}HEAD", "what is checked out")
    for line in listed.splitlines():
        name, _, subject = line.decode("utf-8", "replace").partition("\t")
        yield Candidate(before + dots + name, shorten_help(escape_controls(subject)))


def _read_codes(typed: str, cwd: str) -> Iterator[Candidate]:
    from checkpoint_git.tools.doctor.catalog import list_checks

    for check in list_checks():
        yield Candidate(check.code, shorten_help(check.looks_at))


# what a parser calls a value -> the function that reads its candidates, by what is typed and cwd
_READERS: dict[str, Callable[[str, str], Iterable[Candidate]]] = {
    **dict.fromkeys(("COMMIT", "REV", "REF", "BRANCH", "RANGE", "REV..REV"), _read_refs),
    **dict.fromkeys(("PATH", "FILE"), lambda typed, cwd: (Candidate(FILES),)),
    **dict.fromkeys(("DIR", "FOLDER"), lambda typed, cwd: (Candidate(FOLDERS),)),
    "CODE": _read_codes,
}
