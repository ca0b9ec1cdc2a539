"""What happened to a checkpoint's folder and its files since it was written. No link leads out of
the repository.
"""

import os
from collections.abc import Mapping, Sequence

from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, command
from checkpoint_git.core.terminal_text import join_some, shorten
from checkpoint_git.disk.discover import Place, is_inside
from checkpoint_git.git.history.history import read_unchanged
from checkpoint_git.git.run import clean_env, read_names, run_git
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.drift.checks import find_lost_projects, find_missing_files
from checkpoint_git.protocols.skill.drift.facts import GRACE, NamedFile, make_facts
from checkpoint_git.protocols.skill.views import text_field

# listed files, folders and patterns that git is asked about: it compares each with every file
_MOST_NAMES = 200
_STATUS = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--"]


def read_drift(place: Place, document: Document, now: int, env: Mapping[str, str]) -> list[Finding]:
    """What is no longer as the checkpoint says: its folder, its files, what was committed since.
    now: since 1970.
    """
    own = clean_env(env)
    facts = make_facts(place, [document], now, env)
    # another folder is a colleague's machine, mostly
    findings = [finding._replace(level="note") for finding in find_lost_projects(facts)]
    named = text_field(document.value or {}, "project_dir")
    is_folder = named.strip() and named != layout.HERE and named not in facts.absent_dirs
    if is_folder and os.path.realpath(named) not in map(os.path.realpath, (place.root, place.top)):
        message = f"project_dir is {shorten(named, 100)}, and this checkpoint is in {place.root}"
        what = "two checkouts? continue in the right one; if it is this one"
        here = advise(what, "checkpoint", "update", document.skill, f"--project_dir={layout.HERE}")
        findings.append(
            Finding(
                "resume/other-checkout",
                "warning",
                message,
                document.path,
                "/project_dir",
                hint=here,
            )
        )

    changed: list[str] = []
    files = [file for file in facts.files.get(document.path, ()) if file.state == "there"]
    troubles = facts.context.troubles
    instant = read_instant((document.value or {}).get("updated_at"))
    try:
        if instant is not None:
            start = (
                ""
                if place.work_tree is None
                else _find_start(place.work_tree, document, instant[0], own)
            )
            findings += _read_commits_since(place, document, start, own)
            changed = _read_changed(place, document, files, start, instant[0], own)
    except CheckpointError as error:
        message = f"cannot find the changes since the checkpoint was written: {error.message}"
        troubles = [Finding("doctor/not-looked-at", "note", message, hint=error.hint)]

    findings += find_missing_files(facts)
    if changed:
        where = "/context_primer/generated_files"
        message = f"changed since the checkpoint was written: {join_some(changed)}"
        hint = "read them again before you rely on context_primer"
        findings.append(
            Finding("drift/file-changed", "note", message, document.path, where, hint=hint)
        )

    return [*findings, *troubles]


def _find_start(work_tree: str, document: Document, instant: int, env: Mapping[str, str]) -> str:
    """The commit after which history is news to the checkpoint, "" if there is none. It is the one
    that brought in the checkpoint as it is; while that is not committed, the last one of about the
    time when it was written.
    """
    own = f":(literal){document.path}"
    since = ["rev-list", "-1", "HEAD", "--", own]
    if run_git([*_STATUS, own], work_tree, env=env).out:
        since = ["rev-list", "-1", f"--before=@{instant + GRACE} +0000", "HEAD"]
    # fails without a commit
    return run_git(since, work_tree, env=env, check=False).out.decode().strip()


def _read_commits_since(
    place: Place, document: Document, start: str, env: Mapping[str, str]
) -> list[Finding]:
    if not (place.work_tree and start):
        return []
    count = int(run_git(["rev-list", "--count", f"{start}..HEAD"], place.work_tree, env=env).out)
    if not count:
        return []
    words = ["log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%h %s"]
    newest, _, subject = (
        run_git(words, place.work_tree, env=env)
        .out.decode("utf-8", "replace")
        .strip()
        .partition(" ")
    )
    commits = "one commit was" if count == 1 else f"{count} commits were"
    message = f'{commits} made since the checkpoint was written, the newest {newest} "{shorten(subject, 80)}"'
    hint = command("git", "log", "--oneline", f"{start[:9]}..")
    return [
        Finding("resume/commits-since", "note", message, document.path, "/updated_at", hint=hint)
    ]


def _read_changed(
    place: Place,
    document: Document,
    files: Sequence[NamedFile],
    start: str,
    instant: int,
    env: Mapping[str, str],
) -> list[str]:
    """Return the listed files, and those in listed folders and patterns, that changed after
    updated_at; sorted.
    """
    every = dict.fromkeys(name for file in files for name in file.names)
    names = [*every][:_MOST_NAMES]
    if not names:
        return []
    top = place.top
    if place.work_tree is None:
        # a pattern is not a file
        present = [name for name in names if os.path.lexists(os.path.join(top, name))]
        return sorted(name for name in present if _is_newer(top, name, instant))

    specs = [_write_pathspec(name, top) for name in names]
    uncommitted = [
        record[3:] for record in read_names([*_STATUS, *specs], place.work_tree, env=env)
    ]
    changed = {name for name in uncommitted if _is_newer(top, name, instant)}
    if start:
        changed |= _read_committed(place.work_tree, specs, start, env)
    return sorted(changed - {document.path})


def _write_pathspec(name: str, top: str) -> str:
    is_pattern = bool(set("*?[") & set(name)) and not os.path.lexists(f"{top}/{name}")
    return f":(glob){name}" if is_pattern else f":(literal){name}"


def _read_committed(
    work_tree: str, specs: Sequence[str], start: str, env: Mapping[str, str]
) -> set[str]:
    """Return the files whose content differs between a commit and HEAD."""
    words = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-relative",
        start,
        "HEAD",
        "--",
        *specs,
    ]
    committed = {(start, name) for name in read_names(words, work_tree, env=env)}
    if committed:
        committed -= read_unchanged(work_tree, sorted(committed))
    return {name for _, name in committed}


def _is_newer(top: str, name: str, instant: int) -> bool:
    full = os.path.join(top, name)
    if not is_inside(os.path.dirname(full), top):
        return False
    try:
        return os.lstat(full).st_mtime > instant + 1
    except OSError:
        return True
