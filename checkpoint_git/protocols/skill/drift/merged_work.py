"""Look up a checkpoint's references in git's history, and find the actions that it finished."""

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
    """Whether an item of next_actions is done, as everything that it waits for is merged."""
    if not known:
        return False
    return are_merged(find_goals(action), known)


def are_merged(goals: Sequence[str], known: Known) -> bool:
    """Whether there are goals, and all are certainly merged and still in HEAD."""
    return bool(goals) and all(
        goal in known and known[goal].state == "merged" and known[goal].sure for goal in goals
    )


def find_action_facts(action: Any, known: Known) -> Facts:
    """Return the facts about the references that an item of next_actions names."""
    if not known:
        return ()
    named = dict.fromkeys([*find_named(views.action_text(action)), *find_goals(action)])
    return tuple(known[reference] for reference in named if reference in known)


def find_finished(references: Iterable[str], known: Known) -> list["Fact"]:
    """Return the facts of those references whose work was finished."""
    facts = [known[reference] for reference in references if reference in known]
    return [fact for fact in facts if fact.state in FINISHED]


def find_text_facts(text: str, known: Known) -> Facts:
    """Return the facts about the references that a text names."""
    if not known:
        return ()
    return tuple(known[reference] for reference in find_named(text) if reference in known)


def describe_fact(fact: "Fact", now: int | None) -> str:
    """Return a sentence such as: #12 was merged 3 days ago (1a2b3c4).

    now: None for a date in place of an age.
    """
    commit, name = fact.commit[:7], fact.reference
    if fact.state == "named":
        last = f"last {commit}" if fact.commits > 1 else commit
        return f"{name} is named by {plural(fact.commits, 'commit')}, {last}"
    time = _describe_time(fact.at, now)
    if fact.state == "lost":
        return f"{name} was merged {time} ({commit}), but its changes are not in HEAD"
    return f"{name} was {fact.state} {time} ({commit})"


def _describe_time(instant: int, now: int | None) -> str:
    if now is None or instant > now:  # of a wrong clock
        return f"on {write_instant(instant)[:10]}"
    for size, unit in _UNITS:
        if now - instant >= size:
            return f"{plural((now - instant) // size, unit)} ago"
    return "just now"


def describe_facts(facts: Sequence["Fact"], now: int | None) -> list[str]:
    """Return a line for each fact, the rest of many counted."""
    lines = [describe_fact(fact, now) for fact in facts[:_SHOWN_FACTS]]
    if len(facts) > _SHOWN_FACTS:
        lines.append(f"and {len(facts) - _SHOWN_FACTS} more references")
    return lines


def facts_data(facts: Iterable["Fact"]) -> list[dict[str, Any]]:
    """Return facts as JSON has them."""
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
    """Return when a checkpoint began, in seconds since 1970, None for unknown.

    Merges before that time prove nothing.
    """
    instant = read_instant(value.get("created_at")) or read_instant(value.get("updated_at"))
    if instant is None:
        return None
    return instant[0]


def read_work(place: Place, documents: Sequence[Document], now: int) -> tuple[Work, list[Finding]]:
    """Return the facts about all references, and a finding if the history cannot be read.

    Without a reference git is not started.
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
        known = [reference for reference in references if (reference, start) in facts]
        work[path] = {reference: facts[reference, start] for reference in known}
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
    """Return the pull requests that a checkpoint lists as merged and that were reverted since.

    Each has the evidence. The findings report a history that cannot be read.
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
