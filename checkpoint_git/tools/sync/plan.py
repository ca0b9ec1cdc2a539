"""What a sync comes to: every file decided, and the commits that say so. Pure; it sends nothing."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import join_some
from checkpoint_git.git.objects import Entry, blob_id
from checkpoint_git.protocols.contract import skill_layout
from checkpoint_git.tools.sync import decide
from checkpoint_git.tools.sync.commits import Change, Draft
from checkpoint_git.tools.sync.decide import Read, Rules, Sides
from checkpoint_git.tools.sync.files import Work, kind_of, skill_of
from checkpoint_git.tools.sync.state import SENT, WAITING

Entries = dict[str, Entry]  # files by their paths
Side = bytes | Entry | None  # a file as one side has it: its content, git's, or none
How = Literal["sent", "brought", "merged"]


class Trees(NamedTuple):
    """like: any object's id, which tells the repository's hash."""

    base: Entries
    theirs: Entries
    head: Entries
    like: str

    def find_id(self, side: Side) -> str:
        if isinstance(side, bytes):
            return blob_id(side, self.like)
        return side.blob if side else ""


class Plan(NamedTuple):
    """By path. decided: the content for both sides, None for no file. ways: what that does, where it does something.
    ours: the work tree's versions that were decided on. open: those that each side keeps although they differ.
    """

    decided: dict[str, bytes | None]
    ways: dict[str, How]
    ours: dict[str, bytes | None]
    open: set[str]
    findings: list[Finding]

    def list_paths(self, way: How) -> list[str]:
        return sorted(path for path, how in self.ways.items() if how == way)


def find_clean(work: Work, trees: Trees) -> dict[str, str]:
    names = {path: trees.find_id(data) for path, data in work.contents.items() if path in trees.head}
    return {
        path: name
        for path, name in names.items()
        if name == trees.head[path].blob and name != trees.find_id(trees.base.get(path))
    }


def find_ours(
    work: Work, trees: Trees, queued: Mapping[str, bytes | None], put_back: Iterable[str] = ()
) -> dict[str, Side]:
    """The work tree's side, file by file; an Entry where it has nothing of its own to say, and base's version counts. A
    file that is missing was removed only where HEAD has it or a skill's new history shows that it was archived: else
    another branch may be checked out. queued: what an earlier sync could not send; it counts where the work tree is
    back at the base's version. put_back: by git, in a switch or a reset, to a version that the branch has left behind.
    """
    archived = {_owner(path) for path in work.contents if kind_of(path) == "history" and path not in trees.base}
    ours: dict[str, Side] = {**work.contents, **{path: trees.base.get(path) for path in put_back}}
    for path, entry in trees.base.items():
        if path not in work.contents and path not in work.refused and path not in work.sparse:
            ours[path] = None if (path in trees.head or _owner(path) in archived) else entry
    for path, content in queued.items():
        mine, base = ours.get(path), trees.base.get(path)
        is_back = mine == base or (isinstance(mine, bytes) and trees.find_id(mine) == trees.find_id(base))
        if is_back and path not in work.refused:
            ours[path] = content
    return ours


def _owner(path: str) -> str:
    skill = skill_of(path)
    return f"{path.rpartition(f'{skill_layout().DIRECTORY}/')[0]}{skill}" if skill else f"\0{path}"


def list_blobs(trees: Trees, ours: Mapping[str, Side]) -> set[str]:
    needed = set()
    for path in {*trees.base, *trees.theirs, *ours}:
        base, theirs, side = trees.base.get(path), trees.theirs.get(path), ours.get(path)
        mine = trees.find_id(side)
        if mine == trees.find_id(theirs) and not isinstance(side, Entry):
            continue
        if theirs is not None and (isinstance(side, Entry) or (base != theirs and theirs.is_file)):
            needed.add(theirs.blob)
        if base is not None and mine not in ("", base.blob):
            needed.add(base.blob)
    return needed


def decide_all(work: Work, trees: Trees, ours: Mapping[str, Side], read: Read, rules: Rules, only: str) -> Plan:
    """Every file that differs between the sides. only: a skill whose files alone are meant; the others stay."""
    plan = Plan({}, {}, {}, set(), list(work.findings))
    paths = {*trees.base, *trees.theirs, *ours}
    hidden = work.sparse - work.contents.keys()
    if only:
        hidden |= {path for path in paths if skill_of(path) != only}
        plan.open.update(path for path in hidden if trees.theirs.get(path) != trees.base.get(path))
    for path in sorted(paths - work.refused - hidden):
        base, theirs, mine = trees.base.get(path), trees.theirs.get(path), ours.get(path)
        held, there = trees.find_id(mine), trees.find_id(theirs)
        if held == there and isinstance(mine, bytes) == (theirs is not None):
            continue
        sides = Sides(path, base, None if isinstance(mine, Entry) else mine, theirs)
        if isinstance(mine, Entry) or (held == trees.find_id(base) and (mine is None) == (base is None)):
            decision = decide.decide_theirs(sides, read, rules)
        elif base == theirs:
            decision = decide.decide_ours(sides, read, rules)
        else:
            decision = decide.decide_both(sides, read, rules)
        plan.findings.extend(decision.findings)
        here = plan.ours[path] = work.contents.get(path)
        if not decision.settled:
            plan.open.add(path)
            continue
        content = plan.decided[path] = decision.content
        if (content is None) == (theirs is None) and trees.find_id(content) == there:
            if content != here:
                plan.ways[path] = "brought"
        else:
            plan.ways[path] = "sent" if content == here else "merged"
    plan.open.update(path for path in work.refused if trees.theirs.get(path) != trees.base.get(path))
    return plan


class Shape(NamedTuple):
    """Numbers of drafts, -1 for none: send for the branch, local for the checked-out one. The last is the record."""

    drafts: list[Draft]
    send: int
    local: int


class Ground(NamedTuple):
    """Where the checked-out branch is. common: its merge base with the tip. elsewhere: other files differ too."""

    head: str
    tip: str
    common: str
    elsewhere: bool


def plan_commits(
    plan: Plan, trees: Trees, common: Entries, ground: Ground | None, tip: str, older: tuple[str, ...],
    queued: list[Change], *, sent: bool,
) -> Shape:  # fmt: skip
    """ground: None where the checked-out branch stays as it is. common: the files of the merge base. older: records
    still to be remembered. queued: what they alone hold. sent: a push is about to begin; else it waits.
    """
    drafts: list[Draft] = []

    def add(parents: tuple[str | int, ...], changes: list[Change], message: str) -> int:
        drafts.append(Draft(parents, changes, message))
        return len(drafts) - 1

    def carry(entries: Entries) -> list[Change]:
        paths = sorted({*trees.theirs, *entries} - plan.decided.keys())
        others: list[Change] = [
            (path, trees.theirs.get(path)) for path in paths if trees.theirs.get(path) != entries.get(path)
        ]
        return others + [
            (path, content)
            for path, content in plan.decided.items()
            if trees.find_id(content) != trees.find_id(entries.get(path))
        ]

    message = _describe(plan)
    to_tip = carry(trees.theirs)
    send = local = -1
    if ground is None or not ground.head or (ground.common == ground.head and not ground.elsewhere):
        if to_tip:
            send = add((tip,) if tip else (), to_tip, message)
            local = send if ground is not None else -1
    else:
        to_head = carry(trees.head)
        if to_tip or to_head:
            shared: str | int = ground.tip
            if ground.common != ground.tip or to_tip:
                shared = send = add((ground.common,), carry(common), message)
            if ground.common != ground.tip:
                send = add((tip, shared), to_tip, f"Merge synced checkpoints\n\n{message}")
            is_head = ground.common == ground.head
            local = shared if is_head and isinstance(shared, int) else -1
            if not is_head and to_head and isinstance(shared, int):
                local = add((ground.head, shared), to_head, f"Merge synced checkpoints\n\n{message}")
    if send >= 0:  # the record: from the commit to send to what this work tree holds and has taken in so far
        held: list[Change] = [(path, plan.ours[path]) for path in plan.decided]
        said = [SENT if sent else WAITING, "", *(path for path, _ in to_tip), *(path for path, _ in queued)]
        left_open: list[Change] = [(path, trees.base.get(path)) for path in sorted(plan.open)]
        add((send, *older), [*held, *left_open, *queued], "\n".join(said))
    return Shape(drafts, send, local)


def _describe(plan: Plan) -> str:
    files = [path.rpartition("/")[2] for path, how in plan.ways.items() if how != "brought"]
    names = [file.removesuffix(".json").removesuffix(".checkpoint") for file in files]
    return f"Sync checkpoints: {join_some(names)}" if names else "Sync checkpoints"
