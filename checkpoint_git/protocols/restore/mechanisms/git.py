"""Keep and restore git's own state: the index, HEAD with its branch, an operation in progress."""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import advise, join_hints
from checkpoint_git.core.terminal_text import escape_controls, join_some, plain_path, plural
from checkpoint_git.disk.atomic import create_file, reporting
from checkpoint_git.disk.read import read_if_there, read_plain
from checkpoint_git.disk.replace import remove_quietly, write_temporary
from checkpoint_git.git import objects, private_objects
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.objects import Blobs, IndexEntry, find_commit, read_index, read_tree
from checkpoint_git.git.own_files import read_start
from checkpoint_git.git.run import NO_HOOKS, run_git
from checkpoint_git.protocols.restore import layout, snapshot
from checkpoint_git.protocols.restore.contents import Location
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms.contract import Job, MechanismPlan

FOLDER = "git"  # below a point's folder: the index and the files of what is in progress
_MOST_PARENTS = 64
_MOST_INDEX = 1 << 31  # bytes
_OTHERS = {"sequencer": "cherry-pick", "BISECT_LOG": "bisect"}  # read_operation does not know them
_REFS = snapshot.OPERATION_REFS
_FILES = snapshot.OPERATION_FILES
# the branches that a rollback was about to move, written as git's rebase-merge/update-refs is
_BRANCHES = "branches"
_HEADS = "refs/heads/"
_ID = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")


class GitState(NamedTuple):
    """HEAD, what is in progress, and what is staged: the manifest's "git"."""

    head: str  # the commit, "" before the first
    branch: str  # the full name of its ref, "" if HEAD is detached
    operation: str  # "merge", "rebase", "cherry-pick", "revert", "bisect" or ""
    staged: str  # a digest of what is staged


class Captured(NamedTuple):
    """A state of git, the commits that a point of it needs, and the tree of what is staged."""

    state: GitState
    commits: list[str]
    staged: dict[str, objects.TreeEntry]


def read_state(workspace: Workspace, index: Sequence[IndexEntry] | None = None) -> GitState:
    """Return the state of git now. index: if it was read already."""
    root = workspace.root
    env = private_objects.quiet_env(workspace.env)
    if index is None:
        index = read_index(root, env=env)
    branch = run_git(["symbolic-ref", "--quiet", "HEAD"], root, env=env, check=False)
    return GitState(
        head=find_commit(root, "HEAD", env),
        branch=os.fsdecode(branch.out.strip()),
        operation=_find_operation(workspace.git_dir or ""),
        staged=hash_index(index),
    )


def _find_operation(git_dir: str) -> str:
    """Return what is in progress; git_dir may also be a folder that keeps its files."""
    operation = read_operation(git_dir)
    if operation:
        return operation
    for name, word in _OTHERS.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return word
    return ""


def hash_index(staged: Sequence[IndexEntry]) -> str:
    """Return a digest of all entries of an index."""
    return sha256("\0".join(map(repr, staged)).encode()).hexdigest()


def capture(workspace: Workspace, folder: str, refs: Mapping[str, str]) -> Captured:
    """Keep the index and the files of what is in progress. folder: of the point.

    refs: branches to keep -> their commits.
    """
    kept_folder = os.path.join(folder, FOLDER)
    git_dir = workspace.git_dir or ""
    with reporting(kept_folder):
        os.mkdir(kept_folder, 0o700)
        for name in ("index", *_FILES):
            _copy(os.path.join(git_dir, name), os.path.join(kept_folder, name))
        listed = "\n".join(f"{ref}\n{commit}\n{commit}" for ref, commit in refs.items())
        for name, text in {_BRANCHES: listed, **(_read_refs(workspace) or {})}.items():
            _write_kept_file(kept_folder, name, os.fsencode(f"{text}\n"))

    if any(name.startswith("sharedindex.") for name in os.listdir(git_dir)):
        words = [*NO_HOOKS, "update-index", "--no-split-index"]
        run_git(words, workspace.root, env=_kept_env(workspace, folder))

    index = _read_kept(workspace, folder)
    state = read_state(workspace, index)
    commits = _find_commits(workspace, [state.head, *refs.values(), *_list_kept_ids(kept_folder)])

    staged = {}
    for entry in index:
        staged[f"index/{entry.stage}/{entry.path}"] = objects.TreeEntry(entry.mode, entry.blob)
    return Captured(state, commits, staged)


