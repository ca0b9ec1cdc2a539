"""The doctor's table: every check with its code, what it looks at and how it is mended. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from checkpoint_git.checks import drift, installed
from checkpoint_git.checks.facts import Document
from checkpoint_git.checks.world import World
from checkpoint_git.core import jsontext
from checkpoint_git.core.finding import Finding, Level

MAX_SIZE = 32 * 1024  # bytes, as validate says it
MAX_MERGED = 50  # entries of a list of merged pull requests


class Check(NamedTuple):
    """One entry of the table.

    code: what its findings are called. level: of its findings, at worst. looks_at, mend: for people. needs: the facts
    that have to be gathered for it, by World's names, with blanks between.
    """

    code: str
    level: Level
    looks_at: str
    mend: str
    needs: str
    find: Callable[[World], list[Finding]]


def choose_checks(wanted: Sequence[str]) -> list[Check]:
    """The checks of these codes; "drift" stands for all of "drift/...". No codes: all. Unknown ones are left out."""
    return [check for check in CHECKS if not wanted or any(is_meant(check, code) for code in wanted)]


def is_meant(check: Check, code: str) -> bool:
    """Whether a code, or the part of it before the slash, names this check."""
    return check.code == code or check.code.startswith(code.rstrip("/") + "/")


def find_all(checks: Iterable[Check], world: World) -> list[Finding]:
    """What the checks find, by file and place, each thing said once."""
    found = [finding for check in checks for finding in check.find(world)]
    codes = {(finding.code, finding.path) for finding in found}
    kept = [finding for finding in found if not _is_said(finding, codes)]
    located = _locate_all(kept, world.documents)
    return sorted(
        located, key=lambda finding: (finding.path == installed.REPOSITORY, finding.path, finding.line, finding.column)
    )


# (code, where) of findings that say nothing new where validate has said this of the same file.
_SAID_BY = {
    ("drift/project-dir", "/project_dir"): "skill/relative-project-dir",
    ("content/rotation-due", ""): "skill/file-too-big",
}


def _is_said(finding: Finding, codes: set[tuple[str, str]]) -> bool:
    return (_SAID_BY.get((finding.code, finding.where), ""), finding.path) in codes


def _locate_all(findings: list[Finding], documents: Sequence[Document]) -> list[Finding]:
    """The findings with the lines and columns that they lack."""
    texts = {document.path: document.text for document in documents if document.value is not None}
    wanted = {finding.path for finding in findings if not finding.line}
    roots = {path: jsontext.parse(text) for path, text in texts.items() if text is not None and path in wanted}
    return [_locate(finding, roots) for finding in findings]


def _locate(finding: Finding, roots: dict[str, jsontext.Node]) -> Finding:
    if finding.line or finding.path not in roots:
        return finding
    line, column = jsontext.locate_in(roots[finding.path], finding.where)
    return finding._replace(line=line, column=column)


# content


def find_invalid(world: World) -> list[Finding]:
    """Everything that validate says."""
    return [finding for document in world.documents for finding in document.findings]


def find_unreviewed(world: World) -> list[Finding]:
    """Narratives that an unattended merge has set aside."""
    findings = []
    for document in world.documents:
        entries = document.value.get("superseded") if document.value else None
        waiting = [entry for entry in entries if not _is_reviewed(entry)] if isinstance(entries, list) else []
        if waiting:
            message = f"{_count(len(waiting), 'narrative')} that a merge set aside: nobody has reviewed them"
            hint = f"compare them with the present one, then move them to history: checkpoint rotate {document.skill}"
            findings.append(Finding("content/unreviewed", "warning", message, document.path, "/superseded", hint=hint))
    return findings


def _is_reviewed(entry: object) -> bool:
    return isinstance(entry, dict) and (entry.get("reviewed") is True or bool(entry.get("reviewed_at")))


def find_overdue_rotations(world: World) -> list[Finding]:
    """Files that grew too big, and lists of merged pull requests that git knows anyway."""
    findings = []
    for document in world.documents:
        hint = f"checkpoint rotate {document.skill} moves what is closed into .checkpoints/history"
        if document.size > MAX_SIZE:
            message = f"the file has {document.size / 1024:.1f} KB, and every resume reads all of it"
            findings.append(Finding("content/rotation-due", "warning", message, document.path, hint=hint))
        for where, length in _merged_lists(document):
            message = f"{length} merged pull requests are listed; git log tells them too"
            findings.append(Finding("content/rotation-due", "warning", message, document.path, where, hint=hint))
    return findings


def _merged_lists(document: Document) -> Iterator[tuple[str, int]]:
    state = document.value.get("skill_state") if document.value else None
    for key, member in state.items() if isinstance(state, dict) else ():
        if key.startswith("merged_prs") and isinstance(member, list) and len(member) > MAX_MERGED:
            yield jsontext.join_pointer("/skill_state", key), len(member)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


# the table


CHECKS: tuple[Check, ...] = (
    Check(
        "schema",
        "error",
        "everything `validate` says",
        "as each finding says",
        "",
        find_invalid,
    ),
    Check(
        "drift/project-dir",
        "warning",
        "is project_dir a folder of this machine?",
        "checkpoint update SKILL --project_dir=PATH",
        "absent_dirs",
        drift.find_lost_projects,
    ),
    Check(
        "drift/stale-in-progress",
        "warning",
        "in_progress, nothing written for more than 7 days",
        "carry on, or set another status",
        "",
        drift.find_stale_work,
    ),
    Check(
        "drift/stale-blocked",
        "warning",
        "blocked for more than 3 days",
        "ask for the decision again",
        "",
        drift.find_stale_blocks,
    ),
    Check(
        "drift/complete-but-moving",
        "note",
        "complete for more than 14 days, and its files changed since",
        "checkpoint reset SKILL",
        "files steps",
        drift.find_moving_completions,
    ),
    Check(
        "drift/file-missing",
        "warning",
        "generated_files: is it there, or what became of it?",
        "write the new name, or take it off",
        "files",
        drift.find_missing_files,
    ),
    Check(
        "drift/file-changed",
        "note",
        "generated_files: changed since the checkpoint was written?",
        "read them again",
        "files steps",
        drift.find_changed_documents,
    ),
    Check(
        "drift/action-shipped",
        "warning",
        "next_actions that name merged work, by the whole history",
        "checkpoint done SKILL",
        "merged",
        drift.find_shipped_actions,
    ),
    Check(
        "drift/blocker-shipped",
        "warning",
        "open blockers whose proposed resolution is merged",
        "mark the blocker resolved",
        "merged",
        drift.find_shipped_resolutions,
    ),
    Check(
        "drift/history-partial",
        "note",
        "is this clone shallow, so that evidence is partial?",
        "git fetch --unshallow",
        "merged shallow",
        drift.find_partial_history,
    ),
    Check(
        "drift/commit-unknown",
        "warning",
        "recorded commits: are they part of HEAD's history?",
        "correct the commit",
        "strangers shallow",
        drift.find_strange_commits,
    ),
    Check(
        "content/unreviewed",
        "warning",
        "narratives that an unattended merge set aside",
        "checkpoint rotate SKILL",
        "",
        find_unreviewed,
    ),
    Check(
        "content/rotation-due",
        "warning",
        "files over 32 KB, more than 50 merged pull requests",
        "checkpoint rotate SKILL",
        "",
        find_overdue_rotations,
    ),
    Check(
        "merge/unresolved",
        "error",
        "conflict markers, unmerged files, a merge in progress",
        "resolve it and git add it",
        "git",
        installed.find_unresolved,
    ),
    Check(
        "install/missing",
        "warning",
        "was `checkpoint init` run in this clone?",
        "checkpoint init",
        "git",
        installed.find_missing_installation,
    ),
    Check(
        "driver/inert",
        "error",
        "do attributes and configuration lead to the merge driver?",
        "checkpoint init",
        "git",
        installed.find_inert_driver,
    ),
    Check(
        "driver/broken",
        "error",
        "are the driver's interpreter and file there?",
        "checkpoint init",
        "git",
        installed.find_broken_driver,
    ),
    Check(
        "driver/proof",
        "error",
        "a real merge in a temporary repository, with a bare PATH",
        "checkpoint init",
        "git proof",
        installed.find_failed_proof,
    ),
    Check(
        "hooks/unreachable",
        "warning",
        "would git run our hooks?",
        "checkpoint init",
        "git",
        installed.find_unreachable_hooks,
    ),
)
