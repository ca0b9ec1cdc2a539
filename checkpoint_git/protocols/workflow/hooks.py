"""What tools call of a workflow: its two files against each other, wherever they are read from."""

import os
from collections.abc import Sequence

from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import locate_findings
from checkpoint_git.protocols.workflow import layout, rules


def check_together(documents: Sequence[Document], *, is_all: bool) -> list[Finding]:
    found, by_path = [], {document.path: document for document in documents}
    for folder in sorted({os.path.dirname(path) for path in by_path if layout.find_skill(path)}):
        pair = [by_path.get(os.path.join(folder, file + layout.SUFFIX)) for file in layout.FILES]
        there = [document for document in pair if document is not None]
        if all(document.value is not None for document in there) and (
            is_all or len(there) == len(pair)
        ):
            findings = rules.check_together(*(document and document.value for document in pair))
            found += locate_findings(findings, there[-1].path, there[-1].text or "")
    return found