def write_kept(workspace: Workspace, folder: str, tree: str, head: str, branch: str) -> GitState:
    """Write what an automatic point keeps of git into a folder, as `capture` does.

    tree: see snapshot.py.
    """
    env = private_objects.quiet_env(workspace.env)
    kept_folder = os.path.join(folder, FOLDER)
    os.makedirs(kept_folder, mode=0o700)

    entries = read_tree(workspace.root, tree, env)
    names = [path for path in entries if path.startswith("git/")]
    with Blobs(workspace.root, env) as blobs:
        contents = blobs.read_all([entries[name].blob for name in names])
        for name, content in zip(names, contents, strict=True):
            data = content if isinstance(content, bytes) else b""
            _write_kept_file(kept_folder, name.removeprefix("git/"), data)

    lines = []
    for path, entry in entries.items():
        stage, _, staged_path = path.partition("/")
        if stage != "git":
            lines.append(f"{entry.mode} {entry.blob} {stage}\t{staged_path}\0")

    if lines:
        words = [*NO_HOOKS, "update-index", "-z", "--index-info"]
        stdin = os.fsencode("".join(lines))
        run_git(words, workspace.root, stdin=stdin, env=_kept_env(workspace, folder))

    staged = hash_index(_read_kept(workspace, folder))
    return GitState(head, branch, _find_operation(kept_folder), staged)


def _write_kept_file(kept_folder: str, name: str, data: bytes) -> None:
    path = os.path.join(kept_folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)


def _read_refs(workspace: Workspace) -> dict[str, str] | None:
    """Return the refs of what is in progress, name -> id; None if git keeps them as files.

    Since 2.45, git can keep them in a table.
    """
    if not os.path.isdir(os.path.join(os.path.dirname(workspace.base), "reftable")):
        return None
    words = ["for-each-ref", "--include-root-refs", "--format=%(refname) %(objectname)", *_REFS]
    out = run_git(words, workspace.root, env=private_objects.quiet_env(workspace.env)).out
    return dict(os.fsdecode(line).split(" ") for line in out.splitlines())


def _find_commits(workspace: Workspace, ids: Iterable[str]) -> list[str]:
    """Return those ids that are commits, each once, at most _MOST_PARENTS."""
    env = private_objects.quiet_env(workspace.env)
    headers = objects.read_headers(workspace.root, [name for name in ids if name], env)
    commits = dict.fromkeys(header.id for header in headers if header.kind == "commit")
    return list(commits)[:_MOST_PARENTS]


def _list_kept_ids(kept_folder: str) -> list[str]:
    """Return the ids that the files of what is in progress name, each once."""
    ids: dict[str, None] = {}
    for name in _FILES:
        for path in _list_files(os.path.join(kept_folder, name)):
            ids.update(dict.fromkeys(_read_ids(path)))
    return list(ids)


def _copy(source: str, target: str) -> None:
    if os.path.islink(source) or not os.path.lexists(source):
        return
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _list_files(path: str) -> list[str]:
    """Return a file, or all files below a folder."""
    if os.path.isfile(path):
        return [path]
    files = []
    for folder, _, names in os.walk(path):
        files += [os.path.join(folder, name) for name in names]
    return files


def _read_ids(path: str) -> list[str]:
    return [found.decode() for found in _ID.findall(read_start(path, 1 << 20))]


def _kept_env(workspace: Workspace, folder: str) -> dict[str, str]:
    env = private_objects.quiet_env(workspace.env)
    return {**env, "GIT_INDEX_FILE": os.path.join(folder, FOLDER, "index")}


def _read_kept(workspace: Workspace, folder: str) -> list[IndexEntry]:
    return read_index(workspace.root, env=_kept_env(workspace, folder))


def _read_rebased(kept_folder: str) -> dict[str, str]:
    """Return the branches that a rebase moves at its end -> the commits that they named.

    Branches in _BRANCHES count too.
    """
    pairs = []
    for rebase in ("rebase-apply", "rebase-merge"):
        heads = _read_lines(os.path.join(kept_folder, rebase, "head-name"))
        commits = _read_lines(os.path.join(kept_folder, rebase, "orig-head"))
        pairs += list(zip(heads[:1], commits[:1], strict=False))

    stacked = _read_lines(os.path.join(kept_folder, "rebase-merge/update-refs"))
    stacked += _read_lines(os.path.join(kept_folder, _BRANCHES))
    # three lines for each: the branch, what it names, and what it will name
    pairs += list(zip(stacked[::3], stacked[1::3], strict=False))

    branches = {}
    for ref, commit in pairs:
        if ref.startswith(_HEADS) and _ID.fullmatch(commit.encode()):
            branches[ref] = commit

    return branches


