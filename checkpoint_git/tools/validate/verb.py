"""`checkpoint validate`: check whether checkpoints are valid, in the work tree, the index or a
commit.
"""

import os
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line, Outcome, Style
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import find_place, find_repository, is_inside, relative_path
from checkpoint_git.disk.read import FileContent, read_content
from checkpoint_git.git.own_files import find_unmerged, has_nested_folders
from checkpoint_git.protocols.contract import find_files, find_scattered_files, open_room
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.registry import KINDS, find_kind, fixed_paths, is_fixed, protocol_of
from checkpoint_git.protocols.validate import (
    check_together,
    describe_unmerged,
    find_twins,
    iterate_checked,
)

HELP = """\
check checkpoints against the schema and the protocol's rules

examples:
  checkpoint validate                         the nearest .checkpoints folder; \
at the repository root, all of them
  checkpoint validate .checkpoints/build.checkpoint.json
  checkpoint validate --staged                what is staged
  checkpoint validate --rev origin/main       what a commit contains
  checkpoint validate --strict --format github

exit 1: errors (with --strict warnings too)
"""

Files = Iterable[tuple[str, FileContent]]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", help="files or folders; else the nearest .checkpoints"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--staged", action="store_true", help="check what is staged, not the files on disk"
    )
    source.add_argument("--rev", metavar="REV", help="check a commit, branch or tag")


def run(args: Namespace, invocation: Invocation) -> Outcome:
    """Check the files; exit with code 1 on errors, with --strict on warnings too."""
    findings: list[Finding] = []
    checked: list[dict[str, Any]] = []
    fixed: list[Document] = []
    nouns: Counter[str] = Counter()
    for document in iterate_checked(_choose_files(args, invocation), invocation.now):
        findings += document.findings
        checked.append({"path": document.path, "valid": document.is_valid})
        if is_fixed(document.path):
            fixed.append(document)
        nouns[(find_kind(document.path) or KINDS[0]).noun] += 1

    is_all = not (args.staged or args.rev is not None or args.paths)
    findings += check_together(fixed, is_all=is_all)
    findings += find_twins(entry["path"] for entry in checked)
    if args.rev is None:
        findings += _find_unmerged(args, invocation, findings)
    if findings:
        from checkpoint_git.protocols.typed_hints import type_hints

        findings = type_hints(findings, invocation.cwd)

    return _conclude(checked, findings, nouns, is_strict=args.strict)


def _conclude(
    checked: list[dict[str, Any]], findings: list[Finding], nouns: Counter[str], *, is_strict: bool
) -> Outcome:
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    is_failed = bool(errors or (is_strict and warnings))
    data = {"checked": checked, "errors": errors, "warnings": warnings, "strict": is_strict}
    counts = [plural(count, noun) for noun, count in nouns.items()]
    if not counts:
        counts.append(plural(0, KINDS[0].noun))
    text = f"{', '.join(counts)}: {plural(errors, 'error')}, {plural(warnings, 'warning')}"

    style: Style = "good"
    if warnings:
        style = "warn"
    if is_failed:
        style = "bad"
    return Outcome(data, [Line(text, style)], findings, int(is_failed))


def _choose_files(args: Namespace, invocation: Invocation) -> Files:
    if args.staged or args.rev is not None:
        return _read_from_git(args, invocation.cwd, invocation.env)
    if args.paths:
        return read_paths(args.paths, invocation.cwd)
    return _read_project(invocation.cwd, invocation.env)


def _find_unmerged(
    args: Namespace, invocation: Invocation, findings: Iterable[Finding]
) -> list[Finding]:
    """Return a finding for each file that git has as unmerged, unless the findings report its
    conflict markers.
    """
    repository = find_repository(invocation.cwd)
    if not repository:
        return []
    reported = {finding.path for finding in findings if finding.code == "json/conflict-markers"}
    unmerged = find_unmerged(*repository, invocation.env)
    wanted = _choose(unmerged, args.paths, invocation.cwd, repository[0])
    return [describe_unmerged(path) for path in wanted if path not in reported]


def _choose(found: Iterable[str], paths: list[str], cwd: str, top: str) -> list[str]:
    """Return those of the files that the paths name; without paths all of them.

    found: relative to the top. paths: as typed.
    """
    names = [relative_path(os.path.normpath(os.path.join(cwd, path)), top) for path in paths]
    if not names or top in names:
        return list(found)
    return [path for path in found if any(f"{path}/".startswith(f"{name}/") for name in names)]


