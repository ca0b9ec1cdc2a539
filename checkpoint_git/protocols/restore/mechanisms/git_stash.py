"""Files kept as raw blobs in git's object database, under a ref of their own.

`git stash` itself is not used: it takes the edits out of the work tree, makes nothing when there are none, and gives
back another entry when the numbers moved. Here the index, the work tree and the stash are never touched, and no filter
changes a byte.
"""

import os
from collections.abc import Sequence

from checkpoint_git.git import objects, private_objects
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.entries import Entry
from checkpoint_git.protocols.restore.mechanism import Held, Take, Tell
from checkpoint_git.protocols.restore.read import changing_error, read_entry_at
from checkpoint_git.protocols.restore.scope import Named

TYPE = "git_stash"
_TRIES = 3
_PLAIN, _EXECUTABLE = objects.FILE_MODES


def capture(held: Held, found: Sequence[Named], tell: Tell) -> list[Entry]:
    """Writes every file and link as a blob; the caller reads them back, since a file may change in between."""
    for _ in range(_TRIES):
        try:
            return _write_all(held, found, tell)
        except private_objects.CutShortError:
            continue
    changed = next((named for named in found if _is_changed(held, named)), found[0])
    raise changing_error(changed.path)


def _is_changed(held: Held, named: Named) -> bool:
    try:
        now = os.lstat(os.path.join(held.root, named.path))
    except OSError:
        return True
    before = named.status
    return before is None or (before.st_mtime_ns, before.st_size) != (now.st_mtime_ns, now.st_size)


def _write_all(held: Held, found: Sequence[Named], tell: Tell) -> list[Entry]:
    entries = [read_entry_at(held.root, named) for named in found]
    files = [entry.path for entry in entries if entry.kind == "file"]
    links = [entry.path for entry in entries if entry.kind == "link"]
    written = private_objects.write_files(held.root, [os.path.join(held.root, path) for path in files], held.env)
    targets = [os.fsencode(os.readlink(os.path.join(held.root, path))) for path in links]
    blobs = dict(zip(files, written, strict=True))
    blobs.update(zip(links, private_objects.write_contents(held.root, targets, held.env), strict=True))
    tell(sum(entry.size for entry in entries))
    return [entry._replace(blob=blobs.get(entry.path, "")) for entry in entries]


def read_contents(held: Held, entries: Sequence[Entry], take: Take) -> None:
    """The blobs, one after another."""
    with objects.Blobs(held.root, private_objects.quiet_env(held.env)) as blobs:
        for at, content in enumerate(blobs.stream_all([entry.blob for entry in entries])):
            take(at, content)


def write_commit(held: Held, point: str, reason: str, entries: Sequence[Entry], others: dict[str, bytes]) -> str:
    """A commit of all entries' blobs and of the point's own files (name -> content); its id."""
    names = list(others)
    blobs = private_objects.write_contents(held.root, [others[name] for name in names], held.env)
    own = {name: objects.Entry(_PLAIN, blob) for name, blob in zip(names, blobs, strict=True)}
    content = {
        f"{layout.CONTENT}/{entry.path}": objects.Entry(_mode_of(entry), entry.blob) for entry in entries if entry.blob
    }
    return private_objects.write_commit(held.root, {**content, **own}, f"checkpoint:{point}:{reason}\n", held.env)


def _mode_of(entry: Entry) -> str:
    if entry.kind == "link":
        return objects.SYMLINK
    return _EXECUTABLE if entry.mode & 0o100 else _PLAIN
