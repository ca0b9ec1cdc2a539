"""`checkpoint refs`: the tickets of all skills, for a skill that looks for its source ticket."""

import argparse
from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.store import iterate_documents
from checkpoint_git.protocols.skill.views import read_objects

ROLES = ("source", "child", "deploy", "incident", "linked")
_FIELDS = ("role", "provider", "id", "url", "created_by_skill", "first_seen_at")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--role", choices=ROLES, help="only tickets in this role")


def find_refs(documents: Iterable[Document], role: str | None = None) -> list[dict[str, Any]]:
    """The tickets of all documents in order, each with its skill; only known fields, never a ticket's body."""
    return [
        {"skill": document.skill, **{name: ref[name] for name in _FIELDS if name in ref}}
        for document in documents
        for ref in read_objects(document.value or {}, "pm_refs")
        if role is None or ref.get("role") == role
    ]


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    refs, findings = list[dict[str, Any]](), list[Finding]()
    for document in iterate_documents(find_place(invocation.cwd), invocation.now):
        refs += find_refs([document], args.role)
        findings += document.findings if document.value is None else ()
    headers = ("skill", "role", "provider", "id", "url")
    rows = [tuple(str(ref.get(name) or "") for name in headers) for ref in refs]
    blocks: list[Block] = [Table(headers, rows, (0, 1, 2, 3), has_tail=True)] if rows else [Line("no tickets", "dim")]
    return Outcome({"refs": refs}, blocks, findings)
