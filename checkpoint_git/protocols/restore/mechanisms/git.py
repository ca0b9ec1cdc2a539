"""What git holds beside the files: the index, HEAD with its branch, and a merge, rebase, ... under way."""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, join_some, plural, quote_path
from checkpoint_git.disk.atomic import create_file, reporting
from checkpoint_git.disk.read import read_if_there, read_plain
from checkpoint_git.disk.replace import remove_quietly, write_temporary
from checkpoint_git.git import private_objects
from checkpoint_git.git.clone import read_operation
from checkpoint_git.git.objects import Blobs, Entry, IndexEntry, find_commit, read_headers, read_index, read_tree
from checkpoint_git.git.own_files import read_start
from checkpoint_git.git.run import NO_HOOKS, run_git
from checkpoint_git.protocols.restore import layout, snapshot
from checkpoint_git.protocols.restore.contents import Location
from checkpoint_git.protocols.restore.layout import Workspace

FOLDER = "git"  # below a point's folder: the index and the files of what is under way
_MOST_PARENTS = 64
_MOST_INDEX = 1 << 31  # bytes
_OTHERS = {"sequencer": "cherry-pick", "BISECT_LOG": "bisect"}  # read_operation does not know them
_REFS = snapshot.OPERATION_REFS
_FILES = snapshot.OPERATION_FILES
_BRANCHES = "branches"  # that a rollback was about to move, written as git's rebase-merge/update-refs is
_ID = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")


class GitState(NamedTuple):
    head: str  # the commit, "" before the first
    branch: str  # the whole name of its ref, "" where HEAD is detached
    operation: str  # "merge", "rebase", "cherry-pick", "revert", "bisect" or ""
    staged: str  # a digest of what is staged


def read_state(workspace: Workspace, index: Sequence[IndexEntry] | None = None) -> GitState:
    root, env = workspace.root, private_objects.quiet_env(workspace.env)
    branch = run_git(["symbolic-ref", "--quiet", "HEAD"], root, env=env, check=False)
    operation = _find_operation(workspace.git_dir or "")
    staged = read_index(root, env=env) if index is None else index
    return GitState(find_commit(root, "HEAD", env), os.fsdecode(branch.out).strip(), operation, hash_index(staged))


def _find_operation(git_dir: str) -> str:
    others = (word for name, word in _OTHERS.items() if os.path.lexists(os.path.join(git_dir, name)))
    return read_operation(git_dir) or next(others, "")


