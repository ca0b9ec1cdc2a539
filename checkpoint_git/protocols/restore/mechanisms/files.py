"""Keep files, as blobs in git's object database or as copies, and restore them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import reporting
from checkpoint_git.disk.discover import check_way
from checkpoint_git.git import objects, private_objects
from checkpoint_git.protocols.restore import contents, layout
from checkpoint_git.protocols.restore.contents import (
    Chunks,
    ContentDifference,
    ContentEntry,
    Location,
    ScopePath,
)
from checkpoint_git.protocols.restore.mechanisms import file_writes
from checkpoint_git.protocols.restore.mechanisms.contract import Job, MechanismPlan
from checkpoint_git.protocols.restore.mechanisms.file_writes import read_whole
from checkpoint_git.protocols.restore.scope import ChangedError, read_entry_at, read_file

_PLAIN, _EXECUTABLE = objects.FILE_MODES


class LostError(CheckpointError):
    """Raised if content that was kept is not there any more."""


# `git stash` itself is not used: it takes the edits out of the work tree, makes nothing when there
# are none, and gives back another entry when the numbers moved. Here the index, the work tree and
# the stash are never touched, and no filter changes a byte.
def capture(kind: str, location: Location, found: Sequence[ScopePath]) -> list[ContentEntry]:
    """Keep files. kind: of the point. Raises CheckpointError for a full disk, ChangedError."""
    if kind == "git_stash":
        return _write_blobs(location, found)

    entries = []
    for scope_path in found:
        target = copy_path(location.folder, scope_path.path)
        with reporting(target):
            entries.append(_copy(location.root, scope_path, target))
    return entries


def read_contents(
    kind: str,
    location: Location,
    entries: Sequence[ContentEntry],
) -> Iterator[Chunks | None]:
    """Yield the kept content of each file and link, None if it is lost."""
    if kind == "git_stash":
        with objects.Blobs(location.root, private_objects.quiet_env(location.env)) as blobs:
            yield from blobs.stream_all([entry.blob for entry in entries])
        return

    for entry in entries:
        path = copy_path(location.folder, entry.path)
        if _find_kind(path) == entry.kind:
            yield read_whole(path, entry.path)
        else:
            yield None


def _find_kind(path: str) -> str:
    if os.path.islink(path):
        return "link"
    if os.path.isfile(path):
        return "file"
    return ""


def find_damage(kind: str, location: Location, entries: Iterable[ContentEntry]) -> list[str]:
    """Return the paths of files and links whose content is lost or changed."""
    kept_entries = [entry for entry in entries if entry.kind in ("file", "link")]
    damaged = []
    kept_contents = read_contents(kind, location, kept_entries)

    for entry, content in zip(kept_entries, kept_contents, strict=True):
        digest = sha256()
        size = 0
        for chunk in content or ():
            digest.update(chunk)
            size += len(chunk)
        is_whole = size == entry.size and digest.hexdigest() == entry.sha256
        if content is None or not is_whole:
            damaged.append(entry.path)

    return damaged


def _write_blobs(location: Location, found: Sequence[ScopePath]) -> list[ContentEntry]:
    # each is read twice, for its hash and by git: the caller compares, since a file may change in
    # between
    root = location.root
    entries = [read_entry_at(root, scope_path) for scope_path in found]
    files = [entry.path for entry in entries if entry.kind == "file"]
    links = [entry.path for entry in entries if entry.kind == "link"]

    try:
        paths = [os.path.join(root, path) for path in files]
        written = private_objects.write_files(root, paths, location.env)
    except private_objects.CutShortError:
        raise ChangedError from None

    targets = [os.fsencode(os.readlink(os.path.join(root, path))) for path in links]
    written += private_objects.write_contents(root, targets, location.env)
    blobs = dict(zip([*files, *links], written, strict=True))
    return [entry._replace(blob=blobs.get(entry.path, "")) for entry in entries]


def write_commit(
    location: Location,
    message: str,
    entries: Sequence[ContentEntry],
    own_files: dict[str, bytes],
    staged: dict[str, objects.TreeEntry],
    parents: Sequence[str],
) -> str:
    """Write a commit of all blobs, of what is staged, and of the point's own files."""
    blobs = private_objects.write_contents(location.root, list(own_files.values()), location.env)
    tree = dict(staged)
    for name, blob in zip(own_files, blobs, strict=True):
        tree[name] = objects.TreeEntry(_PLAIN, blob)

    for entry in entries:
        if entry.blob:
            mode = _find_git_mode(entry)
            tree[f"{layout.CONTENT}/{entry.path}"] = objects.TreeEntry(mode, entry.blob)
    return private_objects.write_commit(location.root, tree, message, parents, location.env)


