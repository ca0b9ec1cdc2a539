"""`checkpoint memory`: where an initiative stands, kept in the graph of a memory server across sessions."""

import argparse
from collections.abc import Callable

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.transports.contract import UnavailableError
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

Verb = Callable[[argparse.Namespace, Invocation], Outcome]

# verb -> how many words may follow it
VERBS = {"save": 0, "load": 0, "update": 1_000, "clear": 0, "archive": 0, "sync": 1, "doctor": 0, "setup": 0}
FIELD_OPTIONS = (
    "initiative",
    "milestone",
    "phase",
    "last_action",
    "next_action",
    "context_files",
    "session_duration",
    "files_modified",
)
_WRITING = ("save", "update", "archive")
# option -> the verbs that take it
_OPTIONS = {
    **dict.fromkeys((*FIELD_OPTIONS, "set", "fields"), _WRITING),
    "on": ("save",),
    "next_milestone": ("save",),
    "next_phase": ("save",),
    "interrupted": ("save",),
    "commit": ("save",),
    "from_skill": ("save",),
    "to_skill": ("load",),
    "resume": ("load",),
    "fresh": ("load",),
    "details": ("load",),
    "to_document": ("sync",),
    "dry_run": ("sync",),
    "fix": ("doctor",),
    "file": ("setup",),
    "everywhere": ("setup",),
    "yes": ("load", "clear", "archive", "doctor", "setup"),
    "offline": ("save", "load", "update", "clear", "archive", "sync", "doctor"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """VERB [WORD...] and the options of all verbs."""
    add = parser.add_argument
    add("action", metavar="VERB", choices=list(VERBS), help=", ".join(VERBS))
    add("words", metavar="WORD", nargs="*", help="update: KEY=VALUE; sync: the file")
    for name in FIELD_OPTIONS:
        names = [f"--{name.replace('_', '-')}", *_ALIASES.get(name, ())]
        add(*names, dest=name, metavar="TEXT", help=f"save, update, archive: the field {name}")
    add("--set", metavar="KEY=VALUE", action="append", help="save, update, archive: any field")
    add("--fields", metavar="FILE", help="save, update, archive: a JSON object of fields; - is standard input")
    add("--on", choices=list(TRIGGERS), help="save: the occasion (default: manual)")
    add("--next-milestone", metavar="NAME", help="save: the next action is to begin it")
    add("--next-phase", metavar="NAME", help="save: the next action is to begin it")
    add("--interrupted", metavar="TEXT", help="save --on idle: the action that was interrupted")
    add("--commit", metavar="COMMIT", help="save --on commit: which one (default: HEAD)")
    add("--from-skill", metavar="SKILL", help="save: take the fields from this skill's checkpoint")
    add("--to-skill", metavar="SKILL", help="load: write the fields into this skill's checkpoint")
    add("--continue", dest="resume", action="store_true", help="load: go on, and note when and on which commit")
    add("--fresh", action="store_true", help="load: start fresh; clears the checkpoint, after asking")
    add("--details", action="store_true", help="load: show all fields")
    add("--to-document", action="store_true", help="sync: where both differ, the checkpoint wins")
    add("--dry-run", action="store_true", help="sync: say what would change, and change nothing")
    add("--fix", action="store_true", help="doctor: move a broken graph aside, keep its readable lines; asks first")
    add("--file", metavar="PATH", help="setup: where the graph lies, from the root")
    add("--global", dest="everywhere", action="store_true", help="setup: configure it for all your repositories")
    add("--yes", action="store_true", help="do not ask")
    add("--offline", action="store_true", help="use the graph's file without a server")
    add("--entity", metavar="NAME", help="the checkpoint's name (default: checkpoint.memoryEntity)")
    add("--strict", action="store_true", help="end with 2 where no server answers")


_ALIASES = {"last_action": ("--summary",), "session_duration": ("--duration",)}


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb that was named; where no server answers, a warning takes its place."""
    _check_words(args)
    try:
        return find_verb(args.action)(args, invocation)
    except UnavailableError as error:
        if args.strict:
            raise
        return _unavailable(args.action, error)


def _unavailable(action: str, error: UnavailableError) -> Outcome:
    finding = Finding("memory/unavailable", "warning", error.message, hint=error.hint)
    data = {"action": action, "available": False, "saved": False}
    return Outcome(data, (), [finding], 0)


def _check_words(args: argparse.Namespace) -> None:
    if len(args.words) > VERBS[args.action]:
        shown = escape_controls(shorten(" ".join(args.words[VERBS[args.action] :]), 60))
        raise CheckpointError(f"memory {args.action} does not take these words: {shown}", _HELP)
    for option, verbs in _OPTIONS.items():
        if getattr(args, option) not in (None, False) and args.action not in verbs:
            spelled = {"resume": "continue", "everywhere": "global"}.get(option, option).replace("_", "-")
            raise CheckpointError(f"memory {args.action} takes no --{spelled}", f"that is for {', '.join(verbs)}")


_HELP = "`checkpoint memory --help` shows what each verb takes"


def find_verb(name: str) -> Verb:
    """The function of a verb; its module is imported only now."""
    if name in ("save", "update"):
        from checkpoint_git.protocols.memory.verbs import save as saving

        return saving.save if name == "save" else saving.update
    if name in ("load", "clear", "archive"):
        from checkpoint_git.protocols.memory.verbs import load as loading

        return {"load": loading.load, "clear": loading.clear, "archive": loading.archive}[name]
    if name == "sync":
        from checkpoint_git.protocols.memory.verbs.sync import sync

        return sync
    if name == "doctor":
        from checkpoint_git.protocols.memory.verbs.doctor import doctor

        return doctor
    from checkpoint_git.protocols.memory.verbs.setup import setup

    return setup
