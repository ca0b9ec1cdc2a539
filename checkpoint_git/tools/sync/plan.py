"""Plan a sync: decide every file, and the commits to write. Pure: nothing is read, written or
sent.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.git.objects import TreeEntry, blob_id
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.tools.sync import decide
from checkpoint_git.tools.sync.commits import Change, Draft
from checkpoint_git.tools.sync.decide import FileSides, MergeOptions, Read
from checkpoint_git.tools.sync.files import WorkFiles, kind_of, skill_of
from checkpoint_git.tools.sync.state import SENT, WAITING

Entries = dict[str, TreeEntry]  # files by their paths
Side = bytes | TreeEntry | None  # a file as one side has it: its content, git's, or none
How = Literal["sent", "brought", "merged"]


class Trees(NamedTuple):
    """The files of commits. like: the id of any object, which shows the repository's hash."""

    base: Entries
    theirs: Entries
    head: Entries
    like: str

    def find_id(self, side: Side) -> str:
        if isinstance(side, bytes):
            return blob_id(side, self.like)
        return side.blob if side else ""


class SyncPlan(NamedTuple):
    """All by path. decided: the content for both sides, None for no file. ways: what that changes,
    of files that it changes. ours: the work tree's versions that were decided on. open: files that
    each side keeps although they differ.
    """

    decided: dict[str, bytes | None]
    ways: dict[str, How]
    ours: dict[str, bytes | None]
    open: set[str]
    findings: list[Finding]

    def list_paths(self, way: How) -> list[str]:
        return sorted(path for path, how in self.ways.items() if how == way)


def find_clean(work: WorkFiles, trees: Trees) -> dict[str, str]:
    """Return the blobs of files that are as in HEAD, and not as in the base, by path."""
    found = {}
    for path, data in work.contents.items():
        if path not in trees.head:
            continue
        blob = trees.find_id(data)
        if blob == trees.head[path].blob and blob != trees.find_id(trees.base.get(path)):
            found[path] = blob
    return found


def find_ours(
    work: WorkFiles, trees: Trees, queued: Mapping[str, bytes | None], put_back: Iterable[str] = ()
) -> dict[str, Side]:
    """Return the work tree's side, file by file; a TreeEntry if the work tree does not count, and
    the base's version does.

    A missing file was removed only if HEAD has it, or if a skill's new history shows that it was
    archived; otherwise another branch may be checked out.
    queued: what an earlier sync could not send; it counts if the work tree is back at the base's
    version. put_back: files that git put back, in a switch or a reset, to an older version of the
    branch.
    """
    archived = set()
    for path in work.contents:
        if kind_of(path) == "history" and path not in trees.base:
            archived.add(_owner(path))

    ours: dict[str, Side] = {**work.contents}
    for path in put_back:
        ours[path] = trees.base.get(path)
    for path, entry in trees.base.items():
        if path in work.contents or path in work.refused or path in work.sparse:
            continue
        if path in trees.head or _owner(path) in archived:
            ours[path] = None
        else:
            ours[path] = entry

    for path, content in queued.items():
        if path not in work.refused and _is_at_base(trees, path, ours.get(path)):
            ours[path] = content

    return ours


def _is_at_base(trees: Trees, path: str, side: Side) -> bool:
    base = trees.base.get(path)
    if side == base:
        return True
    return isinstance(side, bytes) and trees.find_id(side) == trees.find_id(base)


def _owner(path: str) -> str:
    """Return what names the skill of a file and its place; another name for every other file."""
    skill = skill_of(path)
    if not skill:
        return f"\0{path}"
    place = path.rpartition(f"{skill_layout().DIRECTORY}/")[0]
    return f"{place}{skill}"


