"""The folder of a checkpoint's telemetry: reading it within bounds, and the writes that keep it one with its file.

It judges no content but whether a file is an event. A write adds files first, then replaces the checkpoint, then takes
files away: whoever is killed in between leaves an entry twice at most, and reading counts what is in both once.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, is_inside, relative_path
from checkpoint_git.disk.read import FileContent, read_content
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.events import (
    CLOSING,
    MAX_EVENT_BYTES,
    MAX_EVENTS,
    MAX_JOINED_BYTES,
    SUFFIX,
    Stored,
    broken_event,
    event_text,
    is_sharded,
    is_too_deep,
    read_event,
)
from checkpoint_git.protocols.skill.sharded import Split, find_amounts, join_value, plan_split

_TRIES = 5  # times that a checkpoint may be replaced under a reader
_MOST_TOLD = 20  # broken files of one skill that are named one by one

Replace = Callable[[bytes], None]


class Folder(NamedTuple):
    """The events of a skill that could be read, sorted by name, and what is wrong with the others."""

    stored: list[Stored]
    troubles: list[Finding]


def read_folder(place: Place, skill: str) -> Folder:
    """All events of a skill; nothing in the folder can make it wait, and of too much only the newest is read."""
    folder = layout.events_path(place, skill)
    shown = relative_path(folder, place.top)
    if not os.path.lexists(folder):
        return Folder([], [])
    if not is_real_folder(place, folder):
        message = "the history of a skill is no folder of its own, so nothing in it is read"
        return Folder([], [Finding("layout/not-a-folder", "error", message, shown, hint="put a real folder there")])
    names = _list_names(folder)
    troubles: list[Finding] = []
    if len(names) > MAX_EVENTS:
        troubles.append(_too_much(shown, f"the history has {len(names)} entries, and {MAX_EVENTS} are read"))
    stored: list[Stored] = []
    size = 0
    for name in reversed(names[-MAX_EVENTS:]):
        content = read_content(os.path.join(folder, name), place.top)
        size += len(content) if isinstance(content, bytes) else 0
        if size > MAX_JOINED_BYTES:
            troubles.append(_too_much(shown, f"the entries of the history have more than {MAX_JOINED_BYTES} bytes"))
            break
        found = _read_stored(os.path.join(folder, name), name, content, skill)
        if isinstance(found, Stored):
            stored.append(found)
        elif len(troubles) <= _MOST_TOLD:
            troubles.append(broken_event(f"{shown}/{name}", found))
    return Folder(stored[::-1], troubles)


def is_real_folder(place: Place, folder: str) -> bool:
    """Whether a path is a folder that no symbolic link stands for, below a history that lies in the repository."""
    return os.path.isdir(folder) and not os.path.islink(folder) and is_inside(folder, place.top)


def _list_names(folder: str) -> list[str]:
    try:
        return sorted([name for name in os.listdir(folder) if name.endswith(SUFFIX)])
    except OSError:
        return []


def _read_stored(path: str, name: str, content: FileContent, skill: str) -> Stored | str:
    if isinstance(content, OSError):
        return f"it cannot be read: {content.strerror or content}"
    if len(content) > MAX_EVENT_BYTES:
        return f"it has {len(content)} bytes, and {MAX_EVENT_BYTES} are the limit"
    if os.path.islink(path):
        return "it is a symbolic link"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    event = read_event(text, skill)
    return event if isinstance(event, str) else Stored(name, event)


def _too_much(shown: str, what: str) -> Finding:
    hint = "move closed entries out of it: checkpoint rotate"
    return Finding("layout/too-many-events", "error", f"{what}; the oldest are left out", shown, hint=hint)


# reading


def read_joined(place: Place, skill: str) -> FileContent:
    """A checkpoint's text with its events in it; unchanged where there are none, or where it is broken.

    Readers hold no lock: where the file was replaced while its folder was read, both are read again.
    """
    path = layout.checkpoint_path(place, skill)
    content = read_content(path, place.top)
    for _ in range(_TRIES):
        if not isinstance(content, bytes):
            break
        joined = _join_content(content, read_folder(place, skill).stored)
        again = read_content(path, place.top)
        if again == content:
            return joined
        content = again
    return content


def _join_content(content: bytes, stored: Sequence[Stored]) -> bytes:
    root = _parse(content)
    if root is None:
        return content
    joined = join_value(root.value, stored)
    if joined == root.value:
        return content
    text = jsonedit.rewrite(root, joined).encode()
    return text if len(text) <= jsontext.MAX_BYTES else content


def _parse(content: bytes) -> jsontext.Node | None:
    """The tree of a checkpoint, None where it is no JSON object."""
    try:
        root = jsontext.parse(jsontext.decode(content))
    except jsontext.JsonTextError:
        return None
    return root if isinstance(root.value, dict) else None


# writing


class Write(NamedTuple):
    """A document as its layout wants it. root: the whole of it. stored: the events there are. own: the bytes of the
    checkpoint's own file now, None where there is none. texts: of the files to create, by name.
    """

    root: jsontext.Node
    split: Split
    stored: list[Stored]
    own: bytes | None
    texts: dict[str, str]

    def render_active(self) -> bytes:
        """What the checkpoint's own file is to hold."""
        return _render(self.root, self.split.active)


