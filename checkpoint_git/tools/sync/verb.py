"""`checkpoint sync`: exchange checkpoints with a branch that other clones write to as well."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Style
from checkpoint_git.core.progress import show_progress
from checkpoint_git.disk.discover import Place, find_or_plan_place
from checkpoint_git.git.run import LAZY_FETCH
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.sync.context import ATTEMPTS, TIMEOUT, Wish, open_context
from checkpoint_git.tools.sync.reconcile import read_waiting
from checkpoint_git.tools.sync.run import SyncResult, sync
from checkpoint_git.tools.sync.state import read_memory

HELP = """\
exchange checkpoints with a shared branch: fetch, merge, push

examples:
  checkpoint sync                        with the upstream of the current branch
  checkpoint sync --branch checkpoints   with a branch only for checkpoints
  checkpoint sync --status               what is not sent yet; does not contact the remote
  checkpoint sync --take theirs          if both sides changed the same field

Only checkpoints are committed and sent; other changes, staged or not, stay as they are. Any number
of clones can run it at the same time. To always use one branch: git config checkpoint.syncBranch
checkpoints

exit 1: something is left to decide or to send
"""

_MOST_SHOWN = 10


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--remote", metavar="NAME", default="", help="the remote (default: the upstream's)")
    add(
        "--branch",
        metavar="NAME",
        default="",
        help="its branch (default: the upstream); created if missing",
    )
    add(
        "--only",
        metavar="NAME",
        default="",
        help="sync only this checkpoint; the current branch does not move",
    )
    add(
        "--take",
        metavar="SIDE",
        choices=("ours", "theirs"),
        help="decide conflicts: ours or theirs",
    )
    add(
        "--attempts",
        metavar="N",
        type=int,
        default=ATTEMPTS,
        help=f"push at most N times (default: {ATTEMPTS})",
    )
    add(
        "--timeout",
        metavar="S",
        type=float,
        default=TIMEOUT,
        help=f"stop after S seconds (default: {TIMEOUT:.0f})",
    )
    add("--no-verify", action="store_true", help="skip the pre-push hook")
    add("--keep-branch", action="store_true", help="never move the checked-out branch")
    add("--ignored", action="store_true", help="also send files that git ignores; needs --branch")
    add("--dry-run", action="store_true", help="show what would happen, and change nothing")
    add(
        "--status",
        action="store_true",
        help="show what is not sent yet, without contacting the remote",
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    if args.attempts < 1 or not 1 <= args.timeout <= 86_400:
        numbers = f"--attempts {args.attempts} --timeout {args.timeout:g}"
        hint = "at least 1 of each; 86400 seconds at most"
        raise CheckpointError(f"{numbers}: not possible", hint)

    wish = Wish(
        remote=args.remote,
        branch=args.branch,
        attempts=args.attempts,
        timeout=args.timeout,
        take=args.take or "",
        hooks=not args.no_verify,
        keep_branch=args.keep_branch,
        dry_run=args.dry_run,
        only=args.only,
        ignored=args.ignored,
    )
    place = find_or_plan_place(invocation.cwd)  # the first sync of a clone brings the folder
    if args.status:
        return _show_status(place, wish, invocation)
    with show_progress(invocation) as tell:
        tell("exchanging checkpoints with the remote...")
        result = sync(place, wish, invocation.now, invocation.env, say_waiting(invocation.stderr))

    data = {**result._asdict(), "commit": result.commit or None}
    del data["findings"]
    return Outcome(data, _blocks(result), result.findings)


# state of a sync -> how it is shown
_TITLES: dict[str, tuple[str, Style]] = {
    "synced": ("synced with", "good"),
    "current": ("nothing new on either side:", "dim"),
    "planned": ("a sync would exchange with", "strong"),
    "offline": ("no answer from", "warn"),
    "refused": ("not sent to", "bad"),
    "contended": ("not sent yet to", "warn"),
}


def _blocks(result: SyncResult) -> list[Block]:
    what, style = _TITLES[result.state]
    if result.state == "current" and has_errors(result.findings):
        what, style = "nothing else to exchange with", "warn"
        if any(finding.code == "sync/conflict" for finding in result.findings):
            what = "sync stopped by conflicts with"

    title = f"{what} {result.remote}/{result.branch}"
    if result.commit:
        title = f"{title} at {result.commit[:12]}"
    if result.lost:
        races = "race" if result.lost == 1 else "races"
        title = f"{title}, after {result.lost} lost {races}"
    lines: list[Block] = [Line(title, style)]
    ways = {
        "sent": result.sent,
        "merged": result.merged,
        "taken in": result.brought,
        "waits": result.waiting,
    }
    for word, paths in ways.items():
        lines += [Line(f"  {word}: {path}") for path in paths[:_MOST_SHOWN]]
        if len(paths) > _MOST_SHOWN:
            lines.append(Line(f"  {word}: {len(paths) - _MOST_SHOWN} more"))

    return lines


def _show_status(place: Place, wish: Wish, invocation: Invocation) -> Outcome:
    context = open_context(place, wish, invocation.now, {LAZY_FETCH: "1", **invocation.env})
    target, top, env = context.target, context.top, context.env
    memory = read_memory(top, context.names, context.local, env)
    data: dict[str, Any] = {
        "remote": target.remote,
        "branch": target.branch,
        "met": memory.met or None,
        "follows": target.follows,
        "waiting": [],
        "waiting_since": None,
    }
    last = "never synced from this work tree"
    if memory.met:
        last = f"last synced at {memory.met[:12]}"
    blocks: list[Block] = [Line(f"{target.remote}/{target.branch}: {last}", "strong")]
    if memory.queue is None:
        return Outcome(data, [*blocks, Line("nothing waits from an earlier sync", "dim")])

    data["waiting"] = list(read_waiting(top, memory.queue.record, env))
    data["waiting_since"] = write_instant(memory.queue.since)
    blocks += [Line(f"  waits: {path}", "warn") for path in data["waiting"]]
    count = len(data["waiting"])
    what = "1 checkpoint file waits" if count == 1 else f"{count} checkpoint files wait"
    message = f"{what} to be sent since {data['waiting_since']}"
    found = Finding("sync/queued", "error", message, hint=command("checkpoint", "sync"))
    return Outcome(data, blocks, [found])
