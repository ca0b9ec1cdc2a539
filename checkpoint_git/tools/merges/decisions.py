"""What becomes of one unmerged checkpoint: its conflicts decided by a request or a person. It changes nothing."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS
from checkpoint_git.merge.conflicts import Conflict, decide_each, is_about
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.tools.merges.conflicted import Case, describe_sides, find_newest, is_valid, whole_conflict
from checkpoint_git.tools.merges.prompt import MERGE, STAGE, Asker, say_held

Take = Literal["ours", "theirs", "newest", "base"]
TAKES: tuple[Take, ...] = ("ours", "theirs", "newest", "base")
_SIDES = {"ours": OURS, "base": BASE, "theirs": THEIRS}


class Request(NamedTuple):
    """What to decide. paths: as typed, none for every unmerged checkpoint. wheres: JSON Pointers, none for all."""

    paths: Sequence[str] = ()
    take: Take | None = None
    wheres: Sequence[str] = ()
    dry_run: bool = False


class Resolved(NamedTuple):
    """What became of one file.

    conflicts: all it had. sides: those decided, by `where`. staged: it is clean, valid and in the index. removed: it is
    staged as removed. kept_copy: where an edited file was put, relative to the work tree, or "".
    """

    case: Case
    conflicts: Sequence[Conflict] = ()
    sides: Mapping[str, int] = MappingProxyType({})
    findings: Sequence[Finding] = ()
    data: bytes | None = None
    action: Literal["leave", "write", "stage"] = "leave"
    removed: bool = False
    kept_copy: str = ""

    @property
    def staged(self) -> bool:
        """Whether nothing is left to do for this file."""
        return self.action == "stage"

    @property
    def remaining(self) -> list[Conflict]:
        """The conflicts that are still open."""
        return [conflict for conflict in self.conflicts if conflict.where not in self.sides]


def plan_file(case: Case, request: Request, now: int, asker: Asker | None) -> Resolved:
    """What is to become of a file; nothing is changed."""
    if case.blocked:
        return _leave(case, "resolve/not-a-file", case.blocked, "decide it with git: git add, or git rm")
    if case.edited and not request.take:
        valid = is_valid(case.path, case.stored or b"", now)
        answer = asker.ask_edited(case, valid) if asker else ""
        if answer == STAGE:
            return Resolved(case, data=case.stored, action="stage")
        if answer != MERGE:
            return _leave_edited(case, valid)
    refusal = _find_refusal(case, request)
    if refusal:
        return _leave(case, *refusal)
    return _decide(case, _chooser(case, request, asker), now)


def _leave(case: Case, code: str, message: str, hint: str) -> Resolved:
    found = Finding(code, "error", f"not resolved: {message}", case.path, hint=hint)
    return Resolved(case, [] if case.blocked else list_all(case), findings=[found])


def _leave_edited(case: Case, valid: bool) -> Resolved:
    state = "and is a valid checkpoint now" if valid else "and is no valid checkpoint yet"
    hint = "stage it with git add" if valid else "go on editing"
    hint += "; or merge anew with --take, which keeps a copy of it"
    return _leave(case, "resolve/edited", f"the file was edited since the merge, {state}", hint)


def _find_refusal(case: Case, request: Request) -> tuple[str, str, str] | None:
    """Why what --take asks for cannot be had: (code, message, hint)."""
    asked = [conflict for conflict in list_all(case) if _is_asked(conflict, request)]
    if request.take == "newest" and asked and find_newest(case) is None:
        message = "no side is the newer: both have the same updated_at, or one has none that can be read"
        return "resolve/no-newest", message, "take ours or theirs"
    if request.take == "base" and any(not conflict.where and conflict.sides[BASE] is None for conflict in asked):
        return "resolve/no-base", "both sides added the file: there is no version before them", "take ours or theirs"
    return None


def _is_asked(conflict: Conflict, request: Request) -> bool:
    return not request.wheres or any(is_about(conflict, where) for where in request.wheres)


def _chooser(case: Case, request: Request, asker: Asker | None) -> Callable[[Conflict], int | None]:
    """How each conflict of the file is decided; decisions that the file holds stay unless a pointer names them."""
    newest = find_newest(case)

    def choose(conflict: Conflict) -> int | None:
        before = case.chosen.get(conflict.where)
        if not _is_asked(conflict, request) or (before is not None and not request.wheres):
            return before
        if request.take:
            return newest if request.take == "newest" else _SIDES[request.take]
        answer = asker.ask_side(case, conflict) if asker else None
        return before if answer is None else answer

    return choose


def _decide(case: Case, choose: Callable[[Conflict], int | None], now: int) -> Resolved:
    if case.merged is None:
        return _decide_whole(case, choose, now)
    decided = decide_each(case.merged, choose, case.size)
    data = decided.merged.text.encode()
    resolved = Resolved(case, decided.conflicts, decided.sides, data=data)
    if not decided.remaining:
        return _checked(resolved, now)
    resolved = resolved._replace(findings=[_undecided(case, conflict) for conflict in decided.remaining])
    return resolved._replace(action="write") if decided.sides != case.chosen else resolved


def _decide_whole(case: Case, choose: Callable[[Conflict], int | None], now: int) -> Resolved:
    """A file of which one side's version stays, or goes, as a whole."""
    conflict = whole_conflict(case)
    side = choose(conflict)
    if side is None:
        return Resolved(case, [conflict], findings=[_undecided(case, conflict)])
    version = case.unmerged.sides[side]
    resolved = Resolved(case, [conflict], {"": side})
    if version is None:
        return resolved._replace(action="stage", removed=True)
    return _checked(resolved._replace(data=version.data), now)


def _checked(resolved: Resolved, now: int) -> Resolved:
    """A file without open conflicts: to be staged when it is a valid checkpoint, else to be mended."""
    document = check_document(resolved.case.path, resolved.data or b"", now=now)
    if document.is_valid:
        return resolved._replace(action="stage")
    errors = [finding for finding in document.findings if finding.level == "error"]
    message = "decided, but not staged: the result is no valid checkpoint"
    last = Finding("resolve/not-valid", "error", message, resolved.case.path, hint="mend it, then: git add")
    return resolved._replace(action="write", findings=[*errors, last])


def _undecided(case: Case, conflict: Conflict) -> Finding:
    if case.merged is None:
        return Finding("resolve/undecided", "error", f"undecided as a whole: {describe_sides(case)}", case.path)
    ours, base, theirs = (say_held(side) for side in conflict.sides)
    message = f"undecided at {', '.join(conflict.places)}: ours {ours}, theirs {theirs} (base {base})"
    return Finding("resolve/undecided", "error", message, case.path, conflict.where)


def list_all(case: Case) -> list[Conflict]:
    """The conflicts of a case, those included that its decisions brought up."""
    if case.merged is None:
        return [whole_conflict(case)]
    return decide_each(case.merged, lambda conflict: case.chosen.get(conflict.where), case.size).conflicts
