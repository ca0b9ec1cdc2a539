"""Find what happened to a checkpoint's folder and files since it was written.

No link is followed out of the repository.
"""

import os
from collections.abc import Collection, Mapping, Sequence

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
    """Return findings about a checkpoint's folder, its files, and the commits since it was written.

    now: seconds since 1970.
    """
    git_env = clean_env(env)
    facts = make_facts(place, [document], now, env)
    # another folder is on a colleague's machine, mostly
    findings = [finding._replace(level="note") for finding in find_lost_projects(facts)]
    findings += _find_other_checkout(place, document, facts.absent_dirs)

    changed: list[str] = []
    files = [file for file in facts.files.get(document.path, ()) if file.state == "there"]
    troubles = facts.context.troubles
    instant = read_instant((document.value or {}).get("updated_at"))
    try:
        if instant is not None:
            start = ""
            if place.work_tree is not None:
                start = _find_start(place.work_tree, document, instant[0], git_env)
            findings += _read_commits_since(place, document, start, git_env)
            changed = _read_changed(place, document, files, start, instant[0], git_env)
    except CheckpointError as error:
        message = f"cannot find the changes since the checkpoint was written: {error.message}"
        troubles = [Finding("doctor/not-looked-at", "note", message, hint=error.hint)]

    findings += find_missing_files(facts)
    if changed:
        findings.append(_describe_changed(document, changed))
    return [*findings, *troubles]


def _find_other_checkout(
    place: Place, document: Document, absent_dirs: Collection[str]
) -> list[Finding]:
    """Return a finding if project_dir is another folder of this machine. absent_dirs: none here."""
    project = text_field(document.value or {}, "project_dir")
    if not project.strip() or project == layout.HERE or project in absent_dirs:
        return []
    if os.path.realpath(project) in (os.path.realpath(place.root), os.path.realpath(place.top)):
        return []

    message = f"project_dir is {shorten(project, 100)}, and this checkpoint is in {place.root}"
    what = "two checkouts? continue in the right one; if it is this one"
    hint = advise(what, "checkpoint", "update", document.skill, f"--project_dir={layout.HERE}")
    code = "resume/other-checkout"
    return [Finding(code, "warning", message, document.path, "/project_dir", hint=hint)]


def _describe_changed(document: Document, changed: Sequence[str]) -> Finding:
    where = "/context_primer/generated_files"
    message = f"changed since the checkpoint was written: {join_some(changed)}"
    hint = "read them again before you rely on context_primer"
    return Finding("drift/file-changed", "note", message, document.path, where, hint=hint)


def _find_start(work_tree: str, document: Document, instant: int, env: Mapping[str, str]) -> str:
    """Return the commit after which history is new to the checkpoint, "" if there is none.

    It is the commit that brought in the checkpoint as it is; if that is not committed, the last one
    around the time at which it was written.
    """
    spec = f":(literal){document.path}"
    words = ["rev-list", "-1", "HEAD", "--", spec]
    if run_git([*_STATUS, spec], work_tree, env=env).out:
        words = ["rev-list", "-1", f"--before=@{instant + GRACE} +0000", "HEAD"]
    # fails without a commit
    return run_git(words, work_tree, env=env, check=False).out.decode().strip()


def _read_commits_since(
    place: Place, document: Document, start: str, env: Mapping[str, str]
) -> list[Finding]:
    """Return a note about the commits after a commit, [] for none."""
    if not (place.work_tree and start):
        return []
    count = int(run_git(["rev-list", "--count", f"{start}..HEAD"], place.work_tree, env=env).out)
    if not count:
        return []
    words = ["log", "-1", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--format=%h %s"]
    line = run_git(words, place.work_tree, env=env).out.decode("utf-8", "replace").strip()
    newest, _, subject = line.partition(" ")
    commits = "one commit was" if count == 1 else f"{count} commits were"
    latest = f'{newest} "{shorten(subject, 80)}"'
    message = f"{commits} made since the checkpoint was written, the newest {latest}"
    hint = command("git", "log", "--oneline", f"{start[:9]}..")
    code = "resume/commits-since"
    return [Finding(code, "note", message, document.path, "/updated_at", hint=hint)]


def _read_changed(
    place: Place,
    document: Document,
    files: Sequence[NamedFile],
    start: str,
    instant: int,
    env: Mapping[str, str],
) -> list[str]:
    """Return the listed files, and those in listed folders and patterns, that changed; sorted.

    start: the commit to compare with, "" for none. instant: when the checkpoint was written.
    """
    unique = dict.fromkeys(name for file in files for name in file.names)
    names = [*unique][:_MOST_NAMES]
    if not names:
        return []
    top = place.top
    if place.work_tree is None:
        # a pattern is not a file
        present = [name for name in names if os.path.lexists(os.path.join(top, name))]
        return sorted(name for name in present if _is_newer(top, name, instant))

    specs = [_write_pathspec(name, top) for name in names]
    records = read_names([*_STATUS, *specs], place.work_tree, env=env)
    uncommitted = [record[3:] for record in records]
    changed = {name for name in uncommitted if _is_newer(top, name, instant)}
    if start:
        changed |= _read_committed(place.work_tree, specs, start, env)
    return sorted(changed - {document.path})


def _write_pathspec(name: str, top: str) -> str:
    is_pattern = bool(set("*?[") & set(name)) and not os.path.lexists(f"{top}/{name}")
    magic = "glob" if is_pattern else "literal"
    return f":({magic}){name}"


def _read_committed(
    work_tree: str, specs: Sequence[str], start: str, env: Mapping[str, str]
) -> set[str]:
    """Return the files whose content differs between a commit and HEAD."""
    words = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative"]
    names = read_names([*words, start, "HEAD", "--", *specs], work_tree, env=env)
    committed = {(start, name) for name in names}
    if committed:
        committed -= read_unchanged(work_tree, sorted(committed))
    return {name for _, name in committed}


def _is_newer(top: str, name: str, instant: int) -> bool:
    """Whether a file inside the repository was written after an instant, or is gone."""
    full = os.path.join(top, name)
    if not is_inside(os.path.dirname(full), top):
        return False
    try:
        return os.lstat(full).st_mtime > instant + 1
    except OSError:
        return True
