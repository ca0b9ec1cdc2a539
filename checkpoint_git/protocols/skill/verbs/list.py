"""`checkpoint list`: which checkpoints there are."""

from argparse import ArgumentParser, Namespace

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.clone import add_gaps
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.store import iterate_documents

_HEADERS = ("skill", "status", "updated", "file")
_FIELDS = ("project", "phase", "step", "status", "updated_at")


def add_arguments(parser: ArgumentParser) -> None:
    """No arguments of its own."""


def summarize(document: Document) -> dict[str, object]:
    """One line's worth of a document; a field that is missing or no text is None."""
    value = document.value or {}
    fields = {name: value[name] if isinstance(value.get(name), str) else None for name in _FIELDS}
    return {"skill": document.skill, "path": document.path, "valid": document.is_valid, **fields}


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """The verb. Files that cannot be read are findings; the others are listed all the same."""
    place = find_place(invocation.cwd)
    summaries, findings = list[dict[str, object]](), list[Finding]()
    rows = list[tuple[str, ...]]()
    for document in iterate_documents(place, invocation.now):
        summary = summarize(document)
        status = f"{summary['status'] or '?'}{'' if document.is_valid else ' (invalid)'}"
        if document.value is None:
            status = "unreadable"
            findings += document.findings
        summaries.append(summary)
        rows.append((document.skill, status, str(summary["updated_at"] or "?"), document.path))
    blocks: list[Block] = [Line(f"no checkpoints in {place.directory} yet; start one: checkpoint update build", "dim")]
    if rows:
        blocks = [Table(_HEADERS, rows, (0, 1, 2), has_tail=True)]
    outcome = Outcome({"checkpoints": summaries}, blocks, findings)
    return add_gaps(outcome, place.work_tree, place.git_dir, invocation.env)
