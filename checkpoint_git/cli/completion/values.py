"""The names that may stand in a command line and that only the project knows: skills, places, commits, ids."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from checkpoint_git.cli.completion.candidates import Candidate, shorten_help
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_place, plan_place
from checkpoint_git.git.run import run_git
from checkpoint_git.protocols.contract import Question, read_summaries

FILES, FOLDERS = ":files", ":folders"  # the shell knows them better
_MOST_REFS = 500


class Asked(NamedTuple):
    """verb: of the line; words: its positional words; typed: what is there of the last one."""

    verb: str
    words: list[str]
    typed: str
    cwd: str


# Each is read when a shell asks for it. Whatever goes wrong, the answer is shorter, never an error.
def read_values(kind: str, asked: Asked) -> list[Candidate]:
    if not kind or not os.path.isdir(asked.cwd):
        return []
    try:
        return list(_READERS[kind](asked) if kind in _READERS else _read_names(kind, asked))
    except Exception:  # a prompt is no place for errors: the command itself will report them
        return []


def _read_names(kind: str, asked: Asked) -> Iterator[Candidate]:
    """What the protocols name under "VERB KIND WORD WORD", of which the longest beginning counts, or under the kind."""
    try:
        place = find_place(asked.cwd)
    except CheckpointError:
        place = plan_place(asked.cwd)
    words = [asked.verb, kind, *asked.words]
    keys = [*(" ".join(words[:end]) for end in range(len(words), 1, -1)), kind]
    for summary in read_summaries(Question(place, int(time.time()), os.environ, "completion")):
        found = next((key for key in keys if key in summary.names), None)
        if found is not None:
            return (Candidate(name) for name in summary.names[found])
    return iter(())


def _read_refs(asked: Asked) -> Iterator[Candidate]:
    """The newest first; in a range the part after its dots."""
    shape = ["--format=%(refname:short)%09%(contents:subject)", "--sort=-creatordate", f"--count={_MOST_REFS}"]
    words = ["for-each-ref", *shape, "refs/heads", "refs/tags", "refs/remotes"]
    listed = run_git(words, asked.cwd, check=False).out
    head = asked.typed[: asked.typed.rfind("..") + 2] if ".." in asked.typed else ""
    yield Candidate(f"{head}HEAD", "what is checked out")
    for line in listed.decode("utf-8", "replace").splitlines():
        name, _, subject = line.partition("\t")
        yield Candidate(head + name, shorten_help(escape_controls(subject)))


def _read_checks(asked: Asked) -> Iterator[Candidate]:
    from checkpoint_git.tools.doctor.catalog import choose_checks

    return (Candidate(check.code, shorten_help(check.looks_at)) for check in choose_checks(()))


def _read_pointers(asked: Asked) -> Iterator[Candidate]:
    from checkpoint_git.tools.merges.decisions import Request
    from checkpoint_git.tools.merges.resolve import resolve

    result = resolve(asked.cwd, Request(dry_run=True), int(time.time()))
    return (Candidate(conflict.where) for file in result.files for conflict in file.conflicts)


# what a parser calls it -> who knows
_READERS: dict[str, Callable[[Asked], Iterable[Candidate]]] = {
    **dict.fromkeys(("COMMIT", "REV", "REF", "BRANCH", "RANGE", "REV..REV"), _read_refs),
    "CODE": _read_checks,
    "POINTER": _read_pointers,
    **dict.fromkeys(("PATH", "FILE"), lambda asked: (Candidate(FILES),)),
    **dict.fromkeys(("DIR", "FOLDER"), lambda asked: (Candidate(FOLDERS),)),
}
