"""The doctor's table: every check with its code, what it looks at and how it is mended. Pure."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from checkpoint_git.core import jsonplace
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.protocols.pipeline import checks as recorded
from checkpoint_git.protocols.skill import content, drift
from checkpoint_git.tools.doctor import deployed, state_checks
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.merges import audit_checks, upstream_checks
from checkpoint_git.tools.setup import checks as installed

Fix = Literal["safe", "by name", "no"]


class Check(NamedTuple):
    """One entry of the table.

    code: what its findings are called. level: of its findings, at worst. looks_at, mend: for people. fix: whether
    `doctor --fix` mends it ("safe"), only `doctor --fix=CODE` ("by name"), or nobody but a person ("no"); of a mend
    that exists, a finding may still need a person. needs: the facts that have to be gathered for it, by World's names,
    with blanks between.
    """

    code: str
    level: Level
    looks_at: str
    mend: str
    fix: Fix
    needs: str
    find: Callable[[World], list[Finding]]


def choose_checks(wanted: Sequence[str]) -> list[Check]:
    """The checks of these codes; "drift" stands for all of "drift/...". Unknown ones are left out.

    No codes: all but those that run only by name, or ask a server.
    """
    if not wanted:
        return list(CHECKS)
    return [check for check in ALL if any(is_meant(check, code) for code in wanted)]


def is_meant(check: Check, code: str) -> bool:
    """Whether a code, or the part of it before the slash, names this check."""
    return check.code == code or check.code.startswith(code.rstrip("/") + "/")


def find_all(checks: Iterable[Check], world: World) -> list[Finding]:
    """What the checks find, each thing said once. What validate did not locate has no line yet: see locate_all."""
    found = list(dict.fromkeys(finding for check in checks for finding in check.find(world)))
    codes = {(finding.code, finding.path) for finding in found}
    return [finding for finding in found if not _is_said(finding, codes)]


# (code, where) of findings that say nothing new where validate has said this of the same file.
_SAID_BY = {
    ("drift/project-dir", "/project_dir"): "skill/relative-project-dir",
    ("content/rotation-due", ""): "skill/file-too-big",
}


def _is_said(finding: Finding, codes: set[tuple[str, str]]) -> bool:
    return (_SAID_BY.get((finding.code, finding.where), ""), finding.path) in codes


def locate_all(findings: Sequence[Finding], read_text: Callable[[str], str | None]) -> list[Finding]:
    """The findings with the lines and columns that they lack, by file and place; what is about no file comes last.

    read_text: a checkpoint's text by its path, None for what is no checkpoint or is no JSON (any more).
    """
    lacking: dict[str, list[int]] = {}
    for at, finding in enumerate(findings):
        if finding.path and not finding.line:
            lacking.setdefault(finding.path, []).append(at)
    located = list(findings)
    for path, places in lacking.items():
        text = read_text(path)
        if text is not None:
            lines = jsonplace.locate_all(text, [findings[at].where for at in places])
            for at, (line, column) in zip(places, lines, strict=True):
                located[at] = findings[at]._replace(line=line, column=column)
    return sorted(located, key=_order)


def _order(finding: Finding) -> tuple[bool, str, int, int]:
    return finding.path in ("", installed.REPOSITORY), finding.path, finding.line, finding.column


# the table


CHECKS: tuple[Check, ...] = (
    Check(
        "schema",
        "error",
        "everything `validate` says",
        "as each finding says",
        "no",
        "",
        content.find_invalid,
    ),
    Check(
        "json/byte-order-mark",
        "warning",
        "does a byte order mark stand before the JSON?",
        "take it away",
        "safe",
        "",
        content.find_byte_order_marks,
    ),
    Check(
        "drift/project-dir",
        "warning",
        "is project_dir a folder of this machine?",
        "checkpoint update SKILL --project_dir=PATH",
        "by name",
        "absent_dirs",
        drift.find_lost_projects,
    ),
    Check(
        "drift/stale-in-progress",
        "warning",
        "in_progress, nothing written for more than 7 days",
        "carry on, or set another status",
        "no",
        "",
        drift.find_stale_work,
    ),
    Check(
        "drift/stale-blocked",
        "warning",
        "blocked for more than 3 days",
        "ask for the decision again",
        "no",
        "",
        drift.find_stale_blocks,
    ),
    Check(
        "drift/complete-but-moving",
        "note",
        "complete for more than 14 days, and its files changed or a tag was made since",
        "checkpoint reset SKILL",
        "no",
        "files steps release",
        drift.find_moving_completions,
    ),
    Check(
        "drift/file-missing",
        "warning",
        "generated_files: is it there, or what became of it?",
        "write the new name, or take it off",
        "safe",
        "files",
        drift.find_missing_files,
    ),
    Check(
        "drift/file-uncommitted",
        "note",
        "generated_files: does another clone get it with the checkpoint?",
        "git add it, or take it off",
        "no",
        "files untracked",
        drift.find_uncommitted_files,
    ),
    Check(
        "drift/file-changed",
        "note",
        "generated_files: changed since the checkpoint was written?",
        "read them again",
        "no",
        "files steps",
        drift.find_changed_documents,
    ),
    Check(
        "drift/action-shipped",
        "warning",
        "next_actions that name merged work, by the whole history",
        "checkpoint done SKILL",
        "safe",
        "merged",
        drift.find_shipped_actions,
    ),
    Check(
        "drift/blocker-shipped",
        "warning",
        "open blockers whose proposed resolution is merged",
        "mark the blocker resolved",
        "by name",
        "merged",
        drift.find_shipped_resolutions,
    ),
    Check(
        "drift/history-partial",
        "note",
        "is this clone shallow, so that evidence is partial?",
        "git fetch --unshallow",
        "no",
        "merged shallow",
        drift.find_partial_history,
    ),
    Check(
        "drift/commit-unknown",
        "warning",
        "recorded commits: are they part of HEAD's history?",
        "correct the commit",
        "no",
        "strangers shallow",
        drift.find_strange_commits,
    ),
    Check(
        "content/unreviewed",
        "warning",
        "narratives that an unattended merge set aside",
        "checkpoint rotate SKILL",
        "by name",
        "",
        content.find_unreviewed,
    ),
    Check(
        "content/rotation-due",
        "warning",
        "files over 32 KB, more than 50 merged pull requests",
        "checkpoint rotate SKILL",
        "safe",
        "",
        content.find_overdue_rotations,
    ),
    Check(
        "content/not-read",
        "note",
        "files that look like checkpoints, but for the ending of their names",
        "git mv FILE SKILL.checkpoint.json",
        "no",
        "strays",
        content.find_strays,
    ),
    Check(
        "merge/unresolved",
        "error",
        "conflict markers, unmerged files, a merge in progress",
        "resolve it and git add it",
        "no",
        "git",
        installed.find_unresolved,
    ),
    Check(
        "merge/lost-entry",
        "warning",
        "recent merges: entries that a parent had and nobody has now",
        "bring it back: git show PARENT:PATH",
        "no",
        "audit",
        audit_checks.find_lost_entries,
    ),
    Check(
        "merge/duplicated",
        "warning",
        "recent merges: rows or keys that stand twice since then",
        "take one of them away",
        "no",
        "audit",
        audit_checks.find_doubled_entries,
    ),
    Check(
        "merge/blended",
        "warning",
        "recent merges: records glued together out of two",
        "write it anew: checkpoint explain-merge COMMIT",
        "no",
        "audit",
        audit_checks.find_blended_records,
    ),
    Check(
        "merge/not-audited",
        "note",
        "recent merges that this clone cannot judge, or that are too many",
        "git fetch --unshallow",
        "no",
        "audit",
        audit_checks.find_unaudited_merges,
    ),
    Check(
        "upstream/conflict",
        "warning",
        "would the next pull stop at a checkpoint, and where? (no network)",
        "git pull, then checkpoint resolve",
        "no",
        "upstream",
        upstream_checks.find_coming_conflicts,
    ),
    Check(
        "upstream/invalid",
        "warning",
        "would the merge with the upstream break a rule that both sides keep?",
        "git pull, then mend it",
        "no",
        "upstream",
        upstream_checks.find_coming_errors,
    ),
    Check(
        "upstream/uncommitted",
        "warning",
        "would a pull be refused over a checkpoint that is not committed?",
        "commit it first",
        "no",
        "upstream",
        upstream_checks.find_blocked_pulls,
    ),
    Check(
        "upstream/diverged",
        "note",
        "checkpoints that changed upstream, and merge cleanly",
        "git pull",
        "no",
        "upstream",
        upstream_checks.find_clean_merges,
    ),
    Check(
        "upstream/behind",
        "note",
        "checkpoints that changed upstream, while nothing changed here",
        "git pull",
        "no",
        "upstream",
        upstream_checks.find_news,
    ),
    Check(
        "upstream/unknown",
        "warning",
        "is the upstream in this clone, with a common past?",
        "git fetch",
        "no",
        "upstream",
        upstream_checks.find_lost_upstreams,
    ),
    Check(
        "install/missing",
        "warning",
        "was `checkpoint init` run in this clone?",
        "checkpoint init",
        "by name",
        "git",
        installed.find_missing_installation,
    ),
    Check(
        "driver/inert",
        "error",
        "do attributes and configuration lead to the merge driver?",
        "checkpoint init",
        "safe",
        "git",
        installed.find_inert_driver,
    ),
    Check(
        "driver/broken",
        "error",
        "are the driver's interpreter and file there?",
        "checkpoint init",
        "safe",
        "git",
        installed.find_broken_driver,
    ),
    Check(
        "driver/proof",
        "error",
        "a real merge in a temporary repository, with a bare PATH",
        "checkpoint init",
        "no",
        "git proof",
        installed.find_failed_proof,
    ),
    Check(
        "hooks/unreachable",
        "warning",
        "would git run our hooks?",
        "checkpoint init",
        "safe",
        "git",
        installed.find_unreachable_hooks,
    ),
    Check(
        "hooks/proof",
        "error",
        "real commits, merges and pushes of an invalid checkpoint, with a bare PATH",
        "checkpoint init",
        "no",
        "git hook_failures",
        installed.find_failing_hooks,
    ),
    Check(
        "pipeline/broken",
        "error",
        "pipeline records of this project: valid, and where they belong?",
        "git restore PATH",
        "no",
        "records",
        recorded.find_broken_records,
    ),
    Check(
        "pipeline/changed",
        "error",
        "committed pipeline records: still as they were?",
        "git restore PATH",
        "no",
        "records",
        recorded.find_changed_records,
    ),
    Check(
        "workflow",
        "error",
        "the state of a workflow: valid, not ancient, and is everything there that it refers to?",
        "checkpoint workflow resume",
        "no",
        "workflow",
        state_checks.find_workflow_trouble,
    ),
    Check(
        "restore",
        "error",
        "restore points: whole, not expired, as their log tells?",
        "as each finding says",
        "no",
        "points",
        state_checks.find_point_trouble,
    ),
)

# These take long, so they run only where somebody names them or their group.
NAMED: tuple[Check, ...] = (
    Check(
        "restore/content",
        "error",
        "restore points: every byte that they keep (--check restore)",
        "checkpoint restore-point drop ID",
        "no",
        "contents",
        state_checks.find_content_trouble,
    ),
)

# These ask a server, so they run only where somebody says --online.
ONLINE: tuple[Check, ...] = (
    Check(
        "online/behind",
        "warning",
        "is what is deployed older than HEAD?",
        "deploy",
        "no",
        "deployed",
        deployed.find_behind,
    ),
    Check(
        "online/elsewhere",
        "warning",
        "is what is deployed part of HEAD's history?",
        "git fetch --tags",
        "no",
        "deployed shallow",
        deployed.find_elsewhere,
    ),
    Check(
        "online/bad-answer",
        "warning",
        "does the health URL answer with a version?",
        "have the server say it",
        "no",
        "deployed",
        deployed.find_bad_answers,
    ),
    Check(
        "online/unreachable",
        "warning",
        "does the health URL answer within 10 seconds?",
        "start the server, or correct the URL",
        "no",
        "deployed",
        deployed.find_unreachable,
    ),
    Check(
        "online/bad-url",
        "warning",
        "is the health URL one that may be asked?",
        "git config checkpoint.healthUrl URL",
        "no",
        "deployed",
        deployed.find_bad_url,
    ),
    Check(
        "online/not-configured",
        "note",
        "is a health URL configured?",
        "git config checkpoint.healthUrl URL",
        "no",
        "deployed",
        deployed.find_unconfigured,
    ),
)

ALL = (*CHECKS, *NAMED, *ONLINE)
