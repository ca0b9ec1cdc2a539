"""Read under the lock, change, check, write: what the writing verbs of every protocol share."""

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
    """document: as it is on disk now; when refused, as it would have been. refused: the new errors,
    or why the change cannot be made; nothing was written when there are any. arisen: findings that
    were not there before.
    """

    document: Document
    created: bool
    refused: list[Finding]
    arisen: list[Finding]


def say_waiting(stream: TextIO) -> Tell:
    def tell() -> None:
        start = "\r\x1b[K" if stream.isatty() else ""  # there may be a line of progress
        stream.write(f"{start}checkpoint: another process is writing; waiting for it\n")
        stream.flush()

    return tell


@contextmanager
def hold_place(
    place: Place, folders: Iterable[str], on_wait: Tell = lambda: None
) -> Iterator[None]:
    # What killed writers left behind in the folders is cleared first
    with lock.hold_lock(lock.lock_path(place), on_wait=on_wait):
        for folder in folders:
            atomic.remove_stray_files(folder)
        yield


def set_apart(content: bytes) -> bytes:
    """A document's text as its archive has it: every line of JSON indented by one more column.
    Pure.
    """
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
    """The caller holds the lock, and writes what is not refused. before: None if there is no file;
    one that cannot be read is refused with what is wrong with it. change: gets the document as a
    token value of its own (None without a file), and returns the new one, or a Finding that says
    why not.
    """
    if before is not None and (before.value is None or before.text is None):
        return Written(before, False, before.findings, [])
    text = ((before and before.text) or "").removeprefix(jsontext.BYTE_ORDER_MARK)
    value = change(jsontext.scan_tokens(text) if before else None)
    if isinstance(value, Finding):
        unchanged = before or Document(path, "", None, None, 0, [])
        return Written(unchanged, before is None, [name_skill(value._replace(path=path), path)], [])

    return plan_value(path, before, value, now)


def plan_value(path: str, before: Document | None, value: dict[str, Any], now: int) -> Written:
    """value: numbers are tokens. The document is written in the style of the text that it had."""
    root = None if before is None else jsontext.parse(before.text or "")
    text = jsonwrite.render(value) if root is None else jsonwrite.rewrite(root, value)
    after = check_document(path, text.encode(), now=now)
    arisen = find_new(before.findings if before else [], after.findings)
    # of a file of another version only that was known; once it is corrected, the rest can be
    is_refused = before is None or all(finding.code != FOREIGN for finding in before.findings)
    refused = [finding for finding in arisen if finding.level == "error" and is_refused]
    return Written(after, before is None, refused, arisen)


def find_new(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    known = Counter(_identity(finding) for finding in before)
    new = []
    for finding in after:
        if known[_identity(finding)] > 0:
            known[_identity(finding)] -= 1
        else:
            new.append(finding)
    return new


def _identity(finding: Finding) -> tuple[str, str, str]:
    # without numbers: items move in their lists
    return (
        finding.code,
        re.sub(_NUMBERS, "#", finding.where),
        re.sub(_NUMBERS, "#", finding.message),
    )


# Only errors that were not there before refuse a write, so that a broken file can be fixed step by
# step.
def find_new_errors(
    path: str, data: bytes, earlier: Iterable[bytes | None], now: int, check: Check | None = None
) -> list[Finding]:
    """The errors that no earlier version (None: no file) has. check: (path, data, now), for files
    of no protocol.
    """

    def list_errors(version: bytes) -> list[Finding]:
        document = check(path, version, now) if check else check_document(path, version, now=now)
        return [finding for finding in document.findings if finding.level == "error"]

    errors = list_errors(data)
    for version in earlier if errors else ():
        errors = find_new([] if version is None else list_errors(version), errors)
    return errors
