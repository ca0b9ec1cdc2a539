"""What a sync comes to: every file decided, and the commits that say so. Pure; it sends nothing."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.git.objects import Entry, blob_id
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.tools.sync import decide
from checkpoint_git.tools.sync.commits import Change, Draft
from checkpoint_git.tools.sync.decide import Decision, Read, Rules, Sides
from checkpoint_git.tools.sync.files import Work, kind_of, skill_of
from checkpoint_git.tools.sync.state import SENT, TAKEN_IN, WAITING

Entries = dict[str, Entry]  # files by their paths
Side = bytes | Entry | None  # a file as one side has it: its content, git's, or none
How = Literal["sent", "brought", "merged"]
_MOST_NAMED = 5


class Trees(NamedTuple):
    base: Entries
    theirs: Entries
    head: Entries


class Plan(NamedTuple):
    """ours: the work tree's versions that were decided on. open: paths that each side keeps although they differ."""

    decided: dict[str, Decision]
    ours: dict[str, bytes | None]
    open: set[str]
    findings: list[Finding]


def find_clean(work: Work, trees: Trees, like: str) -> dict[str, str]:
    """Files that are as HEAD has them and not as the base has them, each with its blob's id."""
    names = {path: blob_id(data, like) for path, data in work.contents.items() if path in trees.head}
    return {
        path: name
        for path, name in names.items()
        if name == trees.head[path].blob and name != _blob(trees.base.get(path))
    }


def find_ours(
    work: Work, trees: Trees, queued: Mapping[str, bytes | None], like: str, put_back: Iterable[str] = ()
) -> dict[str, Side]:
    """The work tree's side, file by file; an Entry where it has nothing of its own to say, and base's version counts.

    A file that is missing was removed only where HEAD has it or a skill's new history shows that it was archived: else
    another branch may be checked out. queued: what an earlier sync could not send; it counts where the work tree is
    back at the base's version. put_back: by git, in a switch or a reset, to a version that the branch has left behind.
    """
    archived = {_owner(path) for path in work.contents if kind_of(path) == "history" and path not in trees.base}
    ours: dict[str, Side] = {**work.contents}
    ours.update((path, trees.base.get(path)) for path in put_back)
    for path, entry in trees.base.items():
        if path in work.contents or path in work.refused or path in work.sparse:
            continue
        is_gone = path in trees.head or _owner(path) in archived
        ours[path] = None if is_gone else entry
    for path, content in queued.items():
        mine, base = ours.get(path), trees.base.get(path)
        is_back = mine == base or (isinstance(mine, bytes) and base is not None and blob_id(mine, like) == base.blob)
        if is_back and path not in work.refused:
            ours[path] = content
    return ours


def _owner(path: str) -> str:
    """What a skill's checkpoint and its past have in common: the project's folder and the skill."""
    skill = skill_of(path)
    return f"{path.rpartition(f'{skill_layout().DIRECTORY}/')[0]}{skill}" if skill else f"\0{path}"


def list_blobs(trees: Trees, ours: Mapping[str, Side], like: str) -> set[str]:
    needed = set()
    for path in {*trees.base, *trees.theirs, *ours}:
        base, theirs = trees.base.get(path), trees.theirs.get(path)
        mine = _name(ours.get(path, base if path in ours else None), like)
        if mine == _blob(theirs) and not isinstance(ours.get(path), Entry):
            continue
        if isinstance(ours.get(path), Entry) and theirs is not None:
            needed.add(theirs.blob)
        if base != theirs and theirs is not None and theirs.is_file:
            needed.add(theirs.blob)
        if base is not None and mine not in ("", base.blob):
            needed.add(base.blob)
    return needed


def decide_all(
    work: Work, trees: Trees, ours: Mapping[str, Side], read: Read, rules: Rules, like: str, only: str
) -> Plan:
    """Every file that is not the same on both sides. only: a skill, whose files alone are meant; the others stay."""
    plan = Plan({}, {}, set(), list(work.findings))
    hidden = work.sparse - work.contents.keys()
    if only:
        hidden |= {path for path in {*trees.base, *trees.theirs, *ours} if skill_of(path) != only}
        plan.open.update(path for path in hidden if trees.theirs.get(path) != trees.base.get(path))
    for path in sorted({*trees.base, *trees.theirs, *ours} - work.refused - hidden):
        base, theirs, mine = trees.base.get(path), trees.theirs.get(path), ours.get(path)
        held = _name(mine, like)
        if held == _blob(theirs) and isinstance(mine, bytes) == (theirs is not None):
            continue
        content = None if isinstance(mine, Entry) else mine
        sides = Sides(path, base, content, theirs)
        if isinstance(mine, Entry) or (held == _blob(base) and (mine is None) == (base is None)):
            decision = decide.decide_theirs(sides, read, rules)
        elif base == theirs:
            decision = decide.decide_ours(sides, read, rules)
        else:
            decision = decide.decide_both(sides, read, rules)
        plan.findings.extend(decision.findings)
        plan.ours[path] = work.contents.get(path)
        if decision.settled:
            plan.decided[path] = decision
        else:
            plan.open.add(path)
    plan.open.update(path for path in work.refused if trees.theirs.get(path) != trees.base.get(path))
    return plan


