"""`checkpoint ci merge`: report what happened to a pull request, to the user, a program or a
forge's page.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Argv, Blank, advise, chain, join_hints
from checkpoint_git.core.jsonplace import locate_all
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import join_some, plain_path, plural
from checkpoint_git.git.remotes import network_env
from checkpoint_git.tools.merges.premerge import MovedError, Premerge, State, premerge
from checkpoint_git.tools.merges.pull_request import PullRequest, follow, read_request
from checkpoint_git.tools.merges.tree_merge import Kind, Remaining

_MOST_NAMED = 20  # paths in one line

_CODES: dict[Kind, str] = {
    "checkpoint": "premerge/conflict",
    "text": "premerge/no-json",
    "too-large": "premerge/too-large",
    "record": "premerge/record",
    "file": "premerge/file",
    "binary": "premerge/file",
    "removed": "premerge/removed",
    "renamed": "premerge/renamed",
    "mode": "premerge/mode",
    "type": "premerge/type",
}
_HERE = "in a merge on your machine"

_SUMMARIES: dict[State, tuple[str, Style]] = {
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
    """Merge a pull request; exit with code 1 if something is left to the user."""
    env = network_env(invocation.env)
    request = read_request(args, invocation.cwd, env)
    for _ in range(args.retries or 0):
        try:
            return describe_premerge(request, premerge(request, invocation.now, env))
        except MovedError:
            request = follow(request, env)
    return describe_premerge(request, premerge(request, invocation.now, env))


def describe_premerge(request: PullRequest, done: Premerge) -> Outcome:
    findings: list[Finding] = []
    if done.merged:
        documents = {file.path: file.sides[0] for file in done.merged.files}
        for remaining in done.merged.remaining:
            findings += _find_remaining(request, remaining, documents.get(remaining.path))

    for error in done.errors:
        message = f"the merge would not be valid though both sides are: {error.message}"
        findings.append(error._replace(message=message))

    blocks = list(_describe(done))
    if findings:
        blocks += _advise(request)
    summary = [_summarize(request, done)]
    return Outcome(_data(request, done), blocks, findings, int(bool(findings)), summary)


def _find_remaining(
    request: PullRequest, remaining: Remaining, ours: bytes | None
) -> Iterator[Finding]:
    if remaining.clashes:
        yield from _find_clashes(request, remaining, ours)
        return

    message = remaining.detail
    changed = request.base[:12]
    path = plain_path(remaining.path)
    hint = _advise_file(remaining.kind, path, changed)
    who, _, did = message.partition(" ")
    if remaining.kind == "removed" and who in ("ours", "theirs"):
        mover, other = request.head_name, request.base_name
        if who == "theirs":
            mover, other = other, mover
            changed = request.head[:12]
        message = f"{mover} {did.removesuffix('the other side changed it')}{other} changed it"
        hint = _advise_removed(path, changed, is_moved=did.startswith("moved it"))

    yield Finding(_CODES[remaining.kind], "error", message, remaining.path, hint=hint)


def _find_clashes(
    request: PullRequest, remaining: Remaining, ours: bytes | None
) -> Iterator[Finding]:
    """Yield a finding for each place of a checkpoint that both sides changed."""
    code = _CODES[remaining.kind]
    resolve = ("checkpoint", "resolve", plain_path(remaining.path))
    places = _locate(ours, [clash.where for clash in remaining.clashes])
    for clash, (line, column) in zip(remaining.clashes, places, strict=True):
        if clash.question:
            both = f"{request.head_name} and {request.base_name}"
            message = f"{both} together finished all of {clash.where}"
            next_action = Blank("the next action")
            hint = advise(f"add what is next, {_HERE}", *resolve, "--next", next_action)
            if "--complete" in clash.question:
                hint = join_hints(hint, advise("or, if all is done", *resolve, "--complete"))
        else:
            message = (
                f"both sides changed {clash.where or 'the document'}: "
                f"{request.head_name} says {clash.ours}, {request.base_name} says {clash.theirs}"
            )
            argv: Argv = (*resolve, "--take", "ours")
            if clash.where:
                argv = (*resolve, "--where", clash.where, "--take", "ours")
            hint = advise(f"take ours or theirs, {_HERE}", *argv)
        yield Finding(code, "error", message, remaining.path, clash.where, line, column, hint)


def _advise_file(kind: Kind, path: str, changed: str) -> AnyHint:
    """Return what to do about a file that is not merged. changed: the commit that has another
    version of it.
    """
    add: Argv = ("git", "add", path)
    match kind:
        case "record":
            return ""
        case "removed":
            return _advise_removed(path, changed, is_moved=False)
        case "too-large":
            text = "on the branch that has it, move closed entries into history"
            return advise(text, "checkpoint", "rotate")
        case "binary":
            return join_hints(
                chain(f"to keep ours, {_HERE}", (("git", "checkout", "--ours", path), add)),
                chain("to keep theirs", (("git", "checkout", "--theirs", path), add)),
            )
        case "renamed":
            kept = Blank("the name to keep", "NAME")
            other = Blank("the other name", "OTHER")
            return join_hints(
                advise(f"{_HERE}, add the name to keep", "git", "add", kept),
                advise("and remove the other", "git", "rm", other),
            )
        case "mode":
            return join_hints(
                chain(f"to make it executable, {_HERE}", (("chmod", "+x", path), add)),
                chain("to make it a plain file", (("chmod", "-x", path), add)),
            )
        case "text":
            return advise(f"write it as JSON {_HERE}, then", *add)
        case "type":
            return advise(f"keep one of the two {_HERE}, then", *add)
        case _:
            return advise(f"settle the marked lines {_HERE}, then", *add)


def _advise_removed(path: str, changed: str, *, is_moved: bool) -> AnyHint:
    """Return what to do about a file that one side removed or moved, and the other changed in a
    commit.
    """
    if is_moved:
        text = "git merge does not report it; to bring it back after the merge"
        return advise(text, "git", "checkout", changed, "--", path)
    return join_hints(
        advise(f"to keep it, {_HERE}", "git", "checkout", changed, "--", path),
        advise("to remove it", "git", "rm", path),
    )


def _locate(data: bytes | None, places: list[str]) -> list[tuple[int, int]]:
    try:
        text = decode(data or b"")
        scan_tokens(text)
        return locate_all(text, places)
    except JsonTextError:
        return [(0, 0)] * len(places)


def _summarize(request: PullRequest, done: Premerge) -> Line:
    text, style = _SUMMARIES[done.state]
    if done.pushed:
        did = f"was merged with {request.base_name} and pushed: commit {done.commit[:12]}"
    elif done.commit:
        did = f"was merged with {request.base_name}: commit {done.commit}, not pushed"
    else:
        did = f"would be merged with {request.base_name}"

    remaining = done.merged.remaining if done.merged else ()
    count = plural(len(remaining), "file")
    return Line(
        text.format(base=request.base_name, head=request.head_name, did=did, count=count), style
    )


def _describe(done: Premerge) -> Iterator[Line]:
    if done.merged is None or done.state == "mergeable":
        return
    conflicts = {remaining.path for remaining in done.merged.remaining}
    merged = [file.path for file in done.merged.files if file.path not in conflicts]
    named: tuple[tuple[Sequence[str], str, Style], ...] = (
        (merged, "merged field by field", "good"),
        (done.plain_conflicts, "in conflict in a text merge", "dim"),
        (
            done.mixed_up,
            "merged as text without a conflict, into something that neither side meant",
            "warn",
        ),
    )
    for paths, what, style in named:
        if paths:
            names = join_some(list(paths), _MOST_NAMED)
            yield Line(f"{plural(len(paths), 'file')} {what}: {names}", style)

    if done.state in ("conflicts", "invalid") and not done.plain_conflicts:
        yield Line(
            "the forge's own text merge would be clean: its button works, but do not press it",
            "warn",
        )


def _advise(request: PullRequest) -> list[Line]:
    """Return the commands that settle the conflicts, a line for each step."""
    branch = request.head_name
    remote = request.remote
    base = f"{remote}/{request.base_name}"
    if request.base.startswith(request.base_name):
        base = request.base_name  # an id

    steps: list[list[Argv]] = [
        [("git", "fetch", remote), ("git", "switch", branch)],
        [("git", "merge", base)],
        [("checkpoint", "resolve")],
        [("git", "commit"), ("git", "push", remote, branch)],
    ]
    lines = [Line("  ", hint=chain("", commands)) for commands in steps]
    return [Line("to settle it on your machine:"), *lines]


def _data(request: PullRequest, done: Premerge) -> dict[str, Any]:
    bases: list[str] = []
    files: list[str] = []
    remaining: list[dict[str, Any]] = []
    tree = None
    if done.merged:
        bases = list(done.merged.bases)
        files = [file.path for file in done.merged.files]
        remaining = [_remaining_data(conflict) for conflict in done.merged.remaining]
        if done.merged.is_clean:
            tree = done.merged.tree

    return {
        "action": "premerge",
        "state": done.state,
        "base": {"name": request.base_name, "commit": request.base},
        "head": {"name": request.head_name, "commit": request.head, "ref": request.ref or None},
        "merge_bases": bases,
        "merged": files,
        "plain": {"conflicts": list(done.plain_conflicts), "mixed_up": list(done.mixed_up)},
        "remaining": remaining,
        "tree": tree,
        "commit": done.commit or None,
        "pushed": done.pushed,
        "dry_run": request.dry_run,
    }


def _remaining_data(remaining: Remaining) -> dict[str, Any]:
    return {**remaining._asdict(), "clashes": [clash._asdict() for clash in remaining.clashes]}