def list_blobs(trees: Trees, ours: Mapping[str, Side]) -> set[str]:
    """Return the blobs of the branch and the base that have to be read to decide every file."""
    needed = set()
    for path in {*trees.base, *trees.theirs, *ours}:
        base, theirs, side = trees.base.get(path), trees.theirs.get(path), ours.get(path)
        mine = trees.find_id(side)
        if mine == trees.find_id(theirs) and not isinstance(side, TreeEntry):
            continue
        if theirs is not None:
            is_taken = isinstance(side, TreeEntry)
            is_changed_file = base != theirs and theirs.is_file
            if is_taken or is_changed_file:
                needed.add(theirs.blob)
        if base is not None and mine not in ("", base.blob):
            needed.add(base.blob)
    return needed


def decide_all(
    work: WorkFiles,
    trees: Trees,
    ours: Mapping[str, Side],
    read: Read,
    rules: MergeOptions,
    only: str,
) -> SyncPlan:
    """Decide every file that differs between the sides.

    only: a skill whose files alone are decided; the others stay.
    """
    plan = SyncPlan({}, {}, {}, set(), list(work.findings))
    paths = {*trees.base, *trees.theirs, *ours}
    hidden = work.sparse - work.contents.keys()
    if only:
        hidden |= {path for path in paths if skill_of(path) != only}
        plan.open.update(path for path in hidden if _has_moved(trees, path))

    for path in sorted(paths - work.refused - hidden):
        side = ours.get(path)
        if not _is_settled(trees, path, side):
            decision = _decide_file(trees, path, side, read, rules)
            _note_decision(plan, trees, path, decision, work.contents.get(path))

    plan.open.update(path for path in work.refused if _has_moved(trees, path))
    return plan


def _has_moved(trees: Trees, path: str) -> bool:
    """Whether their version of a file is not the base's."""
    return trees.theirs.get(path) != trees.base.get(path)


def _is_settled(trees: Trees, path: str, side: Side) -> bool:
    """Whether our version of a file is theirs."""
    theirs = trees.theirs.get(path)
    is_same = trees.find_id(side) == trees.find_id(theirs)
    return is_same and isinstance(side, bytes) == (theirs is not None)


def _decide_file(
    trees: Trees,
    path: str,
    side: Side,
    read: Read,
    rules: MergeOptions,
) -> decide.Decision:
    """Decide a file on which the sides differ. side: ours."""
    base = trees.base.get(path)
    theirs = trees.theirs.get(path)
    if isinstance(side, TreeEntry):
        return decide.decide_theirs(FileSides(path, base, None, theirs), read, rules)

    sides = FileSides(path, base, side, theirs)
    is_unchanged = trees.find_id(side) == trees.find_id(base) and (side is None) == (base is None)
    if is_unchanged:
        return decide.decide_theirs(sides, read, rules)
    if base == theirs:
        return decide.decide_ours(sides, read, rules)
    return decide.decide_both(sides, read, rules)


def _note_decision(
    plan: SyncPlan,
    trees: Trees,
    path: str,
    decision: decide.Decision,
    present: bytes | None,
) -> None:
    """Add a decision to a plan. present: the file in the work tree."""
    plan.findings.extend(decision.findings)
    plan.ours[path] = present
    if not decision.settled:
        plan.open.add(path)
        return

    content = decision.content
    plan.decided[path] = content
    theirs = trees.theirs.get(path)
    has_same_id = trees.find_id(content) == trees.find_id(theirs)
    if has_same_id and (content is None) == (theirs is None):
        if content != present:
            plan.ways[path] = "brought"
    elif content == present:
        plan.ways[path] = "sent"
    else:
        plan.ways[path] = "merged"


class Shape(NamedTuple):
    """The commits to write, and the numbers of those to send. The last commit is the record."""

    drafts: list[Draft]
    send: int  # number of the draft for the branch, -1 for none
    local: int  # number of the draft for the checked-out branch, -1 for none


class Ground(NamedTuple):
    """The place of the checked-out branch. common: its merge base with the tip. elsewhere: files
    that are not checkpoints differ too.
    """

    head: str
    tip: str
    common: str
    elsewhere: bool


