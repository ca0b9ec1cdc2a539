"""`checkpoint resolve`: decide what a merge could not, from git's index, and stage what is clean and valid."""

import argparse
import os
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.atomic import create_file, make_folder, remove_file, write_file
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.git.merges import conflicts as index
from checkpoint_git.git.merges.conflicts import Top, Unmerged
from checkpoint_git.merge.conflicts import Conflict, is_about
from checkpoint_git.protocols.write import Tell, say_waiting
from checkpoint_git.tools.merges.prompt import Asker
from checkpoint_git.tools.merges.unmerged import (
    NAMES,
    TAKES,
    Case,
    Request,
    Resolved,
    list_all,
    plan_file,
    read_case,
    read_raw,
)

SUMMARY = "decide the conflicts of a merge, and stage what is clean"
EXAMPLES = """\
  checkpoint resolve                                asks about every conflict; off a terminal it lists them
  checkpoint resolve --take newest                  the side with the later updated_at, everywhere
  checkpoint resolve .checkpoints/build.checkpoint.json --where /step --take theirs
  git checkout --merge -- PATH                      undoes it: the file with its conflicts is back"""

# git's operation -> (what the two sides are in it, how it goes on)
_OPERATIONS = {
    "merge": ("a merge: ours is your branch, theirs the one that is merged into it", "git commit"),
    "rebase": (
        "a rebase: ours is the branch you rebase onto (upstream), theirs is your commit",
        "git rebase --continue",
    ),
    "cherry-pick": ("a cherry-pick: ours is your branch, theirs the picked commit", "git cherry-pick --continue"),
    "revert": ("a revert: ours is your branch, theirs the state before the reverted commit", "git revert --continue"),
    "am": ("git am: ours is your branch, theirs the patch", "git am --continue"),
    "": ("", ""),
}


class ResolveResult(NamedTuple):
    """operation: git's, "" for none of those known. explained: the user was told already what its sides are.

    skipped: paths that are not unmerged. left: paths that are unmerged afterwards.
    """

    top: Top
    operation: str
    explained: bool
    files: list[Resolved]
    skipped: list[str]
    left: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """[PATH...] [--take SIDE] [--where POINTER]... [--dry-run]."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="an unmerged checkpoint, or a folder (default: all)")
    parser.add_argument("--take", choices=TAKES, help="decide for this side; newest: the later updated_at")
    parser.add_argument(
        "--where", action="append", default=[], metavar="POINTER", help="only the conflicts at this place (repeatable)"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would happen, and do nothing")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 while anything is left to decide or to fix."""
    request = Request(args.paths, args.take, args.where, args.dry_run)
    asks = invocation.interactive and not args.take and not args.dry_run
    asker = Asker(invocation.stdin, invocation.stderr) if asks else None
    result = resolve(invocation.cwd, request, invocation.now, asker, say_waiting(invocation.stderr))
    return _outcome(result, request, invocation.cwd)


def resolve(
    cwd: str, request: Request, now: int, asker: Asker | None = None, on_wait: Tell = lambda: None
) -> ResolveResult:
    """Decides and stages. asker: who is asked about what the request does not decide; None: nobody.

    Raises CheckpointError for a path that git does not know, and for a place at which there is no conflict.
    """
    top = index.read_top(cwd)
    conflicts = index.read_conflicts(top.work_tree)
    chosen, skipped = _select(conflicts, top, cwd, request.paths)
    sizes = index.read_marker_sizes(top.work_tree, [file.path for file in chosen])
    choices = index.read_choices(top.work_tree)
    cases = [read_case(top.work_tree, file, sizes[file.path], choices) for file in chosen]
    _check_wheres(cases, request)
    operation = index.read_operation(top.git_dir)
    if asker:
        asker.preface = _OPERATIONS[operation][0]
    files = []
    for case in cases:
        planned = plan_file(case, request, now, asker)
        files.append(planned if request.dry_run else _apply(top, planned, on_wait))
    staged = {file.case.path for file in files if file.staged}
    left = [*(file.path for file in conflicts.files if file.path not in staged), *conflicts.others]
    explained = asker is not None and not asker.preface
    return ResolveResult(top, operation, explained, files, skipped, left)


