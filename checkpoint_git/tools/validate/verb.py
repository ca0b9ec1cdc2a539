"""`checkpoint validate`: the gate: are the checkpoints valid, in the work tree, in the index or in a commit?"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from itertools import chain
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import find_place, find_repository, relative_path
from checkpoint_git.protocols.registry import fixed_paths
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.read import Files, iterate_checked

SUMMARY = "check checkpoints against the schema and the protocol's rules"
EXAMPLES = """\
  checkpoint validate                         the nearest .checkpoints folder
  checkpoint validate .checkpoints/build.checkpoint.json
  checkpoint validate --staged                what a commit would take in
  checkpoint validate --rev origin/main       what a commit holds
  checkpoint validate --strict --format github"""

_RECORD = ".yaml"  # how pipeline records end
_DEEPEST = 3  # folders: tickets, their runs, and what is in a run
_MOST_ENTRIES = 100_000  # that are looked at for records


def add_arguments(parser: ArgumentParser) -> None:
    """[PATH...] [--strict] [--staged | --rev REV]."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files or folders; else the nearest .checkpoints")
    parser.add_argument("--strict", action="store_true", help="warnings fail too")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--staged", action="store_true", help="check what is staged, not the files on disk")
    source.add_argument("--rev", metavar="REV", help="check what a commit, branch or tag holds")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 on errors, with --strict on warnings too."""
    checked: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for document in iterate_checked(_read_files(args, invocation), invocation.now):
        findings += document.findings
        checked.append({"path": document.path, "valid": document.is_valid})
    data = {
        "checked": checked,
        "errors": _count(findings, "error"),
        "warnings": _count(findings, "warning"),
        "strict": args.strict,
    }
    failed = data["errors"] or (args.strict and data["warnings"])
    records = sum(row["path"].endswith(_RECORD) for row in checked)
    summary = _summary(len(checked) - records, records, findings, bool(failed))
    return Outcome(data, [summary], findings, 1 if failed else 0)


def _count(findings: list[Finding], level: str) -> int:
    return sum(finding.level == level for finding in findings)


def _summary(files: int, records: int, findings: list[Finding], failed: bool) -> Block:
    errors, warnings = _count(findings, "error"), _count(findings, "warning")
    told = [_plural(files, "checkpoint")] if files or not records else []
    told += [_plural(records, "pipeline record")] if records else []
    text = f"{', '.join(told)}: {_plural(errors, 'error')}, {_plural(warnings, 'warning')}"
    return Line(text, "bad" if failed else "warn" if warnings else "good")


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _read_files(args: Namespace, invocation: Invocation) -> Files:
    if args.staged or args.rev is not None:
        return _read_from_git(args, invocation.cwd, invocation.env)
    if args.paths:
        return read_paths(args.paths, invocation.cwd)
    return _read_project(invocation.cwd)


# the work tree


def _read_project(cwd: str) -> Files:
    """The nearest .checkpoints, and the files of a workflow beside it or, where there are no checkpoints, around us."""
    try:
        place = find_place(cwd)
    except CheckpointError:
        from checkpoint_git.protocols.workflow.store import find_workflow_place

        workflow = find_workflow_place(cwd)
        files = _read_fixed(workflow.root, workflow.top) if workflow else []
        if not files:
            raise
        return files
    return chain(store.read_files(place), _read_fixed(place.root, place.top))


def _read_fixed(root: str, top: str) -> list[tuple[str, store.FileContent]]:
    paths = [os.path.join(root, name) for name in fixed_paths()]
    return [(relative_path(path, top), store.read_content(path, top)) for path in paths if os.path.lexists(path)]


def read_paths(paths: list[str], cwd: str) -> Files:
    """The checkpoints that paths name; a folder stands for the .checkpoints in it. Raises CheckpointError for none.

    Each file is read when its turn comes; one that is named twice is one file.
    """
    found: dict[str, tuple[str, str]] = {}
    for path in paths:
        found.update(_find_files(os.path.normpath(os.path.join(cwd, path))))
    return ((name, store.read_content(path, top)) for name, (path, top) in found.items())


def _find_files(path: str) -> dict[str, tuple[str, str]]:
    """The files that a path stands for: by the name that is shown, the path and the folder no link may leave."""
    repository = find_repository(os.path.dirname(path))
    top = repository[0] if repository else _find_root(path)
    if os.path.isdir(path) and not layout.find_skill(path):
        return _find_in_folder(path, repository[0] if repository else path)
    if not os.path.lexists(path):
        raise CheckpointError(f"{path} does not exist", "name a checkpoint file, or a folder that holds .checkpoints")
    return {relative_path(path, top): (path, top)}


def _find_root(path: str) -> str:
    """Outside git, the folder that a file's name is shown from: its own, or that of its project."""
    fixed = next((name for name in fixed_paths() if path.endswith(f"/{name}")), "")
    return path.removesuffix(f"/{fixed}") if fixed else os.path.dirname(path)