def plan_write(place: Place, skill: str, data: bytes) -> Write | None:
    """What writing a whole document would do, None where it is no JSON object."""
    root = _parse(data)
    if root is None:
        return None
    own = read_content(layout.checkpoint_path(place, skill), place.top)
    before = _parse(own) if isinstance(own, bytes) else None
    stored = read_folder(place, skill).stored
    marks = [os.urandom(8).hex() for _ in find_amounts(root.value)]
    split = plan_split(skill, before.value if before else {}, stored, root.value, marks)
    texts = {each.name: event_text(skill, each.event) for each in split.create}
    _refuse_oversize(split.create, texts)
    return Write(root, split, stored, own if isinstance(own, bytes) else None, texts)


def write_joined(place: Place, skill: str, data: bytes, replace: Replace) -> None:
    """Writes a whole document where its layout wants it. The place's lock is held.

    replace: puts bytes in the place of the checkpoint's own file, whole or not at all.
    """
    plan = plan_write(place, skill, data)
    if plan is None:
        replace(data)
        return
    folder = layout.events_path(place, skill)
    _clear_strays(place, folder)
    _create_files(place, folder, plan.texts)
    closing = _find_marks(plan.stored, plan.split.remove)
    if closing:
        replace(_render(plan.root, {**plan.split.active, CLOSING: closing}))
    rest = plan.render_active()
    if rest != plan.own and not closing:
        replace(rest)
    remove_events(folder, plan.split.remove)
    if closing:
        replace(rest)
    if not is_sharded(plan.split.active):
        _remove_empty(folder)


def _render(root: jsontext.Node, value: dict[str, Any]) -> bytes:
    return jsonedit.rewrite(root, value).encode()


def _find_marks(stored: Sequence[Stored], names: Sequence[str]) -> list[str]:
    """The marks of the amounts among some files: those are counted twice if the file outlives the write."""
    gone = set(names)
    return [each.event.mark for each in stored if each.event.mark and each.name in gone]


def _refuse_oversize(create: Sequence[Stored], texts: dict[str, str]) -> None:
    for each in create:
        if len(texts[each.name].encode()) > MAX_EVENT_BYTES or is_too_deep(each.event.content):
            message = f"an entry of {each.event.where} is too large, or nested too deep, for a file of its own"
            raise CheckpointError(message, "make it smaller, or keep the single layout: nothing was changed")


def _clear_strays(place: Place, folder: str) -> None:
    """What a killed writer left behind; the others' folders are cleared when they are written."""
    if is_real_folder(place, folder):
        from checkpoint_git.disk import atomic

        atomic.remove_stray_files(folder)


def _create_files(place: Place, folder: str, texts: dict[str, str]) -> None:
    """Adds files, each whole or not at all; one that is there already must hold the same."""
    if not texts:
        return
    from checkpoint_git.disk import atomic

    if os.path.lexists(folder) and not is_real_folder(place, folder):
        raise CheckpointError(f"{folder} is no folder of its own", "put a real folder in its place")
    history = os.path.dirname(folder)
    if os.path.islink(history) and not is_inside(history, place.top):
        message = f"{history} is a symbolic link that leads out of {place.top}"
        raise CheckpointError(message, "put a folder in its place")
    atomic.make_folder(folder)
    for name, text in texts.items():
        path = os.path.join(folder, name)
        if not atomic.create_file(path, text.encode(), sync_name=False):
            _refuse_changed(path, text, place)
    atomic.sync_folder(folder)


def _refuse_changed(path: str, text: str, place: Place) -> None:
    """A name is made from what the file holds, so that another content was put there by hand."""
    content = read_content(path, place.top)
    if not isinstance(content, bytes) or content.replace(b"\r\n", b"\n") != text.encode():
        raise CheckpointError(f"{path} was changed after it was written", "restore it from git, or remove it")


def remove_events(folder: str, names: Sequence[str]) -> None:
    """Takes files of a folder away; those that are gone already are no trouble."""
    if not names:
        return
    from checkpoint_git.disk import atomic

    for name in names:
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise atomic.write_error(os.path.join(folder, name), error) from None
    atomic.sync_folder(folder)


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise


def remove_folder(place: Place, skill: str) -> None:
    """Takes away the events of a skill whose checkpoint goes; what cannot be read as one stays."""
    folder = layout.events_path(place, skill)
    remove_events(folder, [each.name for each in read_folder(place, skill).stored])
    if is_real_folder(place, folder):
        _remove_empty(folder)


def list_owners(place: Place) -> Iterator[str]:
    """The skills that have a folder of events, sorted."""
    try:
        entries = sorted(os.listdir(os.path.join(place.directory, layout.HISTORY)))
    except OSError:
        return iter(())
    return (name for name in entries if layout.may_have_events(place, name))


def list_event_files(place: Place, skill: str) -> list[str]:
    """The absolute paths of a skill's events, sorted, of too many the newest."""
    folder = layout.events_path(place, skill)
    names = _list_names(folder) if is_real_folder(place, folder) else []
    return [os.path.join(folder, name) for name in names[-MAX_EVENTS:]]
