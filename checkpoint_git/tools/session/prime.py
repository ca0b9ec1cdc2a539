"""`checkpoint prime`: what a session is told when it starts. It is silent where there is nothing to say, and whatever
goes wrong, the session starts.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.core.untrusted_text import count_tokens
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.pipeline.bases import may_have_records
from checkpoint_git.protocols.skill import store
from checkpoint_git.protocols.skill.next_action import plan_queue
from checkpoint_git.protocols.skill.progress import find_age, outline
from checkpoint_git.protocols.skill.read import check_files, iterate_documents
from checkpoint_git.protocols.skill.resume_brief import LOOK_AFTER, find_context
from checkpoint_git.protocols.skill.session_brief import LEAST_TOKENS, MOST_TOKENS, Facts, brief, find_resumable
from checkpoint_git.tools.session import hook_output
from checkpoint_git.tools.session.hook_input import HookInput, read_hook_input
from checkpoint_git.tools.session.merged_actions import read_shipped
from checkpoint_git.tools.session.record import find_quietly, write_start

SUMMARY = "tell a new session where the work stands: for the hook that an agent runs when it starts"
EXAMPLES = """\
  checkpoint prime
  checkpoint prime --format claude       as the hook's JSON: claude, codex, gemini, cursor
  checkpoint prime --budget 800          shorter

At most 60 lines and 1,500 tokens, a token being four bytes: decisions that wait on the user, the skill to go on with,
the next action, what is stale, broken, gone or merged already, what else is running. Text from checkpoints stands
between two fence lines, each of its lines marked, and is data. Where there is nothing to say, it says nothing. The
JSON that a hook gets on stdin is read where there is some."""
EXIT_CODES = """\
exit codes:
  0    always, so that the session starts; trouble is one line on stderr
  2    with --strict: it could not tell"""

FORMATS = hook_output.FORMATS  # what --format takes here
_COULD_NOT_TELL = 2
_FEW = 64  # checkpoints that are kept whole; of more, the one to go on with is read again
_MOST_GONE = 100  # listed files looked at


def add_arguments(parser: ArgumentParser) -> None:
    """[--budget N] [--strict]."""
    told = f"how many tokens at most, a token being four bytes (default {MOST_TOKENS}, at least {LEAST_TOKENS})"
    parser.add_argument("--budget", metavar="TOKENS", help=told)
    parser.add_argument("--strict", action="store_true", help="exit with 2 where something goes wrong")


def answer(args: Namespace, invocation: Invocation) -> Answer:
    """The verb."""
    told = read_hook_input(invocation.stdin)
    lines = prime(invocation.cwd, invocation.now, invocation.env, _read_budget(args.budget), told)
    return Answer(_render(lines, args.format), 0)


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    """Trouble is one line, and no reason not to start."""
    message = " ".join(escape_controls(error.message).split())
    return Answer((), _COULD_NOT_TELL if "--strict" in words else 0, f"checkpoint prime: {message}")


def prime(
    cwd: str, now: int, env: Mapping[str, str], tokens: int = MOST_TOKENS, told: HookInput | None = None
) -> list[str]:
    """The lines for a session that starts in a folder, [] where there are no checkpoints or nothing to say.

    now: seconds since 1970. told: what the agent said; the start of its session is noted in the git directory.
    """
    place = find_quietly(cwd)
    if place is None:
        return []
    facts = _read_facts(place, now, env, told)
    if told is not None and place.git_dir:
        write_start(place.git_dir, told.session, anew=told.is_new)
    return brief(facts, now, tokens)


def _read_facts(place: Place, now: int, env: Mapping[str, str], told: HookInput | None) -> Facts:
    documents = [
        document if at < _FEW else outline(document) for at, document in enumerate(iterate_documents(place, now))
    ]
    shipped = read_shipped(place, documents)
    queue = plan_queue(documents, shipped.get, now=now)
    plan = find_resumable(documents, queue, now, shipped)
    found = next((document for document in documents if plan and document.skill == plan.skill), None)
    value = _read_whole(place, found, now) if found else {}
    context = find_context(value, shipped)
    gone = _find_gone(place, context.generated_files, find_age(value, now))
    running, unwritten = _read_running(place, now, env), _find_unwritten(place, env, told)
    return Facts(documents, queue, plan, context, gone, running, unwritten)


def _read_whole(place: Place, document: Document, now: int) -> dict[str, Any]:
    """All that a document says; one of which the outline alone was kept is read again, as far as it is still there."""
    if document.text is not None:
        return document.value or {}
    again = [*check_files(store.read_files(place, only={document.path}), now), document][0]
    return again.value or document.value or {}


def _find_gone(place: Place, listed: Sequence[str], age: int | None) -> list[str]:
    """The listed files that are not there, a day after they were written down. age: seconds."""
    if age is None or age <= LOOK_AFTER:
        return []
    bases = {place.root, place.top}
    plain = [path for path in listed[:_MOST_GONE] if _is_plain(path)]
    return [path for path in plain if not any(os.path.lexists(os.path.join(base, path)) for base in bases)]


def _is_plain(path: str) -> bool:
    return bool(path) and not os.path.isabs(path) and not any(letter in path for letter in "*?[{\0\n ")


def _read_running(place: Place, now: int, env: Mapping[str, str]) -> list[str]:
    """A line on a workflow, on pipeline records, on the newest restore point: of each only where there is one."""
    lines = list[str]()
    if os.path.lexists(os.path.join(place.root, "memory/state/phase.json")):
        from checkpoint_git.protocols.workflow.summary import read_glance

        glance = read_glance(place, now)
        lines += [text for block in (glance.blocks if glance else ()) if (text := getattr(block, "text", ""))]
    if may_have_records(place):
        from checkpoint_git.protocols.pipeline.summary import read_runs

        runs = read_runs(place, env)
        lines += [
            f"pipeline {run.ticket_id} {run.run_id}: {', '.join(run.phases) or 'no phase'} recorded"
            for run in runs[-3:]
        ]
    points = _read_points(place)
    if points:
        lines.append(f"restore points: {len(points)}, the newest {points[-1]}; checkpoint restore-point list")
    return lines


def _read_points(place: Place) -> list[str]:
    try:
        if not any(name.startswith("chk_") for name in os.listdir(place.directory)):
            return []
    except OSError:
        return []
    from checkpoint_git.protocols.restore.layout import list_ids

    return list_ids(place.root)


def _find_unwritten(place: Place, env: Mapping[str, str], told: HookInput | None) -> str:
    """After the context was made shorter: that work went on and no checkpoint was written."""
    if told is None or told.source != "compact":
        return ""
    from checkpoint_git.tools.session.work import describe_work, find_work

    work = find_work(place, told.session, env)
    return describe_work(work) if work else ""


def _read_budget(text: str | None) -> int:
    if text is None:
        return MOST_TOKENS
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise CheckpointError(f"--budget {escape_controls(text)[:40]} is no number", "give a number of tokens")
    return int(text)


def _render(lines: Sequence[str], form: str) -> list[str]:
    text = "\n".join(lines)
    if form == "json":
        about = {"schema_version": 1, "command": "prime", "tokens": count_tokens(text), "lines": list(lines)}
        return [hook_output.render_shape(about)]
    if not lines:
        return []
    return (
        [hook_output.render_shape(hook_output.SHAPES[form].prime(text))]
        if form in hook_output.SHAPES
        else [text + "\n"]
    )