# which files


def _select(conflicts: index.Conflicts, top: Top, cwd: str, paths: Sequence[str]) -> tuple[list[Unmerged], list[str]]:
    if not paths:
        return conflicts.files, []
    found: dict[str, Unmerged] = {}
    skipped = []
    for path in paths:
        names = _find_names(path, cwd, top)
        files = [
            file
            for file in conflicts.files
            if any(name in (".", file.path) or file.path.startswith(f"{name}/") for name in names)
        ]
        found.update({file.path: file for file in files})
        if not files:
            _check_known(path, names, conflicts, top)
            skipped.append(path)
    return sorted(found.values()), skipped


def _find_names(path: str, cwd: str, top: Top) -> list[str]:
    # what a path as typed may be called in git: from here, else, as git itself prints paths, from the top
    names = []
    for folder in dict.fromkeys((cwd, top.work_tree)):
        full = os.path.abspath(os.path.join(folder, path))
        real = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        name = os.path.relpath(real, os.path.realpath(top.work_tree))
        if name != os.pardir and not name.startswith(os.pardir + os.sep):
            names.append(name.replace(os.sep, "/"))
    if not names:
        raise CheckpointError(f"{path} lies outside the work tree {top.work_tree}", "name a file of this repository")
    return names


def _check_known(path: str, names: list[str], conflicts: index.Conflicts, top: Top) -> None:
    if any(name in conflicts.others for name in names):
        raise CheckpointError(
            f"{path} is unmerged, but it is no checkpoint", "resolve it as usual: in an editor, or with git mergetool"
        )
    if not any(index.is_tracked(top.work_tree, name) for name in names):
        raise CheckpointError(f"git knows no file {path}", "git status lists what is unmerged")


def _check_wheres(cases: Sequence[Case], request: Request) -> None:
    """Raises CheckpointError for a pointer that names no conflict of any of the files."""
    if not request.wheres or not cases:
        return
    known = [conflict for case in cases for conflict in list_all(case)]
    for where in request.wheres:
        if not any(is_about(conflict, where) for conflict in known):
            places = ", ".join(dict.fromkeys(place or '""' for conflict in known for place in conflict.places))
            raise CheckpointError(f"there is no conflict at {where}", f"there are: {places}" if places else "")


# changing the world


def _apply(top: Top, planned: Resolved, on_wait: Tell) -> Resolved:
    """Writes and stages what was planned, unless the file or git's index changed meanwhile."""
    if planned.action == "leave":
        return planned
    place = Place(top.work_tree, top.work_tree, top.work_tree, top.git_dir)
    with hold_lock(lock_path(place), on_wait=on_wait):
        _check_unchanged(top, planned.case)
        kept = _keep_copy(top, planned)
        _write(top, planned)
        if planned.staged:
            stage = index.stage_removal if planned.removed else index.stage_file
            stage(top.work_tree, planned.case.path)
    return planned._replace(kept_copy=kept)


def _check_unchanged(top: Top, case: Case) -> None:
    same_stages = index.read_stages(top.work_tree).get(case.path) == case.unmerged.stages
    if not same_stages or read_raw(top.work_tree, case.path) != case.raw:
        raise CheckpointError(
            f"{case.path} changed while it was being resolved; it was left as it is now", "run the same command again"
        )


def _keep_copy(top: Top, planned: Resolved) -> str:
    # an edited file that would be replaced, put beside under a new name; that name, "" where nothing is replaced
    case = planned.case
    if not case.edited or case.raw is None or planned.data == case.stored:
        return ""
    for number in range(1, 1000):
        name = f"{case.path}.before-resolve" + (f"-{number}" if number > 1 else "")
        if create_file(os.path.join(top.work_tree, name), case.raw):
            return name
    raise CheckpointError(f"there is no free name for a copy beside {case.path}", "remove the old copies")


def _write(top: Top, planned: Resolved) -> None:
    full = os.path.join(top.work_tree, planned.case.path)
    if planned.removed:
        if planned.case.raw is not None:
            remove_file(full)
    elif planned.data is not None and planned.data != planned.case.stored:
        make_folder(os.path.dirname(full))
        write_file(full, index.read_as_checked_out(top.work_tree, planned.case.path, planned.data))


