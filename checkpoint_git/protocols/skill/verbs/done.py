"""`checkpoint done`: take the first next action off the queue, after its own proof where that is
asked for.
"""

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
    """action: what was taken off, "" when refused. next_action: the new first one, "" for none."""

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
    """Moves an action to recently_done, by default the first one. action: its number, its id or a
    part of its text. expected: refuse unless the action and its command still say this. Raises
    CheckpointError if there is no checkpoint, for an empty next action, and for one that comes with
    complete.
    """
    check_next(next_action, complete)

    def change(value: dict[str, Any]) -> MadeEntry | Finding:
        trouble = find_done_trouble(value, next_action, complete)
        if trouble:
            return trouble
        at = find_action(value, action, "done")
        if isinstance(at, Finding):
            return at
        if expected is not None and _read_action(value, at) != expected:
            message = "the action changed while its command ran, so it was not marked as done"
            hint = advise("look again", "checkpoint", "next")
            return Finding(
                "done/action-changed", "error", message, where=f"/next_actions/{at}", hint=hint
            )

        taken = finish_action(value, now, next_action, complete, at)
        return MadeEntry(views.action_text(taken), ("next_actions", "recently_done"))

    written, entry = record(place, skill, now, change, on_wait)
    return DoneResult(
        written, entry.line if entry else "", _read_action(written.document.value or {}, 0)[0]
    )


def _read_action(value: dict[str, Any], at: int) -> Asked:
    found = views.read_list(value, "next_actions")[at : at + 1]
    return (views.action_text(found[0]), views.action_done_when(found[0])) if found else ("", None)


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 when the action cannot be marked as done."""
    place = store.find_own_place(args.skill, invocation.cwd, invocation.env)
    check_next(args.next, args.complete)
    expected, args.action = None, " ".join(args.action) if args.action else None
    if args.verify:
        expected, trouble = _verify(place, args, invocation)
        if trouble:
            action = {"action": expected[0] or None, "done_when": expected[1]}
            return Outcome(
                {"skill": args.skill, "written": False, "verified": False, **action},
                [],
                [trouble],
                1,
            )

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
    lines = [] if written.refused else _tell_result(args, written, action_done, following)
    fields = ["next_actions", "recently_done", *(["status"] if args.complete else [])]
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


def _tell_result(
    args: argparse.Namespace, written: Written, action_done: str, following: str
) -> list[Block]:
    lines: list[Block] = [Line(f"done: {action_done}", "good")]
    if args.complete:
        left = "" if following else "nothing is left to do: "
        lines.append(Line(f"{left}the status is complete", "good"))
        return lines

    if following:
        lines.append(Line(f"next: {following}", "strong"))
        actions = views.read_list(written.document.value or {}, "next_actions")
        waits = describe_goals(actions[0]) if args.next and actions else ""
        if waits:
            lines.append(Line(f"  {waits}", "dim"))

    return lines


def _verify(
    place: Place, args: argparse.Namespace, invocation: Invocation
) -> tuple[Asked, Finding | None]:
    """The action and its command, and why its command did not prove it done (None: it did)."""
    document = store.read_document(place, args.skill, invocation.now)
    at = find_action(document.value or {}, args.action, "done")
    if isinstance(at, Finding) or not views.read_list(document.value or {}, "next_actions"):
        return ("", None), None  # done itself says what is wrong
    text, command = asked = _read_action(document.value or {}, at)
    if command:
        trouble = _find_refusal(command, args, invocation) or _run_command(
            place, command, invocation
        )
    else:
        message = f'the action "{escape_controls(shorten(text, 60))}" has no done_when, so nothing can verify it'
        trouble = Finding(
            "done/no-done-when", "error", message, hint="mark it as done without --verify"
        )

    return asked, trouble._replace(
        path=document.path, where=f"/next_actions/{at}"
    ) if trouble else None


def _find_refusal(command: str, args: argparse.Namespace, invocation: Invocation) -> Finding | None:
    """Shows the command to the user; a Finding unless --yes was given or the user agrees."""
    if getattr(args, "format", "text") != "json":  # there the answer holds it
        invocation.stderr.write(f"the action's command is:\n  {escape_controls(command)}\n")
        invocation.stderr.flush()

    if args.yes:
        return None
    if not invocation.interactive:
        message = "a command from a checkpoint is only run after asking, which needs a terminal"
        return Finding("done/not-confirmed", "error", message, hint="read it, then add --yes")

    if invocation.ask("run it with sh in the repository's root? [y/N]").strip().lower() in (
        "y",
        "yes",
    ):
        return None

    return Finding(
        "done/not-confirmed", "error", "the command was not run, and nothing was changed"
    )


def _run_command(place: Place, command: str, invocation: Invocation) -> Finding | None:
    import subprocess

    invocation.stderr.flush()
    # what the command prints goes to stderr: stdout carries our own answer
    finished = subprocess.run(
        ["sh", "-c", command], cwd=place.top, stdin=subprocess.DEVNULL, stdout=2, check=False
    )
    if finished.returncode == 0:
        return None
    code = finished.returncode
    how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
    return Finding("done/not-verified", "error", f"the command {how}: the action is not done yet")
