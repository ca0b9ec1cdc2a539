"""Put our hooks into an agent's JSON settings and take them out, while every other byte stays."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from checkpoint_git.core.jsontext import (
    JsonTextError,
    decode,
    find_node,
    join_pointer,
    parse,
    to_tokens,
)
from checkpoint_git.core.jsonwrite import render, rewrite
from checkpoint_git.tools.agents.table import Hooks, Moment

_NAME = "checkpoint-git"
_OURS = re.compile(r"' checkpoint-git((?: [a-z]+=[a-z0-9]*)*)\Z")
_SPACES = {" ": "s", "\t": "t", "\n": "n", "\r": "r"}
_LETTERS = {letter: space for space, letter in _SPACES.items()}
_LONGEST_GAP = 16  # white space in an empty container that is remembered
_SNAPSHOT = "protocols/restore/snapshot.py"
_CALLS: dict[Moment, tuple[str, int]] = {  # the words of our command, and its timeout in seconds
    "prime": ("prime --format={agent}", 10),
    "stop": ("session stop --block --format={agent}", 20),
    "precompact": ("session precompact --format={agent}", 20),
    "end": ("session end --format={agent}", 20),
    "guard": ("restore-point guard", 60),
    "point": (_SNAPSHOT, 30),
    "point_end": (_SNAPSHOT, 30),
}
# The interpreter that init recorded in this clone comes first, as in git's hooks; a clone without
# either does nothing.
_TELL = (
    "p=$(git config checkpoint.install.python) "
    "k=$(git config checkpoint.install.package)/__main__.py; "
    '[ -x "$p" ] && [ -f "$k" ] && "$p" -E -P "$k" {words} && exit 0; '
    "command -v checkpoint >/dev/null 2>&1 && checkpoint {words}; exit 0"
)
# Any failure, a missing program too, stops the call: agents let every exit code except 2 pass.
_GUARD = (
    "p=$(git config checkpoint.install.python) "
    "k=$(git config checkpoint.install.package)/__main__.py; "
    '[ -x "$p" ] && [ -f "$k" ] && set -- "$p" -E -P "$k" || set -- checkpoint; '
    '"$@" {words} || exit 2'
)
# Copilot lets a call pass if its hook fails: only an answer stops it.
_DENY = _GUARD.replace('"$@" {words} || exit 2', 'm=$("$@" {words} 2>&1) || ') + (
    r'echo "{{\"permissionDecision\": \"deny\", \"permissionDecisionReason\": '
    r'\"$(echo "$m" | tr -d "\042\134\000-\037")\"}}"; exit 0'
)
# It runs before every tool call, so it is as light as the merge driver.
_POINT = (
    "p=$(git config checkpoint.install.python) "
    "d=$(git config checkpoint.install.package)/{words}; "
    '[ -x "$p" ] && [ -f "$d" ] && "$p" -I -S "$d"; exit 0'
)
# A plugin's hook leaves the work to one that the project has in its own settings.
_UNLESS_WRITTEN = (
    'grep -qsF "checkpoint {start}" "$CLAUDE_PROJECT_DIR/.claude/settings.json" && exit 0; '
)
_TEMPLATES = {"guard": _GUARD, "point": _POINT, "point_end": _POINT}


class Unfit(Exception):  # noqa: N818 (what it says of a file is not an error of ours)
    """The file cannot be edited without harm; the text says why."""


class Edited(NamedTuple):
    """data: None if nothing is left of the file. added, updated: events. folders: how many were
    made for a file of ours.
    """

    data: bytes | None
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    folders: int = 0


def write_command(moment: Moment, agent: str, notes: Mapping[str, str] | None = None) -> str:
    """Return the command of a hook. notes: letters and digits.

    JSON has no comments, so a hook of ours is recognized by its command: the last words are our
    name and notes about the file before, where the edited file does not show how it was.
    """
    template = _TEMPLATES.get(moment, _TELL)
    if moment == "guard" and agent == "copilot":
        template = _DENY
    script = template.format(words=_CALLS[moment][0].format(agent=agent))
    words = [f"sh -c '{script}'", _NAME]
    for name, value in (notes or {}).items():
        words.append(f"{name}={value}")
    return " ".join(words)


def add_hooks(
    data: bytes | None, hooks: Hooks, agent: str, moments: Sequence[Moment], folders: int
) -> Edited:
    """Return the file with our hooks in it.

    data: None for a file to be made, with so many new folders above it.
    A hook of ours stays where it is; one of an older version gets the present command.
    Raises Unfit.
    """
    before, value = _read(b"{}" if data is None else data, hooks)
    notes: dict[str, str] = {}
    if data is None:
        value = {**to_tokens(dict(hooks.skeleton)), **value}
        notes["new"] = str(folders)
    elif not value:
        notes["root"] = _gap(before, "")
    elif value.get("hooks") == {}:
        notes["hooks"] = _gap(before, "/hooks")

    added: list[str] = []
    updated: list[str] = []
    events = value.setdefault("hooks", {})
    for moment, event in hooks.events.items():
        present = _find_ours(events.get(event, []), moment, hooks.script)
        if present:
            if _renew(present, write_command(moment, agent), hooks.script):
                updated.append(event)
        elif moment in moments:
            if events.get(event) == []:
                notes["event"] = _gap(before, join_pointer("/hooks", event))
            command = write_command(moment, agent, notes)
            events.setdefault(event, []).append(_make(hooks, moment, command))
            notes = {}
            added.append(event)

    if data is None:
        text = render(value)
    else:
        text = rewrite(parse(before), value)
    return Edited(text.encode(), tuple(added), tuple(updated))


def _renew(present: Sequence[dict[str, Any]], command: str, script: str) -> bool:
    """Give hooks of an older version the present command, with their notes; return whether they
    were of one.
    """
    first = present[0][script]
    ours = _OURS.search(first)
    if ours is None or first.removesuffix(ours[1]) == command:
        return False
    for hook in present:
        found = _OURS.search(hook[script])
        notes = found[1] if found else ""
        hook[script] = f"{command}{notes}"
    return True


def remove_hooks(data: bytes, hooks: Hooks) -> Edited | None:
    """Return the file without our hooks, None if it has none.

    Its data is None if the file was ours. Raises Unfit.
    """
    if _NAME.encode() not in data:
        return None
    before, value = _read(data, hooks)
    notes, gaps = _take_all_out(value, hooks.script)
    if not gaps and not notes and value == parse(before).value:
        return None

    if not value.get("hooks") and "hooks" in notes:
        gaps["/hooks"] = notes["hooks"]
    elif not value.get("hooks"):
        value.pop("hooks", None)

    if not value and "root" in notes:
        gaps[""] = notes["root"]
    if "new" in notes and value in ({}, to_tokens(dict(hooks.skeleton))):
        if notes["new"] in {*"123456789"}:
            return Edited(None, folders=int(notes["new"]))
        return Edited(None)

    return Edited(_fill_gaps(rewrite(parse(before), value), gaps).encode())


def _take_all_out(value: dict[str, Any], script: str) -> tuple[dict[str, str], dict[str, str]]:
    """Remove our hooks from a file's value, and return the notes in their commands, and the white
    space of each event that is empty now, by its JSON Pointer.
    """
    notes = dict[str, str]()
    gaps = dict[str, str]()
    events = value.get("hooks", {})
    for event in list(events):
        noted = _take_out(events[event], script)
        if noted is None:
            continue
        notes.update(noted)
        if events[event]:
            continue
        if "event" in noted:
            gaps[join_pointer("/hooks", event)] = noted["event"]
        else:
            del events[event]

    return notes, gaps


def _fill_gaps(text: str, gaps: Mapping[str, str]) -> str:
    """Put back the spaces in empty lists and objects. gaps: JSON Pointer -> their letters."""
    for where, letters in gaps.items():
        node = find_node(parse(text), where)
        spaces = "".join(_LETTERS[letter] for letter in letters)
        text = text[: node.start + 1] + spaces + text[node.end - 1 :]
    return text


def is_reversible(before: bytes | None, after: bytes, hooks: Hooks) -> bool:
    undone = remove_hooks(after, hooks)
    return undone is not None and undone.data == before


def write_recipe(hooks: Hooks, agent: str, moments: Sequence[Moment]) -> str:
    """Return the hooks as JSON in one line, for the user to add by hand."""
    events = {}
    for moment, event in hooks.events.items():
        if moment in moments:
            events[event] = [_make(hooks, moment, write_command(moment, agent))]
    return " ".join(render({"hooks": events}).split())


def write_plugin_hooks(hooks: Hooks, moments: Sequence[Moment]) -> str:
    """Return the text of hooks/hooks.json of the plugin for Claude Code. hooks: of that agent."""
    events = dict[str, Any]()
    for moment in moments:
        words = _CALLS[moment][0].format(agent="claude")
        check = _UNLESS_WRITTEN.format(start=words.partition(" --")[0])
        script = check + _TELL.format(words=words)
        events[hooks.events[moment]] = [_make(hooks, moment, f"sh -c '{script}' {_NAME}")]
    about = "Brief each session with the state of the work, and remind the agent to record it"
    return render({"description": about, "hooks": events})


def _make(hooks: Hooks, moment: Moment, command: str) -> dict[str, Any]:
    """Return the entry of an event that runs our command."""
    timeout = str(_CALLS[moment][1] * hooks.second).encode()  # a number is its token
    extra: Mapping[str, Any] = {}
    if moment == "guard":
        extra = hooks.extra
    if not hooks.grouped:
        return {**hooks.entry, hooks.script: command, hooks.timeout: timeout, **extra}

    group: dict[str, Any] = {}
    if moment in ("guard", "point"):
        group["matcher"] = hooks.matcher
    group["hooks"] = [{"type": "command", "command": command, "timeout": timeout, **extra}]
    return group


def _read(data: bytes, hooks: Hooks) -> tuple[str, dict[str, Any]]:
    """Return the file's text, and a copy of its value. Raises Unfit if the hooks do not have the
    shape that the agent documents.
    """
    try:
        text = decode(data)
        value = deepcopy(parse(text).value)
    except JsonTextError as error:
        raise Unfit(f"it is not plain JSON (line {error.line}: {error.message})") from None

    if not isinstance(value, dict):
        raise Unfit("its hooks are not an object")
    events = value.get("hooks", {})
    if not isinstance(events, dict):
        raise Unfit("its hooks are not an object")
    for name in hooks.events.values():
        if not isinstance(events.get(name, []), list):
            raise Unfit(f"its hooks for {name} are not a list")

    return text, value


def _commands(entries: Sequence[Any], script: str) -> list[dict[str, Any]]:
    """Return the hooks of an event that have a command, in groups or not."""
    hooks = [*entries]
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("hooks"), list):
            hooks += entry["hooks"]
    return [hook for hook in hooks if isinstance(hook, dict) and isinstance(hook.get(script), str)]


def _find_ours(entries: Sequence[Any], moment: Moment, script: str) -> list[dict[str, Any]]:
    """Return our hooks for a moment, or those that somebody wrote by hand and that do the same."""
    start = _start_of(moment)
    # two moments can share an event
    others = {_start_of(other) for other in _CALLS} - {start}
    hooks = []
    for hook in _commands(entries, script):
        if not any(words in hook[script] for words in others):
            hooks.append(hook)

    ours = [hook for hook in hooks if _OURS.search(hook[script])]
    return ours or [hook for hook in hooks if f"checkpoint {start}" in hook[script]]


def _start_of(moment: Moment) -> str:
    words, _ = _CALLS[moment]
    return words.partition(" --")[0]


def _take_out(entries: Any, script: str) -> dict[str, str] | None:
    """Remove our hooks from an event, and return the notes in their commands; None if there are no
    hooks of ours.
    """
    if not isinstance(entries, list):
        return None
    notes: dict[str, str] = {}
    gone: set[int] = set()  # ids of objects: an equal one that is not ours stays
    for hook in _commands(entries, script):
        found = _OURS.search(hook[script])
        if found is None:
            continue
        gone.add(id(hook))
        for word in found[1].split():
            name, _, value = word.partition("=")
            notes[name] = value
    if not gone:
        return None

    for group in entries:
        if isinstance(group, dict) and isinstance(group.get("hooks"), list):
            kept = [hook for hook in group["hooks"] if id(hook) not in gone]
            if len(kept) < len(group["hooks"]) and not kept:
                gone.add(id(group))
            group["hooks"] = kept

    entries[:] = [entry for entry in entries if id(entry) not in gone]
    return notes


def _gap(text: str, where: str) -> str:
    """Return the white space in an empty list or object, as letters. Raises Unfit for much."""
    node = find_node(parse(text), where)
    inside = text[node.start + 1 : node.end - 1]
    if len(inside) > _LONGEST_GAP:
        raise Unfit("its empty parts have much white space")
    return "".join(_SPACES[space] for space in inside)
