"""Plan a write of any protocol under the lock: change a document, check it, find new errors."""

import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TextIO

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk import atomic, lock
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.validate import FOREIGN, check_document, name_skill

_NUMBERS = r"[0-9]+"

Tell = Callable[[], None]  # called once when another process keeps us waiting
Change = Callable[[dict[str, Any] | None], "dict[str, Any] | Finding"]
Check = Callable[[str, bytes, int], Document]


class Written(NamedTuple):
    """What a write did.

    document: as it is on disk now; if refused, as it would have been. refused: the new errors, or
    why the change cannot be made; with any, nothing was written. arisen: new findings.
    """

    document: Document
    created: bool
    refused: list[Finding]
    arisen: list[Finding]


def say_waiting(stream: TextIO) -> Tell:
    """Return a function that reports to a stream that another process holds the lock."""

    def tell() -> None:
        if stream.isatty():
            stream.write("\r\x1b[K")  # over a line of progress
        stream.write("checkpoint: another process is writing; waiting for it\n")
        stream.flush()

    return tell


@contextmanager
def hold_place(
    place: Place, folders: Iterable[str], on_wait: Tell = lambda: None
) -> Iterator[None]:
    """Hold the lock of a place, once the remains of killed writers in the folders are removed."""
    with lock.hold_lock(lock.lock_path(place), on_wait=on_wait):
        for folder in folders:
            atomic.remove_stray_files(folder)
        yield


def set_apart(content: bytes) -> bytes:
    """Return a document's text as its archive has it: each line with one more space. Pure."""
    # git finds renames by equal lines: it would see the archive as the renamed document, and a
    # merge would silently put into it what another branch wrote meanwhile.
    try:
        jsontext.load(jsontext.decode(content))
    except jsontext.JsonTextError:
        return content

    mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    lines = content.removeprefix(BOM_UTF8).splitlines(keepends=True)
    return mark + b"".join(b" " + line if line.strip() else line for line in lines)


def plan_write(path: str, before: Document | None, change: Change, now: int) -> Written:
    """Plan a write. The caller holds the lock, and writes the document unless it is refused.

    before: None for no file; one that cannot be read is refused with its findings. change: gets the
    document as a token value that it may change (None for no file), and returns the new one, or a
    Finding that refuses it.
    """
    if before is not None and (before.value is None or before.text is None):
        return Written(before, False, before.findings, [])

    value = None
    if before is not None:
        text = (before.text or "").removeprefix(jsontext.BYTE_ORDER_MARK)
        value = jsontext.scan_tokens(text)
    changed = change(value)
    if isinstance(changed, Finding):
        unchanged = before or Document(path, "", None, None, 0, [])
        refusal = name_skill(changed._replace(path=path), path)
        return Written(unchanged, before is None, [refusal], [])

    return plan_value(path, before, changed, now)


def plan_value(path: str, before: Document | None, value: dict[str, Any], now: int) -> Written:
    """Plan to write a token value in the style of the text that the document has."""
    if before is None:
        after = check_document(path, jsonwrite.render(value).encode(), now=now)
        errors = [finding for finding in after.findings if finding.level == "error"]
        return Written(after, True, errors, after.findings)

    root = jsontext.parse(before.text or "")
    after = check_document(path, jsonwrite.rewrite(root, value).encode(), now=now)
    arisen = find_new(before.findings, after.findings)
    refused = [finding for finding in arisen if finding.level == "error"]
    # a file of another version has no other findings; they arise once the version is corrected
    if any(finding.code == FOREIGN for finding in before.findings):
        refused = []
    return Written(after, False, refused, arisen)


def find_new(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are not among those before, wherever their items moved."""
    known = Counter(_identity(finding) for finding in before)
    new = []
    for finding in after:
        if known[_identity(finding)] > 0:
            known[_identity(finding)] -= 1
        else:
            new.append(finding)
    return new


def _identity(finding: Finding) -> tuple[str, str, str]:
    """Return what identifies a finding, without numbers: items move in their lists."""
    where = re.sub(_NUMBERS, "#", finding.where)
    message = re.sub(_NUMBERS, "#", finding.message)
    return finding.code, where, message


def find_new_errors(
    path: str, data: bytes, earlier: Iterable[bytes | None], now: int, check: Check | None = None
) -> list[Finding]:
    """Return the errors that no earlier version has. Only these refuse a write, so that a broken
    file can be fixed step by step.

    earlier: versions, None for no file. check: for files of no protocol.
    """

    def list_errors(version: bytes) -> list[Finding]:
        if check is not None:
            document = check(path, version, now)
        else:
            document = check_document(path, version, now=now)
        return [finding for finding in document.findings if finding.level == "error"]

    errors = list_errors(data)
    for version in earlier:
        if errors and version is not None:
            errors = find_new(list_errors(version), errors)
    return errors