def _find_in_folder(folder: str, top: str) -> dict[str, tuple[str, str]]:
    inner = os.path.join(folder, layout.DIRECTORY)
    folder = inner if os.path.isdir(inner) else folder
    names = sorted(name for name in os.listdir(folder) if layout.find_skill(name))
    paths = [os.path.join(folder, name) for name in names]
    paths += [path for name in fixed_paths() if os.path.lexists(path := os.path.join(os.path.dirname(inner), name))]
    return {relative_path(path, top): (path, top) for path in paths} or _find_records(folder, top)


def _find_records(folder: str, top: str) -> dict[str, tuple[str, str]]:
    """The pipeline records of a folder without checkpoints: a project's, or a base, ticket or run of such."""
    from checkpoint_git.protocols.pipeline.bases import PROJECT_BASE
    from checkpoint_git.protocols.pipeline.layout import find_skill

    inner, seen = os.path.join(folder, PROJECT_BASE), 0
    start = inner if os.path.isdir(inner) else folder
    found = {}
    for parent, folders, files in os.walk(start):
        seen += len(folders) + len(files)
        is_end = parent.count(os.sep) - start.count(os.sep) + 1 >= _DEEPEST or seen > _MOST_ENTRIES
        folders[:] = [] if is_end else sorted(name for name in folders if name != ".git")
        for path in (os.path.join(parent, name) for name in sorted(files)):
            own = find_skill(path)
            if own:  # named from its base at least: what it must say depends on its folders
                base = path.removesuffix(f"/{own}")
                wall = top if base == top or base.startswith(f"{top}/") else base
                found[relative_path(path, wall)] = (path, wall)
    return found


# the index and commits


def _read_from_git(args: Namespace, cwd: str, env: Mapping[str, str]) -> Files:
    from checkpoint_git.git import staged

    work_tree = _find_git_top(cwd, env, bare=not args.staged)
    read = (staged.read_staged(work_tree) if args.staged else staged.read_committed(work_tree, args.rev)).files
    wanted = [relative_path(os.path.normpath(os.path.join(cwd, path)), work_tree) for path in args.paths]
    return [(path, data) for path, data in read if not wanted or _is_wanted(path, wanted)]


def _find_git_top(cwd: str, env: Mapping[str, str], *, bare: bool) -> str:
    """The work tree around a folder, or where one may be meant, the bare repository."""
    from checkpoint_git.git.run import clean_env, read_bare_top  # a server can look at a commit too

    repository = find_repository(cwd)
    top = repository[0] if repository else read_bare_top(cwd, clean_env(env)) if bare else None
    if top is None:
        raise CheckpointError(f"{cwd} is not inside a git repository", "--staged and --rev read from git")
    return top


def _is_wanted(path: str, wanted: list[str]) -> bool:
    return any(path == name or path.startswith(f"{name}/") for name in wanted)
