"""What tools call of a workflow: its two files against each other, wherever they are read from."""

import os
from collections.abc import Sequence

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import locate_findings
from checkpoint_git.protocols.workflow import layout, rules


def check_together(documents: Sequence[Document]) -> list[Finding]:
    found, by_path = [], {document.path: document for document in documents}
    for path, execution in by_path.items():
        phase = by_path.get(os.path.join(os.path.dirname(path), layout.PHASE + layout.SUFFIX))
        if phase is not None and layout.find_skill(path) == layout.EXECUTION:
            findings = rules.check_together(phase.value, execution.value)
            found += locate_findings(findings, path, execution.text or "")
    return found