def _read_lines(path: str) -> list[str]:
    """Return the lines of a file that are not empty, none if there is no file."""
    data = read_if_there(path) or b""
    return [os.fsdecode(line) for line in data.split(b"\n") if line]


def _read_moved(workspace: Workspace, location: Location) -> dict[str, str]:
    """Return branches of _read_rebased that were moved since -> the commits that they named."""
    env = private_objects.quiet_env(workspace.env)
    moved = {}
    for ref, commit in _read_rebased(os.path.join(location.folder, FOLDER)).items():
        if find_commit(workspace.root, ref, env) != commit:
            moved[ref] = commit
    return moved


def compare(
    workspace: Workspace,
    location: Location,
    kept: dict[str, Any],
) -> list[tuple[str, str]]:
    """Return (option that restores it, sentence) for each difference of git's state from then.

    kept: the manifest's "git".
    """
    then = GitState(**kept)
    now = read_state(workspace)
    found = []
    if (then.head, then.branch) != (now.head, now.branch):
        found.append(("--operation", f"HEAD was {_name(then)}, later {_name(now)}"))
    if then.operation != now.operation:
        was = _name_operation(then)
        found.append(("--operation", f"{was} was in progress, later {_name_operation(now)}"))

    for ref, commit in _read_moved(workspace, location).items():
        branch = escape_controls(ref.removeprefix(_HEADS))
        found.append(("--operation", f"{branch} was at {commit[:10]}, and was moved later"))

    if then.staged != now.staged:
        present = read_index(workspace.root, env=private_objects.quiet_env(workspace.env))
        differing = set(present) ^ set(_read_kept(workspace, location.folder))
        paths = sorted({entry.path for entry in differing})
        shown = join_some([escape_controls(path) for path in paths])
        count = plural(len(paths), "path")
        found.append(("--index", f"what is staged differs in {count}: {shown}"))

    return found


def _name(state: GitState) -> str:
    place = escape_controls(state.branch.removeprefix(_HEADS)) or "detached"
    return f"{place} at {state.head[:10] or 'no commit'}"


def _name_operation(state: GitState) -> str:
    if not state.operation:
        return "nothing"
    return f"git {state.operation}"


def check_ready(job: Job) -> None:
    """Raise CheckpointError if another work tree has a branch that would be moved."""
    find_branches(job)


def find_branches(job: Job) -> dict[str, str]:
    """Return the branches that a rollback would move -> what they name now.

    Raises CheckpointError if another work tree has one.
    """
    kept = job.manifest.value.get("git")
    if not kept or not job.wanted.operation:
        return {}
    workspace = job.workspace
    patterns = [kept["branch"] or "refs/none", *_read_moved(workspace, job.location)]
    words = ["for-each-ref", "--format=%(refname) %(objectname) %(worktreepath)", *patterns]
    out = run_git(words, workspace.root, env=private_objects.quiet_env(workspace.env)).out

    branches = {}
    for line in out.splitlines():
        name, commit, place = os.fsdecode(line).split(" ", 2)
        if place and os.path.realpath(place) != os.path.realpath(workspace.root):
            shown = escape_controls(name)
            message = f"the branch {shown} is checked out in {escape_controls(place)}"
            hint = "omit --operation, or check out another branch there; nothing was changed"
            raise CheckpointError(message, hint)
        branches[name] = commit

    return branches


def restore(job: Job, plan: MechanismPlan) -> list[str]:
    """Restore what is wanted: HEAD with what was in progress, and the index."""
    kept = job.manifest.value.get("git")
    wanted = job.wanted
    if kept and wanted.operation:
        reason = f"checkpoint: rollback to {job.manifest.id}"
        restore_operation(job.workspace, job.location, kept, reason)

    if wanted.operation or (wanted.staged and wanted.within is None):
        restore_index(job.workspace, job.location)
    elif wanted.staged:
        restore_index(job.workspace, job.location, job.covers)
    return []


