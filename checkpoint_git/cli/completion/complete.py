"""`checkpoint complete`: what the scripts of `checkpoint completion` ask: a candidate a line, a tab, its text.

A line that begins with a colon tells the shell to name files or folders itself. It never fails: a prompt is no place
for errors.
"""

import argparse

from checkpoint_git.cli.completion.candidates import Candidate
from checkpoint_git.cli.completion.line import Completed, complete, split_line
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls

SUMMARY = "say what completes a command line; the scripts of `checkpoint completion` call it"
EXAMPLES = '  checkpoint complete --line="checkpoint up"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--line TEXT [--breaks LETTERS]."""
    parser.add_argument("--line", metavar="TEXT", required=True, help="the line up to the cursor")
    parser.add_argument("--breaks", metavar="LETTERS", default="", help="where bash breaks a word in two")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The verb."""
    try:
        words = split_line(args.line)
        completed = cut_at_breaks(complete(words, invocation.cwd), words[-1], args.breaks)
    except Exception:  # whatever was typed is not finished yet: nothing to say is the only answer
        completed = Completed([])
    return Answer([_write(completed)], 0)


def cut_at_breaks(completed: Completed, typed: str, breaks: str) -> Completed:
    """What bash wants: it replaces only what stands after the last letter that breaks words in two."""
    start = (
        max((typed.rfind(letter) for letter in breaks if not letter.isspace() and letter not in "\"'"), default=-1) + 1
    )
    kept = [Candidate(one.value[start:], one.text) for one in completed.candidates]
    return Completed(kept, completed.shell)


def _write(completed: Completed) -> str:
    lines = [f"{one.value}\t{escape_controls(one.text)}\n" for one in completed.candidates]
    return "".join(lines) + (f"{completed.shell}\n" if completed.shell else "")
