"""Compare a workflow's two files with each other, wherever they are read from. Tools call this."""

import os
from collections.abc import Sequence

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import locate_findings
from checkpoint_git.protocols.workflow import layout, rules


def check_together(documents: Sequence[Document], *, is_all: bool) -> list[Finding]:
    """Return how the two files of each workflow contradict each other.

    is_all: a file that is not among the documents is missing; else nothing is known of it.
    """
    by_path = {document.path: document for document in documents}
    folders = {os.path.dirname(path) for path in by_path if layout.find_skill(path)}
    found = []
    for folder in sorted(folders):
        phase = by_path.get(os.path.join(folder, layout.PHASE + layout.SUFFIX))
        execution = by_path.get(os.path.join(folder, layout.EXECUTION + layout.SUFFIX))
        present = [document for document in (phase, execution) if document is not None]
        if any(document.value is None for document in present):
            continue
        if not is_all and len(present) < len(layout.FILES):
            continue

        phase_value = None if phase is None else phase.value
        execution_value = None if execution is None else execution.value
        findings = rules.check_together(phase_value, execution_value)
        found += locate_findings(findings, present[-1].path, present[-1].text or "")

    return found
