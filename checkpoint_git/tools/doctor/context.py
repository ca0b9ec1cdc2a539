"""What the doctor reasons about: the checkpoints, and facts about git and the file system, gathered by somebody else.

Values only. Every fact has a default that says nothing, for what was not asked for or could not be found out.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.skill.document_summary import Sheet
from checkpoint_git.protocols.skill.progress import STALE_AFTER
from checkpoint_git.tools.merges.facts import Audit, Upstream
from checkpoint_git.tools.setup.survey import Installation

STALE_DAYS = {"in_progress": STALE_AFTER // DAY, "blocked": 3, "complete": 14}  # unless a project wants others


class NamedFile(NamedTuple):
    """One entry of generated_files, or one path of an entry that names several.

    at: the entry's index. path: as far as we understood it. state: "there", "missing" or "outside" the repository.
    names: what git may call it. fate, detail: why it is missing, as repo.paths.Fate says it; "" outside git.
    """

    at: int
    path: str
    state: str
    names: tuple[str, ...] = ()
    fate: str = ""
    detail: str = ""


class Release(NamedTuple):
    """A tag. when: seconds since 1970."""

    name: str
    when: int


class Step(NamedTuple):
    """One step of HEAD's own line, as repo.past.history.Change says it."""

    id: str
    when: int
    subject: str
    paths: frozenset[str]


class GitFacts(NamedTuple):
    """The repository around the checkpoints.

    unmerged: checkpoint files that a merge left unresolved. operation: what git is in the middle of ("merge",
    "rebase"), "" for nothing. merge_attributes: checkpoint path -> what git answers for its merge attribute.
    shared_attributes: the same as .gitattributes alone gives it to other clones. defined_drivers: the merge drivers
    that some configuration defines. default_branch: "" where there is none to be found. attributes_in_default: whether
    that branch has our lines in .gitattributes.
    """

    unmerged: tuple[str, ...] = ()
    operation: str = ""
    merge_attributes: Mapping[str, str] = {}
    shared_attributes: Mapping[str, str] = {}
    defined_drivers: frozenset[str] = frozenset()
    has_commits: bool = False
    setup: Installation = Installation()
    default_branch: str = ""
    attributes_in_default: bool = False


class Proof(NamedTuple):
    """What the driver got wrong when it was tried, as repo.selfproof says it."""

    clean: str
    conflict: str
    said: str = ""
    crossed: str = ""
    shown: str = ""


class HookFailure(NamedTuple):
    """A hook that git runs and that does not work, as repo.hookproof says it."""

    hook: str
    trouble: str
    said: str = ""


class Deployed(NamedTuple):
    """What a health URL answered, beside HEAD. url: without secrets. trouble: "not-configured", or as net.health says
    it; detail: why. field, version: the server's own words. head, id, behind, ahead, ambiguous: as
    repo.versions.Standing says them. dirty: built with changes that no commit holds.
    """

    url: str = ""
    trouble: str = ""
    detail: str = ""
    field: str = ""
    version: str = ""
    dirty: bool = False
    head: str = ""
    id: str = ""
    behind: int = 0
    ahead: int = 0
    ambiguous: bool = False


class RecordTrouble(NamedTuple):
    """A pipeline record that is not as it should be. kind: "broken" (and why: reason), "changed" or "removed"."""

    path: str
    kind: str
    reason: str = ""


class World(NamedTuple):
    """Everything the checks may look at.

    now: seconds since 1970. absent_dirs: the project_dirs that this machine does not have. files: a checkpoint's path
    -> what it lists. untracked: the same, of what is here and was never given to git. release: the newest tag.
    limits: status -> days. steps: newest first. merged: reference -> evidence. strangers: commit id -> "unknown" or
    "elsewhere". shallow: history is cut off. git: None outside git. proof: None when the driver was not tried.
    hook_failures: none either when the hooks were not tried.
    deployed: None when no server was asked. upstream: None where there is nothing to merge with. audit: recent merges.
    records: the pipeline records that are not as they should be. workflow: what speaks against resuming it. points:
    what is wrong with restore points; contents: with what they keep, where somebody asked for that. strays: files
    beside the checkpoints that look like some, and are not read for their names.

    skill: the only one that was asked for, "" for all. since: the commit after which merges are audited, "" for lately.
    """

    sheets: Sequence[Sheet] = ()
    now: int = 0
    absent_dirs: frozenset[str] = frozenset()
    files: Mapping[str, Sequence[NamedFile]] = {}
    untracked: Mapping[str, Sequence[NamedFile]] = {}
    release: Release | None = None
    limits: Mapping[str, int] = STALE_DAYS
    steps: Sequence[Step] = ()
    merged: Mapping[str, str] = {}
    strangers: Mapping[str, str] = {}
    shallow: bool = False
    git: GitFacts | None = None
    proof: Proof | None = None
    hook_failures: Sequence[HookFailure] = ()
    deployed: Deployed | None = None
    upstream: Upstream | None = None
    audit: Audit = Audit()
    records: Sequence[RecordTrouble] = ()
    workflow: Sequence[Finding] = ()
    points: Sequence[Finding] = ()
    contents: Sequence[Finding] = ()
    strays: Sequence[str] = ()
    skill: str = ""
    since: str = ""
