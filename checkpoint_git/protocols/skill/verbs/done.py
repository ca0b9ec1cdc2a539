"""`checkpoint done`: take a next action off the queue, with --verify after its own check."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural, shorten
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import store, views
from checkpoint_git.protocols.skill.edit.actions import (
    check_next,
    describe_goals,
    find_done_trouble,
    finish_action,
)
from checkpoint_git.protocols.skill.edit.entries import MadeEntry, find_action
from checkpoint_git.protocols.skill.verbs.record import record
from checkpoint_git.protocols.skill.verbs.update import outcome_of_write
from checkpoint_git.protocols.write import Tell, Written, say_waiting

HELP = """\
finish a next action (default: the first) and move it to recently_done

examples:
  checkpoint done build
  checkpoint done build 2                    the second action, as status numbers them
  checkpoint done build "release notes"      the action whose text contains it
  checkpoint done build --next "Write the release notes"
  checkpoint done build --complete
  checkpoint done build --verify             runs its done_when first, after asking

exit 1: refused, nothing written
"""

SENTENCES = ("next", "action")
MAY_OMIT_NAME = True
_MOST_LISTED = 5  # actions in a message
_FINISH_FIRST = "finish or drop them first, or add --force"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("skill", metavar="NAME", help="whose checkpoint; optional if there is only one")
    add(
        "action",
        metavar="ACTION",
        nargs="*",
        help="its number or part of its text; default: the first",
    )
    add("--verify", action="store_true", help="run the action's done_when first; it must succeed")
    add("--yes", action="store_true", help="with --verify: do not ask before running it")
    after = parser.add_mutually_exclusive_group()
    after.add_argument("--next", metavar="TEXT", help="the next action, put first in the list")
    after.add_argument("--complete", action="store_true", help="also set status to complete")
    add("--force", action="store_true", help="with --complete: even if other actions are left")


Asked = tuple[str, str | None]  # an action's text and its done_when


class DoneResult(NamedTuple):
    """What done wrote. action: that it finished, "" if refused. next_action: now first, or ""."""

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
    action: str | None = None,
    expected: Asked | None = None,
    on_wait: Tell = lambda: None,
) -> DoneResult:
    """Move an action to recently_done, by default the first one.

    action: its number, its id or a part of its text. expected: refuse unless the action has this
    text and this done_when. Raises CheckpointError if there is no checkpoint, for an empty next
    action, and for one that comes with complete.
    """
    check_next(next_action, complete)

    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        trouble = find_done_trouble(value, next_action, complete)
        if trouble:
            return trouble
        index = find_action(value, action, "done")
        if isinstance(index, Finding):
            return index
        if expected is not None and _read_action(value, index) != expected:
            message = "the action changed while its command ran, so it was not marked as done"
            where = f"/next_actions/{index}"
            hint = advise("look again", "checkpoint", "next")
            return Finding("done/action-changed", "error", message, where=where, hint=hint)

        finished = finish_action(value, now, next_action, complete, index)
        return MadeEntry(views.action_text(finished), ("next_actions", "recently_done"))

    written, entry = record(place, skill, now, change, on_wait)
    following, _ = _read_action(written.document.value or {}, 0)
    return DoneResult(written, entry.line if entry else "", following)


def _read_action(value: dict[str, Any], index: int) -> Asked:
    """Return the text and the done_when of an action, "" and None for none."""
    actions = views.read_list(value, "next_actions")
    if index >= len(actions):
        return "", None
    return views.action_text(actions[index]), views.action_done_when(actions[index])


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Run the verb. The exit code is 1 if the action cannot be marked as done."""
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    check_next(args.next, args.complete)
    args.action = " ".join(args.action) or None
    expected = None
    if args.verify:
        expected, trouble = _verify(place, args, invocation)
        if trouble:
            text, done_when = expected
            data = {"skill": args.skill, "written": False, "verified": False}
            data |= {"action": text or None, "done_when": done_when}
            return Outcome(data, [], [trouble], 1)

    if args.complete and not args.force:
        _ask_remaining(place, args, invocation)
    tell = say_waiting(invocation.stderr)
    written, action_done, following = done(
        place,
        args.skill,
        invocation.now,
        next_action=args.next,
        complete=args.complete,
        action=args.action,
        expected=expected,
        on_wait=tell,
    )
    lines = list[Block]()
    if not written.refused:
        lines = _describe_result(args, written, action_done, following)
    fields = ["next_actions", "recently_done"]
    if args.complete:
        fields.append("status")
    outcome = outcome_of_write(place, invocation, args.skill, "done", written, fields, lines)
    extra = {"verified": bool(args.verify), "done": action_done or None, "next": following or None}
    return outcome._replace(data={**outcome.data, **extra})


