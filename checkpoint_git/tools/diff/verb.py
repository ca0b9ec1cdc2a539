"""`checkpoint diff`: what changed, one line for each value, in the work tree, the index or between
two commits.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import NamedTuple

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
        "--rev", metavar="A[..B]", default="", help="compare commit A with the work tree, or with B"
    )


def run(args: Namespace, invocation: Invocation) -> Outcome:
    # The verb: exit code 0, whether something changed or not
    repository = find_repository(invocation.cwd)
    if repository is None:
        raise CheckpointError(
            f"{invocation.cwd} is not inside a git repository",
            command("checkpoint", "diff", more=" compares commits"),
        )

    files, blocks = [], list[Line]()
    for changed in sorted(read_changes(repository[0], args.staged, args.rev)):
        if not args.names or _is_named(changed.path, args.names, repository[0], invocation.cwd):
            lines = diff_values(changed)
            files.append({"path": changed.path, "lines": lines})
            what = (
                " (new)"
                if changed.before is None
                else " (deleted)"
                if changed.after is None
                else ""
            )
            blocks.append(Line(changed.path + what, "strong"))
            blocks += [Line(line, _STYLES.get(line[:1], ""), hang=4) for line in lines]

    _refuse_unknown(args.names, [str(one["path"]) for one in files], repository[0], invocation.cwd)
    return Outcome({"files": files}, blocks)


def _refuse_unknown(names: list[str], shown: list[str], top: str, cwd: str) -> None:
    # a mistyped name would look like a checkpoint in which nothing changed
    silent = [
        name for name in names if not any(_is_named(path, [name], top, cwd) for path in shown)
    ]
    tracked = (
        read_names(["ls-files", "-z", "--full-name", "--", *pathspecs()], top) if silent else []
    )
    for name in silent:
        is_known = any(_is_named(path, [name], top, cwd) for path in tracked)
        if not is_known and not os.path.lexists(os.path.join(cwd, name)):
            hint = advise("commits are compared with --rev", "checkpoint", "diff", "--rev", "A..B")
            raise CheckpointError(f"{escape_controls(name)} names no checkpoint that git has", hint)


def _is_named(path: str, names: list[str], top: str, cwd: str) -> bool:
    """Return whether a file is one of the checkpoints or paths that are named; a folder means its
    files.
    """
    kind = find_kind(path)
    full = os.path.join(top, path) + os.sep
    is_below = any(
        full.startswith(os.path.normpath(os.path.join(cwd, name)) + os.sep) for name in names
    )
    return is_below or (kind is not None and open_room(kind.name).layout.find_skill(path) in names)


def diff_values(changed: Changed) -> list[str]:
    """A unified diff of the values, without its header. What is not JSON is compared as text."""
    kind = find_kind(changed.path)
    first = list(open_room(kind.name).schema.document["properties"]) if kind else []
    before, after = (_list_values(data, first) for data in changed[1:])
    return list(unified_diff(before, after, n=_CONTEXT, lineterm=""))[2:]


def _list_values(data: bytes | None, first: list[str]) -> list[str]:
    if data is None:
        return []
    try:
        return list_leaves(jsontext.scan_tokens(jsontext.decode(data)), first)
    except (jsontext.JsonTextError, RecursionError):
        return [escape_controls(line) for line in data.decode("utf-8", "replace").splitlines()]


def read_changes(top: str, staged: bool, rev: str) -> Iterator[Changed]:
    """The files of ours that differ. Raises CheckpointError for a rev that names no commit."""
    old, separator, new = rev.partition("..")
    since = objects.read_commit(top, old or "HEAD") if rev else "HEAD"
    if separator:
        changes = objects.diff_trees(
            top, since, objects.read_commit(top, new.removeprefix(".") or "HEAD"), pathspecs()
        )
    elif staged or not objects.has_commit(top, since):
        changes = objects.diff_index(top, since, pathspecs())
    else:
        changes = objects.diff_work_tree(top, since, pathspecs())

    from_disk, listed = not separator and not staged, {change.path: change for change in changes}
    for path, change in listed.items():
        after = _read_file(path, top) if from_disk else _read_entry(change.after, top)
        yield Changed(path, _read_entry(change.old, top), after)

    if from_disk:  # a first checkpoint is not in the index yet
        words = [
            "ls-files",
            "-z",
            "--others",
            "--exclude-standard",
            "--full-name",
            "--",
            *pathspecs(),
        ]
        for path in {*read_names(words, top)} - listed.keys():
            yield Changed(path, None, _read_file(path, top))


def _read_entry(entry: objects.TreeEntry | None, top: str) -> bytes | None:
    (content,) = objects.read_bounded(top, [entry.blob]) if entry and entry.is_file else (None,)
    return content if isinstance(content, bytes) else None


def _read_file(path: str, top: str) -> bytes | None:
    content = read_content(os.path.join(top, path), top)
    return content if isinstance(content, bytes) else None