def _find_git_mode(entry: ContentEntry) -> str:
    if entry.kind == "link":
        return objects.SYMLINK
    return _EXECUTABLE if entry.mode & 0o100 else _PLAIN


def copy_path(folder: str, path: str) -> str:
    """Return where the copy of a file is. folder: of the point."""
    return os.path.join(folder, layout.CONTENT, path)


def _copy(root: str, found: ScopePath, target: str) -> ContentEntry:
    if found.kind in ("file", "link"):
        os.makedirs(os.path.dirname(target), exist_ok=True)
    if found.kind != "file":
        entry = read_entry_at(root, found)
        if entry.kind == "link":
            os.symlink(os.readlink(os.path.join(root, found.path)), target)
        return entry

    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(target, flags, 0o600), "wb") as stream:
        entry = read_file(root, found.path, stream.write)
        stream.flush()
        os.fsync(stream.fileno())
        return entry


def restore_entries(
    location: Location,
    kind: str,
    entries: Sequence[ContentEntry],
    target: str,
    *,
    sync: bool = True,
    check: file_writes.Check = lambda path: None,
) -> None:
    """Put entries in their places below a folder. Raises LostError, CheckpointError."""
    entries = contents.match_twins(entries)
    folders = [entry for entry in entries if entry.kind == "folder"]
    first_names = [entry for entry in entries if not entry.twin]
    with_content = [entry for entry in first_names if entry.kind in ("file", "link")]

    with file_writes.workshop(location.folder) as work_folder:
        file_writes.make_folders(target, folders)
        kept_contents = read_contents(kind, location, with_content)
        for entry, content in zip(with_content, kept_contents, strict=True):
            if content is None:
                message = f"the content of {escape_controls(entry.path)} is lost"
                raise LostError(message, "verify the point")
            file_writes.write_path(target, entry, content, work_folder, sync=sync, check=check)
        for entry in entries:
            if entry.twin:
                file_writes.write_path(target, entry, iter(()), work_folder, check=check)
        file_writes.set_modes(target, folders)


def check_ready(job: Job) -> None:
    """Raise nothing: what blocks files is known once the plan is made (check_plan)."""


def restore(job: Job, plan: MechanismPlan) -> list[str]:
    """Restore files, each only while it is as it was planned with."""
    root = job.workspace.root
    watch = Watch(root, plan.found)
    of_another_kind = [difference.path for difference in plan.restore if difference.how == "kind"]

    for path in [*plan.remove, *sorted(of_another_kind, reverse=True)]:
        file_writes.remove_path(root, path, watch.check)
        watch.forget(path)

    if job.manifest.value.get("lacks_folders"):  # an automatic point, which knows files only
        file_writes.remove_emptied(root, plan.remove)

    chosen = _choose_entries(plan)
    kind = job.manifest.value["type"]
    restore_entries(job.location, kind, chosen, root, check=watch.check)
    file_writes.sync_folders(root, find_changed(plan))
    return []


def find_changed(plan: MechanismPlan) -> list[str]:
    """Return the paths that a plan removes or restores."""
    return [*plan.remove, *(difference.path for difference in plan.restore)]


def _choose_entries(plan: MechanismPlan) -> list[ContentEntry]:
    """Return the entries to restore: folders, what differs, and all names of each such file."""
    wanted = {difference.path for difference in plan.restore}
    files = {entry.twin or entry.path for entry in plan.entries if entry.path in wanted}

    chosen = []
    for entry in plan.entries:
        is_wanted = entry.path in wanted or (entry.twin or entry.path) in files
        if entry.kind == "folder" or (entry.kind != "absent" and is_wanted):
            chosen.append(entry)
    return chosen


def check_plan(root: str, plan: MechanismPlan, safety: Iterable[ContentEntry]) -> None:
    """Raise CheckpointError if a plan would lose something, or cannot be carried out.

    safety: what the safety point holds.
    """
    check_kept(plan.present, find_changed(plan), safety)
    check_ways(root, plan.remove, plan.restore, plan.present)


