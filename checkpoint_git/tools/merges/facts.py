"""What merges did to checkpoints, and what the next one would do, as values."""

import zlib
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from checkpoint_git.merge.conflicts import Clash

Kind = Literal["whole", "clean", "conflict", "removed-here", "removed-there", "text"]
Harm = Literal["lost", "doubled", "blended"]


class FilePreview(NamedTuple):
    """What a merge with the upstream would make of one checkpoint that the upstream changed.

    kind: "whole" (only the upstream changed it), "clean" (both did, and it merges), "conflict" (at clashes),
    "removed-here" and "removed-there" (one side removed what the other changed), "text" (no JSON, so that git merges
    lines). detail: for "text", why. invalid: what would be wrong with the merged document, though both sides are valid.
    in_the_way: the work tree holds something uncommitted there. driven: git would give it to our driver in this clone.
    """

    path: str
    kind: Kind
    clashes: "tuple[Clash, ...]" = ()
    detail: str = ""
    invalid: str = ""
    in_the_way: bool = False
    driven: bool = True


class Upstream(NamedTuple):
    """name: such as "origin/main". tracked: it is the branch's own upstream, else the remote's default branch. state:
    "there"; "gone" (configured, and not in this clone); "cut" (this clone lacks what a merge would need; detail says
    what); "unrelated" (nothing in common). ahead, behind: commits that only this branch has, and only the upstream.
    rebases: a pull rebases here. previews: of checkpoints, sorted by path.
    """

    name: str
    tracked: bool = True
    state: Literal["there", "gone", "cut", "unrelated"] = "there"
    ahead: int = 0
    behind: int = 0
    rebases: bool = False
    previews: tuple[FilePreview, ...] = ()
    detail: str = ""


class Hurt(NamedTuple):
    """where: a JSON Pointer, into the version that has the entry. said: what happened to it."""

    where: str
    said: str


class Damage(NamedTuple):
    """parents: the two that count, as commit ids. keeper: the one that still has what was lost, "" for neither."""

    commit: str
    parents: tuple[str, str]
    subject: str
    path: str
    harm: Harm
    entries: tuple[Hurt, ...]
    keeper: str = ""


class Audit(NamedTuple):
    """merges: how many were looked at. left_out: older ones are beyond the bound. cut: how many could not be judged, in
    a shallow or partial clone. waiting: how many come next time.
    """

    merges: int = 0
    left_out: bool = False
    cut: int = 0
    damages: tuple[Damage, ...] = ()
    waiting: int = 0


HARMS: dict[str, Harm] = {"lost": "lost", "doubled": "doubled", "blended": "blended"}


class Seen(NamedTuple):
    """What is left of the damage that a merge did to one file.

    mark: of the file when that was judged; see make_mark. repaired: a commit by which nothing was left, or "". What
    was repaired once in HEAD's history is not damage any more, whatever the file becomes.
    """

    mark: str
    damages: list[Damage]
    repaired: str = ""


Verdicts = dict[str, dict[str, Seen]]  # merge -> path of a file that it damaged -> what is left of that


def make_mark(blob: str, data: bytes | None) -> str:
    """Differs when a file is no longer the one that a merge was compared with, in HEAD or in the work tree."""
    return f"{blob}:{zlib.crc32(data or b''):08x}"
