"""`checkpoint show`: show a checkpoint, what other skills may read of it, or its tickets."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome, Table
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.core.untrusted_text import hide_secrets
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.clone import find_conflicts
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.limits import read_limits
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.brief.brief import make_brief
from checkpoint_git.protocols.skill.brief.resume_plan import plan_resume
from checkpoint_git.protocols.skill.drift.merged_work import (
    describe_facts,
    facts_data,
    find_action_facts,
    read_work,
)
from checkpoint_git.protocols.skill.store import iterate_documents, read_document
from checkpoint_git.protocols.skill.views import find_refs, public_view, read_list

HELP = """\
show a checkpoint's whole content, its public part, or its tickets

examples:
  checkpoint show build
  checkpoint show --public              every checkpoint, without private fields
  checkpoint show build --public --json
  checkpoint show build --absolute      with the whole path as project_dir
  checkpoint show --tickets             the tickets of every checkpoint
  checkpoint show --tickets=source      only those the work came from

exit 1: a checkpoint cannot be read
"""

_ROLES = ("source", "child", "deploy", "incident", "linked")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("skill", metavar="NAME", nargs="?", help="whose checkpoint; default: all")
    add(
        "--public",
        action="store_true",
        help=(
            "only what other skills may read: no skill_state, no unknown fields "
            "(of others, CHECKPOINT_SKILL does it)"
        ),
    )
    add(
        "--absolute",
        action="store_true",
        help='show a project_dir of "." as the absolute path that it has here',
    )
    add(
        "--tickets",
        metavar="ROLE",
        nargs="?",
        const="all",
        choices=("all", *_ROLES),
        help="only tickets (of a role)",
    )


class _Shown(NamedTuple):
    """Hold a document as it is shown."""

    name: str
    path: str
    value: dict[str, Any]
    text: str


def run(args: Namespace, invocation: Invocation) -> Outcome:
    place = find_place(invocation.cwd)
    # stdout holds the file's text
    for gap in find_conflicts(place.work_tree, place.git_dir, invocation.env):
        invocation.stderr.write(f"{gap.line.whole}\n")
    documents: Iterable[Document]
    if args.skill is None:
        documents = iterate_documents(place, invocation.now)
    else:
        documents = [read_document(place, args.skill, invocation.now)]

    if args.tickets:
        return _show_tickets(documents, args.tickets)
    return _show_contents(documents, place, args, invocation)


def _show_tickets(documents: Iterable[Document], role: str) -> Outcome:
    """Return the tickets of documents. role: "all", or what tickets have to be."""
    findings = list[Finding]()
    tickets = list[dict[str, Any]]()
    for document in documents:
        if document.value is None:
            findings += document.findings
        if role == "all":
            tickets += find_refs([document])
        else:
            tickets += find_refs([document], role)

    headers = ("skill", "role", "provider", "id", "url")
    rows = [tuple(str(ticket.get(name) or "") for name in headers) for ticket in tickets]
    blocks: list[Block] = [Line("no tickets", "dim")]
    if rows:
        blocks = [Table(headers, rows, (0, 1, 2, 3), has_tail=True)]
    return Outcome({"tickets": tickets}, blocks, findings)


def _show_contents(
    documents: Iterable[Document], place: Place, args: Namespace, invocation: Invocation
) -> Outcome:
    """Return the text of documents; of a named one also its choices and references."""
    contents = dict[str, Any]()
    blocks = list[Block]()
    findings = list[Finding]()
    choices = list[dict[str, str]]()
    references = list[dict[str, Any]]()

    # what is private to other skills is not for it
    owner = invocation.env.get("CHECKPOINT_SKILL", "")
    for document in documents:
        if document.value is None:
            findings += document.findings
            continue
        if args.skill is not None and not args.public:
            choices = _list_choices(place, document, args, invocation)
        if args.skill is not None:
            references = _list_references(place, document, args, invocation)

        is_public = args.public or owner not in ("", document.skill)
        view = _show_document(document, place.root, is_public=is_public, is_absolute=args.absolute)
        name = view.name
        if name in contents:  # several with a token look alike
            name = f"{name} {len(contents) + 1}"
        contents[name] = view.value

        if args.skill is None:
            blocks.append(Line(view.path, "strong"))
        for line in view.text.rstrip("\n").split("\n"):
            blocks.append(Line(line.rstrip("\r"), hang=-1))

    data = {"public": args.public, "checkpoints": contents, "choices": choices}
    if references:
        data["references"] = references
    return Outcome(data, blocks, findings)


def _show_document(document: Document, root: str, *, is_public: bool, is_absolute: bool) -> _Shown:
    """Return a document as it is, or what other skills may read of it, without secrets.

    is_absolute: with the project's root as project_dir where that is ".".
    """
    value = document.value or {}
    text = (document.text or "").removeprefix(jsontext.BYTE_ORDER_MARK)
    if is_absolute and value.get("project_dir") == layout.HERE:
        value = {**value, "project_dir": root}
        text = _rewrite_project_dir(text, root)

    if not is_public:
        return _Shown(document.skill, document.path, value, text)

    name, path = hide_secrets([document.skill, document.path], document.path)
    public_text = jsonwrite.render(public_view(jsontext.scan_tokens(text)))
    return _Shown(
        name=name,
        path=path,
        value=hide_secrets(public_view(value), text),
        text=str(hide_secrets(public_text, text)),
    )


def _rewrite_project_dir(text: str, root: str) -> str:
    """Return a checkpoint's text with its project's absolute path; all else keeps its bytes."""
    node = jsontext.parse(text)
    return jsonwrite.rewrite(node, {**node.value, "project_dir": root})


def _list_choices(
    place: Place, document: Document, args: Namespace, invocation: Invocation
) -> list[dict[str, str]]:
    """Return the choices if `resume` stops and asks.

    They are printed to stderr too, as stdout has the file's text.
    """
    limits = read_limits(place, invocation.env)
    plan = plan_resume(document, make_brief(document, invocation.now, limits))
    if plan.decision != "ask":
        return []
    answers = [answer for answer in plan.answers if answer.name != "show"]
    lines = [f"{document.skill}: {plan.why}; your choices:"]
    lines += [f"  {answer.name + ':':10} {answer.command}" for answer in answers]
    if getattr(args, "format", "text") == "text":
        invocation.stderr.write("".join(f"{escape_controls(line)}\n" for line in lines))
    return [answer._asdict() for answer in answers]


def _list_references(
    place: Place, document: Document, args: Namespace, invocation: Invocation
) -> list[dict[str, Any]]:
    """Return the facts about the references in next actions, each with the action's index.

    They are printed to stderr too.
    """
    work, _ = read_work(place, [document], invocation.now)
    known = work.get(document.path, {})
    found = list[dict[str, Any]]()
    lines = list[str]()
    for index, action in enumerate(read_list(document.value or {}, "next_actions")):
        facts = find_action_facts(action, known)
        found += [{"next_action": index, **data} for data in facts_data(facts)]
        for text in describe_facts(facts, invocation.now):
            lines.append(f"next_actions.{index}: {text}")

    if getattr(args, "format", "text") == "text":
        invocation.stderr.write("".join(f"{escape_controls(line)}\n" for line in lines))
    return found
