"""Which next actions are merged, remembered for as long as HEAD and the actions stay: most sessions ask git nothing."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git import __version__
from checkpoint_git.core.jsontext import JsonTextError, decode, load
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.views import action_text, read_list
from checkpoint_git.tools.session.hook_output import render_shape

FILE = "checkpoint/primed.json"  # in a work tree's own git directory
_MOST_BYTES = 1 << 20
_HEX = frozenset("0123456789abcdef")


class _Memory(NamedTuple):
    """What the answer rests on. head: the commit that HEAD is."""

    head: str
    texts: list[str]


def read_shipped(place: Place, documents: Sequence[Document]) -> dict[str, str]:
    """The texts of next actions that the history shows as done -> the evidence. {} where git cannot be asked."""
    texts = [action_text(one) for document in documents for one in read_list(document.value or {}, "next_actions")]
    texts = sorted({text for text in texts if any(letter.isdigit() for letter in text)})
    if not texts or place.git_dir is None:
        return {}
    memory = _Memory(read_head(place.git_dir), texts)
    path = os.path.join(place.git_dir, FILE)
    known = _recall(path, memory)
    if known is not None:
        return known
    found = _find_shipped(place, documents, texts)
    if found is not None:
        _remember(path, memory, found)
    return found or {}


def read_head(git_dir: str) -> str:
    """The commit that HEAD is, with a sign of how far a shallow history goes, by git's own files; "" where they are
    kept otherwise.
    """
    head = _read(os.path.join(git_dir, "HEAD"))
    common = os.path.normpath(os.path.join(git_dir, _read(os.path.join(git_dir, "commondir")) or "."))
    ref = head.removeprefix("ref: ")
    if ref != head:
        safe = ref.startswith("refs/") and ".." not in ref
        head = (_read(os.path.join(common, ref)) or _find_packed(common, ref)) if safe else ""
    if len(head) not in (40, 64) or not _HEX.issuperset(head):
        return ""
    return f"{head} {_read_time(os.path.join(common, 'shallow'))}"


def _find_packed(common: str, ref: str) -> str:
    try:
        with open(os.path.join(common, "packed-refs"), "rb") as stream:
            data = stream.read(_MOST_BYTES)
    except OSError:
        return ""
    before, found, _ = data.partition(f" {ref}\n".encode("utf-8", "surrogateescape"))
    return before.rpartition(b"\n")[2].decode("ascii", "replace") if found else ""


def _read(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read(4096)).strip()
    except OSError:
        return ""


def _read_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _recall(path: str, memory: _Memory) -> dict[str, str] | None:
    """What was found for the same HEAD and texts by the same version, None where nothing is remembered."""
    if not memory.head:
        return None
    try:
        with open(path, "rb") as stream:
            value: Any = load(decode(stream.read(_MOST_BYTES)))
    except (OSError, JsonTextError):
        return None
    if not isinstance(value, dict) or [value.get(key) for key in ("version", "head", "texts")] != [
        __version__,
        *memory,
    ]:
        return None
    found = value.get("shipped")
    return found if isinstance(found, dict) and all(isinstance(one, str) for one in found.values()) else None


def _find_shipped(place: Place, documents: Sequence[Document], texts: Sequence[str]) -> dict[str, str] | None:
    """None where the history could not be asked."""
    from checkpoint_git.protocols.skill.verbs.next import read_evidence

    merged, troubles = read_evidence(place, documents)
    if not merged:
        return None if troubles else {}
    from checkpoint_git.protocols.skill.requests import find_shipped

    return {text: found for text in texts if (found := find_shipped(text, merged))}


def _remember(path: str, memory: _Memory, found: Mapping[str, str]) -> None:
    if not memory.head:
        return
    from checkpoint_git.disk.replace import remove_quietly, write_temporary

    value = {"version": __version__, **memory._asdict(), "shipped": dict(found)}
    temporary = ""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = write_temporary(path, render_shape(value).encode(), None, sync=False)
        os.replace(temporary, path)
    except OSError:
        remove_quietly(temporary)