def plan_commits(
    plan: SyncPlan,
    trees: Trees,
    common: Entries,
    ground: Ground | None,
    tip: str,
    older: tuple[str, ...],
    queued: list[Change],
    *,
    sent: bool,
) -> Shape:
    """Return the commits that bring a plan to both branches.

    ground: None if the checked-out branch stays as it is. common: the files of the merge base.
    older: records still to be remembered. queued: what only those have. sent: a push is about to
    begin; otherwise the commits wait.
    """
    to_tip = _find_changes(plan, trees, trees.theirs)
    if ground is None or _can_be_straight(ground):
        shape = _plan_straight(plan, to_tip, tip, moves_head=ground is not None)
    else:
        shape = _plan_merge(plan, trees, common, ground, to_tip, tip)

    if shape.send >= 0:
        record = _make_record(plan, trees, shape.send, to_tip, older, queued, sent=sent)
        shape.drafts.append(record)

    return shape


def _can_be_straight(ground: Ground) -> bool:
    """Whether the checked-out branch can move to a commit on top of the tip."""
    if not ground.head:
        return True
    return ground.common == ground.head and not ground.elsewhere


def _find_changes(plan: SyncPlan, trees: Trees, entries: Entries) -> list[Change]:
    """Return the changes that turn files of a commit into the tip's and the decided ones."""
    changes: list[Change] = []
    for path in sorted({*trees.theirs, *entries} - plan.decided.keys()):
        theirs = trees.theirs.get(path)
        if theirs != entries.get(path):
            changes.append((path, theirs))
    for path, content in plan.decided.items():
        if trees.find_id(content) != trees.find_id(entries.get(path)):
            changes.append((path, content))
    return changes


def _plan_straight(plan: SyncPlan, to_tip: list[Change], tip: str, *, moves_head: bool) -> Shape:
    """Return one commit on top of the tip, for both branches; none if nothing changes."""
    if not to_tip:
        return Shape([], -1, -1)
    parents = (tip,) if tip else ()
    draft = Draft(parents, to_tip, _describe(plan))
    if moves_head:
        return Shape([draft], 0, 0)
    return Shape([draft], 0, -1)


def _plan_merge(
    plan: SyncPlan,
    trees: Trees,
    common: Entries,
    ground: Ground,
    to_tip: list[Change],
    tip: str,
) -> Shape:
    """Return a commit on top of the merge base, and its merges into the tip and into HEAD."""
    to_head = _find_changes(plan, trees, trees.head)
    if not to_tip and not to_head:
        return Shape([], -1, -1)

    message = _describe(plan)
    merging = f"Merge synced checkpoints\n\n{message}"
    drafts: list[Draft] = []
    send = local = -1
    if ground.common != ground.tip or to_tip:
        changes = _find_changes(plan, trees, common)
        drafts.append(Draft((ground.common,), changes, message))
        send = 0

    has_shared = bool(drafts)
    if ground.common != ground.tip:
        drafts.append(Draft((tip, 0), to_tip, merging))
        send = 1

    if not has_shared:
        return Shape(drafts, send, local)

    if ground.common == ground.head:
        local = 0
    elif to_head:
        drafts.append(Draft((ground.head, 0), to_head, merging))
        local = len(drafts) - 1

    return Shape(drafts, send, local)


def _make_record(
    plan: SyncPlan,
    trees: Trees,
    send: int,
    to_tip: list[Change],
    older: tuple[str, ...],
    queued: list[Change],
    *,
    sent: bool,
) -> Draft:
    """Return the record of a sync: its parent is the commit to send, its tree what this work tree
    has taken in.
    """
    changes: list[Change] = [(path, plan.ours[path]) for path in plan.decided]
    changes += [(path, trees.base.get(path)) for path in sorted(plan.open)]
    changes += queued
    lines = [SENT if sent else WAITING, ""]
    lines += [path for path, _ in to_tip]
    lines += [path for path, _ in queued]
    return Draft((send, *older), changes, "\n".join(lines))


def _describe(plan: SyncPlan) -> str:
    files = [path.rpartition("/")[2] for path, how in plan.ways.items() if how != "brought"]
    names = [file.removesuffix(".json").removesuffix(".checkpoint") for file in files]
    if not names:
        return "Sync checkpoints"
    return f"Sync checkpoints: {join_some(names)}"
