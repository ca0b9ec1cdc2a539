"""What there is of pipeline records in a project: its runs, by the names of their files."""

from checkpoint_git.core.outcome import Block, Line, Table
from checkpoint_git.core.untrusted_text import clean
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.contract import Question, Summary
from checkpoint_git.protocols.pipeline.bases import may_have_records

_MOST_SHOWN = 20
_MOST_LINES = 3


def is_present(place: Place) -> bool:
    """Whether the project may keep records."""
    return may_have_records(place)


def summarize(question: Question) -> Summary:
    """Every run. No record is opened."""
    if question.brief:
        return Summary()
    from checkpoint_git.protocols.pipeline.runs import read_runs  # most projects keep no records

    runs = read_runs(question.place, question.env)
    blocks: list[Block] = []
    if runs:
        rows = [(run.ticket_id, run.run_id[:8], ", ".join(run.phases) or "none", str(run.attempts)) for run in runs]
        blocks = [Line(""), Table(("pipeline", "run", "phases over", "records"), rows[:_MOST_SHOWN])]
    if len(runs) > _MOST_SHOWN:
        blocks.append(Line(f"{len(runs) - _MOST_SHOWN} more: checkpoint pipeline list", "dim"))
    lines = [
        clean(f"pipeline {run.ticket_id} {run.run_id}: {', '.join(run.phases) or 'no phase'} recorded", 240)
        for run in runs[-_MOST_LINES:]
    ]
    return Summary({"pipelines": [run._asdict() for run in runs]}, blocks=blocks, lines=lines)
