"""`checkpoint ci merge`: what happened to a pull request, for the user, a program and a forge's page."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import join_some, plural, quote_path
from checkpoint_git.git.remotes import network_env
from checkpoint_git.tools.merges.premerge import MovedError, Premerge, State, premerge
from checkpoint_git.tools.merges.pull_request import Request, follow, read_request
from checkpoint_git.tools.merges.tree_merge import Kind, Remaining

_MOST_NAMED = 20  # paths in one line

# kind of what remains -> the finding's code, and what to type for it in a merge on one's own machine
_WAYS: dict[Kind, tuple[str, str]] = {
    "checkpoint": (
        "premerge/conflict",
        "take ours or theirs, in a merge on your machine: checkpoint resolve {path}{where} --take ours",
    ),
    "text": ("premerge/no-json", "write it as JSON in a merge on your machine, then git add {path}"),
    "too-large": (
        "premerge/too-large",
        "checkpoint rotate, on the branch that has it, moves what is closed into history",
    ),
    "record": ("premerge/record", ""),
    "file": (
        "premerge/file",
        "settle the marked lines in a merge on your machine, then git add {path}",
    ),
    "binary": (
        "premerge/file",
        "git checkout --ours {path}, or --theirs, then git add {path}, in a merge on your machine",
    ),
    "removed": (
        "premerge/removed",
        "git checkout {changed} -- {path} keeps it, git rm {path} does not, in a merge on your machine",
    ),
    "renamed": (
        "premerge/renamed",
        "git add the name that shall stay and git rm the other, in a merge on your machine",
    ),
    "mode": (
        "premerge/mode",
        "chmod +x or chmod -x {path}, then git add {path}, in a merge on your machine",
    ),
    "type": (
        "premerge/type",
        "keep one of the two in a merge on your machine, then git add {path}",
    ),
}
_MOVED = "git checkout {changed} -- {path} after git merge brings it back; git merge itself says nothing of it"

_SAID: dict[State, tuple[str, Style]] = {
    "contained": ("nothing to do: {base} has all of {head} already", "good"),
    "up-to-date": ("nothing to do: {head} has all of {base} already", "good"),
    "mergeable": (
        "nothing to do: {head} merges with {base} as it is, and no checkpoint is harmed",
        "good",
    ),
    "merged": ("{head} {did}", "good"),
    "conflicts": ("{head} does not merge with {base}: {count} to decide by hand", "bad"),
    "invalid": (
        "{head} was not merged with {base}: a checkpoint would not be valid any more",
        "bad",
    ),
}


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Exit code 1 where something is left to the user."""
    env = network_env(invocation.env)
    request = read_request(args, invocation.cwd, env)
    for _ in range(args.retries or 0):
        try:
            return describe_premerge(request, premerge(request, invocation.now, env))
        except MovedError:
            request = follow(request, env)
    return describe_premerge(request, premerge(request, invocation.now, env))


def describe_premerge(request: Request, done: Premerge) -> Outcome:
    findings: list[Finding] = []
    if done.merged:
        documents = {file.path: file.sides[0] for file in done.merged.files}
        for one in done.merged.remaining:
            findings += _find_remaining(request, one, documents.get(one.path))
    for error in done.errors:
        findings.append(error._replace(message=f"the merge would not be valid though both sides are: {error.message}"))
    blocks = [*_describe(done), *(_advise(request) if findings else [])]
    return Outcome(_data(request, done), blocks, findings, int(bool(findings)), [_summarize(request, done)])


