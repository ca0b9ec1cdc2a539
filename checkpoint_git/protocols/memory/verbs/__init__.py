"""`checkpoint memory`: where an initiative stands, kept in the graph of a memory server across sessions."""

import argparse
from importlib import import_module
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.entity import GIVEN_KEYS
from checkpoint_git.protocols.memory.transports import UnavailableError
from checkpoint_git.protocols.memory.triggers import TRIGGERS

SUMMARY = """\
keep where an initiative stands in the graph of a memory server, and take it up again in another session

  save                 a checkpoint now, or on an occasion: --on milestone|phase|commit|idle|session-end|manual
  load                 what the last session was working on, and how to go on
  update [KEY=VALUE]   change fields of the checkpoint that is there
  clear                delete the checkpoint, after asking; a copy is kept
  archive              a last checkpoint, then the same
  sync [FILE]          bring checkpoint and WORKFLOW-STATUS.yaml together; where they differ the file wins
  doctor               does the server answer, can it write, is the checkpoint sound?
  setup                install the reference server into a cache folder and configure it, after asking"""
EXAMPLES = """\
  checkpoint memory setup
  checkpoint memory save --initiative login-2026 --milestone M1 --phase design --next-action "Write the tests"
  checkpoint memory save --on milestone --summary "All of M1 is done" --next-milestone M2
  checkpoint memory load --json
  checkpoint memory load --continue
  checkpoint memory update phase=validation --last-action "Ran the validators"
  checkpoint memory sync --dry-run

Without a server that answers, everything but doctor and setup warns and ends with 0; --strict makes that a 2."""


class Verb(NamedTuple):
    """module: below this package; it has a function of the verb's name. words: how many may follow the verb."""

    module: str
    words: int = 0


VERBS = {
    "save": Verb("save"),
    "load": Verb("load"),
    "update": Verb("save", 1_000),
    "clear": Verb("load"),
    "archive": Verb("load"),
    "sync": Verb("sync", 1),
    "doctor": Verb("server"),
    "setup": Verb("server"),
}


class Option(NamedTuple):
    """An option and the verbs that take it. more: what else add_argument is told."""

    flags: tuple[str, ...]
    verbs: tuple[str, ...]
    help: str
    more: dict[str, Any]


def _value(flags: str, metavar: str, verbs: str, help_text: str, **more: Any) -> Option:
    return Option(tuple(flags.split()), tuple(verbs.split()), help_text, {"metavar": metavar, **more})


def _flag(flag: str, verbs: str, help_text: str, **more: Any) -> Option:
    return Option((flag,), tuple(verbs.split()), help_text, {"action": "store_true", **more})


_WRITING = "save update archive"
_ALIASES = {"last_action": " --summary", "session_duration": " --duration"}
_OPTIONS = (
    *(
        _value(f"--{name.replace('_', '-')}{_ALIASES.get(name, '')}", "TEXT", _WRITING, f"the field {name}", dest=name)
        for name in GIVEN_KEYS
    ),
    _value("--set", "KEY=VALUE", _WRITING, "any field", action="append"),
    _value("--fields", "FILE", _WRITING, "a JSON object of fields; - is standard input"),
    Option(("--on",), ("save",), "the occasion (default: manual)", {"choices": list(TRIGGERS)}),
    _value("--next-milestone", "NAME", "save", "the next action is to begin it"),
    _value("--next-phase", "NAME", "save", "the next action is to begin it"),
    _value("--interrupted", "TEXT", "save", "with --on idle: the action that was interrupted"),
    _value("--commit", "COMMIT", "save", "with --on commit: which one (default: HEAD)"),
    _value("--from-skill", "SKILL", "save", "take the fields from this skill's checkpoint"),
    _value("--to-skill", "SKILL", "load", "write the fields into this skill's checkpoint"),
    _flag("--continue", "load", "go on, and note when and on which commit", dest="resume"),
    _flag("--fresh", "load", "start fresh; clears the checkpoint, after asking"),
    _flag("--details", "load", "show all fields"),
    _flag("--to-document", "sync", "where both differ, the checkpoint wins"),
    _flag("--dry-run", "sync", "show what would change, and change nothing"),
    _flag("--fix", "doctor", "move a broken graph aside, keep its readable lines; asks first"),
    _value("--file", "PATH", "setup", "where the graph is kept; an absolute path"),
    _flag("--global", "setup", "configure it for all your repositories", dest="everywhere"),
    _flag("--yes", "load clear archive doctor setup", "do not ask"),
    _flag("--offline", "save load update clear archive sync doctor", "use the graph's file without a server"),
)
_MANY = 4  # verbs; the help of an option that more verbs take does not list them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="VERB", choices=list(VERBS), help=", ".join(VERBS))
    add("words", metavar="WORD", nargs="*", help="update: KEY=VALUE; sync: the file")
    for option in _OPTIONS:
        verbs = f"{', '.join(option.verbs)}: " if len(option.verbs) < _MANY else ""
        add(*option.flags, help=f"{verbs}{option.help}", **option.more)
    add("--entity", metavar="NAME", help="the checkpoint's name (default: checkpoint.memoryEntity)")
    add("--strict", action="store_true", help="end with 2 where no server answers")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    verb = VERBS[args.action]
    _check_words(args, verb)
    try:
        outcome: Outcome = getattr(import_module(f"{__name__}.{verb.module}"), args.action)(args, invocation)
    except UnavailableError as error:
        if args.strict:
            raise
        finding = Finding("memory/unavailable", "warning", error.message, hint=error.hint)
        return Outcome({"action": args.action, "available": False, "saved": False}, (), [finding], 0)
    return outcome


def _check_words(args: argparse.Namespace, verb: Verb) -> None:
    if len(args.words) > verb.words:
        shown = escape_controls(shorten(" ".join(args.words[verb.words :]), 60))
        hint = "`checkpoint memory --help` shows what each verb takes"
        raise CheckpointError(f"memory {args.action} does not take these words: {shown}", hint)
    for option in _OPTIONS:
        dest = option.more.get("dest") or option.flags[0][2:].replace("-", "_")
        if getattr(args, dest) not in (None, False) and args.action not in option.verbs:
            hint = f"that is for {', '.join(option.verbs)}"
            raise CheckpointError(f"memory {args.action} takes no {option.flags[0]}", hint)
