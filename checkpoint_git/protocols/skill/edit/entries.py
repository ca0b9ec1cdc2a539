"""Change a token value by one entry: a note, an action, a row, a question, an answer or a blocker.

Each function returns what it did, or a Finding that says why it could not. Pure.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import AnyHint, Argument, Hint, advise, command, join_hints
from checkpoint_git.core.placeholder import check_filled
from checkpoint_git.core.terminal_text import plural
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
    """What an edit did. line: the sentence that reports it. fields: the fields of the root that
    changed. id: the blocker or row that it is about, else "".
    """

    line: str
    fields: tuple[str, ...]
    id: str = ""
    understood: tuple[Understood, ...] = ()


def note(value: dict[str, Any], text: str) -> MadeEntry:
    """Add a key decision."""
    _list_in(value, "context_primer", "key_decisions").append(_checked(text))
    return MadeEntry(f"noted: {text}", ("context_primer",))


def add(value: dict[str, Any], now: int, text: str, *, first: bool = False) -> MadeEntry:
    """Add a next action, at the end or as the first."""
    actions = _list_in(value, "next_actions")
    insert_action(value, 0 if first else len(actions), _checked(text))
    # counted now: a sample action goes when a real one comes
    index = 0 if first else len(actions) - 1
    mark_repeated(value, [f"/next_actions/{index}"], now)

    line = f"next: {text}" if first else f"added: {text}"
    waits = describe_goals(actions[index])
    if waits:
        line += f" ({waits})"
    return MadeEntry(line, ("next_actions",))


def row(
    value: dict[str, Any], text: str, status: str | None = None, name: str | None = None
) -> MadeEntry | Finding:
    """Add a row to progress_table, or set the status of the row with that id or label.

    name: the id of a new row.
    """
    rows = _list_in(value, "progress_table")
    new_id = name or slug(_checked(text))
    new_status, understood = _read_row_status(status)

    found = _find_row(rows, [name or text, new_id])
    if found is None:
        new_status = new_status or "not_started"
        rows.append({"id": new_id, "label": text, "status": new_status})
        remove_first_row(value)
        line = f"added row {new_id}: {text} ({new_status})"
        return MadeEntry(line, ("progress_table",), new_id, understood)

    row_id = _id(found)
    if not new_status:
        message = f"progress_table has the row {quote(row_id)} already: give its new status"
        hint = command("checkpoint", "row", OWN, text, "--status", "complete")
        return _refusal("row", message, hint)

    found["status"] = new_status
    return MadeEntry(f"row {row_id}: {new_status}", ("progress_table",), row_id, understood)


def _read_row_status(status: str | None) -> tuple[str, tuple[Understood, ...]]:
    """Return the status that a word means, "" for none, and what was understood.

    Raises CheckpointError for a word that means none.
    """
    if status is None:
        return "", ()
    if status in ROW_STATUSES:
        return status, ()

    row_status = find_choice(status, ROW_STATUSES)
    if not row_status:
        hint = f"--status is one of {', '.join(ROW_STATUSES)}"
        raise CheckpointError(f"{quote(status)} is not a status of a row", hint)
    return row_status, (Understood(status, row_status),)


def _find_row(rows: list[Any], names: Sequence[str]) -> dict[str, Any] | None:
    """Return the row of the first of these names that is a row's id, or a label that only one row
    has; None if none is.
    """
    for name in names:
        index = find_index(rows, name)
        if index is not None and isinstance(rows[index], dict):
            found: dict[str, Any] = rows[index]
            return found
    return None


def slug(text: str) -> str:
    """Return an id made of a label: its words in lower case, with dashes between them."""
    spelled = "".join(letter if letter.isalnum() else " " for letter in text.lower())
    return "-".join(spelled.split())[:_LONGEST_SLUG].strip("-") or text


def ask(
    value: dict[str, Any], question: str, options: Sequence[str] = (), blocks: str | None = None
) -> MadeEntry:
    """Add a decision that waits on the user."""
    members: dict[str, Any] = {}
    if options:
        members["options"] = [_checked(option) for option in options]
    entry = block(value, question, "user_decision", blocks, members)
    return entry._replace(line=f"{entry.id} waits on an answer: {question}")


def block(
    value: dict[str, Any],
    text: str,
    needs: str | None = None,
    blocks: str | None = None,
    members: Mapping[str, Any] | None = None,
) -> MadeEntry:
    """Add a blocker.

    needs: one of NEEDS, or another word for one. blocks: the id of the row that waits. members:
    further members of the entry.
    """
    name = _new_id(value, _checked(text))
    blocker = {"id": name, "description": text}
    if blocks is not None:
        blocker["blocking"] = blocks

    understood: tuple[Understood, ...] = ()
    if needs is not None:
        kind = find_choice(needs, NEEDS) or needs
        if kind and kind not in NEEDS:
            hint = f"--needs is one of {', '.join(NEEDS)}"
            raise CheckpointError(f"invalid need {quote(kind)}", hint)
        if kind != needs:
            understood = (Understood(needs, kind),)
        blocker["needs"] = kind

    blocker |= members or {}
    _list_in(value, "blockers").append(blocker)
    return MadeEntry(f"added blocker {name}: {text}", ("blockers",), name, understood)


def decide(
    value: dict[str, Any], now: int, answer: str, name: str | None = None
) -> MadeEntry | Finding:
    """Answer a decision that waits on the user, and note the answer with its day.

    name: the question's id; None for the only open one.
    """
    _checked(answer)
    waiting = [blocker for blocker in views.open_blockers(value) if views.waits_on_user(blocker)]
    same = [blocker for blocker in waiting if _id(blocker) == answer]
    if name is None and same:
        hint = _advise_answers(value, same)
        message = f"{quote(answer)} is the question: the answer is missing"
        return _refusal("question", message, hint)

    asked = _choose(value, waiting, name, "question", answer)
    if isinstance(asked, Finding):
        return asked

    options = [option for option in views.read_list(asked, "options") if isinstance(option, str)]
    chosen = _choose_option(options, answer)
    question = str(asked.get("description", "")).strip()
    if not question.endswith("?"):
        question += ":"
    text = f"{question} {chosen} ({write_instant(now)[:10]})"
    note(value, text)

    line = f"decided: {text}{close_blocker(value, asked, now)}"
    if options and chosen not in options:
        line += f"; the options were {' | '.join(options)}"
    understood: tuple[Understood, ...] = ()
    if chosen != answer:
        understood = (Understood(answer, chosen),)
    return MadeEntry(line, ("context_primer", "blockers"), _id(asked), understood)


def _choose_option(options: Sequence[str], answer: str) -> str:
    """Return the option that an answer means, or the answer itself if it means none."""
    if answer in options:
        return answer
    for option in options:
        if spell(option) == spell(answer):
            return option
    return _find_option(options, answer) or answer


def _find_option(options: Sequence[str], answer: str) -> str:
    """Return the option that a number or a letter names, "" if none or several.

    Both name an option by its place, and by the first word or letter of its text.
    """
    sign = answer.strip("().: ").lower()
    is_number = sign.isascii() and sign.isdecimal() and len(sign) < 3
    is_letter = sign.isascii() and sign.isalpha() and len(sign) == 1
    if not is_number and not is_letter:
        return ""

    named = {option for option in options if _begins_with(option, sign)}
    index = int(sign) - 1 if is_number else ord(sign) - ord("a")
    if 0 <= index < len(options):
        named.add(options[index])
    return named.pop() if len(named) == 1 else ""


def _begins_with(option: str, sign: str) -> bool:
    """Whether an option's text begins with a letter, or with exactly this number."""
    text = option.lower().strip("( ")
    if not text.startswith(sign):
        return False
    following = option.strip("( ")[len(sign) :][:1]
    return not (sign.isdecimal() and following.isdecimal())


