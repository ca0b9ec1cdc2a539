"""Our hooks in an agent's JSON settings: put in and taken out as values, while every other byte
stays.
"""

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
# The interpreter that init recorded in this clone first, as git's hooks do; a clone without either
# is left in peace.
_TELL = (
    "p=$(git config checkpoint.install.python) k=$(git config checkpoint.install.package)/__main__.py; "
    '[ -x "$p" ] && [ -f "$k" ] && "$p" -E -P "$k" {words} && exit 0; '
    "command -v checkpoint >/dev/null 2>&1 && checkpoint {words}; exit 0"
)
# Whatever goes wrong, a missing program too, stops the call: agents let everything but 2 pass.
_GUARD = (
    "p=$(git config checkpoint.install.python) k=$(git config checkpoint.install.package)/__main__.py; "
    '[ -x "$p" ] && [ -f "$k" ] && set -- "$p" -E -P "$k" || set -- checkpoint; "$@" {words} || exit 2'
)
# Copilot lets a call pass whose hook fails: what stops one is an answer.
_DENY = _GUARD.replace('"$@" {words} || exit 2', 'm=$("$@" {words} 2>&1) || ') + (
    r'echo "{{\"permissionDecision\": \"deny\", \"permissionDecisionReason\": '
    r'\"$(echo "$m" | tr -d "\042\134\000-\037")\"}}"; exit 0'
)
# Before every tool call, so as light as the merge driver.
_POINT = (
    "p=$(git config checkpoint.install.python) d=$(git config checkpoint.install.package)/{words}; "
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
    """None if nothing of the file is left; what was done to which event."""

    data: bytes | None
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    folders: int = 0  # that were made for a file of ours


# JSON has no comments, so a hook of ours is known by its command: its last words name us, and say
# what the file was before, as far as that cannot be seen from what is left.
def write_command(moment: Moment, agent: str, notes: Mapping[str, str] | None = None) -> str:
    """notes: what to remember about the file, letters and digits."""
    template = _DENY if (moment, agent) == ("guard", "copilot") else _TEMPLATES.get(moment, _TELL)
    script = template.format(words=_CALLS[moment][0].format(agent=agent))
    return f"sh -c '{script}' {_NAME}" + "".join(
        f" {name}={value}" for name, value in (notes or {}).items()
    )


def add_hooks(
    data: bytes | None, hooks: Hooks, agent: str, moments: Sequence[Moment], folders: int
) -> Edited:
    """The file with our hooks in it. data: None for a file to be made, with so many folders above
    it. A hook of ours stays where it is; one of an older version gets the command of today. Raises
    Unfit.
    """
    (before, value), notes = _read(b"{}" if data is None else data, hooks), dict[str, str]()
    if data is None:
        value, notes = {**to_tokens(dict(hooks.skeleton)), **value}, {"new": str(folders)}
    elif not value:
        notes = {"root": _gap(before, "")}
    elif value.get("hooks") == {}:
        notes = {"hooks": _gap(before, "/hooks")}

    added, updated = list[str](), list[str]()
    events = value.setdefault("hooks", {})
    for moment, event in hooks.events.items():
        present = _find_ours(events.get(event, []), moment, hooks.script)
        if moment not in moments and not present:  # what is there already is brought up to date
            continue
        command = write_command(moment, agent)
        if not present:
            if events.get(event) == []:
                notes["event"] = _gap(before, join_pointer("/hooks", event))
            events.setdefault(event, []).append(
                _make(hooks, moment, write_command(moment, agent, notes))
            )
            notes = {}
            added.append(event)
            continue
        own = _OURS.search(present[0][hooks.script])
        if own and present[0][hooks.script].removesuffix(own[1]) != command:  # an older version
            for hook in present:
                found = _OURS.search(hook[hooks.script])
                hook[hooks.script] = command + (found[1] if found else "")
            updated.append(event)

    text = render(value) if data is None else rewrite(parse(before), value)
    return Edited(text.encode(), tuple(added), tuple(updated))


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
        is_count = notes["new"] in {*"123456789"}
        return Edited(None, folders=int(notes["new"]) if is_count else 0)

    return Edited(_fill_gaps(rewrite(parse(before), value), gaps).encode())


def _take_all_out(value: dict[str, Any], script: str) -> tuple[dict[str, str], dict[str, str]]:
    """Remove our hooks from a file's value.

    Return (what their commands note about the file, JSON Pointer of an empty event -> its gap).
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
    wanted = [moment for moment in hooks.events if moment in moments]
    events = {
        hooks.events[moment]: [_make(hooks, moment, write_command(moment, agent))]
        for moment in wanted
    }
    return " ".join(render({"hooks": events}).split())


def write_plugin_hooks(hooks: Hooks, moments: Sequence[Moment]) -> str:
    """Return the text of hooks/hooks.json of the plugin for Claude Code, whose hooks are
    `hooks`.
    """
    events = dict[str, Any]()
    for moment in moments:
        words = _CALLS[moment][0].format(agent="claude")
        check = _UNLESS_WRITTEN.format(start=words.partition(" --")[0])
        script = check + _TELL.format(words=words)
        events[hooks.events[moment]] = [_make(hooks, moment, f"sh -c '{script}' {_NAME}")]
    about = "Brief each session with the state of the work, and remind the agent to record it"
    return render({"description": about, "hooks": events})


def _make(hooks: Hooks, moment: Moment, command: str) -> dict[str, Any]:
    timeout = str(_CALLS[moment][1] * hooks.second).encode()  # a number is its token
    more = {**hooks.extra} if moment == "guard" else {}
    if not hooks.grouped:
        return {**hooks.entry, hooks.script: command, hooks.timeout: timeout, **more}
    matcher = {"matcher": hooks.matcher} if moment in ("guard", "point") else {}
    return {
        **matcher,
        "hooks": [{"type": "command", "command": command, "timeout": timeout, **more}],
    }


def _read(data: bytes, hooks: Hooks) -> tuple[str, dict[str, Any]]:
    """The text, and a copy of its value whose hooks have the shape that the agent documents. Raises
    Unfit.
    """
    try:
        text = decode(data)
        value = deepcopy(parse(text).value)
    except JsonTextError as error:
        raise Unfit(f"it is not plain JSON (line {error.line}: {error.message})") from None

    events = value.get("hooks", {}) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(events, dict):
        raise Unfit("its hooks are not an object")
    for name in hooks.events.values():
        if not isinstance(events.get(name, []), list):
            raise Unfit(f"its hooks for {name} are not a list")

    return text, value


def _commands(entries: Sequence[Any], script: str) -> list[dict[str, Any]]:
    groups = [
        entry["hooks"]
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("hooks"), list)
    ]
    found = [*entries, *(hook for hooks in groups for hook in hooks)]
    return [hook for hook in found if isinstance(hook, dict) and isinstance(hook.get(script), str)]


def _find_ours(entries: Sequence[Any], moment: Moment, script: str) -> list[dict[str, Any]]:
    # Ours, or one that somebody wrote by hand and does the same
    start, *others = (words.partition(" --")[0] for words, _ in (_CALLS[moment], *_CALLS.values()))
    of_others = [words for words in others if words != start]  # at the same event
    hooks = [
        hook
        for hook in _commands(entries, script)
        if not any(words in hook[script] for words in of_others)
    ]
    ours = [hook for hook in hooks if _OURS.search(hook[script])]
    return ours or [hook for hook in hooks if f"checkpoint {start}" in hook[script]]


def _take_out(entries: Any, script: str) -> dict[str, str] | None:
    if not isinstance(entries, list):
        return None
    ours = [
        (hook, found)
        for hook in _commands(entries, script)
        if (found := _OURS.search(hook[script]))
    ]
    if not ours:
        return None
    gone = {id(hook) for hook, _ in ours}  # these themselves, not others that are equal
    for group in entries:
        if isinstance(group, dict) and isinstance(group.get("hooks"), list):
            left = [hook for hook in group["hooks"] if id(hook) not in gone]
            if len(left) < len(group["hooks"]) and not left:
                gone.add(id(group))
            group["hooks"] = left

    entries[:] = [entry for entry in entries if id(entry) not in gone]
    words = [word.partition("=") for _, found in ours for word in found[1].split()]
    return {name: value for name, _, value in words}


def _gap(text: str, where: str) -> str:
    node = find_node(parse(text), where)
    inside = text[node.start + 1 : node.end - 1]
    if len(inside) > _LONGEST_GAP:
        raise Unfit("its empty parts have much white space")
    return "".join(_SPACES[space] for space in inside)
