"""`checkpoint session`: remind an agent that work went on and no checkpoint was written. It never
stops a session by an error.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial

from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import join_some, plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.session import agent_hooks, record
from checkpoint_git.tools.session.agent_hooks import HookInput, read_hook_input
from checkpoint_git.tools.session.work import (
    SECOND,
    describe_work,
    find_work,
    has_gone_on,
    may_block,
)

HELP = """\
remind an agent to record progress when files changed but no checkpoint did

Work is any file that changed, committed or not, since the session started and since the last
checkpoint was written. It prints nothing without such work, outside git, or without a .checkpoints
folder.

examples:
  checkpoint session stop
  checkpoint session precompact --format claude

exit codes: 0 always, so that no session is disturbed (a problem is one line on stderr); 2 with
--strict: an error
"""
SUB_HELP = {
    "start": """\
record that a session started (`checkpoint prime` does it too)

examples:
  checkpoint session start

exit codes: 0 always, so that no session is disturbed (a problem is one line on stderr); 2 with
--strict: an error
""",
    "stop": """\
at the end of a turn: remind, every 15 minutes at most

With --block it also keeps the session going, once, until progress is recorded. To do that in every
session here: git config checkpoint.sessionBlocks true (false: never).

examples:
  checkpoint session stop
  checkpoint session stop --block --format claude

exit codes: 0 always, so that no session is disturbed (a problem is one line on stderr); 2 with
--strict: an error
""",
    "precompact": """\
before the context is compacted: remind

examples:
  checkpoint session precompact --format claude

exit codes: 0 always, so that no session is disturbed (a problem is one line on stderr); 2 with
--strict: an error
""",
    "end": """\
save a note of unrecorded work, and forget the session

examples:
  checkpoint session end

exit codes: 0 always, so that no session is disturbed (a problem is one line on stderr); 2 with
--strict: an error
""",
}

FORMATS = agent_hooks.FORMATS  # what --format takes here
tell_error = partial(agent_hooks.make_error_answer, "session")
_PAUSE = 15 * 60  # seconds between two reminders at the end of a turn
TAKERS = {"block": ("stop",)}
_EVENTS = ("start", "stop", "precompact", "end")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("event", choices=_EVENTS, help="the event that the agent reports")
    parser.add_argument(
        "--block", action="store_true", help="keep the session going until a checkpoint is written"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 2 on errors")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    hook_input = read_hook_input(invocation.stdin)
    text, block = remind(
        args.event, invocation.cwd, invocation.now, invocation.env, hook_input, block=args.block
    )
    about = {"event": args.event, "reminder": text, "block": block}
    moment = "remind"
    if block:
        moment = "block"
    if args.event == "precompact":
        moment = "compact"
    if text:
        text = f"checkpoint-git: {text}"
    return agent_hooks.make_answer(args.format, "session", about, text, moment)


def remind(
    event: str,
    cwd: str,
    now: int,
    env: Mapping[str, str],
    hook_input: HookInput,
    *,
    block: bool = False,
) -> tuple[str, bool]:
    """Return the reminder, "" for none, and whether it keeps the session going; its times are
    noted in the git directory.
    """
    place = record.find_quietly(cwd)
    if place is None or place.git_dir is None:
        return "", False

    session = hook_input.session
    if event == "start":
        record.write_start(place.git_dir, session, anew=hook_input.is_new)
        return "", False
    if event == "precompact":
        return _note_unrecorded(place, place.git_dir, session, env), False
    if event == "end":
        _note_unrecorded(place, place.git_dir, session, env)
        record.remove_session(place.git_dir, session)
        return "", False

    for after_turn in find_hooks("after_turn", "summary"):
        after_turn(cwd, env, lambda since: has_gone_on(place, session, env, since))
    earlier = record.read_told(place.git_dir, session) or 0
    # after a pause only, and never as an answer to its own reminder
    if hook_input.active or hook_input.ended or 0 <= now - earlier // SECOND < _PAUSE:
        return "", False
    work = find_work(place, session, env, earlier)
    if work is None:
        return "", False
    record.write_told(place.git_dir, session)
    reminder = describe_work(work, record.name_checkpoint(place))
    return reminder, may_block(place, env, wish=block)


def _note_unrecorded(place: Place, git_dir: str, session: str, env: Mapping[str, str]) -> str:
    """Note the work that no checkpoint records, and return a reminder of it; "" for none."""
    work = find_work(place, session, env)
    if work is None:
        return ""
    files = plural(len(work.files), "file")
    commits = plural(work.commits, "commit")
    record.write_unrecorded(git_dir, f"{files} changed ({join_some(work.files)}), {commits}")
    return describe_work(work, record.name_checkpoint(place))