def split_answer(value: dict[str, Any], words: Sequence[str]) -> tuple[str, str | None]:
    """Return the answer and the question's id that the words of a command line give.

    The id is None if there is only an answer, and "" if one is needed and missing.
    """
    first = words[0].rstrip(":=") or words[0]
    if len(words) == 1:
        return first, None

    is_id = bool(_find_named(value, views.open_blockers(value), first))
    if is_id or (len(words) == 2 and not first.isalpha()):
        return " ".join(words[1:]), first
    return " ".join(words), ""


def unblock(value: dict[str, Any], now: int, name: str | None = None) -> MadeEntry | Finding:
    """Mark a blocker as resolved. name: its id; None for the only open one."""
    if name is not None:
        _checked(name)
    blockers = views.open_blockers(value)
    others = [blocker for blocker in blockers if not views.waits_on_user(blocker)]

    if name and not _find_named(value, others, name):
        questions = [blocker for blocker in blockers if views.waits_on_user(blocker)]
        asked = _find_named(value, questions, name)
        if asked:
            message = f"{quote(name)} waits on an answer"
            return _refusal("question", message, _advise_answers(value, asked))

    found = _choose(value, others, name, "blocker")
    if isinstance(found, Finding):
        return found
    description = found.get("description", "")
    line = f"{_id(found)} is resolved: {description}{close_blocker(value, found, now)}"
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
    """Remove an action that will not be done, and note the reason. action: as for find_action."""
    check_next(next_action, complete)
    end = ("--why", _checked(why))
    words: list[Argument] = ["drop", OWN]
    if action:
        words.append(action)
    trouble = find_done_trouble(value, next_action, complete, (*words, *end))
    if trouble:
        return trouble

    index = find_action(value, action, "drop", end)
    if isinstance(index, Finding):
        return index
    text = views.action_text(take_action(value, index, next_action, complete))
    note(value, f"Dropped: {text}: {_checked(why)} ({write_instant(now)[:10]})")

    line = f"dropped: {text}"
    if complete:
        line += "; the status is complete"
    if next_action:
        waits = describe_goals(value["next_actions"][0])
        if waits:
            line += f"; next: {next_action} ({waits})"
    return MadeEntry(line, ("next_actions", "context_primer"))


