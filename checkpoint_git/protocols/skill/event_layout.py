"""Whether a checkpoint and the files of its telemetry fit together. Pure: documents and paths in, findings out."""

from collections.abc import Iterable
from typing import Any

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill.events import (
    FIELD,
    SUFFIX,
    Stored,
    broken_event,
    event_name,
    event_text,
    find_leftover,
    is_sharded,
    read_event,
)


def check_event(path: str, data: bytes) -> Document:
    """An event's file as a document. path: relative, "/" between its parts; its folder names the skill."""
    skill = find_owner(path)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Document(path, skill, None, None, len(data), [broken_event(path, "it is not UTF-8 text")])
    event = read_event(text, skill)
    if isinstance(event, str):
        return Document(path, skill, None, text, len(data), [broken_event(path, event)])
    name = event_name(event_text(skill, event), event)
    findings = [] if path.endswith(f"/{name}") else [broken_event(path, "its name does not fit what it holds")]
    return Document(path, skill, {"where": event.where}, text, len(data), findings)


def find_owner(path: str) -> str:
    """The skill whose event a path is, "" for another path."""
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name.endswith(SUFFIX) else ""


def find_layout_troubles(value: dict[str, Any], path: str) -> list[Finding]:
    """What keeps a checkpoint from another layout: its own meaning of the field that says which it has."""
    if FIELD not in value or is_sharded(value):
        return []
    message = f"the field {FIELD} of this checkpoint means something else"
    hint = f"rename it: `{FIELD}` says where the telemetry lives"
    return [Finding("layout/field-taken", "error", message, path, f"/{FIELD}", hint=hint)]


def find_leftovers(value: dict[str, Any], path: str) -> list[Finding]:
    """Lists of telemetry that a checkpoint's own file holds although it is sharded. value: of that file alone."""
    if not is_sharded(value):
        return []
    hint = "another branch, or another tool, wrote them there; nothing is lost: checkpoint migrate --layout sharded"
    return [
        Finding("layout/leftover", "warning", f"{_count(len(entries))} of a sharded list in the file", path, where,
                hint=hint)
        for where, entries in find_leftover(value).items()
    ]  # fmt: skip


def find_doubles(events: Iterable[Stored], folder: str) -> list[Finding]:
    """Entries of one folder with one number and different content: two branches edited one entry, and both are kept."""
    first: dict[tuple[str, str], Stored] = {}
    found = []
    for name, event in events:
        number = event.content.get("number") if isinstance(event.content, dict) else None
        if number is None:
            continue
        known = first.setdefault((event.where, repr(number)), Stored(name, event))
        if known.event.content != event.content:
            message = f"an entry with this number stands in {known.name} too, with other content"
            hint = "two branches edited it: remove the file that is out of date"
            found.append(Finding("layout/entry-twice", "warning", message, f"{folder}/{name}", hint=hint))
    return found


def find_orphans(events: Iterable[str], sharded: dict[str, bool], *, is_whole: bool) -> list[Finding]:
    """Folders of events whose checkpoint is of the single layout, or gone.

    events: paths. sharded: the path of every checkpoint that was read -> whether it says it is sharded. is_whole:
    whether a checkpoint that was not read does not exist.
    """
    found: dict[str, Finding] = {}
    for path in events:
        folder, skill = path.rpartition("/")[0], find_owner(path)
        owner = f"{folder.rpartition('/')[0].removesuffix('history')}{skill}.checkpoint.json"
        is_there = owner in sharded
        if folder in found or (sharded[owner] if is_there else not is_whole):
            continue
        state = "is of the single layout" if is_there else "does not exist"
        hint = (
            f"nothing is lost: checkpoint migrate --layout single {quote_word(skill)} (or sharded) puts them in order"
        )
        if not is_there:
            hint = "bring the checkpoint back from git, or move the folder away"
        message = f"there are entries of {escape_controls(skill)} here, and its checkpoint {state}"
        found[folder] = Finding("layout/orphans", "warning", message, folder, hint=hint)
    return list(found.values())


def _count(entries: int) -> str:
    return f"{entries} {'entry' if entries == 1 else 'entries'}"
