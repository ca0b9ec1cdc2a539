"""`checkpoint done`: take the first next action off the queue, after its own proof where that is asked for."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.skill import changes, views
from checkpoint_git.protocols.skill.edits import check_text
from checkpoint_git.protocols.skill.layout import check_skill_name
from checkpoint_git.protocols.skill.read import read_document
from checkpoint_git.protocols.skill.store import change_checkpoint, check_owner
from checkpoint_git.protocols.skill.verbs.update import outcome_of_write
from checkpoint_git.protocols.write import Tell, Written, say_waiting

SUMMARY = "take the first next action off the list and note it as done"
EXAMPLES = """\
  checkpoint done build
  checkpoint done build --next "Write the release notes"
  checkpoint done build --complete
  checkpoint done build --verify        shows the action's done_when, asks, and runs it first"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SKILL [--verify [--yes]] [--next TEXT | --complete]."""
    parser.add_argument("skill", metavar="SKILL", help="whose first action is done")
    parser.add_argument("--verify", action="store_true", help="first run the action's done_when; it must succeed")
    parser.add_argument("--yes", action="store_true", help="with --verify: run the command without asking")
    after = parser.add_mutually_exclusive_group()
    after.add_argument("--next", metavar="TEXT", help="what comes next, put first in the list")
    after.add_argument("--complete", action="store_true", help="all is done: set status to complete")


Asked = tuple[str, str | None]  # an action's text and its done_when


class DoneResult(NamedTuple):
    """written: see writing.Written. action: what was taken off, "" when refused. next_action: the new first one."""

    written: Written
    action: str
    next_action: str


def done(
    place: Place,
    skill: str,
    now: int,
    *,
    next_action: str | None = None,
    complete: bool = False,
    expected: Asked | None = None,
    on_wait: Tell = lambda: None,
) -> DoneResult:
    """Moves the first action to recently_done.

    expected: refuse unless the first action and its command still say this. Raises CheckpointError where there is no
    checkpoint.
    """
    read_document(place, skill, now)  # a missing one is an error here, not a file to start
    taken = ""

    def change(value: dict[str, Any] | None) -> dict[str, Any] | Finding:
        nonlocal taken
        document = value or {}
        trouble = changes.find_done_trouble(document, next_action, complete) or _find_change(document, expected)
        if trouble:
            return trouble
        taken = views.action_text(changes.finish_action(document, now, next_action, complete))
        changes.stamp(document, now)
        return document

    written = change_checkpoint(place, skill, change, now, on_wait)
    return DoneResult(written, taken, changes.first_action_text(written.document.value or {}))


def _first_action(value: dict[str, Any]) -> Asked:
    first = views.read_list(value, "next_actions")[:1]
    return (views.action_text(first[0]), views.action_done_when(first[0])) if first else ("", None)


def _find_change(value: dict[str, Any], expected: Asked | None) -> Finding | None:
    if expected is None or _first_action(value) == expected:
        return None
    message = "the first action changed while its command ran, so it was not marked as done"
    return Finding("done/action-changed", "error", message, where="/next_actions/0", hint="look again: checkpoint next")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when the action cannot be marked as done."""
    check_skill_name(args.skill)
    check_owner(args.skill, invocation.env)
    _check_next(args.next)
    place = find_place(invocation.cwd)
    expected = None
    if args.verify:
        expected, trouble = _verify(place, args, invocation)
        if trouble:
            action = {"action": expected[0] or None, "done_when": expected[1]}
            return Outcome({"skill": args.skill, "written": False, "verified": False, **action}, [], [trouble], 1)
    result = done(
        place,
        args.skill,
        invocation.now,
        next_action=args.next,
        complete=args.complete,
        expected=expected,
        on_wait=say_waiting(invocation.stderr),
    )
    return _outcome(args, result)


def _check_next(text: str | None) -> None:
    if text is None:
        return
    check_text(text)
    if not text.strip():
        raise CheckpointError("--next is empty", "say what comes next, or use --complete")


def _outcome(args: argparse.Namespace, result: DoneResult) -> Outcome:
    lines: list[Block] = [Line(f"done: {result.action}", "good")]
    if result.next_action:
        lines.append(Line(f"next: {result.next_action}", "strong"))
    elif args.complete:
        lines.append(Line("nothing is left to do: the status is complete", "good"))
    outcome = outcome_of_write(args.skill, "done", result.written, ["next_actions", "recently_done"], lines)
    extra = {"verified": bool(args.verify), "done": result.action or None, "next": result.next_action or None}
    return outcome._replace(data={**outcome.data, **extra})


# the one place that ever runs text from a checkpoint


def _verify(place: Place, args: argparse.Namespace, invocation: Invocation) -> tuple[Asked, Finding | None]:
    """The first action and its command, and why its command did not prove it done (None: it did)."""
    document = read_document(place, args.skill, invocation.now)
    actions = views.read_list(document.value or {}, "next_actions")
    if not actions:
        return ("", None), None  # done itself says what is wrong
    text, command = asked = _first_action(document.value or {})
    trouble = _find_refusal(command, args, invocation) if command else _no_command(text)
    if trouble is None and command:
        trouble = _run_command(place, command, invocation)
    return asked, trouble._replace(path=document.path, where="/next_actions/0") if trouble else None


def _no_command(text: str) -> Finding:
    message = f'the action "{escape_controls(shorten(text, 60))}" has no done_when, so nothing can verify it'
    return Finding("done/no-done-when", "error", message, hint="mark it as done without --verify")


def _find_refusal(command: str, args: argparse.Namespace, invocation: Invocation) -> Finding | None:
    """Shows the command to a person; a Finding unless --yes was given or the person agrees."""
    if getattr(args, "format", "text") != "json":  # there the answer holds it
        invocation.stderr.write(f"the action's command is:\n  {escape_controls(command)}\n")
        invocation.stderr.flush()
    if args.yes:
        return None
    if not invocation.interactive:
        message = "a command from a checkpoint is not run unasked, and there is nobody here to ask"
        return Finding("done/not-confirmed", "error", message, hint="read it, then add --yes")
    invocation.stderr.write("run it with sh in the repository's root? [y/N] ")
    invocation.stderr.flush()
    if invocation.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    return Finding("done/not-confirmed", "error", "the command was not run, and nothing was changed")


def _run_command(place: Place, command: str, invocation: Invocation) -> Finding | None:
    import subprocess

    invocation.stderr.flush()
    # what the command prints goes to stderr: stdout carries our own answer
    finished = subprocess.run(["sh", "-c", command], cwd=place.top, stdin=subprocess.DEVNULL, stdout=2, check=False)
    if finished.returncode == 0:
        return None
    code = finished.returncode
    how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
    return Finding("done/not-verified", "error", f"the command {how}: the action is not done yet")
