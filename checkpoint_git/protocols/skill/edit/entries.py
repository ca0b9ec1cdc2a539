"""Notes, questions, answers and blockers as changes of a token value, or a Finding that says why
not. Pure.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Hint, advise, command, join_hints
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.protocols.mismatch import OWN, quote
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.edit.actions import (
    check_next,
    describe_goals,
    find_done_trouble,
    insert_action,
    mark_repeated,
    remove_first_row,
    take_action,
)
from checkpoint_git.protocols.skill.edit.apply import ROW_STATUSES
from checkpoint_git.protocols.skill.edit.fields import Understood
from checkpoint_git.protocols.skill.edit.items import find_index, is_index
from checkpoint_git.protocols.skill.edit.parse import check_text
from checkpoint_git.protocols.skill.names import find_choice, spell

_MOST_ANSWERS = 5  # in a hint
_LONGEST_SLUG = 40
NEEDS = ("user_decision", "code_fix", "external_dep")


class MadeEntry(NamedTuple):
    """line: what was done. fields: of the root, that changed. id: of the blocker that it is about,
    else "".
    """

    line: str
    fields: tuple[str, ...]
    id: str = ""
    understood: tuple[Understood, ...] = ()


def note(value: dict[str, Any], text: str) -> MadeEntry:
    """Keeps a key decision."""
    _list_in(value, "context_primer", "key_decisions").append(_checked(text))
    return MadeEntry(f"noted: {text}", ("context_primer",))


def add(value: dict[str, Any], now: int, text: str, *, first: bool = False) -> MadeEntry:
    """Adds a next action, at the end or as the first."""
    actions = _list_in(value, "next_actions")
    insert_action(value, 0 if first else len(actions), _checked(text))
    index = 0 if first else len(actions) - 1
    mark_repeated(value, [f"/next_actions/{index}"], now)
    waits = describe_goals(actions[index])
    return MadeEntry(
        f"{'next' if first else 'added'}: {text}{f' ({waits})' if waits else ''}", ("next_actions",)
    )


def row(
    value: dict[str, Any], text: str, status: str | None = None, name: str | None = None
) -> MadeEntry | Finding:
    """Adds a row to progress_table, or sets the status of the one with that id or label. name: the
    id of a new row.
    """
    rows = _list_in(value, "progress_table")
    new_id = name or slug(_checked(text))
    meant, understood = _read_row_status(status)

    found = _find_row(rows, [name or text, new_id])
    if found is None:
        meant = meant or "not_started"
        rows.append({"id": new_id, "label": text, "status": meant})
        remove_first_row(value)
        return MadeEntry(
            f"added row {new_id}: {text} ({meant})", ("progress_table",), new_id, understood
        )

    if not meant:
        message = f"progress_table has the row {quote(_id(found))} already: give its new status"
        return _refusal(
            "row", message, command("checkpoint", "row", OWN, text, "--status", "complete")
        )

    found["status"] = meant
    return MadeEntry(f"row {_id(found)}: {meant}", ("progress_table",), _id(found), understood)


def _read_row_status(status: str | None) -> tuple[str, tuple[Understood, ...]]:
    """Return the status that a word means, "" for none, and what was understood."""
    if status is None:
        return "", ()
    meant = find_choice(status, ROW_STATUSES)
    if not meant:
        hint = f"--status is one of {', '.join(ROW_STATUSES)}"
        raise CheckpointError(f"{quote(status)} is not a status of a row", hint)
    return meant, () if meant == status else (Understood(status, meant),)


def _find_row(rows: list[Any], names: Sequence[str]) -> dict[str, Any] | None:
    """Return the row that the first name with a row names by its id, or by a label that no other
    row has.
    """
    for name in names:
        index = find_index(rows, name)
        if index is not None and isinstance(rows[index], dict):
            found: dict[str, Any] = rows[index]
            return found
    return None


def slug(text: str) -> str:
    """Return an id made of a label: its letters and digits, in small letters, with dashes between
    the words.
    """
    spelled = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return "-".join(spelled.split())[:_LONGEST_SLUG].strip("-") or text


def ask(
    value: dict[str, Any], question: str, options: Sequence[str] = (), blocks: str | None = None
) -> MadeEntry:
    """Opens a decision that waits on the user."""
    more = {"options": [_checked(option) for option in options]} if options else {}
    entry = block(value, question, "user_decision", blocks, more)
    return entry._replace(line=f"{entry.id} waits on an answer: {question}")


def block(
    value: dict[str, Any],
    text: str,
    needs: str | None = None,
    blocks: str | None = None,
    more: dict[str, Any] | None = None,
) -> MadeEntry:
    """Adds a blocker. needs: one of NEEDS, or what surely means one. blocks: the id of the row that
    waits.
    """
    name = _new_id(value, _checked(text))
    typed, needs = needs, find_choice(needs or "", NEEDS) or needs
    if needs and needs not in NEEDS:
        raise CheckpointError(
            f"invalid need {quote(needs)}", f"--needs is one of {', '.join(NEEDS)}"
        )

    members = {"id": name, "description": text, "blocking": blocks, "needs": needs, **(more or {})}
    understood = (Understood(typed, needs),) if typed and needs and typed != needs else ()
    _list_in(value, "blockers").append(
        {key: member for key, member in members.items() if member is not None}
    )
    return MadeEntry(f"added blocker {name}: {text}", ("blockers",), name, understood)


def decide(
    value: dict[str, Any], now: int, answer: str, name: str | None = None
) -> MadeEntry | Finding:
    """Answer a decision that waits on the user, and keep the answer with its day. name: the
    question's id.
    """
    _checked(answer)
    waiting = [blocker for blocker in views.open_blockers(value) if views.waits_on_user(blocker)]
    same = [blocker for blocker in waiting if _id(blocker) == answer]
    if name is None and same:
        hint = _advise_answers(value, same)
        return _refusal("question", f"{quote(answer)} is the question: the answer is missing", hint)

    asked = _choose(value, waiting, name, "question", answer)
    if isinstance(asked, Finding):
        return asked

    options = [option for option in views.read_list(asked, "options") if isinstance(option, str)]
    meant = _choose_option(options, answer)
    question = str(asked.get("description", "")).strip()
    sign = "" if question.endswith("?") else ":"
    text = f"{question}{sign} {meant} ({write_instant(now)[:10]})"
    note(value, text)
    line = f"decided: {text}{close_blocker(value, asked, now)}"
    if options and meant not in options:
        line += f"; the options were {' | '.join(options)}"
    understood = (Understood(answer, meant),) if meant != answer else ()
    return MadeEntry(line, ("context_primer", "blockers"), _id(asked), understood)


def _choose_option(options: Sequence[str], answer: str) -> str:
    """Return the option that an answer means, or the answer itself where it means none."""
    if answer in options:
        return answer
    same = [option for option in options if spell(option) == spell(answer)] or _find_option(
        options, answer
    )
    return same[0] if same else answer


def _find_option(options: Sequence[str], answer: str) -> list[str]:
    """The option that a number or a letter names: by its place or its first word or letter; [] if
    several are.
    """
    sign = answer.strip("().: ").lower()
    if not sign.isascii() or not (
        (sign.isdecimal() and len(sign) < 3) or (len(sign) == 1 and sign.isalpha())
    ):
        return []

    at = int(sign) - 1 if sign.isdecimal() else ord(sign) - ord("a")
    begins = [each for each in options if each.lower().strip("( ").startswith(sign)]
    if sign.isdecimal():
        begins = [each for each in begins if not each.strip("( ")[len(sign) :][:1].isdecimal()]
    named = {*begins, *options[max(at, 0) : at + 1]}
    return [*named] if len(named) == 1 else []


def split_answer(value: dict[str, Any], words: Sequence[str]) -> tuple[str, str | None]:
    """(the answer, the question's id or None) in the words of a command line; "" if the id is
    missing.
    """
    first = words[0].rstrip(":=") or words[0]
    if (
        len(words) == 1
        or _find_named(value, views.open_blockers(value), first)
        or (len(words) == 2 and not first.isalpha())
    ):
        return (" ".join(words[1:]), first) if len(words) > 1 else (first, None)
    return " ".join(words), ""


def unblock(value: dict[str, Any], now: int, name: str | None = None) -> MadeEntry | Finding:
    """Marks a blocker as resolved. name: its id."""
    if name is not None:
        _checked(name)
    others = [one for one in views.open_blockers(value) if not views.waits_on_user(one)]
    asked = [one for one in views.open_blockers(value) if views.waits_on_user(one)]
    asked = _find_named(value, asked, name) if name and not _find_named(value, others, name) else []
    if asked:
        return _refusal(
            "question", f"{quote(name)} waits on an answer", _advise_answers(value, asked)
        )

    found = _choose(value, others, name, "blocker")
    if isinstance(found, Finding):
        return found
    line = f"{_id(found)} is resolved: {found.get('description', '')}{close_blocker(value, found, now)}"
    return MadeEntry(line, ("blockers",), _id(found))


def drop(
    value: dict[str, Any],
    now: int,
    why: str,
    action: str | None = None,
    *,
    next_action: str | None = None,
    complete: bool = False,
) -> MadeEntry | Finding:
    """Removes an action that will not be done, and keeps the reason. action: as for find_action."""
    check_next(next_action, complete)
    end = ("--why", _checked(why))
    named = (action,) if action else ()
    trouble = find_done_trouble(value, next_action, complete, ("drop", OWN, *named, *end))
    if trouble:
        return trouble
    at = find_action(value, action, "drop", end)
    if isinstance(at, Finding):
        return at
    text = views.action_text(take_action(value, at, next_action, complete))
    note(value, f"Dropped: {text}: {_checked(why)} ({write_instant(now)[:10]})")
    line = f"dropped: {text}"
    if complete:
        line += "; the status is complete"
    waits = describe_goals(value["next_actions"][0]) if next_action else ""
    if waits:
        line += f"; next: {next_action} ({waits})"
    return MadeEntry(line, ("next_actions", "context_primer"))


def find_action(
    value: dict[str, Any], action: str | None, verb: str, end: tuple[str, ...] = ()
) -> int | Finding:
    """Return the index of an action by its number (from 1), id or part of its text; 0 for None.

    verb, end: for the hint.
    """
    actions = views.read_list(value, "next_actions")
    if action is None:
        return 0
    exact = find_index(actions, _checked(action))
    if exact is None:
        exact = _read_number(action, actions)
    texts = [views.action_text(each) for each in actions]
    holding = [at for at, text in enumerate(texts) if action.casefold() in text.casefold()]
    near = holding if exact is None else [exact]
    if len(near) == 1:
        return near[0]
    problem = "no action has" if not near else f"{len(near)} actions have"
    shown = [text for text in texts if text.isprintable()][:5]
    hint = join_hints(*(command("checkpoint", verb, OWN, text, *end) for text in shown))
    return _refusal("which-action", f"{problem} {quote(action)} in it", hint)


def _read_number(text: str, actions: list[Any]) -> int | None:
    """Return the index that "2", "#2" or the path next_actions.1 names, None for another text."""
    is_path = text.startswith("next_actions.")
    number = text.removeprefix("next_actions.").strip("#[]")
    if is_path:
        return int(number) if is_index(number, actions) else None
    return int(number) - 1 if number != "0" and is_index(number, [None, *actions]) else None


def _checked(text: str) -> str:
    check_text(text)
    check_filled(text)
    if not text.strip():
        raise CheckpointError("the text is empty", "write a few words")
    return text


def _id(blocker: dict[str, Any]) -> str:
    name = blocker.get("id", "")
    return name.decode() if isinstance(name, bytes) else str(name)


def _new_id(value: dict[str, Any], text: str) -> str:
    from hashlib import sha256  # brings OpenSSL along, and only this needs it

    # made of the text, not counted: two branches that each add a blocker would both take the next
    # number
    taken = {_id(blocker) for blocker in views.read_objects(value, "blockers")}
    digits = sha256(text.encode()).hexdigest() * (len(taken) + 1)
    return next(
        name
        for name in (f"b{digits[:length]}" for length in range(4, len(digits)))
        if name not in taken
    )


def _list_in(value: dict[str, Any], *path: str) -> list[Any]:
    held: Any = value
    for name in path[:-1]:
        held = held.setdefault(name, {}) if isinstance(held, dict) else None
    found = held.setdefault(path[-1], []) if isinstance(held, dict) else None
    if not isinstance(found, list):
        raise CheckpointError(
            f"{'.'.join(path)} is not a list",
            advise("fix that field first", "checkpoint", "validate"),
        )
    return found


def _find_named(
    value: dict[str, Any], found: list[dict[str, Any]], name: str
) -> list[dict[str, Any]]:
    """Those with that id, or the one at that place (blockers.2), or with that id or text in another
    spelling.
    """
    by_id = [one for one in found if _id(one) == name]
    places = {f"blockers.{at}": one for at, one in enumerate(views.read_list(value, "blockers"))}
    by_place = [one for one in found if name and one is places.get(name)]
    texts = [(one, {spell(_id(one)), spell(str(one.get("description", "")))}) for one in found]
    return by_id or by_place or [one for one, spelled in texts if name and spell(name) in spelled]


def _choose(
    value: dict[str, Any],
    found: list[dict[str, Any]],
    name: str | None,
    noun: str,
    answer: str = "",
) -> dict[str, Any] | Finding:
    """The one that is named, or the only one; a Finding that lists what there is."""
    named = found if name is None else _find_named(value, found, name)
    if len(named) == 1:
        return named[0]
    if not found:
        return _refusal(noun, f"no {noun} is open", command("checkpoint", "status", OWN))
    if named and name:
        message = f"{len(named)} open {noun}s have the id {quote(name)}"
        return _refusal(noun, message, _advise_answers(value, named, answer))

    which = f"none has the id {quote(name)}" if name else "say which"
    message = f"{len(found)} {noun}{'s are' if len(found) > 1 else ' is'} open: {which}"
    return _refusal(noun, message, _advise_answers(value, found, answer))


def _advise_answers(value: dict[str, Any], found: list[dict[str, Any]], answer: str = "") -> Hint:
    """Return what settles each blocker."""
    every = views.find_answers(OWN, value, answer)
    shown = [argv for one, argv in every if any(each is one for each in found)][:_MOST_ANSWERS]
    return join_hints(*(command(*argv) for argv in shown))


def _refusal(noun: str, message: str, hint: AnyHint) -> Finding:
    return Finding(f"entry/{noun}", "error", message, hint=hint)


def close_blocker(value: dict[str, Any], blocker: dict[str, Any], now: int) -> str:
    """Resolves a blocker; the work goes on where it was blocked by nothing else. What to add to the
    message.
    """
    blocker |= {"resolved": True, "resolved_at": write_instant(now)}
    if (
        value.get("status") != "blocked"
        or views.open_blockers(value)
        or not views.read_list(value, "next_actions")
    ):
        return ""

    value["status"] = "in_progress"
    return "; the status is in_progress again"