def _name(side: Side, like: str) -> str:
    return blob_id(side, like) if isinstance(side, bytes) else _blob(side)


def _blob(entry: Entry | None) -> str:
    return entry.blob if entry else ""


def _differ_from(plan: Plan, entries: Entries, like: str) -> list[Change]:
    """What must change in a commit that has these entries for it to hold everything decided."""
    changes: list[Change] = []
    for path, decision in plan.decided.items():
        entry = entries.get(path)
        if decision.content is None and entry is not None:
            changes.append((path, None))
        elif decision.content is not None and (entry is None or blob_id(decision.content, like) != entry.blob):
            changes.append((path, decision.content))
    return changes


def _carry(source: Entries, target: Entries, decided: Iterable[str]) -> list[Change]:
    """What one commit's files have that another's lack, but for those decided: they come along unchanged."""
    known = set(decided)
    paths = sorted({*source, *target} - known)
    return [(path, source.get(path)) for path in paths if source.get(path) != target.get(path)]


class Shape(NamedTuple):
    """The commits of a sync. send goes to the branch, local is for the checked-out branch, partial is what was taken in
    where something is left open: numbers of drafts, -1 for none. The last draft is the record of what is sent.
    """

    drafts: list[Draft]
    send: int
    local: int
    partial: int


class Ground(NamedTuple):
    """Where the checked-out branch is. common: its merge base with the tip. elsewhere: they differ in other files,
    too.
    """

    head: str
    tip: str
    common: str
    elsewhere: bool


def plan_commits(
    plan: Plan, trees: Trees, common: Entries, ground: Ground | None, tip: str, like: str, older: tuple[str, ...],
    *, sent: bool,
) -> Shape:  # fmt: skip
    """ground: None where the checked-out branch stays as it is. common: the files of the merge base. older: records
    still to be remembered. sent: a push is about to begin; else it waits.
    """
    drafts: list[Draft] = []
    message = _message(plan, trees, like)
    to_tip = _differ_from(plan, trees.theirs, like)
    send = local = -1
    if ground is None or not ground.head or (ground.common == ground.head and not ground.elsewhere):
        if to_tip:
            send = _add(drafts, (tip,) if tip else (), to_tip, message)
            local = send if ground is not None else -1
    else:
        to_common = [*_carry(trees.theirs, common, plan.decided), *_differ_from(plan, common, like)]
        to_head = [*_carry(trees.theirs, trees.head, plan.decided), *_differ_from(plan, trees.head, like)]
        if to_tip or to_head:
            shared: str | int = ground.tip
            if ground.common != ground.tip or to_tip:
                shared = send = _add(drafts, (ground.common,), to_common, message)
            if ground.common != ground.tip:
                send = _add(drafts, (tip, shared), to_tip, f"Merge synced checkpoints\n\n{message}")
            is_head = ground.common == ground.head
            local = shared if is_head and isinstance(shared, int) else -1
            if not is_head and to_head and isinstance(shared, int):
                local = _add(drafts, (ground.head, shared), to_head, f"Merge synced checkpoints\n\n{message}")
    partial = -1
    start: str | int = send if send >= 0 else tip
    left_open: list[Change] = [(path, trees.base.get(path)) for path in sorted(plan.open)]
    if plan.open and start != "":
        partial = _add(drafts, (start,), left_open, TAKEN_IN)
    if send >= 0:  # the record: from the commit to send to what this work tree holds and has taken in so far
        held: list[Change] = [(path, plan.ours[path]) for path in plan.decided]
        said = [SENT if sent else WAITING, "", *(path for path, _ in to_tip)]
        _add(drafts, (send, *older), [*held, *left_open], "\n".join(said))
    return Shape(drafts, send, local, partial)


def _add(drafts: list[Draft], parents: tuple[str | int, ...], changes: list[Change], message: str) -> int:
    drafts.append(Draft(parents, changes, message))
    return len(drafts) - 1


def how_of(plan: Plan, trees: Trees, path: str, like: str) -> How | None:
    """None where nothing was done with it."""
    content, ours, theirs = plan.decided[path].content, plan.ours[path], trees.theirs.get(path)
    is_theirs = (content is None) == (theirs is None) and (content is None or blob_id(content, like) == _blob(theirs))
    if is_theirs:
        return None if content == ours else "brought"
    return "sent" if content == ours else "merged"


def _message(plan: Plan, trees: Trees, like: str) -> str:
    ways = {path: how_of(plan, trees, path, like) for path in plan.decided}
    files = [path.rpartition("/")[2] for path, how in ways.items() if how in ("sent", "merged")]
    names = [file.removesuffix(".json").removesuffix(".checkpoint") for file in files]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"Sync checkpoints: {', '.join(names[:_MOST_NAMED])}{more}" if names else "Sync checkpoints"