def _read_project(cwd: str, env: Mapping[str, str]) -> Files:
    """Read all files of the project with the nearest .checkpoints; without one, of the nearest
    folder that has any.

    At the top of a work tree these are the files of every project in it that git tracks: to look
    for others takes a process.
    """
    roots: list[str] = []
    try:
        place = find_place(cwd)
        folder, top = place.root, place.top
        if os.path.abspath(cwd) == place.top and has_nested_folders(place.git_dir or ""):
            roots = _list_roots(cwd, env, tracked=True)
    except CheckpointError:
        folder = os.path.abspath(cwd)
        if not find_files(folder):
            roots = _list_roots(cwd, env)
        repository = find_repository(cwd)
        while not roots and not find_files(folder):
            if (repository and folder == repository[0]) or folder == os.path.dirname(folder):
                raise
            folder = os.path.dirname(folder)
        top = repository[0] if repository else folder

    paths: list[str] = []
    for root in dict.fromkeys([folder, *roots]):
        paths += find_files(root)
    # no link may leave the top
    return ((relative_path(path, top), read_content(path, top)) for path in paths)


def _list_roots(cwd: str, env: Mapping[str, str], *, tracked: bool = False) -> list[str]:
    """Return the folders at or below the current one that have checkpoints; [] outside git."""
    from checkpoint_git.git.worktree import list_roots

    repository = find_repository(cwd)
    if repository is None:
        return []
    return [
        root for root in list_roots(repository[0], env, tracked=tracked) if is_inside(root, cwd)
    ]


def read_paths(paths: list[str], cwd: str) -> Files:
    """Read the files that paths name; a folder means those in it. Raises CheckpointError for a
    path that does not exist. Each file is read when its turn comes; one that is named twice is one
    file.
    """
    found: dict[str, tuple[str, str]] = {}
    repository = find_repository(cwd)
    for path in paths:
        full = os.path.normpath(os.path.join(cwd, path))
        if repository and not os.path.lexists(full):
            # paths are printed from the top
            from_top = os.path.normpath(os.path.join(repository[0], path))
            if os.path.lexists(from_top):
                full = from_top
        found.update(_find_named(full))
    return ((name, read_content(path, top)) for name, (path, top) in found.items())


def _find_named(path: str) -> dict[str, tuple[str, str]]:
    """Return the files that a path means: by the name that is shown, the path and the folder no
    link may leave.
    """
    repository = find_repository(os.path.dirname(path))
    if os.path.isdir(path) and not protocol_of(path):
        top = repository[0] if repository else path
        return _find_in_folder(path, top)
    if not os.path.lexists(path):
        hint = "name a checkpoint file, or a folder with .checkpoints"
        raise CheckpointError(f"{path} does not exist", hint)

    if repository:
        top = repository[0]
    else:
        # shown from its own folder, or from its project's if its name is fixed
        shown = os.path.basename(path)
        for name in fixed_paths():
            if path.endswith(f"/{name}"):
                shown = name
                break
        top = path.removesuffix(f"/{shown}")
    return dict([_name(path, top)])


def _name(path: str, top: str) -> tuple[str, tuple[str, str]]:
    """Return the name that is shown for a file, and the file with the folder no link may leave."""
    kind = find_kind(path)
    base = path.rsplit("/", 3)[0]
    # a file of a kind that may be anywhere is shown from its base at least: its folders say what
    # it must contain
    if kind and not kind.folder and not f"{base}/".startswith(f"{top}/"):
        top = base
    return relative_path(path, top), (path, top)


def _find_in_folder(folder: str, top: str) -> dict[str, tuple[str, str]]:
    """Return the files of a project, or those directly in a folder of checkpoints, or those of
    kinds that may be anywhere.
    """
    find_skill = open_room(KINDS[0].name).layout.find_skill
    paths: list[str] = []
    if not os.path.isdir(os.path.join(folder, KINDS[0].folder)):
        for name in sorted(os.listdir(folder)):
            if find_skill(name):
                paths.append(os.path.join(folder, name))
    paths += find_files(folder)
    if not paths:
        paths += find_scattered_files(folder)
    return dict(_name(path, top) for path in paths)


def _read_from_git(args: Namespace, cwd: str, env: Mapping[str, str]) -> Files:
    from checkpoint_git.git import staged
    from checkpoint_git.git.run import clean_env, read_bare_top

    repository = find_repository(cwd)
    top = repository[0] if repository else None
    # on a server, whose repositories are bare, a commit can be checked too
    if top is None and not args.staged:
        top = read_bare_top(cwd, clean_env(env))
    if top is None:
        message = f"{cwd} is not inside a git repository"
        raise CheckpointError(message, "--staged and --rev read from git")

    if args.staged:
        files = staged.read_staged(top).files
    else:
        files = staged.read_committed(top, args.rev).files
    return files.only(_choose([entry.path for entry in files.entries], args.paths, cwd, top))
