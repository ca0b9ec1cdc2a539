"""Which next actions and proposals the history shows as merged, remembered while HEAD and their texts stay the same."""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.views import action_text, open_blockers, read_list, text_field
from checkpoint_git.version import __version__

FILE = "checkpoint/primed.json"  # in a work tree's own git directory
_MOST_BYTES = 1 << 20
_HEX = frozenset("0123456789abcdef")


class ShippedTexts(NamedTuple):
    """actions, proposals: the texts that the history shows as done -> the evidence. findings: why it was not asked."""

    actions: dict[str, str]
    proposals: dict[str, str]
    findings: list[Finding]


def read_shipped(place: Place, documents: Sequence[Document]) -> ShippedTexts:
    """What of all next actions and of the proposals of open blockers is merged. A question to git costs more than all
    the rest of `next`, and most sessions begin where HEAD and the checkpoints are as they were.
    """
    texts = _find_naming(documents)
    if not any(texts) or place.git_dir is None:
        return ShippedTexts({}, {}, [])
    from checkpoint_git.disk.cache import load_cache, write_cache  # it brings json, and most actions name nothing

    head, path = read_head(place.git_dir), os.path.join(place.git_dir, FILE)
    known = load_cache(path, __version__) if head else None
    if isinstance(known, dict) and (known.get("head"), known.get("texts")) == (head, texts):
        return ShippedTexts(dict(known["actions"]), dict(known["proposals"]), [])
    merged, findings = read_evidence(place, documents)
    shipped = ShippedTexts({}, {}, findings)
    if merged:
        from checkpoint_git.protocols.skill.requests import find_resolution, find_shipped

        actions = {text: found for text in texts[0] if (found := find_shipped(text, merged))}
        proposals = {text: found for text in texts[1] if (found := find_resolution(text, merged))}
        shipped = ShippedTexts(actions, proposals, findings)
    if head and not findings:
        write_cache(path, __version__, {"head": head, "texts": texts, **shipped._asdict()})
    return shipped


def read_evidence(place: Place, documents: Sequence[Document]) -> tuple[dict[str, str], list[Finding]]:
    """What of all that actions and blockers name is merged: reference -> evidence, by one question to the history.

    The findings say why it could not be asked.
    """
    naming = [text for texts in _find_naming(documents) for text in texts]
    if not naming or place.work_tree is None:
        return {}, []
    from checkpoint_git.core.references import find_references

    references = {reference for text in naming for reference in find_references(text)}
    if not references:
        return {}, []
    from checkpoint_git.git.history.merged import read_merged

    try:
        return read_merged(place.work_tree, references), []
    except CheckpointError as error:
        message = f"the history could not be asked what has shipped: {error.message}"
        return {}, [Finding("next/no-history", "note", message, hint=error.hint)]


def _find_naming(documents: Iterable[Document]) -> list[list[str]]:
    """The texts of next actions and what open blockers propose: of both those with a digit, as every reference has."""
    values = [document.value or {} for document in documents]
    actions = {action_text(action) for value in values for action in read_list(value, "next_actions")}
    proposals = {text_field(blocker, "proposed_resolution") for value in values for blocker in open_blockers(value)}
    return [sorted(text for text in each if any(map(str.isdigit, text))) for each in (actions, proposals)]


def read_head(git_dir: str) -> str:
    """The commit that HEAD is, with a sign of how far a shallow history goes, by git's own files; "" where they are
    kept otherwise.
    """
    head = _read(os.path.join(git_dir, "HEAD"))
    common = find_common_dir(git_dir)
    ref = head.removeprefix("ref: ")
    if ref != head:
        head = ""
        if ref.startswith("refs/") and ".." not in ref:
            head = _read(os.path.join(common, ref))
            packed = "" if head else f"{_read(os.path.join(common, 'packed-refs'), _MOST_BYTES)}\n"
            before, found, _ = packed.partition(f" {ref}\n")
            head = head or (before.rpartition("\n")[2] if found else "")
    if len(head) not in (40, 64) or not _HEX.issuperset(head):
        return ""
    try:
        shallow_since = os.stat(os.path.join(common, "shallow")).st_mtime_ns
    except OSError:
        shallow_since = 0
    return f"{head} {shallow_since}"


def _read(path: str, most: int = 4096) -> str:
    try:
        with open(path, "rb") as stream:
            return os.fsdecode(stream.read(most)).strip()
    except OSError:
        return ""
