"""What there is of pipeline records in a project: its runs, by the names of their files."""

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
    from checkpoint_git.protocols.pipeline.store import (
        find_bases,
        read_base,
    )

    place = question.place
    runs = [run for base in find_bases(place, question.env) for run in read_base(base, place.top)]
    blocks: list[Block] = []
    if runs:
        rows = [
            (run.ticket_id, run.run_id[:8], ", ".join(run.phases) or "none", str(run.attempts))
            for run in runs
        ]
        blocks = [
            Line(""),
            Table(("pipeline", "run", "phases over", "records"), rows[:_MOST_SHOWN]),
        ]

    if len(runs) > _MOST_SHOWN:
        blocks.append(
            Line(
                f"{len(runs) - _MOST_SHOWN} more",
                "dim",
                hint=command("checkpoint", "pipeline", "list"),
            )
        )

    lines = [
        clean(
            f"pipeline {run.ticket_id} {run.run_id}: {', '.join(run.phases) or 'no phase'} recorded",
            240,
        )
        for run in runs[-_MOST_LINES:]
    ]
    return Summary({"pipelines": [run._asdict() for run in runs]}, blocks=blocks, lines=lines)
