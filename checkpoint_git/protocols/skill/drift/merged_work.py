"""What git's history says of the references in a checkpoint, and which next actions that
finishes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.clock import DAY, HOUR, MINUTE, read_instant, write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import views
from checkpoint_git.protocols.skill.goals import find_goals, find_named

if TYPE_CHECKING:
    from checkpoint_git.git.history.reference_facts import Fact

Facts = tuple["Fact", ...]
Known = Mapping[str, "Fact"]  # of one checkpoint, by reference
Work = Mapping[str, Known]  # by the checkpoint's path

NOTHING: Work = {}
FINISHED = ("merged", "lost", "closed")  # states of a reference whose work was finished
_SHOWN_FACTS = 4  # below one action
_UNITS = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))


def is_finished(action: Any, known: Known) -> bool:
    """Return whether an item of next_actions is done, since all that it waits for is merged."""
    return are_merged(find_goals(action), known) if known else False


def are_merged(goals: Sequence[str], known: Known) -> bool:
    """Return whether there are goals, and all are merged for sure and still in HEAD."""
    return bool(goals) and all(
        goal in known and known[goal].state == "merged" and known[goal].sure for goal in goals
    )


def find_action_facts(action: Any, known: Known) -> Facts:
    """Return what is true of the references that an item of next_actions names."""
    if not known:
        return ()
    named = dict.fromkeys([*find_named(views.action_text(action)), *find_goals(action)])
    return tuple(known[reference] for reference in named if reference in known)


def find_finished(references: Iterable[str], known: Known) -> list["Fact"]:
    """Return the facts of those references whose work was finished."""
    return [known[one] for one in references if one in known and known[one].state in FINISHED]


def find_text_facts(text: str, known: Known) -> Facts:
    return (
        tuple(known[reference] for reference in find_named(text) if reference in known)
        if known
        else ()
    )


def describe_fact(fact: "Fact", now: int | None) -> str:
    """Return the sentence, such as: #12 was merged 3 days ago (1a2b3c4). now: None for a date in
    place of an age.
    """
    commit, name = fact.commit[:7], fact.reference
    if fact.state == "named":
        last = f"last {commit}" if fact.commits > 1 else commit
        return f"{name} is named by {plural(fact.commits, 'commit')}, {last}"
    verb = "merged" if fact.state == "lost" else fact.state
    end = ", but its changes are not in HEAD" if fact.state == "lost" else ""
    return f"{name} was {verb} {_describe_time(fact.at, now)} ({commit}){end}"


def _describe_time(at: int, now: int | None) -> str:
    if now is None or at > now:  # whose clock was wrong
        return f"on {write_instant(at)[:10]}"
    for size, unit in _UNITS:
        if now - at >= size:
            return f"{plural((now - at) // size, unit)} ago"
    return "just now"


def describe_facts(facts: Sequence["Fact"], now: int | None) -> list[str]:
    """Return a line for each fact, the rest of many counted."""
    lines = [describe_fact(fact, now) for fact in facts[:_SHOWN_FACTS]]
    if len(facts) > _SHOWN_FACTS:
        lines.append(f"and {len(facts) - _SHOWN_FACTS} more references")
    return lines


def facts_data(facts: Iterable["Fact"]) -> list[dict[str, Any]]:
    """Return what JSON says of references."""
    return [
        {
            "reference": fact.reference,
            "state": fact.state,
            "at": write_instant(fact.at),
            "commit": fact.commit,
            "rule": fact.rule,
        }
        for fact in facts
    ]


def find_start(value: dict[str, Any]) -> int | None:
    """Return when a checkpoint began, in seconds since 1970: what happened before says nothing
    about it.
    """
    instant = read_instant(value.get("created_at")) or read_instant(value.get("updated_at"))
    return instant[0] if instant else None


def read_work(place: Place, documents: Sequence[Document], now: int) -> tuple[Work, list[Finding]]:
    """Return what the history says of all references, and the finding that says why it could not be
    asked.

    Without a reference git is not asked.
    """
    if place.work_tree is None:
        return NOTHING, []
    asked = dict[str, tuple[int, list[str]]]()
    for document in documents:
        start = find_start(document.value or {})
        references = _find_all(document.value or {})
        if references and start is not None:
            asked[document.path] = (start, references)

    if not asked:
        return NOTHING, []
    try:
        return look_up(place.work_tree, asked, now), []
    except CheckpointError as error:
        message = f"the history could not be searched for merged work: {error.message}"
        return NOTHING, [Finding("next/no-history", "note", message, hint=error.hint)]


def look_up(work_tree: str, asked: Mapping[str, tuple[int, Iterable[str]]], now: int) -> Work:
    """Return the facts by path. asked: path -> (when the checkpoint began, its references). Raises
    CheckpointError.
    """
    from checkpoint_git.git.history.reference_facts import read_facts

    questions = {
        (reference, start) for start, references in asked.values() for reference in references
    }
    facts = read_facts(work_tree, questions, now)
    work = dict[str, Known]()
    for path, (start, references) in asked.items():
        work[path] = {one: facts[one, start] for one in references if (one, start) in facts}
    return work


def _find_all(value: dict[str, Any]) -> list[str]:
    actions = views.read_list(value, "next_actions")
    texts = [text for listed in views.list_requests(value) for text in listed]
    named = [reference for text in texts for reference in find_named(text)]
    goals = [reference for action in actions for reference in find_goals(action)]
    return list(dict.fromkeys([*named, *goals]))


def read_reverted(
    place: Place, document: Document, now: int
) -> tuple[Mapping[str, str], list[Finding]]:
    """Return which of the pull requests that a checkpoint lists as merged were reverted since, and
    why, and a finding that says why that is not known.
    """
    from checkpoint_git.protocols.skill.rotation import find_merged

    value = document.value or {}
    references, start = find_merged(value), find_start(value)
    if not references or start is None or place.work_tree is None:
        return {}, []
    try:
        known = look_up(place.work_tree, {document.path: (start, references)}, now)[document.path]
    except CheckpointError as error:
        message = f"the history could not be searched for reverts: {error.message}"
        return {}, [Finding("rotate/no-history", "note", message, document.path, hint=error.hint)]

    reverted = [fact for fact in known.values() if fact.state == "reverted"]
    return {
        fact.reference: f"{fact.commit[:7]}, {write_instant(fact.at)[:10]}" for fact in reverted
    }, []