def check_kept(
    present: Iterable[ContentEntry], changing: Iterable[str], safety: Iterable[ContentEntry]
) -> None:
    """Raise CheckpointError if something that is to change is not in the safety point."""
    kept = {_outline(entry) for entry in safety}
    changed = frozenset(changing)
    for entry in present:
        is_kept = _outline(entry) in kept
        if entry.kind == "absent" or is_kept or file_writes.is_part(entry.path):
            continue
        if entry.path in changed:
            raise _written_error(entry.path)


def is_half_way(
    present: Iterable[ContentEntry],
    wanted: Iterable[ContentEntry],
    before: Iterable[ContentEntry],
) -> bool:
    """Return whether each path is as before a rollback, or as after it.

    In any other state somebody has worked since, and it must be kept first.
    """
    known = {_outline(entry) for entry in (*wanted, *before)}
    for entry in present:
        if entry.kind == "absent" or file_writes.is_part(entry.path):
            continue
        if _outline(entry) not in known:
            return False
    return True


def _outline(entry: ContentEntry) -> tuple[str, ...]:
    mode = f"{entry.mode:o}" if entry.kind == "file" else ""  # folders are opened on the way
    return entry.path, entry.kind, mode, entry.sha256


def _written_error(path: str) -> CheckpointError:
    message = f"{escape_controls(path)} was changed during the rollback, which stopped before it"
    return CheckpointError(message, "stop what writes there, then run the same command again")


class Watch:
    """The paths as they were when the rollback was planned.

    `check` is called right before one is changed.
    """

    def __init__(self, root: str, found: Sequence[ScopePath]) -> None:
        self._root = root
        self._versions: dict[str, layout.Version] = {}
        self._shared: set[str] = set()
        for scope_path in found:
            self._versions[scope_path.path] = layout.find_version(scope_path.status)
            # a file of several names changes its ctime when another one of them is replaced
            if scope_path.status and scope_path.status.st_nlink > 1:
                self._shared.add(scope_path.path)

    def check(self, path: str) -> None:
        """Raise CheckpointError if a path has changed since."""
        known = self._versions.get(path) or ()
        present = _read_version(self._root, path) or ()
        compared = 4 if path in self._shared else 5
        if present[:compared] != known[:compared]:
            raise _written_error(path)

    def forget(self, path: str) -> None:
        """Take a path as it is now: the rollback has changed it."""
        self._versions[path] = _read_version(self._root, path)


def _read_version(root: str, path: str) -> layout.Version:
    return layout.find_version(layout.read_status(os.path.join(root, path)))


def check_ways(
    root: str,
    remove: Sequence[str],
    restore: Sequence[ContentDifference],
    present: Iterable[ContentEntry],
) -> None:
    """Raise CheckpointError if a link, or something that no point keeps, is a blocker."""
    kinds = {entry.path: entry.kind for entry in present}
    # a link that is itself replaced by a folder is not a blocker for what was below that folder
    replaced = [*remove, *(difference.path for difference in restore if difference.how == "kind")]
    replaced_links = tuple(f"{path}/" for path in replaced if kinds.get(path) == "link")

    for path, how in restore:
        if not path.startswith(replaced_links):
            check_way(os.path.dirname(path), root)
            if how == "missing" and _read_version(root, path) is not None:
                message = f"what is in the place of {escape_controls(path)} is not a file"
                hint = "no restore point keeps pipes, sockets or devices: move it away, "
                raise CheckpointError(message, hint + "then run the same command again")
        if how == "kind" and kinds.get(path) == "folder":
            _check_all_kept(root, path, frozenset(remove))


def _check_all_kept(root: str, path: str, removed: frozenset[str]) -> None:
    """Raise CheckpointError if a folder that is to go holds something that stays."""
    for folder, folders, files in os.walk(os.path.join(root, path)):
        for name in (*folders, *files):
            below = os.path.relpath(os.path.join(folder, name), root)
            if below not in removed:
                hint = f"no restore point keeps {escape_controls(below)}: "
                file_writes.check_not_folder(root, path, hint + "move it away, then run it again")


def find_staying(root: str, added: Sequence[str]) -> list[str]:
    """Return the added folders that stay, because they hold only what no restore point keeps.

    Such content is ignored, secret, or another repository's .git.
    """
    folders = [path for path in added if layout.is_folder(root, path)]
    files = set(added).difference(folders)
    staying = []
    for path in folders:
        has_added_file = any(file.startswith(f"{path}/") for file in files)
        if os.listdir(os.path.join(root, path)) and not has_added_file:
            staying.append(path)

    return staying
