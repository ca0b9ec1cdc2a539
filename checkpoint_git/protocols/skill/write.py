"""What the writing verbs share: read under the lock, change, check, write; and only new errors refuse a write."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, TextIO

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.read import check_files
from checkpoint_git.protocols.validate import check_document

_NUMBERS = re.compile(r"[0-9]+")

Change = Callable[[dict[str, Any] | None], "dict[str, Any] | Finding"]


class Written(NamedTuple):
    """What became of a write.

    document: as it is on disk now; when refused, as it would have been. refused: the new errors, or why the change
    cannot be made; nothing was written when there are any. arisen: findings that were not there before.
    """

    document: Document
    created: bool
    refused: list[Finding]
    arisen: list[Finding]


def check_owner(skill: str, env: Mapping[str, str]) -> None:
    """Raises CheckpointError where CHECKPOINT_SKILL says that this process works for another skill."""
    owner = env.get("CHECKPOINT_SKILL", "")
    if owner and owner != skill:
        raise CheckpointError(
            f"this session works as {owner} (CHECKPOINT_SKILL), and {skill} is another skill's checkpoint",
            f"write to {owner}'s own and refer to {skill} in depends_on",
        )


def say_waiting(stream: TextIO) -> store.Tell:
    """A callback that tells a person why nothing happens."""

    def tell() -> None:
        stream.write("checkpoint: another process is writing; waiting for it\n")
        stream.flush()

    return tell


def change_checkpoint(
    place: Place, skill: str, change: Change, now: int, on_wait: store.Tell = lambda: None
) -> Written:
    """Reads, changes and writes one checkpoint under the lock.

    change: gets the document as a token value of its own (None where there is no file) and returns the new one, or a
    Finding that says why not. An unreadable file is refused with what is wrong with it; it stays as it is.
    """
    layout.check_skill_name(skill)
    path = layout.relative_checkpoint_path(place, skill)
    with store.writing(place, on_wait):
        content = store.read_skill(place, skill)
        before = None if content is None else check_files([(path, content)], now)[0]
        if before is not None and before.value is None:
            return Written(before, False, before.findings, [])
        written = _plan(before, path, change, now)
        if not written.refused:
            store.write_checkpoint(place, skill, (written.document.text or "").encode())
    return written


def _plan(before: Document | None, path: str, change: Change, now: int) -> Written:
    root = jsontext.parse(before.text) if before is not None and before.text is not None else None
    value = change(deepcopy(root.value) if root else None)
    if isinstance(value, Finding):
        missing = Document(path, layout.find_skill(path), None, None, 0, [])
        return Written(before or missing, before is None, [value._replace(path=path)], [])
    text = jsonedit.rewrite(root, value) if root else jsonedit.render(value)
    after = check_document(path, text.encode(), now=now)
    arisen = find_new(before.findings if before else [], after.findings)
    return Written(after, before is None, [finding for finding in arisen if finding.level == "error"], arisen)


def find_new(before: list[Finding], after: list[Finding]) -> list[Finding]:
    """The findings that were not there before. Numbers are left out of the comparison: list items move."""
    known = Counter(_identity(finding) for finding in before)
    new = []
    for finding in after:
        if known[_identity(finding)] > 0:
            known[_identity(finding)] -= 1
        else:
            new.append(finding)
    return new


def _identity(finding: Finding) -> tuple[str, str, str]:
    return finding.code, _NUMBERS.sub("#", finding.where), _NUMBERS.sub("#", finding.message)
