"""What tools call of skill checkpoints: drift in a push, and their `$schema` for `init --schemas` and uninstall."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, plan_place
from checkpoint_git.disk.read import FileContent
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.changes import SCHEMA_FILE

if TYPE_CHECKING:
    from checkpoint_git.protocols.check import Context

_REFERENCE = f"./{SCHEMA_FILE}"


def check_push(files: Iterable[tuple[str, FileContent]], cwd: str, now: int, env: Mapping[str, str]) -> list[Finding]:
    """What the pushed checkpoints tell a future session to do although it is merged, as warnings."""
    from checkpoint_git.git.history.merged import read_merged  # the other hooks look at no history
    from checkpoint_git.protocols.check import locate_all
    from checkpoint_git.protocols.skill.checks import find_shipped_actions, find_shipped_resolutions
    from checkpoint_git.protocols.skill.facts import make_facts
    from checkpoint_git.protocols.validate import iterate_checked

    documents = list(iterate_checked(((path, data) for path, data in files if protocol_of(path) == "skill"), now))
    facts = make_facts(plan_place(cwd), documents, now, env)
    if not facts.references:
        return []
    facts.merged = read_merged(cwd, facts.references)
    drift = [*find_shipped_actions(facts), *find_shipped_resolutions(facts)]
    texts = {document.path: document.text for document in documents}
    return locate_all([finding for finding in drift if finding.level == "warning"], texts.get)


def open_documents(context: "Context") -> tuple[int, Callable[[str], str | None], frozenset[str]]:
    """Raises CheckpointError where the skill that was asked for has no checkpoint."""
    from checkpoint_git.protocols.skill.facts import SkillFacts

    facts = context.facts(SkillFacts)
    return len(facts.summaries), facts.read_text, frozenset(one.path for one, _ in facts.find_aged("complete"))


def list_schema_references(place: Place, *, present: bool) -> list[str]:
    """The paths of the checkpoints that can be read and whose $schema is ours, or else of those that have none."""
    return [layout.checkpoint_path(place, skill) for skill in _list_skills(place, _REFERENCE if present else None)]


def add_schema_references(place: Place, now: int) -> None:
    """Lets every checkpoint name its schema; updated_at stays: nothing of its work has changed."""
    for skill in _list_skills(place, None):
        store.change_checkpoint(place, skill, lambda value: {"$schema": _REFERENCE, **(value or {})}, now)


def remove_schema_references(place: Place, now: int) -> None:

    def without(value: dict[str, Any] | None) -> dict[str, Any]:
        return {key: inner for key, inner in (value or {}).items() if key != "$schema"}

    for skill in _list_skills(place, _REFERENCE):
        store.change_checkpoint(place, skill, without, now)


def _list_skills(place: Place, reference: str | None) -> list[str]:
    found = []
    for skill in store.list_skills(place):
        try:
            data = store.read_skill(place, skill)
            value = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else None
        except (CheckpointError, jsontext.JsonTextError):
            continue
        if isinstance(value, dict) and value.get("$schema") == reference:
            found.append(skill)
    return found