def find_action(
    value: dict[str, Any], action: str | None, verb: str, end: tuple[str, ...] = ()
) -> int | Finding:
    """Return the index of an action by its number (from 1), id or part of its text; 0 for None.

    verb and end are the first and the last words of the command in the hint.
    """
    if action is None:
        return 0
    actions = views.read_list(value, "next_actions")
    exact = find_index(actions, _checked(action))
    if exact is None:
        exact = _read_number(action, actions)
    if exact is not None:
        return exact

    texts = [views.action_text(entry) for entry in actions]
    wanted = action.casefold()
    matching = [index for index, text in enumerate(texts) if wanted in text.casefold()]
    if len(matching) == 1:
        return matching[0]

    problem = "no action has"
    if matching:
        problem = f"{len(matching)} actions have"
    shown = [text for text in texts if text.isprintable()][:5]
    commands = [command("checkpoint", verb, OWN, text, *end) for text in shown]
    return _refusal("which-action", f"{problem} {quote(action)} in it", join_hints(*commands))


def _read_number(text: str, actions: list[Any]) -> int | None:
    """Return the index that "2", "#2" or the path next_actions.1 names, None for another text."""
    is_path = text.startswith("next_actions.")
    number = text.removeprefix("next_actions.").strip("#[]")
    if is_path and is_index(number, actions):
        return int(number)
    if not is_path and number != "0" and is_index(number, [None, *actions]):
        return int(number) - 1
    return None


def _checked(text: str) -> str:
    check_text(text)
    check_filled(text)
    if not text.strip():
        raise CheckpointError("the text is empty", "write a few words")
    return text


def _id(entry: Mapping[str, Any]) -> str:
    name = entry.get("id", "")
    if isinstance(name, bytes):  # a number
        return name.decode()
    return str(name)


