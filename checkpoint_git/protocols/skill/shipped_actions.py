"""Which next actions and proposals the history shows as merged, remembered while HEAD and their texts stay the same."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.cache import load_cache, mark_file, write_cache
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.git.own_files import read_start
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.next_action import Proof
from checkpoint_git.protocols.skill.views import list_requests, text_field
from checkpoint_git.version import __version__

if TYPE_CHECKING:
    from checkpoint_git.git.history.evidence import Evidence

FILE = "checkpoint/primed.json"  # in a work tree's own git directory
_MOST_BYTES = 1 << 20
_HEX = frozenset("0123456789abcdef")


class ShippedTexts(NamedTuple):
    """What the history shows as done, by the checkpoint's path and the text. findings: why it was not asked."""

    actions: dict[str, dict[str, Proof]]
    proposals: dict[str, dict[str, str]]
    findings: list[Finding]

    def find_action(self, path: str, text: str) -> Proof | None:
        return self.actions.get(path, {}).get(text)

    def find_proposal(self, path: str, text: str) -> str | None:
        return self.proposals.get(path, {}).get(text)


def read_shipped(place: Place, documents: Sequence[Document]) -> ShippedTexts:
    """What of all next actions and of the proposals of open blockers is merged. A question to git costs more than all
    the rest of `next`, and most sessions begin where HEAD and the checkpoints are as they were.
    """
    texts = [_find_naming(document) for document in documents]
    asked = [[document.path, *each] for document, each in zip(documents, texts, strict=True) if any(each[1:])]
    if not asked or place.git_dir is None:
        return ShippedTexts({}, {}, [])
    head, path = read_head(place.git_dir), os.path.join(place.git_dir, FILE)
    known = load_cache(path, __version__) if head else None
    if isinstance(known, dict) and (known.get("head"), known.get("asked")) == (head, asked):
        actions = {one: {text: Proof(*proof) for text, proof in own.items()} for one, own in known["actions"].items()}
        return ShippedTexts(actions, known["proposals"], [])
    proofs, findings = read_proofs(place, documents)
    shipped = ShippedTexts({}, {}, findings)
    if any(proofs.values()):
        from checkpoint_git.protocols.skill.proof import judge_texts

        for one, (_, actions_of, proposals) in zip((document.path for document in documents), texts, strict=True):
            shipped.actions[one], shipped.proposals[one] = judge_texts(actions_of, proposals, proofs.get(one, {}))
    if head and not findings:
        write_cache(path, __version__, {"head": head, "asked": asked, **shipped._asdict()})
    return shipped


def read_proofs(
    place: Place, documents: Sequence[Document]
) -> tuple[Mapping[str, Mapping[str, "Evidence"]], list[Finding]]:
    """What of all that checkpoints ask for is merged, by path and reference. The findings say why it is unknown."""
    if place.work_tree is None or not any(any(_find_naming(document)[1:]) for document in documents):
        return {}, []
    from checkpoint_git.git.history.merged import read_merged
    from checkpoint_git.protocols.skill.document_summary import summarize_document
    from checkpoint_git.protocols.skill.proof import prove

    asking = [summarize_document(document) for document in documents]
    references = {reference for one in asking for reference in one.references}
    try:
        return prove(place.work_tree, asking, read_merged(place.work_tree, references)), []
    except CheckpointError as error:
        message = f"the history could not be searched for merged work: {error.message}"
        return {}, [Finding("next/no-history", "note", message, hint=error.hint)]


def read_reverted(place: Place, document: Document) -> tuple[Mapping[str, str], list[Finding]]:
    """What reverts took back of what a checkpoint lists as merged, and why that is unknown."""
    from checkpoint_git.protocols.skill.rotation import find_merged

    references = find_merged(document.value or {})
    if not references or place.work_tree is None:
        return {}, []
    from checkpoint_git.git.history.merged import read_taken_back

    try:
        return read_taken_back(place.work_tree, references), []
    except CheckpointError as error:
        message = f"the history could not be searched for reverts: {error.message}"
        return {}, [Finding("rotate/no-history", "note", message, document.path, hint=error.hint)]


def _find_naming(document: Document) -> tuple[str, list[str], list[str]]:
    """(created_at, next actions, what blockers propose and what is waited for): the texts with a digit in them."""
    value = document.value or {}
    actions, proposals = ([text for text in texts if any(map(str.isdigit, text))] for texts in list_requests(value))
    return text_field(value, "created_at"), actions, proposals


def read_head(git_dir: str) -> str:
    """HEAD's commit with signs of a shallow history and of settings, from git's files; "" where there are none."""
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
    # remotes say which repository this is
    return " ".join([head, *(mark_file(os.path.join(common, name)) for name in ("shallow", "config"))])


def _read(path: str, most: int = 4096) -> str:
    return os.fsdecode(read_start(path, most)).strip()