def restore_index(
    workspace: Workspace,
    location: Location,
    covers: Callable[[str], bool] | None = None,
) -> None:
    """Restore all of the index, with its flags.

    covers: restore only what was staged at these paths; the flags stay.
    """
    index = os.path.join(workspace.git_dir or "", "index")
    source = index if covers else os.path.join(location.folder, FOLDER, "index")
    lock = f"{index}.lock"

    with reporting(lock):
        if not create_file(lock, layout.LOCKED):
            remove = advise("where no git runs", "rm", plain_path(lock))
            hint = join_hints("wait for it, then run the same command again", remove)
            raise CheckpointError("another git command has locked the index", hint)

        copy = ""
        env = private_objects.quiet_env(workspace.env)
        try:
            # git works on a copy: if it is killed, no lock of its own stays
            data = b""
            if os.path.exists(source):
                data = read_plain(source, _MOST_INDEX)
            copy = write_temporary(index, data, None, sync=True)
            env["GIT_INDEX_FILE"] = copy
            if not data:  # nothing had ever been staged
                os.unlink(copy)
            else:  # git compares the content of files that are no older than the index
                os.utime(copy, ns=(0, os.stat(source).st_mtime_ns))
            if covers:
                _stage_covered(workspace, location, covers, env)
            else:
                words = ["update-index", "-q", "--refresh"]
                run_git(words, workspace.root, env=env, check=False)
            if os.path.exists(copy):
                os.replace(copy, index)
            else:
                remove_quietly(index)
        finally:
            remove_quietly(copy)
            remove_quietly(lock)


def _stage_covered(
    workspace: Workspace,
    location: Location,
    covers: Callable[[str], bool],
    env: Mapping[str, str],
) -> None:
    """Replace the entries of an index at some paths by those of the point."""
    kept = [entry for entry in _read_kept(workspace, location.folder) if covers(entry.path)]
    present = [entry for entry in read_index(workspace.root, env=env) if covers(entry.path)]
    lines = []
    for entry in [*present, *kept]:
        lines.append(f"0 {'0' * len(entry.blob)}\t{entry.path}\0")

    for entry in kept:
        lines.append(f"{entry.mode} {entry.blob} {entry.stage}\t{entry.path}\0")
    words = ["update-index", "-z", "--index-info"]
    run_git(words, workspace.root, stdin=os.fsencode("".join(lines)), env=env)


def restore_operation(
    workspace: Workspace,
    location: Location,
    kept: dict[str, Any],
    reason: str,
) -> None:
    """Restore HEAD, its branch and what was in progress; the index is restored by itself."""
    then = GitState(**kept)
    now = read_state(workspace)
    commands = []
    if (then.head, then.branch) != (now.head, now.branch):
        commands += _plan_head(then, now, reason)

    for ref, commit in _read_moved(workspace, location).items():
        commands.append(["update-ref", "-m", reason, ref, commit])
    for words in commands:
        env = private_objects.quiet_env(workspace.env)
        run_git([*NO_HOOKS, *words], workspace.root, env=env)

    kept_folder = os.path.join(location.folder, FOLDER)
    refs = _read_refs(workspace)
    names: tuple[str, ...] = _FILES
    if refs is not None:
        _restore_refs(workspace, kept_folder, refs)
        names = tuple(name for name in _FILES if name not in _REFS)

    for name in names:
        _restore_file(os.path.join(kept_folder, name), os.path.join(workspace.git_dir or "", name))


def _plan_head(then: GitState, now: GitState, reason: str) -> list[list[str]]:
    """Return the commands of git that bring HEAD and its branch back."""
    attach = ["symbolic-ref", "-m", reason, "HEAD", then.branch]
    if then.branch and then.head:
        return [["update-ref", "-m", reason, then.branch, then.head], attach]
    if then.branch and now.branch == then.branch and now.head:  # then: before the first commit
        return [attach, ["update-ref", "-d", then.branch]]
    if then.branch:
        return [attach]
    if then.head:
        return [["update-ref", "--no-deref", "-m", reason, "HEAD", then.head]]
    return []


def _restore_refs(workspace: Workspace, kept_folder: str, present: Iterable[str]) -> None:
    """Restore the refs of what was in progress in git's table. present: the refs in it now."""
    lines = []
    for name in present:
        if not os.path.exists(os.path.join(kept_folder, name)):
            lines.append(f"delete {name}\n")

    for name in _REFS:
        for path in _list_files(os.path.join(kept_folder, name)):
            ref = path.removeprefix(f"{kept_folder}/")
            lines += [f"update {ref} {commit}\n" for commit in _read_ids(path)[:1]]

    words = ["update-ref", "--no-deref", "--stdin"]
    env = private_objects.quiet_env(workspace.env)
    run_git(words, workspace.root, stdin=os.fsencode("".join(lines)), env=env)


def _restore_file(source: str, path: str) -> None:
    """Replace a file or folder of the git directory by the kept one, which need not exist."""
    with reporting(path):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        _copy(source, path)
