"""`checkpoint show`: a checkpoint's whole content, or what siblings may read of it."""

from argparse import ArgumentParser, Namespace
from typing import Any

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.read import read_document, read_documents
from checkpoint_git.protocols.skill.views import PUBLIC_FIELDS, public_view

SUMMARY = "show a checkpoint's whole content, or its public part"
EXAMPLES = """\
  checkpoint show build
  checkpoint show --public              every skill, without what is private to each
  checkpoint show build --public --json"""


def add_arguments(parser: ArgumentParser) -> None:
    """[SKILL] [--public]."""
    parser.add_argument("skill", metavar="SKILL", nargs="?", help="whose checkpoint; default: all")
    parser.add_argument(
        "--public", action="store_true", help="only what other skills may read: never skill_state or unknown fields"
    )


def show(place: Place, skill: str | None, now: int) -> list[Document]:
    """The documents to show. Raises CheckpointError for a skill that has none."""
    return [read_document(place, skill, now)] if skill is not None else read_documents(place, now)


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """The verb. Only what keeps a file from being shown is a finding here."""
    documents = show(find_place(invocation.cwd), args.skill, invocation.now)
    contents: dict[str, Any] = {}
    blocks: list[Block] = []
    for document in documents:
        if document.value is None:
            continue
        contents[document.skill] = public_view(document.value) if args.public else document.value
        blocks += _show(document, args.public, titled=args.skill is None)
    findings = [finding for document in documents if document.value is None for finding in document.findings]
    return Outcome({"public": args.public, "checkpoints": contents}, blocks, findings)


def _show(document: Document, public: bool, *, titled: bool) -> list[Block]:
    text = (document.text or "").removeprefix(jsontext.BYTE_ORDER_MARK)
    if public:
        tokens = jsontext.scan_tokens(text)
        text = jsonwrite.render({key: member for key, member in tokens.items() if key in PUBLIC_FIELDS})
    title: list[Block] = [Line(document.path, "strong")] if titled else []
    return title + [Line(line.rstrip("\r")) for line in text.rstrip("\n").split("\n")]