def _find_remaining(request: Request, remaining: Remaining, ours: bytes | None) -> Iterator[Finding]:
    code, hint = _WAYS[remaining.kind]
    path = quote_path(remaining.path)
    places = _locate(ours, [clash.where for clash in remaining.clashes])
    for clash, (line, column) in zip(remaining.clashes, places, strict=True):
        message = (
            f"both sides changed {clash.where or 'the document'}: "
            f"{request.head_name} says {clash.ours}, {request.base_name} says {clash.theirs}"
        )
        where = f" --where {shlex.quote(clash.where)}" if clash.where else ""
        way = hint.format(path=path, where=where)
        if clash.question:
            message = f"{request.head_name} and {request.base_name} together finished all of {clash.where}"
            way = f"say what is next, in a merge on your machine: checkpoint resolve {path} {clash.question}"
        yield Finding(code, "error", message, remaining.path, clash.where, line, column, way)
    if remaining.clashes:
        return
    message, changed = remaining.detail, request.base
    who, _, did = message.partition(" ")
    if remaining.kind == "removed" and who in ("ours", "theirs"):
        mover, other = request.head_name, request.base_name
        if who == "theirs":
            mover, other, changed = other, mover, request.head
        message = f"{mover} {did.removesuffix('the other side changed it')}{other} changed it"
        hint = _MOVED if did.startswith("moved it") else hint
    way = hint.format(path=path, where="", changed=changed[:12])
    yield Finding(code, "error", message, remaining.path, hint=way)


def _locate(data: bytes | None, places: list[str]) -> list[tuple[int, int]]:
    try:
        text = decode(data or b"")
        scan_tokens(text)
        return locate_all(text, places)
    except JsonTextError:
        return [(0, 0)] * len(places)


def _summarize(request: Request, done: Premerge) -> Line:
    text, style = _SAID[done.state]
    if done.pushed:
        did = f"was merged with {request.base_name} and pushed: commit {done.commit[:12]}"
    elif done.commit:
        did = f"was merged with {request.base_name}: commit {done.commit}, not pushed"
    else:
        did = f"would be merged with {request.base_name}"
    count = plural(len(done.merged.remaining) if done.merged else 0, "file")
    return Line(text.format(base=request.base_name, head=request.head_name, did=did, count=count), style)


def _describe(done: Premerge) -> Iterator[Line]:
    if done.merged is None or done.state == "mergeable":
        return
    left = {remaining.path for remaining in done.merged.remaining}
    merged = [file.path for file in done.merged.files if file.path not in left]
    named: tuple[tuple[Sequence[str], str, Style], ...] = (
        (merged, "merged by meaning", "good"),
        (done.plain_conflicts, "in conflict in a text merge", "dim"),
        (done.mixed_up, "merged as text without a conflict, into something that neither side meant", "warn"),
    )
    for paths, what, style in named:
        if paths:
            yield Line(f"{plural(len(paths), 'file')} {what}: {join_some(list(paths), _MOST_NAMED)}", style)
    if done.state in ("conflicts", "invalid") and not done.plain_conflicts:
        yield Line("the forge's own text merge would be clean: its button works, but do not press it", "warn")


def _advise(request: Request) -> list[Line]:
    branch, remote = shlex.quote(request.head_name), shlex.quote(request.remote)
    is_id = request.base.startswith(request.base_name)
    base = shlex.quote(request.base_name if is_id else f"{request.remote}/{request.base_name}")
    return [
        Line("to settle it on your machine:"),
        Line(f"  git fetch {remote} && git switch {branch}"),
        Line(f"  git merge {base}"),
        Line("  checkpoint resolve"),
        Line(f"  git commit && git push {remote} {branch}"),
    ]


def _data(request: Request, done: Premerge) -> dict[str, Any]:
    merged = done.merged
    left = merged.remaining if merged else ()
    return {
        "action": "premerge",
        "state": done.state,
        "base": {"name": request.base_name, "commit": request.base},
        "head": {"name": request.head_name, "commit": request.head, "ref": request.ref or None},
        "merge_bases": list(merged.bases) if merged else [],
        "merged": [file.path for file in merged.files] if merged else [],
        "plain": {"conflicts": list(done.plain_conflicts), "mixed_up": list(done.mixed_up)},
        "remaining": [{**one._asdict(), "clashes": [clash._asdict() for clash in one.clashes]} for one in left],
        "tree": merged.tree if merged and merged.is_clean else None,
        "commit": done.commit or None,
        "pushed": done.pushed,
        "dry_run": request.dry_run,
    }
