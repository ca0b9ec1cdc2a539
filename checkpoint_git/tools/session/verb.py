"""`checkpoint session`: reminds an agent that work went on and no checkpoint was written. It never fails a session."""

from _json import encode_basestring_ascii  # the C part of json: the whole of it costs more than all this
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial

from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.protocols.contract import find_hooks
from checkpoint_git.tools.session import agent_hooks, record
from checkpoint_git.tools.session.agent_hooks import SHAPES, HookInput, read_hook_input
from checkpoint_git.tools.session.work import describe_unrecorded, describe_work, find_work, has_gone_on, may_block

FORMATS = agent_hooks.FORMATS  # what --format takes here
tell_error = partial(agent_hooks.make_error_answer, "session")
_SECOND = 10**9
_PAUSE = 15 * 60  # seconds between two reminders at the end of a turn
TAKERS = {"block": ("stop",)}
_EVENTS = ("start", "stop", "precompact", "end")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("event", choices=_EVENTS, help="the event that the agent reports")
    parser.add_argument("--block", action="store_true", help="keep the session going until a checkpoint is written")
    parser.add_argument("--strict", action="store_true", help="exit with 2 on errors")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    told = read_hook_input(invocation.stdin)
    text, block = remind(args.event, invocation.cwd, invocation.now, invocation.env, told, block=args.block)
    if args.format == "json":
        about = {"schema_version": 1, "command": "session", "event": args.event, "reminder": text, "block": block}
        import json

        return Answer([json.dumps(about), "\n"], 0)
    if not text:
        return Answer((), 0)
    text = f"checkpoint-git: {text}"
    if args.format not in SHAPES:
        return Answer([text, "\n"], 0)
    moment = "compact" if args.event == "precompact" else "block" if block else "remind"
    shape = SHAPES[args.format].get(moment)
    return Answer([shape % encode_basestring_ascii(text), "\n"] if shape else (), 0)


def remind(
    event: str, cwd: str, now: int, env: Mapping[str, str], told: HookInput, *, block: bool = False
) -> tuple[str, bool]:
    """The reminder, "" for none, and whether it keeps the session going; its times are noted in the git directory."""
    place = record.find_quietly(cwd)
    if place is None or place.git_dir is None:
        return "", False
    if event == "start":
        record.write_start(place.git_dir, told.session, anew=told.is_new)
    elif event in ("precompact", "end"):
        work = find_work(place, told.session, env)
        if work:
            record.write_unrecorded(place.git_dir, describe_unrecorded(work))
        if event == "precompact":
            return describe_work(work, record.name_checkpoint(place)) if work else "", False
        record.remove_session(place.git_dir, told.session)
    else:
        for after_turn in find_hooks("after_turn", "summary"):
            after_turn(cwd, env, lambda since: has_gone_on(place, told.session, env, since))
        earlier = record.read_told(place.git_dir, told.session) or 0
        # once in a while at most, and never because of what it said itself
        if not (told.active or told.ended or 0 <= now - earlier // _SECOND < _PAUSE):
            work = find_work(place, told.session, env, earlier)
            if work:
                record.write_told(place.git_dir, told.session)
                return describe_work(work, record.name_checkpoint(place)), may_block(place, env, wish=block)
    return "", False
