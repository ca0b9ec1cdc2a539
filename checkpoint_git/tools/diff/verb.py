"""`checkpoint diff`: show what changed, one line for each value, in the work tree, the index or
between two commits.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.discover import find_repository
from checkpoint_git.disk.read import read_content
from checkpoint_git.git import objects
from checkpoint_git.git.run import read_names
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import find_kind

HELP = """\
show what changed in checkpoints, one line per value

examples:
  checkpoint diff                       since the last commit
  checkpoint diff build
  checkpoint diff --staged              what is staged
  checkpoint diff --rev main            between a commit and the work tree
  checkpoint diff --rev main..topic     between two commits
"""

_CONTEXT = 1  # unchanged lines around a change
_STYLES: Mapping[str, Style] = {"+": "good", "-": "bad", "@": "dim"}


class Changed(NamedTuple):
    path: str
    before: bytes | None
    after: bytes | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="whose checkpoints, or paths; default: all"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--staged", action="store_true", help="compare the index with the last commit"
    )
    source.add_argument(
        "--rev",
        metavar="A[..B]",
        default="",
        help="compare commit A with the work tree, or with B",
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Show the changes; exit with code 0, whether something changed or not."""
    repository = find_repository(invocation.cwd)
    if repository is None:
        message = f"{invocation.cwd} is not inside a git repository"
        raise CheckpointError(message, command("checkpoint", "diff", more=" compares commits"))

    top = repository[0]
    files: list[dict[str, Any]] = []
    blocks: list[Line] = []
    for changed in sorted(read_changes(top, args.staged, args.rev)):
        if args.names and not _is_named(changed.path, args.names, top, invocation.cwd):
            continue
        lines = diff_values(changed)
        files.append({"path": changed.path, "lines": lines})
        blocks.append(Line(_title(changed), "strong"))
        blocks += [Line(line, _STYLES.get(line[:1], ""), hang=4) for line in lines]

    _refuse_unknown(args.names, [file["path"] for file in files], top, invocation.cwd)
    return Outcome({"files": files}, blocks)


def _title(changed: Changed) -> str:
    if changed.before is None:
        return f"{changed.path} (new)"
    if changed.after is None:
        return f"{changed.path} (deleted)"
    return changed.path


def _refuse_unknown(names: list[str], shown: list[str], top: str, cwd: str) -> None:
    """Raise CheckpointError for a name that git does not know: a mistyped name would look like a
    checkpoint in which nothing changed.
    """
    silent = [
        name for name in names if not any(_is_named(path, [name], top, cwd) for path in shown)
    ]
    if not silent:
        return
    tracked = read_names(["ls-files", "-z", "--full-name", "--", *pathspecs()], top)
    for name in silent:
        is_known = any(_is_named(path, [name], top, cwd) for path in tracked)
        if not is_known and not os.path.lexists(os.path.join(cwd, name)):
            hint = advise("commits are compared with --rev", "checkpoint", "diff", "--rev", "A..B")
            message = f"{escape_controls(name)} names no checkpoint that git has"
            raise CheckpointError(message, hint)


def _is_named(path: str, names: list[str], top: str, cwd: str) -> bool:
    """Whether a file is one of the named checkpoints or paths; a folder means its files."""
    full = os.path.join(top, path) + os.sep
    for name in names:
        if full.startswith(os.path.normpath(os.path.join(cwd, name)) + os.sep):
            return True

    kind = find_kind(path)
    return kind is not None and open_room(kind.name).layout.find_skill(path) in names


def diff_values(changed: Changed) -> list[str]:
    """Return a unified diff of the values, without its header; what is not JSON is compared as
    text.
    """
    kind = find_kind(changed.path)
    first: list[str] = []
    if kind:
        first = list(open_room(kind.name).schema.document["properties"])
    before = _list_values(changed.before, first)
    after = _list_values(changed.after, first)
    return list(unified_diff(before, after, n=_CONTEXT, lineterm=""))[2:]


def _list_values(data: bytes | None, first: list[str]) -> list[str]:
    """Return a document's values, a line each. first: the members to begin with."""
    if data is None:
        return []
    try:
        return list_leaves(jsontext.scan_tokens(jsontext.decode(data)), first)
    except (jsontext.JsonTextError, RecursionError):
        return [escape_controls(line) for line in data.decode("utf-8", "replace").splitlines()]


def read_changes(top: str, staged: bool, rev: str) -> Iterator[Changed]:
    """Yield our files that differ. Raises CheckpointError for a rev that names no commit."""
    old, separator, new = rev.partition("..")
    since = "HEAD"
    if rev:
        since = objects.read_commit(top, old or "HEAD")
    if separator:
        until = objects.read_commit(top, new.removeprefix(".") or "HEAD")
        changes = objects.diff_trees(top, since, until, pathspecs())
    elif staged or not objects.has_commit(top, since):
        changes = objects.diff_index(top, since, pathspecs())
    else:
        changes = objects.diff_work_tree(top, since, pathspecs())

    from_disk = not separator and not staged
    listed = {change.path: change for change in changes}
    for path, change in listed.items():
        if from_disk:
            after = _read_file(path, top)
        else:
            after = _read_entry(change.after, top)
        yield Changed(path, _read_entry(change.old, top), after)

    if from_disk:
        # a first checkpoint is not in the index yet
        options = ["-z", "--others", "--exclude-standard", "--full-name"]
        others = read_names(["ls-files", *options, "--", *pathspecs()], top)
        for path in {*others} - listed.keys():
            yield Changed(path, None, _read_file(path, top))


def _read_entry(entry: objects.TreeEntry | None, top: str) -> bytes | None:
    """Return the content of a file in git; None for none, and for one that is too large."""
    if entry is None or not entry.is_file:
        return None
    (content,) = objects.read_bounded(top, [entry.blob])
    return content if isinstance(content, bytes) else None


def _read_file(path: str, top: str) -> bytes | None:
    content = read_content(os.path.join(top, path), top)
    return content if isinstance(content, bytes) else None