def check_remaining(place: Place, skill: str, action: str | None, now: int) -> None:
    """Raise CheckpointError if other actions would be left behind by a status of complete."""
    message = _describe_remaining(place, skill, action, now)
    if message:
        raise CheckpointError(message, _FINISH_FIRST)


def _describe_remaining(place: Place, skill: str, action: str | None, now: int) -> str:
    """Return which other actions would be left, "" for none."""
    value = store.read_document(place, skill, now).value or {}
    index = find_action(value, action, "done")
    texts = [views.action_text(item) for item in views.read_list(value, "next_actions")]
    if isinstance(index, Finding) or len(texts) < 2:
        return ""
    del texts[index]
    listed = join_some([quote(text) for text in texts], _MOST_LISTED)
    return f"{plural(len(texts), 'other action')} would be left: {listed}"


def _ask_remaining(place: Place, args: argparse.Namespace, invocation: Invocation) -> None:
    """Ask before other actions are left behind. Raises CheckpointError without a yes."""
    message = _describe_remaining(place, args.skill, args.action, invocation.now)
    if not message:
        return
    question = f"{escape_controls(message)}. Set the status to complete anyway? [y/N]"
    if invocation.interactive and invocation.ask(question).strip().lower() in ("y", "yes"):
        return
    raise CheckpointError(message, _FINISH_FIRST)


def _describe_result(
    args: argparse.Namespace, written: Written, action_done: str, following: str
) -> list[Block]:
    """Return the lines that report the finished action and the next one."""
    lines: list[Block] = [Line(f"done: {action_done}", "good")]
    if args.complete and following:
        lines.append(Line("the status is complete", "good"))
    elif args.complete:
        lines.append(Line("nothing is left to do: the status is complete", "good"))
    elif following:
        lines.append(Line(f"next: {following}", "strong"))
        actions = views.read_list(written.document.value or {}, "next_actions")
        if args.next and actions:
            waits = describe_goals(actions[0])
            if waits:
                lines.append(Line(f"  {waits}", "dim"))

    return lines


def _verify(
    place: Place, args: argparse.Namespace, invocation: Invocation
) -> tuple[Asked, Finding | None]:
    """Run the command of an action, and return the action with the failure, None for none."""
    document = store.read_document(place, args.skill, invocation.now)
    value = document.value or {}
    index = find_action(value, args.action, "done")
    if isinstance(index, Finding) or not views.read_list(value, "next_actions"):
        return ("", None), None  # done itself reports the error

    text, command = _read_action(value, index)
    if command:
        trouble = _find_refusal(command, args, invocation)
        if trouble is None:
            trouble = _run_command(place, command, invocation)
    else:
        action = f'the action "{escape_controls(shorten(text, 60))}"'
        message = f"{action} has no done_when, so nothing can verify it"
        advice = "mark it as done without --verify"
        trouble = Finding("done/no-done-when", "error", message, hint=advice)

    if trouble is not None:
        trouble = trouble._replace(path=document.path, where=f"/next_actions/{index}")
    return (text, command), trouble


def _find_refusal(command: str, args: argparse.Namespace, invocation: Invocation) -> Finding | None:
    """Show the command to the user, and return a Finding unless --yes was given or they agree."""
    if getattr(args, "format", "text") != "json":  # there the data has it
        invocation.stderr.write(f"the action's command is:\n  {escape_controls(command)}\n")
        invocation.stderr.flush()

    if args.yes:
        return None
    if not invocation.interactive:
        message = "a command from a checkpoint is only run after asking, which needs a terminal"
        return Finding("done/not-confirmed", "error", message, hint="read it, then add --yes")

    answer = invocation.ask("run it with sh in the repository's root? [y/N]")
    if answer.strip().lower() in ("y", "yes"):
        return None
    message = "the command was not run, and nothing was changed"
    return Finding("done/not-confirmed", "error", message)


def _run_command(place: Place, command: str, invocation: Invocation) -> Finding | None:
    """Run a command, and return a Finding if it fails."""
    import subprocess

    invocation.stderr.flush()
    # what the command prints goes to stderr: stdout carries our own answer
    finished = subprocess.run(
        ["sh", "-c", command], cwd=place.top, stdin=subprocess.DEVNULL, stdout=2, check=False
    )
    code = finished.returncode
    if code == 0:
        return None
    how = f"ended with exit code {code}"
    if code < 0:
        how = f"was ended by signal {-code}"
    return Finding("done/not-verified", "error", f"the command {how}: the action is not done yet")
