"""`checkpoint workflow`: the phases of a workflow and its tasks, saved so that an interrupted session can go on."""

import argparse
from importlib import import_module
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten

SUMMARY = """\
save where a workflow stands, and take it up again after an interruption

  start ID             begin a workflow (memory/state/phase.json and execution.json)
  status               where it stands
  resume               what to do next, and why; asks first: --yes goes on, --fresh archives and starts again
  advance              the current phase is done: go to the next one, or finish
  approve PHASE        the user has approved a phase
  save                 a checkpoint before an expensive step; begins a phase that is pending or failed
  task add|start ID    a task of the implementation; start runs it, and adds it where it is new
  task done|fail ID    its result; an attempt that failed counts, and is tried again
  recover              settle the tasks whose session is gone
  validate             is everything there that the state refers to?
  archive              move the state to memory/state/.archive (the newest five are kept)"""
EXAMPLES = """\
  checkpoint workflow start login-2026
  checkpoint workflow resume --json               what a session asks first
  checkpoint workflow task start task-001 --output memory/reports/task-001.json
  checkpoint workflow task done task-001
  checkpoint workflow save --note "before the architects"
  checkpoint workflow advance --approvals none    no phase waits for the user"""


class Verb(NamedTuple):
    """module: below this package; it has a function of the verb's name. least, most: of the words that follow."""

    module: str
    least: int = 0
    most: int = 0
    words: str = ""


VERBS = {
    "start": Verb("resume", 1, 1, "ID"),
    "status": Verb("phase"),
    "resume": Verb("resume"),
    "advance": Verb("phase"),
    "approve": Verb("phase", 1, 1, "PHASE"),
    "save": Verb("phase"),
    "task": Verb("phase", 2, 1_000, "add|start|done|fail ID"),
    "recover": Verb("phase"),
    "validate": Verb("phase"),
    "archive": Verb("phase"),
}
# option -> the verbs that take it
_OPTIONS = {
    "yes": ("start", "resume", "advance"),
    "fresh": ("start", "resume"),
    "approvals": ("start", "resume", "advance", "status"),
    "note": ("save",),
    "output": ("advance", "task"),
    "error": ("task",),
    "force": ("advance",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="VERB", choices=list(VERBS), help=", ".join(VERBS))
    parser.add_argument("words", metavar="WORD", nargs="*", help="what the verb is about")
    parser.add_argument("--yes", action="store_true", help="resume: go on; advance: the user approves")
    parser.add_argument("--fresh", action="store_true", help="archive what is there, and start again")
    parser.add_argument("--approvals", metavar="PHASES", help="the phases that need approval, with commas, or none")
    parser.add_argument("--note", metavar="TEXT", help="save: what comes next")
    parser.add_argument("--output", metavar="PATH", help="the file that a phase or task leaves behind")
    parser.add_argument("--error", metavar="TEXT", help="task fail: why")
    parser.add_argument("--force", action="store_true", help="advance: although the phase's result is not there")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    verb = VERBS[args.action]
    if not verb.least <= len(args.words) <= verb.most:
        usage = f"checkpoint workflow {args.action} {verb.words}".strip()
        raise CheckpointError(f"workflow {args.action} takes {verb.words or 'no words'}", f"write it as: {usage}")
    for option, verbs in _OPTIONS.items():
        if getattr(args, option) not in (None, False) and args.action not in verbs:
            raise CheckpointError(f"workflow {args.action} takes no --{option}", f"that is for {', '.join(verbs)}")
    for text in (*args.words, args.output, args.note, args.error):
        _check_text(text or "")
    outcome: Outcome = getattr(import_module(f"{__name__}.{verb.module}"), args.action)(args, invocation)
    return outcome


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise CheckpointError(f'"{escape_controls(shorten(text, 60))}" is not UTF-8 text', "give it in UTF-8") from None
