"""`checkpoint memory`: the state of an initiative, kept in the graph of a memory server across
sessions.
"""

import argparse

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.protocols.memory.clear import clear, delete
from checkpoint_git.protocols.memory.load import load
from checkpoint_git.protocols.memory.save import save, update
from checkpoint_git.protocols.memory.server import doctor, setup
from checkpoint_git.protocols.memory.sync import sync
from checkpoint_git.protocols.memory.transports import UnavailableError

HELP = """\
keep an initiative's state in the graph of a memory server, and resume it in another session

examples:
  checkpoint memory setup
  checkpoint memory save --initiative login-2026 --phase design --next-action "Write the tests"
  checkpoint memory load

If no server answers, all verbs except doctor and setup warn and exit with 0 (with --strict: 2).

exit 1: the checkpoint is corrupted, or doctor found something
"""
SUB_HELP = {
    "save": """\
save a checkpoint, or the fields that changed

The fields that you do not set keep their values. --on names the occasion; some occasions need
fields: milestone: --summary and --next-milestone or --next-action; session-end: --summary and
--next-action.

examples:
  checkpoint memory save --initiative login-2026 --phase design --next-action "Write the tests"
  checkpoint memory save --on milestone --summary "All of M1 is done" --next-milestone M2
""",
    "load": """\
show what the last session worked on, and how to continue

examples:
  checkpoint memory load
  checkpoint memory load --continue

exit 1: the checkpoint is corrupted
""",
    "update KEY=VALUE...": """\
change fields of the existing checkpoint; KEY= removes one

examples:
  checkpoint memory update phase=validation --last-action "Ran the validators"

exit 1: the checkpoint is corrupted
""",
    "clear": """\
delete the checkpoint after asking; keeps a copy

examples:
  checkpoint memory clear --yes
""",
    "archive": """\
save the fields that you pass, then clear

examples:
  checkpoint memory archive --summary "All of it is merged" --yes
""",
    "sync [FILE]": """\
synchronize the checkpoint with WORKFLOW-STATUS.yaml; the file wins if they differ

examples:
  checkpoint memory sync --dry-run
  checkpoint memory sync docs/WORKFLOW-STATUS.yaml --to-document
""",
    "doctor": """\
check the server (answers, can write) and the checkpoint

examples:
  checkpoint memory doctor
  checkpoint memory doctor --fix

exit 1: it found something
""",
    "setup": """\
install and configure the reference server after asking

examples:
  checkpoint memory setup
  checkpoint memory setup --global --yes
""",
}

_SAVING = ("save", "update", "archive")
# option -> the sub-verbs that take it
TAKERS = {
    "initiative": _SAVING,
    "milestone": _SAVING,
    "phase": _SAVING,
    "last_action": _SAVING,
    "next_action": _SAVING,
    "context_files": _SAVING,
    "session_duration": _SAVING,
    "files_modified": _SAVING,
    "set": _SAVING,
    "fields": _SAVING,
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
    "yes": ("save", "load", "update", "clear", "archive", "sync", "doctor", "setup"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", metavar="VERB", choices=list(VERBS), help="one of the above")
    add("words", metavar="WORD", nargs="*", help="update: KEY=VALUE; sync: the file")
    add("--initiative", metavar="TEXT", help="field initiative")
    add("--milestone", metavar="TEXT", help="field milestone")
    add("--phase", metavar="TEXT", help="field phase")
    add("--last-action", "--summary", metavar="TEXT", help="field last_action")
    add("--next-action", metavar="TEXT", help="field next_action")
    add("--context-files", metavar="TEXT", help="field context_files")
    add("--session-duration", "--duration", metavar="TEXT", help="field session_duration")
    add("--files-modified", metavar="TEXT", help="field files_modified")
    add("--set", metavar="KEY=VALUE", action="append", help="any field")
    add("--fields", metavar="FILE", help="a JSON object of fields; - is standard input")
    add(
        "--on",
        choices=("milestone", "phase", "commit", "idle", "session-end", "manual"),
        help="the occasion (default: manual)",
    )
    add("--next-milestone", metavar="MILESTONE", help="the next action is to begin it")
    add("--next-phase", metavar="PHASE", help="the next action is to begin it")
    add("--interrupted", metavar="TEXT", help="with --on idle: the action that was interrupted")
    add("--commit", metavar="COMMIT", help="with --on commit: the commit (default: HEAD)")
    add("--from-skill", metavar="NAME", help="take the fields from this skill's checkpoint")
    add("--to-skill", metavar="NAME", help="write the fields into this skill's checkpoint")
    add(
        "--continue",
        dest="resume",
        action="store_true",
        help="continue, and record when and on which commit",
    )
    add("--fresh", action="store_true", help="clear the checkpoint after asking, and start over")
    add("--details", action="store_true", help="show all fields")
    add("--to-document", action="store_true", help="the checkpoint wins if they differ")
    add("--dry-run", action="store_true", help="show what would change, and change nothing")
    add(
        "--fix",
        action="store_true",
        help="move a broken graph aside and keep its readable lines, after asking",
    )
    add("--file", metavar="PATH", help="absolute path of the graph's file")
    add(
        "--global",
        dest="everywhere",
        action="store_true",
        help="configure it for all your repositories",
    )
    add("--yes", action="store_true", help="do not ask")
    add(
        "--entity",
        metavar="ENTITY",
        help="the checkpoint's name (default: checkpoint.memoryEntity)",
    )
    add("--strict", action="store_true", help="exit with 2 if no server answers")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    act, most_words = VERBS[args.action]
    if len(args.words) > most_words:
        shown = escape_controls(shorten(" ".join(args.words[most_words:]), 60))
        hint = command("checkpoint", "memory", "--help", more=" shows what each verb takes")
        raise CheckpointError(f"memory {args.action} does not take these words: {shown}", hint)

    fields = [word.partition("=")[2] for word in (*args.words, *(args.set or ()))]
    check_filled([*vars(args).values(), *fields])
    try:
        outcome = act(args, invocation)
    except UnavailableError as error:
        if args.strict:
            raise
        finding = Finding("memory/unavailable", "warning", error.message, hint=error.hint)
        outcome = Outcome({"available": False, "saved": False}, (), [finding], 0)

    return outcome._replace(data={"action": args.action, "available": True, **outcome.data})


# verb -> (what it does, how many words may follow it)
VERBS = {
    "save": (save, 0),
    "load": (load, 0),
    "update": (update, 1_000),
    "clear": (clear, 0),
    "archive": (delete, 0),
    "sync": (sync, 1),
    "doctor": (doctor, 0),
    "setup": (setup, 0),
}
