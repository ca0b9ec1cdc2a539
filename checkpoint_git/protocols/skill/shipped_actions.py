"""Which next actions are merged, remembered while HEAD and the actions stay the same: most sessions ask git nothing."""

import os
from collections.abc import Sequence

from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.views import action_text, read_list
from checkpoint_git.version import __version__

FILE = "checkpoint/primed.json"  # in a work tree's own git directory
_MOST_BYTES = 1 << 20
_HEX = frozenset("0123456789abcdef")


def read_shipped(place: Place, documents: Sequence[Document]) -> dict[str, str]:
    """The texts of next actions that the history shows as done -> the evidence. {} where git cannot be asked."""
    texts = {action_text(one) for document in documents for one in read_list(document.value or {}, "next_actions")}
    naming = sorted(text for text in texts if any(letter.isdigit() for letter in text))
    if not naming or place.git_dir is None:
        return {}
    from checkpoint_git.disk.cache import load_cache, write_cache  # it brings json, and most actions name nothing

    head, path = read_head(place.git_dir), os.path.join(place.git_dir, FILE)
    known = load_cache(path, __version__) if head else None
    if isinstance(known, dict) and (known.get("head"), known.get("texts")) == (head, naming):
        return dict(known["shipped"])
    shipped = _find_shipped(place, documents, naming)
    if shipped is not None and head:
        write_cache(path, __version__, {"head": head, "texts": naming, "shipped": shipped})
    return shipped or {}


def _find_shipped(place: Place, documents: Sequence[Document], texts: Sequence[str]) -> dict[str, str] | None:
    """None where the history could not be asked."""
    from checkpoint_git.protocols.skill.verbs.next import read_evidence

    merged, troubles = read_evidence(place, documents)
    if not merged:
        return None if troubles else {}
    from checkpoint_git.protocols.skill.requests import find_shipped

    return {text: found for text in texts if (found := find_shipped(text, merged))}


def read_head(git_dir: str) -> str:
    """The commit that HEAD is, with a sign of how far a shallow history goes, by git's own files; "" where they are
    kept otherwise.
    """
    head = _read(os.path.join(git_dir, "HEAD"))
    common = os.path.normpath(os.path.join(git_dir, _read(os.path.join(git_dir, "commondir")) or "."))
    ref = head.removeprefix("ref: ")
    if ref != head:
        is_safe = ref.startswith("refs/") and ".." not in ref
        head = (_read(os.path.join(common, ref)) or _find_packed(common, ref)) if is_safe else ""
    if len(head) not in (40, 64) or not _HEX.issuperset(head):
        return ""
    try:
        shallow_since = os.stat(os.path.join(common, "shallow")).st_mtime_ns
    except OSError:
        shallow_since = 0
    return f"{head} {shallow_since}"


def _find_packed(common: str, ref: str) -> str:
    packed = _read(os.path.join(common, "packed-refs"), _MOST_BYTES)
    before, found, _ = f"{packed}\n".partition(f" {ref}\n")
    return before.rpartition("\n")[2] if found else ""


def _read(path: str, most: int = 4096) -> str:
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read(most)).strip()
    except OSError:
        return ""