def _new_id(value: dict[str, Any], text: str) -> str:
    from hashlib import sha256  # brings OpenSSL along, and only this needs it

    # made of the text, not counted: two branches that each add a blocker would both take the next
    # number
    taken = {_id(blocker) for blocker in views.read_objects(value, "blockers")}
    digits = sha256(text.encode()).hexdigest() * (len(taken) + 1)
    length = 4
    while f"b{digits[:length]}" in taken:
        length += 1
    return f"b{digits[:length]}"


def _list_in(value: dict[str, Any], *path: str) -> list[Any]:
    """Return the list at a path, which is made if it is missing.

    Raises CheckpointError if something else is there.
    """
    parent: Any = value
    for name in path[:-1]:
        parent = _member(parent, name, {})

    found = _member(parent, path[-1], [])
    if not isinstance(found, list):
        hint = advise("fix that field first", "checkpoint", "validate")
        raise CheckpointError(f"{'.'.join(path)} is not a list", hint)
    return found


def _member(parent: Any, name: str, default: Any) -> Any:
    """Return a member of an object, the default once it is set; None if it is not an object."""
    if not isinstance(parent, dict):
        return None
    return parent.setdefault(name, default)


def _find_named(
    value: dict[str, Any], found: list[dict[str, Any]], name: str
) -> list[dict[str, Any]]:
    """Return the blockers among these that a name means.

    A name is an id, else a place (blockers.2), else an id or a description in another spelling.
    """
    by_id = [blocker for blocker in found if _id(blocker) == name]
    if by_id or not name:
        return by_id

    for index, entry in enumerate(views.read_list(value, "blockers")):
        if name == f"blockers.{index}" and any(entry is blocker for blocker in found):
            return [entry]

    spelled = spell(name)
    return [
        blocker
        for blocker in found
        if spelled in (spell(_id(blocker)), spell(str(blocker.get("description", ""))))
    ]


def _choose(
    value: dict[str, Any],
    found: list[dict[str, Any]],
    name: str | None,
    noun: str,
    answer: str = "",
) -> dict[str, Any] | Finding:
    """Return the blocker that is named, or the only one; a Finding that lists them if neither is
    clear.
    """
    named = found
    if name is not None:
        named = _find_named(value, found, name)
    if len(named) == 1:
        return named[0]

    if not found:
        return _refusal(noun, f"no {noun} is open", command("checkpoint", "status", OWN))
    if named and name:
        message = f"{len(named)} open {noun}s have the id {quote(name)}"
        return _refusal(noun, message, _advise_answers(value, named, answer))

    problem = "say which"
    if name:
        problem = f"none has the id {quote(name)}"
    verb = "is" if len(found) == 1 else "are"
    message = f"{plural(len(found), noun)} {verb} open: {problem}"
    return _refusal(noun, message, _advise_answers(value, found, answer))


def _advise_answers(value: dict[str, Any], found: list[dict[str, Any]], answer: str = "") -> Hint:
    """Return the commands that settle these blockers, only the first ones of many."""
    identities = {id(blocker) for blocker in found}
    answers = views.find_answers(OWN, value, answer)
    commands = [command(*argv) for blocker, argv in answers if id(blocker) in identities]
    return join_hints(*commands[:_MOST_ANSWERS])


def _refusal(noun: str, message: str, hint: AnyHint) -> Finding:
    return Finding(f"entry/{noun}", "error", message, hint=hint)


def close_blocker(value: dict[str, Any], blocker: dict[str, Any], now: int) -> str:
    """Resolve a blocker, set the status to in_progress if nothing else blocks the work, and return
    the words that report the new status.
    """
    blocker |= {"resolved": True, "resolved_at": write_instant(now)}
    if value.get("status") != "blocked":
        return ""
    if views.open_blockers(value) or not views.read_list(value, "next_actions"):
        return ""

    value["status"] = "in_progress"
    return "; the status is in_progress again"
