"""`checkpoint resolve`: decide what a merge could not, from git's index, and stage what is clean
and valid.
"""

import argparse
import os
from collections.abc import Sequence

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import Blank, advise, command
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.core.terminal_text import plain_path
from checkpoint_git.disk.atomic import create_beside, make_folder, remove_known, replace_known
from checkpoint_git.disk.discover import Place, find_common_dir
from checkpoint_git.disk.lock import hold_lock, lock_path
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.merges import conflicts as index
from checkpoint_git.git.merges.conflicts import Top, Unmerged
from checkpoint_git.git.objects import read_index
from checkpoint_git.merge.conflicts import NextAnswer, is_about
from checkpoint_git.protocols.registry import is_merged
from checkpoint_git.protocols.write import Tell, say_waiting
from checkpoint_git.tools.merges.asker import Asker
from checkpoint_git.tools.merges.decisions import TAKES, Resolved, ResolveRequest, plan_file
from checkpoint_git.tools.merges.resolve_report import SIDES, ResolveResult, make_outcome
from checkpoint_git.tools.merges.unmerged import Case, list_conflicts, read_case, read_marked_case

HELP = """\
resolve the conflicts of a merge, and stage what is clean

examples:
  checkpoint resolve                                asks about each conflict; \
without a terminal, lists them
  checkpoint resolve --list                         lists them
  checkpoint resolve build --theirs                 always their side
  checkpoint resolve --take newest                  always the side with the later updated_at
  checkpoint resolve .checkpoints/build.checkpoint.json --where /step --take theirs
  checkpoint resolve build --next "Write the docs"  both sides finished \
all there was to do: what is next
  git checkout --merge -- PATH                      undo: bring the conflicts back

exit 1: conflicts remain
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "paths",
        nargs="*",
        metavar="PATH",
        help="an unmerged checkpoint, its name, or a folder (default: all)",
    )
    side = parser.add_mutually_exclusive_group()
    side.add_argument(
        "--take", choices=TAKES, help="the side to take; newest: the later updated_at"
    )
    side.add_argument(
        "--ours", action="store_const", const="ours", dest="take", help="the same as --take ours"
    )
    side.add_argument(
        "--theirs",
        action="store_const",
        const="theirs",
        dest="take",
        help="the same as --take theirs",
    )
    side.add_argument(
        "--list", action="store_true", help="list the conflicts; ask nothing and change nothing"
    )
    add(
        "--where",
        action="append",
        default=[],
        metavar="POINTER",
        help="only conflicts at this place; repeatable",
    )
    add("--next", metavar="TEXT", help="if both sides finished all there was to do: what is next")
    add(
        "--complete",
        action="store_true",
        help="if both sides finished all there was to do: the work is complete",
    )
    add("--dry-run", action="store_true", help="show what would happen, and change nothing")


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """Resolve what can be resolved; exit with code 1 if anything remains to decide or to fix."""
    dry_run = args.dry_run or args.list
    request = ResolveRequest(args.paths, args.take, args.where, dry_run, _read_answer(args))
    asker = None
    if invocation.interactive and not args.take and not dry_run:
        asker = Asker(invocation.stdin, invocation.stderr)

    on_wait = say_waiting(invocation.stderr)
    result = resolve(invocation.cwd, request, invocation.now, asker, on_wait)
    return make_outcome(result, dry_run)


def _read_answer(args: argparse.Namespace) -> NextAnswer | None:
    if args.next is not None and args.complete:
        raise CheckpointError(
            "--next and --complete cannot be combined", "give --next while work is left"
        )
    if args.complete:
        return NextAnswer(None)
    if args.next is None:
        return None
    if args.next.strip() in ("", "..."):
        raise CheckpointError("--next needs a text", 'name it: --next "Write the release notes"')
    return NextAnswer(args.next)


def resolve(
    cwd: str,
    request: ResolveRequest,
    now: int,
    asker: Asker | None = None,
    on_wait: Tell = lambda: None,
) -> ResolveResult:
    """Decide conflicts and stage what is clean.

    asker: asks what the request does not decide; None: nobody is asked.
    Raises CheckpointError for a path that git does not know, and for a place at which there is no
    conflict.
    """
    top = index.read_top(cwd)
    conflicts = index.read_conflicts(top.work_tree)
    marked = [
        index.make_unmerged(path, (None, None, None)) for path in index.list_marked(top.work_tree)
    ]
    conflicts = conflicts._replace(files=sorted([*conflicts.files, *marked]))
    chosen, skipped = _select(conflicts, top, cwd, request.paths)
    cases = _read_cases(top, cwd, chosen)
    _check_wheres(cases, request)
    _check_answer(cases, request)

    operation = read_operation(top.git_dir)
    if asker:
        asker.preface = SIDES[operation]
    files = []
    for case in cases:
        planned = plan_file(case, request, now, asker)
        if not request.dry_run:
            planned = _apply(top, planned, on_wait)
        files.append(planned)

    staged = {file.case.path for file in files if file.is_staged}
    remaining = [file.path for file in conflicts.files if file.path not in staged]
    remaining += conflicts.others
    stash = os.path.join(find_common_dir(top.git_dir), "logs", "refs", "stash")
    return ResolveResult(
        operation=operation,
        explained=asker is not None and not asker.preface,
        files=files,
        skipped=skipped,
        remaining=remaining,
        is_empty=not remaining and index.is_as_committed(top.work_tree),
        has_stash=os.path.exists(stash),
    )


def _read_cases(top: Top, cwd: str, chosen: Sequence[Unmerged]) -> list[Case]:
    """Return each file with its merge made again by the driver that its attributes name."""
    if not chosen:
        return []

    sizes = index.read_marker_sizes(top.work_tree, [file.path for file in chosen])
    user_files = [file.path for file in chosen if not is_merged(file.path)]
    drivers = index.read_drivers(top.work_tree, user_files)
    names = {"checkpoint", *drivers.values()}
    choices = {name: index.read_choices(top.work_tree, name) for name in names}

    cases = []
    here = os.path.realpath(cwd)
    for file in chosen:
        typed = plain_path(os.path.relpath(os.path.join(top.work_tree, file.path), here))
        size = sizes[file.path]
        if file.stages:
            driver = drivers.get(file.path, "checkpoint")
            case = read_case(top.work_tree, file, typed, size, choices[driver])
        else:
            how = choices["checkpoint"]
            case = read_marked_case(top.work_tree, file.path, typed, size, how)
        cases.append(case)

    return cases


def _select(
    conflicts: index.Conflicts, top: Top, cwd: str, paths: Sequence[str]
) -> tuple[list[Unmerged], list[str]]:
    """Return the files that the paths name, and the paths that name no unmerged file."""
    if not paths:
        return conflicts.files, []

    found: dict[str, Unmerged] = {}
    skipped = []
    for path in paths:
        names = _find_names(path, cwd, top)
        matching = {
            file.path: file for file in conflicts.files if _is_named(file.path, path, names)
        }
        found |= matching
        if matching:
            continue
        if any(name in conflicts.others for name in names):
            mergetool = ("git", "mergetool", "--", path)
            hint = advise("resolve it as usual, in an editor or with", *mergetool)
            raise CheckpointError(f"{path} is unmerged, but it is not a checkpoint", hint)
        if not read_index(top.work_tree, [f":(top,literal){name}" for name in names]):
            raise CheckpointError(
                f"git has no file {path}", command("git", "status", more=" lists what is unmerged")
            )
        skipped.append(path)

    return sorted(found.values()), skipped


def _is_named(file: str, path: str, names: Sequence[str]) -> bool:
    """Whether a path as typed, with its names in git, means a file: the file, its folder, or its
    checkpoint's name.
    """
    if os.path.basename(file) == f"{path}.checkpoint.json":
        return True
    return any(name in (".", file) or file.startswith(f"{name}/") for name in names)


def _find_names(path: str, cwd: str, top: Top) -> list[str]:
    """Return the names that a path as typed may have in git: below the current folder, or, as git
    itself prints paths, below the top. Raises CheckpointError for a path outside the work tree.
    """
    names = []
    for folder in dict.fromkeys((cwd, top.work_tree)):
        full = os.path.abspath(os.path.join(folder, path))
        real = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        name = os.path.relpath(real, os.path.realpath(top.work_tree))
        if name != os.pardir and not name.startswith(os.pardir + os.sep):
            names.append(name.replace(os.sep, "/"))

    if not names:
        raise CheckpointError(
            f"{path} is outside the work tree {top.work_tree}", "name a file of this repository"
        )

    return names


def _check_wheres(cases: Sequence[Case], request: ResolveRequest) -> None:
    if not request.wheres or not cases:
        return
    known = [conflict for case in cases for conflict in list_conflicts(case)]
    places = dict.fromkeys(place or '""' for conflict in known for place in conflict.places)
    for where in request.wheres:
        if any(is_about(conflict, where) for conflict in known):
            continue
        message = f"no conflict at {where}"
        if not places:
            raise CheckpointError(message)
        raise CheckpointError(message, f"there are: {', '.join(places)}")


def _check_answer(cases: Sequence[Case], request: ResolveRequest) -> None:
    """Raise CheckpointError if no file, or more than one, asks what the request answers. With
    --take a question may only come up by a decision.
    """
    if request.answer is None:
        return

    asking = [case for case in cases if _asks_what_is_next(case)]
    if not asking and not request.take:
        option = "--complete" if request.answer.item is None else "--next"
        hint = command("checkpoint", "resolve", more=" shows what is undecided")
        raise CheckpointError(f"nothing is asked that {option} answers", hint)

    if len(asking) > 1 and request.answer.item is not None:
        names = ", ".join(case.typed for case in asking)
        hint = advise(
            "name one",
            "checkpoint",
            "resolve",
            asking[0].typed,
            "--next",
            Blank("the next action"),
        )
        raise CheckpointError(f"{len(asking)} files ask what is next: {names}", hint)


def _asks_what_is_next(case: Case) -> bool:
    return any(conflict.question for conflict in list_conflicts(case))


def _apply(top: Top, planned: Resolved, on_wait: Tell) -> Resolved:
    """Write and stage what is planned. Raises CheckpointError, and changes nothing, if the file or
    git's index changed meanwhile.
    """
    if planned.action == "leave":
        return planned

    case = planned.case
    full = os.path.join(top.work_tree, case.path)
    lock = lock_path(Place(top.work_tree, top.work_tree, top.work_tree, top.git_dir))
    with hold_lock(lock, on_wait=on_wait):
        same_stages = index.read_stages(top.work_tree).get(case.path, ()) == case.unmerged.stages
        if not same_stages or read_if_there(full) != case.raw:
            message = f"{case.path} changed while it was being resolved; it was left as it is now"
            raise CheckpointError(message, "run the same command again")

        kept = planned.passed_over
        if case.edited and case.raw is not None and planned.data != case.stored:
            kept = case.raw
        if kept is not None:
            copy = create_beside(full, ".before-resolve", kept)
            planned = planned._replace(kept_copy=os.path.relpath(copy, top.work_tree))

        if planned.data is not None and planned.data != case.stored:
            make_folder(os.path.dirname(full))
            checked_out = index.read_as_checked_out(top.work_tree, case.path, planned.data)
            replace_known(full, case.raw, checked_out)
        if planned.is_removed and case.raw is not None:
            remove_known(full, case.raw)
        if planned.is_staged:
            index.stage_path(top.work_tree, case.path, removed=planned.is_removed)

    return planned
