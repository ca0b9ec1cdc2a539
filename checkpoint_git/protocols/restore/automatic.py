"""List automatic restore points (see snapshot.py), and open one for a rollback."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import find_link
from checkpoint_git.git.objects import (
    GITLINK,
    SYMLINK,
    Blobs,
    Change,
    TreeEntry,
    diff_trees,
    read_tree,
)
from checkpoint_git.git.private_objects import quiet_env, write_contents
from checkpoint_git.git.run import read_names, run_git
from checkpoint_git.protocols.restore import contents, folders, layout, rules, snapshot
from checkpoint_git.protocols.restore.contents import ContentEntry, Kind, Location
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms import git
from checkpoint_git.protocols.restore.scope import look_at
from checkpoint_git.protocols.restore.store import Manifest

AUTOMATIC = "auto-"  # how their ids begin
_FORMAT = "--format=%H%n%T%n%cI%n%gs%n%b"
_FIELDS = 4  # in lines of their own, before the notes
_SHORTEST_WORD = 8  # letters of an id that name no point yet


class Snapshot(NamedTuple):
    """An automatic restore point."""

    id: str
    tree: str
    made_at: str  # RFC 3339
    session: str
    before: str  # "before Edit"
    # "branch", "head" ("none" for none) and "staged"; none in those of earlier versions
    notes: Mapping[str, str] = {}


def read_snapshots(workspace: Workspace) -> list[Snapshot]:
    """Return the automatic points of this work tree, session by session, oldest first."""
    words = ["log", "--walk-reflogs", "-z", _FORMAT, snapshot.REF, "--"]
    printed = run_git(words, workspace.root, env=quiet_env(workspace.env), check=False).out
    sessions: dict[str, list[Snapshot]] = {}
    for record in reversed(printed.decode("utf-8", "replace").split("\0")):
        lines = record.split("\n")
        if len(lines) > _FIELDS:
            found = _read_record(lines)
            sessions.setdefault(found.session, []).append(found)

    return [found for group in sessions.values() for found in group]


def _read_record(lines: Sequence[str]) -> Snapshot:
    """Return the point of a record of the log. lines: in _FORMAT."""
    commit, tree, made_at, label = lines[:_FIELDS]
    session, _, before = escape_controls(shorten(label, 200)).partition(" ")
    notes = dict(line.split(" ", 1) for line in lines[_FIELDS:] if " " in line)
    return Snapshot(f"{AUTOMATIC}{commit[:12]}", tree, made_at, session, before, notes)


def find_snapshot(workspace: Workspace, word: str) -> Snapshot:
    """Return the point whose id is or begins with a word. Raises CheckpointError."""
    found: dict[str, Snapshot] = {}
    if len(word) > _SHORTEST_WORD:
        for known in read_snapshots(workspace):
            if known.id.startswith(word):
                found[known.id] = known

    if len(found) == 1:
        return found.popitem()[1]
    shown = escape_controls(shorten(word, 60))
    message = f"no such restore point: {shown}"
    if found:
        message = f"{len(found)} restore points begin with {shown}"
    hint = command("checkpoint", "restore-point", "list", more=" shows those that are")
    raise CheckpointError(message, hint)


@contextmanager
def open_snapshot(
    workspace: Workspace, word: str, within: Sequence[str] | None, *, with_git: bool, dry_run: bool
) -> Iterator[tuple[Manifest, Location]]:
    """Give a point of exactly the paths that differ now, for a rollback to use like any other.

    with_git: the index and HEAD shall be restored, so the point must not be empty. Raises
    CheckpointError.
    """
    found = find_snapshot(workspace, word)
    tree = read_tree(workspace.root, found.tree, quiet_env(workspace.env), within or ())
    wanted = {path: entry for path, entry in tree.items() if entry.mode != GITLINK}
    closed: list[str] = []
    if not dry_run:
        closed = _open_closed(workspace.root, wanted)
    changes = _find_changes(workspace, found, within)
    _check_places(workspace.root, wanted, changes)

    paths = [change.path for change in changes if change.after]
    paths += [path for path in closed if path not in paths]
    if with_git and not changes and not paths:
        paths = _find_any_file(workspace.root, wanted)

    staged = _read_staged(workspace, found)
    chosen = {path: wanted[path] for path in paths}
    entries = _read_entries(workspace, chosen, frozenset(closed), staged)
    asked = [*paths, *(change.path for change in changes if not change.after)]
    # what is behind a link is not there yet: the rollback removes the link first
    asked = [path for path in asked if not find_link(os.path.dirname(path), workspace.root)]

    with folders.scratch_folder(workspace.base, found.id) as folder:
        state = None
        if "staged" in found.notes:
            head = _plain(found.notes["head"])
            branch = _plain(found.notes["branch"])
            state = git.write_kept(workspace, folder, found.notes["staged"], head, branch)
        manifest = Manifest(found.id, _describe(found, entries, asked, state))
        yield manifest, Location(workspace.root, folder, workspace.env)


def _find_any_file(root: str, wanted: Iterable[str]) -> list[str]:
    """Return one file that is there, if any: a point without a file has no index."""
    for path in sorted(wanted):
        if os.path.isfile(os.path.join(root, path)):
            return [path]
    return []


def _plain(note: str) -> str:
    return "" if note == "none" else note


def _read_staged(workspace: Workspace, found: Snapshot) -> dict[str, TreeEntry]:
    """Return the entries of the index that the point keeps.

    Points of earlier versions keep none.
    """
    if "staged" not in found.notes:
        return {}
    entries = read_tree(workspace.root, found.notes["staged"], quiet_env(workspace.env), ["0"])
    return {path.removeprefix("0/"): entry for path, entry in entries.items()}


def _describe(
    found: Snapshot,
    entries: Sequence[ContentEntry],
    asked: Sequence[str],
    state: git.GitState | None,
) -> dict[str, Any]:
    """Return the members of a manifest that a rollback uses."""
    return {
        "id": found.id,
        "type": "git_stash",
        "created_at": found.made_at,
        "expires_at": None,
        "scope": {
            "asked": list(asked),
            "files": [entry.path for entry in entries],
            "state_keys": [],
        },
        "entries": [contents.write_entry(entry) for entry in entries],
        "left_out": [],
        "parts": [],
        "hash": f"git-tree:{found.tree}",
        "git": state._asdict() if state else None,
        "lacks_folders": True,
    }


def _find_changes(
    workspace: Workspace, found: Snapshot, within: Sequence[str] | None
) -> list[Change]:
    """Return what differs: `old` is there now, `after` is wanted."""
    try:
        present = snapshot.take(workspace.root, "")
    except OSError as error:
        message = f"git cannot add what is here: {escape_controls(str(error))}"
        trial = command("git", "add", "-A", "--dry-run", more=" shows why")
        raise CheckpointError(message, join_hints(trial, "nothing was changed")) from None

    places = [f":(top,literal){path}" for path in within or ()]
    changes = diff_trees(workspace.root, present, found.tree, places, quiet_env(workspace.env))
    return [change for change in changes if _is_restored(change, is_named=bool(within))]


def _is_restored(change: Change, *, is_named: bool) -> bool:
    """Return whether a rollback makes a change.

    It leaves submodules, what looks like a secret, and newer checkpoints as they are.
    """
    if any(entry is not None and entry.mode == GITLINK for entry in (change.old, change.after)):
        return False
    if not rules.is_plain_path(change.path):
        return False
    if change.path.startswith(f"{layout.FOLDER}/") and change.old and not is_named:
        return False
    is_changed = change.old is not None and change.after is not None
    return not rules.is_sensitive(change.path) or (rules.is_doubtful(change.path) and is_changed)


def _check_places(root: str, wanted: Iterable[str], changes: Iterable[Change]) -> None:
    """Raise CheckpointError if something that no point keeps is in the place of a file."""
    removed = {change.path for change in changes if not change.after}
    for path in wanted:
        found = look_at(root, path)
        if found.status and found.kind == "absent":
            message = f"a pipe, socket or device is in the place of {escape_controls(path)}"
            raise CheckpointError(message, "move it away first")
        if found.kind != "folder":
            continue
        for folder, _, names in os.walk(os.path.join(root, path)):
            below = [os.path.relpath(os.path.join(folder, name), root) for name in names]
            kept_nowhere = [name for name in below if name not in removed]
            if kept_nowhere:
                hint = f"no restore point keeps {escape_controls(kept_nowhere[0])}: "
                hint += "move it away, then run it again"
                raise CheckpointError(f"a folder is in the place of {escape_controls(path)}", hint)


def _open_closed(root: str, wanted: Iterable[str]) -> list[str]:
    """Open folders and files that their owner may not read, and return those files."""
    closed: list[str] = []
    known: set[str] = set()
    for path in sorted(wanted):
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            place = "/".join(parts[:count])
            full = os.path.join(root, place)
            if place in known:
                continue
            known.add(place)
            status = layout.read_status(full)
            if status is None or stat.S_ISLNK(status.st_mode):
                break
            if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o500 != 0o500:
                os.chmod(full, 0o777 & ~_read_umask())
            elif stat.S_ISREG(status.st_mode) and not status.st_mode & 0o400:
                os.chmod(full, 0o600)
                closed.append(path)

    return closed


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _read_entries(
    workspace: Workspace,
    wanted: Mapping[str, TreeEntry],
    closed: frozenset[str],
    staged: Mapping[str, TreeEntry],
) -> list[ContentEntry]:
    """Return what the point holds at these paths.

    closed: paths whose modes are lost. staged: of its index.
    """
    env = quiet_env(workspace.env)
    stored = _find_stored(workspace, wanted, staged)
    blobs = {path: stored.get(path, entry.blob) for path, entry in wanted.items()}

    entries = []
    with Blobs(workspace.root, env) as reader:
        streams = reader.stream_all(list(blobs.values()))
        for (path, blob), pieces in zip(blobs.items(), streams, strict=True):
            if pieces is None:
                message = f"git has lost the content of {escape_controls(path)}"
                raise CheckpointError(message, "nothing was changed")

            digest = sha256()
            size = 0
            for piece in pieces:
                digest.update(piece)
                size += len(piece)

            kind: Kind = "file"
            if wanted[path].mode == SYMLINK:
                kind = "link"
                mode = 0o777
            else:
                mode = _find_mode(workspace.root, path, wanted[path], is_known=path not in closed)
            entries.append(ContentEntry(path, kind, mode, size, digest.hexdigest(), blob))

    return entries


def _find_stored(
    workspace: Workspace, wanted: Mapping[str, TreeEntry], staged: Mapping[str, TreeEntry]
) -> dict[str, str]:
    """Return, for files that git-lfs and the like keep, blobs of what those give back."""
    env = quiet_env(workspace.env)
    paths = [path for path, entry in wanted.items() if entry == staged.get(path)]
    stdin = os.fsencode("".join(f"{path}\0" for path in paths))
    fields = read_names(
        ["check-attr", "-z", "--stdin", "filter"], workspace.root, stdin=stdin, env=env
    )

    stored = {}
    for path, name in zip(fields[::3], fields[2::3], strict=True):
        if name in snapshot.STORES:
            words = ["cat-file", "--filters", f"--path={path}", wanted[path].blob]
            content = run_git(words, workspace.root, env=env).out
            stored[path] = write_contents(workspace.root, [content], workspace.env)[0]

    return stored


def _find_mode(root: str, path: str, entry: TreeEntry, *, is_known: bool) -> int:
    """Return the mode of the present file if that is as executable as the point's.

    Otherwise the usual mode. is_known: the present mode is the user's.
    """
    is_executable = entry.mode == "100755"
    status = None
    if is_known:
        status = layout.read_status(os.path.join(root, path))
    if status and stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o100) == is_executable:
        return status.st_mode & 0o777

    mode = 0o777 if is_executable else 0o666
    return mode & ~_read_umask()
