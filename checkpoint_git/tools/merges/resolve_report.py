"""Show what `checkpoint resolve` did: for the user and for programs."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext, jsonwrite
from checkpoint_git.core.hint import AnyHint, Argv, Hint, advise, chain, command, join_hints
from checkpoint_git.core.outcome import Line, Outcome
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.merge.conflicts import Conflict, Decision, NextAnswer
from checkpoint_git.protocols.registry import own_folders
from checkpoint_git.tools.merges.decisions import Resolved, list_fields
from checkpoint_git.tools.merges.unmerged import NAMES

# git's operation -> what its two sides are
SIDES = {
    "merge": "merging: ours = your branch, theirs = the branch being merged",
    "rebase": "rebasing: ours = the branch you rebase onto (upstream), theirs = your commit",
    "cherry-pick": "cherry-picking: ours = your branch, theirs = the picked commit",
    "revert": "reverting: ours = your branch, theirs = the state before the reverted commit",
    "am": "applying a patch: ours = your branch, theirs = the patch",
    "": "",
}


class ResolveResult(NamedTuple):
    """operation: git's, "" for an unknown one. explained: the user has seen its sides already.
    skipped: paths that were not unmerged. remaining: paths that still are.
    is_empty: nothing is staged that HEAD lacks.
    """

    operation: str
    explained: bool
    files: list[Resolved]
    skipped: list[str]
    remaining: list[str]
    is_empty: bool
    has_stash: bool


def make_outcome(result: ResolveResult, dry_run: bool) -> Outcome:
    findings = [finding for file in result.files for finding in file.findings]
    changed = [file for file in result.files if file.action != "leave"]
    end = [line for file in changed for line in _describe(file, dry_run)]
    end += _summarize(result, dry_run, bool(findings))
    hidden = any(_is_archive(path) for path in result.remaining)
    if hidden:
        end += _warn_of_archive(result.operation)

    data = {
        "dry_run": dry_run,
        "operation": result.operation,
        "files": [_file_data(file) for file in result.files],
        "not_unmerged": result.skipped,
        "still_unmerged": result.remaining,
    }
    return Outcome(data, _introduce(result), findings, exit_code=int(hidden) or None, summary=end)


def _introduce(result: ResolveResult) -> list[Line]:
    sides = SIDES[result.operation]
    lines = [Line(f"{path}: nothing to resolve, it is not unmerged") for path in result.skipped]
    if not (result.files or result.skipped):
        lines.append(Line("nothing to resolve: no checkpoint is unmerged"))
    elif result.files and sides and not result.explained:
        lines.append(Line(sides, "dim"))
    return [*lines, *(line for file in result.files for line in _list_groups(file))]


def _list_groups(file: Resolved) -> Iterator[Line]:
    """Yield what each side says in the fields that are decided together, of what is undecided."""
    for conflict in file.conflicts:
        if len(conflict.places) > 1 and conflict.where not in file.sides:
            yield Line(f"{file.case.path}: decided together:", "strong")
            for text in list_fields(conflict):
                yield Line(f"  {text}", hang=4)


def _summarize(result: ResolveResult, dry_run: bool, has_findings: bool) -> list[Line]:
    count = len(result.remaining)
    if not count and not dry_run and any(file.is_staged for file in result.files):
        return [Line("all conflicts resolved; finish with", "good", hint=_find_next_step(result))]
    if count and not has_findings:
        hint = command("git", "status", more=" lists them")
        return [Line(f"still unmerged: {count}", "warn", hint=hint)]
    return []


def _find_next_step(result: ResolveResult) -> Hint:
    operation = result.operation
    if result.is_empty and operation in ("cherry-pick", "revert", "am"):
        return command("git", operation, "--skip", more=" (nothing is left of it to commit)")
    if not operation and result.has_stash:
        return join_hints(
            command("git", "commit"),
            advise("a popped stash is still there", "git", "stash", "drop"),
        )
    if operation in ("", "merge"):
        return command("git", "commit")
    return command("git", operation, "--continue")


def _warn_of_archive(operation: str) -> list[Line]:
    if not operation:
        return []
    again = ", then the same with --strategy recursive -X no-renames"
    hint = command("git", operation, "--abort", more=again)
    text = "git took an archive for a rename, and open work may be in it"
    return [Line(text, "warn", hint=hint)]


def _is_archive(path: str) -> bool:
    # a file below one of our folders whose name begins with a dot
    return any(f"/{path}".partition(f"/{folder}")[2][:1] == "." for folder in own_folders())


def _describe(file: Resolved, dry_run: bool) -> list[Line]:
    """Return what happened to a file, how it was decided, and how that is undone."""
    done = "written, not staged"
    if file.is_removed:
        done = "staged as removed"
    elif file.is_staged:
        done = "staged"
    if dry_run:
        done = f"would be {done}"

    lines = [Line(f"{file.case.path}: {done}", "good" if file.is_staged else "warn")]
    for where, decision in file.sides.items():
        lines.append(Line(f"  {where or 'the whole file'}: {_name_decision(decision)}"))
    if file.kept_copy:
        what = "the edited file" if file.case.edited else "the other side"
        lines.append(Line(f"  {what} was kept as {file.kept_copy}", "warn"))

    if not dry_run:
        way_back = _find_way_back(file)
        if way_back:
            lines.append(Line("  ", "dim", hint=way_back))

    return lines


def _find_way_back(file: Resolved) -> AnyHint:
    """Return the commands that bring the conflict back; "" for none."""
    typed = file.case.typed
    ours, _, theirs = file.case.unmerged.sides
    version = ours or theirs
    if not file.case.unmerged.stages:
        return ""
    if ours and theirs:
        return advise("undo", "git", "checkout", "--merge", "--", typed)
    if version is None:
        return ""
    if not file.is_removed:
        return advise("the other side has no such file", "git", "rm", typed)

    stored = f"{version.mode},{version.blob},{file.case.path}"
    commands: tuple[Argv, ...] = (
        ("git", "update-index", "--add", "--cacheinfo", stored),
        ("git", "checkout-index", "--force", "--", typed),
    )
    return chain("undo", commands)


def _file_data(file: Resolved) -> dict[str, Any]:
    undecided = [conflict for conflict in file.conflicts if conflict.where not in file.sides]
    return {
        "path": file.case.path,
        "kind": file.case.kind,
        "conflicts": [_conflict_data(conflict) for conflict in file.conflicts],
        "decided": [_decision_data(where, decision) for where, decision in file.sides.items()],
        "remaining": [conflict.where for conflict in undecided],
        "staged": file.is_staged,
        "removed": file.is_removed,
        "kept_copy": file.kept_copy or None,
    }


def _name_decision(decision: Decision) -> str:
    if not isinstance(decision, NextAnswer):
        return NAMES[decision]
    if decision.item is None:
        return "complete"
    return f"next: {escape_controls(shorten(decision.item, 80))}"


def _decision_data(where: str, decision: Decision) -> dict[str, Any]:
    if not isinstance(decision, NextAnswer):
        return {"where": where, "take": NAMES[decision]}
    if decision.item is None:
        return {"where": where, "take": "complete"}
    return {"where": where, "take": "next", "next": decision.item}


def _conflict_data(conflict: Conflict) -> dict[str, Any]:
    data: dict[str, Any] = {"where": conflict.where, "places": list(conflict.places)}
    for number, side in enumerate(conflict.sides):
        if side:
            data[NAMES[number]] = jsontext.load(jsonwrite.render(side.value))
    if conflict.question:
        data["asks"] = "next"
    return data
