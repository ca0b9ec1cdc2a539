"""List a project's runs with pipeline records, by the names of their files."""

import os

from checkpoint_git.core.hint import command
from checkpoint_git.core.outcome import Block, Line, Table
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.git.own_files import read_start
from checkpoint_git.protocols.contract import StatusQuestion, Summary

_BASE = ".claude/checkpoints"  # of layout.py, which most projects have no use for
_MOST_SHOWN = 20
_MOST_LINES = 3


def is_present(place: Place) -> bool:
    # Whether the usual folder is there, or the repository's configuration may name another one
    if os.path.isdir(os.path.join(place.top, _BASE)):
        return True
    if not place.git_dir:
        return False
    # a linked worktree shares the configuration of the repository that it was made from
    files = (
        os.path.join(find_common_dir(place.git_dir), "config"),
        os.path.join(place.git_dir, "config.worktree"),
    )
    return any(b"pipelinedir" in read_start(path, 1 << 20).lower() for path in files)


def summarize(question: StatusQuestion) -> Summary:
    if question.brief or question.reader == "completion":
        return Summary()
    # most projects keep no records
    from checkpoint_git.protocols.pipeline.store import find_bases, read_base

    runs = []
    for base in find_bases(question.place, question.env):
        runs += read_base(base, question.place.top)

    rows = []
    for run in runs[:_MOST_SHOWN]:
        phases = ", ".join(run.phases) or "none"
        rows.append((run.ticket_id, run.run_id[:8], phases, str(run.attempts)))

    blocks: list[Block] = []
    if rows:
        blocks = [Line(""), Table(("pipeline", "run", "phases over", "records"), rows)]
    if len(runs) > _MOST_SHOWN:
        text = f"{len(runs) - _MOST_SHOWN} more"
        blocks.append(Line(text, "dim", hint=command("checkpoint", "pipeline", "list")))

    lines = []
    for run in runs[-_MOST_LINES:]:
        phases = ", ".join(run.phases) or "no phase"
        lines.append(clean(f"pipeline {run.ticket_id} {run.run_id}: {phases} recorded", 240))

    return Summary({"pipelines": [run._asdict() for run in runs]}, blocks=blocks, lines=lines)