def write_kept(workspace: Workspace, folder: str, tree: str, head: str, branch: str) -> GitState:
    """Write what an automatic point keeps of git into a folder, as `capture` does. tree: see snapshot.py."""
    env = private_objects.quiet_env(workspace.env)
    own = os.path.join(folder, FOLDER)
    os.makedirs(own, mode=0o700)

    entries = read_tree(workspace.root, tree, env)
    names = [path for path in entries if path.startswith("git/")]
    with Blobs(workspace.root, env) as blobs:
        for name, content in zip(names, blobs.read_all([entries[name].blob for name in names]), strict=True):
            path = os.path.join(own, name.removeprefix("git/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(content if isinstance(content, bytes) else b"")

    lines = []
    for path, entry in entries.items():
        stage, _, staged_path = path.partition("/")
        if stage != "git":
            lines.append(f"{entry.mode} {entry.blob} {stage}\t{staged_path}\0")
    if lines:
        words = [*NO_HOOKS, "update-index", "-z", "--index-info"]
        run_git(words, workspace.root, stdin=os.fsencode("".join(lines)), env=_kept_env(workspace, folder))
    return GitState(head, branch, _find_operation(own), hash_index(_read_kept(workspace, folder)))


def hash_index(staged: Sequence[IndexEntry]) -> str:
    return sha256("\0".join(map(repr, staged)).encode()).hexdigest()


def _read_refs(workspace: Workspace) -> dict[str, str] | None:
    """Where git keeps refs in a table (2.45): of what is under way, name -> id. None where they are files."""
    if not os.path.isdir(os.path.join(os.path.dirname(workspace.base), "reftable")):
        return None
    words = ["for-each-ref", "--include-root-refs", "--format=%(refname) %(objectname)", *_REFS]
    out = run_git(words, workspace.root, env=private_objects.quiet_env(workspace.env)).out
    return dict(line.split(" ") for line in os.fsdecode(out).splitlines())


def capture(workspace: Workspace, folder: str, refs: Mapping[str, str]) -> tuple[GitState, list[str], dict[str, Entry]]:
    """folder: the point's. refs: branches to keep. Returns the state, the commits needed, and what is staged."""
    own, git_dir = os.path.join(folder, FOLDER), workspace.git_dir or ""
    with reporting(own):
        os.mkdir(own, 0o700)
        for name in ("index", *_FILES):
            _copy(os.path.join(git_dir, name), os.path.join(own, name))
        listed = "\n".join(f"{ref}\n{commit}\n{commit}" for ref, commit in refs.items())
        for name, text in {_BRANCHES: listed, **(_read_refs(workspace) or {})}.items():
            os.makedirs(os.path.dirname(os.path.join(own, name)), exist_ok=True)
            with open(os.path.join(own, name), "wb") as stream:
                stream.write(os.fsencode(f"{text}\n"))
    if any(name.startswith("sharedindex.") for name in os.listdir(git_dir)):
        run_git([*NO_HOOKS, "update-index", "--no-split-index"], workspace.root, env=_kept_env(workspace, folder))
    staged = _read_kept(workspace, folder)
    state = read_state(workspace, staged)
    ids = (one for name in _FILES for path in _list_files(os.path.join(own, name)) for one in _read_ids(path))
    named = [state.head, *refs.values(), *dict.fromkeys(ids)]
    headers = read_headers(workspace.root, [one for one in named if one], private_objects.quiet_env(workspace.env))
    commits = list(dict.fromkeys(one.id for one in headers if one.kind == "commit"))[:_MOST_PARENTS]
    return state, commits, {f"index/{one.stage}/{one.path}": Entry(one.mode, one.blob) for one in staged}


def _copy(source: str, target: str) -> None:
    if os.path.islink(source) or not os.path.lexists(source):
        return
    if os.path.isdir(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _list_files(path: str) -> list[str]:
    below = [os.path.join(top, one) for top, _, found in os.walk(path) for one in found]
    return [path] if os.path.isfile(path) else below


def _read_ids(path: str) -> list[str]:
    return [found.decode() for found in _ID.findall(read_start(path, 1 << 20))]


def _kept_env(workspace: Workspace, folder: str) -> dict[str, str]:
    return {**private_objects.quiet_env(workspace.env), "GIT_INDEX_FILE": os.path.join(folder, FOLDER, "index")}


def _read_kept(workspace: Workspace, folder: str) -> list[IndexEntry]:
    return read_index(workspace.root, env=_kept_env(workspace, folder))


def _read_rebased(folder: str) -> dict[str, str]:
    """The branches that a rebase under way moves at its end, and those of _BRANCHES -> the commits that they named."""
    names = ("rebase-apply/head-name", "rebase-apply/orig-head", "rebase-merge/head-name", "rebase-merge/orig-head")
    texts = [read_if_there(os.path.join(folder, name)) or b"-" for name in names]
    texts += [read_if_there(os.path.join(folder, name)) or b"" for name in ("rebase-merge/update-refs", _BRANCHES)]
    lines = [os.fsdecode(line) for line in b"\n".join(texts).split(b"\n") if line]
    heads, stacked = lines[:4], lines[4:]  # of the latter each with what it names, and what it will
    pairs = zip(heads[::2] + stacked[::3], heads[1::2] + stacked[1::3], strict=False)
    return {ref: commit for ref, commit in pairs if ref.startswith("refs/heads/") and _ID.fullmatch(commit.encode())}


def _read_moved(workspace: Workspace, location: Location) -> dict[str, str]:
    """Those of _read_rebased that no longer name what they did -> what that was."""
    kept, env = _read_rebased(os.path.join(location.folder, FOLDER)), private_objects.quiet_env(workspace.env)
    return {ref: commit for ref, commit in kept.items() if find_commit(workspace.root, ref, env) != commit}


def compare(workspace: Workspace, location: Location, kept: dict[str, Any]) -> list[tuple[str, str]]:
    """What is not as it was, in sentences, each with the option that restores it."""
    then, now = GitState(**kept), read_state(workspace)
    said = []
    if (then.head, then.branch) != (now.head, now.branch):
        said.append(("--operation", f"HEAD was {_name(then)}, later {_name(now)}"))
    if then.operation != now.operation:
        was, is_now = (f"git {one.operation}" if one.operation else "nothing" for one in (then, now))
        said.append(("--operation", f"{was} was in progress, later {is_now}"))
    for ref, commit in _read_moved(workspace, location).items():
        said.append(("--operation", f"{escape_controls(ref[11:])} was at {commit[:10]}, and was moved later"))
    if then.staged != now.staged:
        there = read_index(workspace.root, env=private_objects.quiet_env(workspace.env))
        paths = sorted({one.path for one in {*there} ^ {*_read_kept(workspace, location.folder)}})
        shown = join_some([escape_controls(path) for path in paths])
        said.append(("--index", f"what is staged differs in {plural(len(paths), 'path')}: {shown}"))
    return said


def _name(state: GitState) -> str:
    place = escape_controls(state.branch.removeprefix("refs/heads/")) or "detached"
    return f"{place} at {state.head[:10] or 'no commit'}"


def restore_index(workspace: Workspace, location: Location, covers: Callable[[str], bool] | None = None) -> None:
    """All of it, flags included; covers: of these paths what was staged, and the flags stay."""
    index = os.path.join(workspace.git_dir or "", "index")
    source = index if covers else os.path.join(location.folder, FOLDER, "index")
    lock = f"{index}.lock"
    with reporting(lock):
        if not create_file(lock, layout.LOCKED):
            hint = f"wait for it, then run the same command again; where no git runs: rm {quote_path(lock)}"
            raise CheckpointError("another git command holds the index", hint)
        copy, env = "", private_objects.quiet_env(workspace.env)
        try:
            # git works on a copy: no lock of its own is left in the way when it is killed
            data = read_plain(source, _MOST_INDEX) if os.path.exists(source) else b""
            env["GIT_INDEX_FILE"] = copy = write_temporary(index, data, None, sync=True)
            if not data:  # nothing had ever been staged
                os.unlink(copy)
            else:  # git compares the content of files that are no older than the index
                os.utime(copy, ns=(0, os.stat(source).st_mtime_ns))
            if covers:
                staged = [one for one in _read_kept(workspace, location.folder) if covers(one.path)]
                there = [one for one in read_index(workspace.root, env=env) if covers(one.path)]
                lines = [f"0 {'0' * len(one.blob)}\t{one.path}" for one in [*there, *staged]]
                lines += [f"{one.mode} {one.blob} {one.stage}\t{one.path}" for one in staged]
                stdin = os.fsencode("".join(f"{line}\0" for line in lines))
                run_git(["update-index", "-z", "--index-info"], workspace.root, stdin=stdin, env=env)
            else:
                run_git(["update-index", "-q", "--refresh"], workspace.root, env=env, check=False)
            if os.path.exists(copy):
                os.replace(copy, index)
            else:
                remove_quietly(index)
        finally:
            remove_quietly(copy)
            remove_quietly(lock)


def check_branches_free(workspace: Workspace, location: Location, branch: str) -> dict[str, str]:
    """What restore_operation would move -> what it names. Raises CheckpointError where another work tree has it."""
    words = ["for-each-ref", "--format=%(refname) %(objectname) %(worktreepath)", branch or "refs/none"]
    words += _read_moved(workspace, location)
    out = run_git(words, workspace.root, env=private_objects.quiet_env(workspace.env)).out
    found = [line.split(" ", 2) for line in os.fsdecode(out).splitlines()]
    for name, _, place in found:
        if place and os.path.realpath(place) != os.path.realpath(workspace.root):
            message = f"the branch {escape_controls(name)} is checked out in {escape_controls(place)}"
            raise CheckpointError(message, "omit --operation, or check out another branch there; nothing was changed")
    return {name: commit for name, commit, _ in found}


def restore_operation(workspace: Workspace, location: Location, kept: dict[str, Any], reason: str) -> None:
    """HEAD, its branch and what was under way; the index is brought back by itself."""
    then, now = GitState(**kept), read_state(workspace)
    words, attach = list[list[str]](), ["symbolic-ref", "-m", reason, "HEAD", then.branch]
    if then.branch and then.head:
        words = [["update-ref", "-m", reason, then.branch, then.head], attach]
    elif then.branch:
        words = [attach, *([["update-ref", "-d", then.branch]] if now.branch == then.branch and now.head else [])]
    elif then.head:
        words = [["update-ref", "--no-deref", "-m", reason, "HEAD", then.head]]
    rebased = [["update-ref", "-m", reason, *moved] for moved in _read_moved(workspace, location).items()]
    for each in [*(words if (then.head, then.branch) != (now.head, now.branch) else ()), *rebased]:
        run_git([*NO_HOOKS, *each], workspace.root, env=private_objects.quiet_env(workspace.env))
    refs, own = _read_refs(workspace), os.path.join(location.folder, FOLDER)
    if refs is not None:
        lines = [f"delete {name}\n" for name in refs if not os.path.exists(os.path.join(own, name))]
        paths = [path for name in _REFS for path in _list_files(os.path.join(own, name))]
        lines += [f"update {path[len(own) + 1 :]} {one}\n" for path in paths for one in _read_ids(path)[:1]]
        stdin, env = os.fsencode("".join(lines)), private_objects.quiet_env(workspace.env)
        run_git(["update-ref", "--no-deref", "--stdin"], workspace.root, stdin=stdin, env=env)
    for name in _FILES if refs is None else (name for name in _FILES if name not in _REFS):
        path = os.path.join(workspace.git_dir or "", name)
        with reporting(path):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            _copy(os.path.join(own, name), path)