# what is said


def _outcome(result: ResolveResult, request: Request, cwd: str) -> Outcome:
    data = {
        "dry_run": request.dry_run,
        "operation": result.operation,
        "files": [_file_data(file) for file in result.files],
        "not_unmerged": result.skipped,
        "still_unmerged": result.left,
    }
    findings = [_with_command(finding, cwd, result.top) for file in result.files for finding in file.findings]
    return Outcome(data, _say_start(result), findings, summary=_say_end(result, request, cwd))


def _file_data(file: Resolved) -> dict[str, Any]:
    return {
        "path": file.case.path,
        "kind": file.case.kind,
        "conflicts": [_conflict_data(conflict) for conflict in file.conflicts],
        "decided": [{"where": where, "take": NAMES[side]} for where, side in file.sides.items()],
        "remaining": [conflict.where for conflict in file.remaining],
        "staged": file.staged,
        "removed": file.removed,
        "kept_copy": file.kept_copy or None,
    }


def _conflict_data(conflict: Conflict) -> dict[str, Any]:
    sides = {NAMES[side]: _plain(held.value) for side, held in enumerate(conflict.sides) if held}
    return {"where": conflict.where, "places": list(conflict.places), **sides}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return jsontext.load(value.decode()) if isinstance(value, bytes) else value


def _with_command(finding: Finding, cwd: str, top: Top) -> Finding:
    if finding.code != "resolve/undecided":
        return finding
    where = f" --where {shlex.quote(finding.where)}" if finding.where else ""
    return finding._replace(hint=f"checkpoint resolve {_typed(finding.path, cwd, top)}{where} --take {'|'.join(TAKES)}")


def _typed(path: str, cwd: str, top: Top) -> str:
    relative = os.path.relpath(os.path.join(top.work_tree, path), os.path.realpath(cwd))
    return shlex.quote(f"./{relative}" if relative.startswith("-") else relative)


def _say_start(result: ResolveResult) -> list[Block]:
    lines: list[Block] = [Line(f"{path}: nothing to resolve, it is not unmerged") for path in result.skipped]
    if not result.files:
        return lines or [Line("nothing to resolve: no checkpoint is unmerged")]
    sides = "" if result.explained else _OPERATIONS[result.operation][0]
    return [*lines, Line(sides, "dim")] if sides else lines


def _say_end(result: ResolveResult, request: Request, cwd: str) -> list[Block]:
    lines = [line for file in result.files for line in _say_file(file, request, result.top, cwd)]
    staged = any(file.staged for file in result.files) and not request.dry_run
    if staged and not result.left:
        go_on = _OPERATIONS[result.operation][1]
        lines.append(Line(f"nothing is unmerged any more{f'; go on with: {go_on}' if go_on else ''}", "good"))
    elif result.left and not any(file.findings for file in result.files):
        lines.append(Line(f"still unmerged: {len(result.left)} (git status lists them)", "warn"))
    return list(lines)


def _say_file(file: Resolved, request: Request, top: Top, cwd: str) -> list[Line]:
    if file.action == "leave":
        return []
    done = [f"{where or 'the whole file'}: {NAMES[side]}" for where, side in file.sides.items()]
    deed = "staged as removed" if file.removed else "staged" if file.staged else "written, not staged"
    start = "would be " if request.dry_run else ""
    lines = [Line(f"{file.case.path}: {start}{deed}", "good" if file.staged else "warn")]
    lines += [Line(f"  {text}") for text in done]
    if file.kept_copy:
        lines.append(Line(f"  the edited file was kept as {file.kept_copy}", "warn"))
    if not request.dry_run:
        lines += [Line(f"  {text}", "dim") for text in _say_way_back(file, _typed(file.case.path, cwd, top))]
    return lines


def _say_way_back(file: Resolved, typed: str) -> list[str]:
    ours, _, theirs = file.case.unmerged.sides
    if ours and theirs:
        return [f"undo: git checkout --merge -- {typed}"]
    version = ours or theirs
    if version is None or not file.removed:
        return [f"the other side has no such file: git rm {typed}"] if version else []
    return [f"undo: git show {version.blob[:12]} >{typed} && git add {typed}"]
