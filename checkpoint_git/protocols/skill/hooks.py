"""Check a push for drift, and set or remove `$schema` for `init --schemas` and uninstall."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, plan_place
from checkpoint_git.disk.read import FileContent
from checkpoint_git.protocols.check import Context
from checkpoint_git.protocols.registry import protocol_of
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.layout import SCHEMA_FILE

_REFERENCE = f"./{SCHEMA_FILE}"


def check_push(
    files: Iterable[tuple[str, FileContent]], cwd: str, now: int, env: Mapping[str, str]
) -> list[Finding]:
    """Return warnings about next actions of pushed checkpoints that are merged."""
    from checkpoint_git.protocols.check import locate_all
    from checkpoint_git.protocols.skill.drift.checks import find_shipped_actions
    from checkpoint_git.protocols.skill.drift.facts import make_facts
    from checkpoint_git.protocols.validate import iterate_checked

    ours = ((path, data) for path, data in files if protocol_of(path) == "skill")
    documents = list(iterate_checked(ours, now))
    facts = make_facts(plan_place(cwd), documents, now, env)
    findings = [finding for finding in find_shipped_actions(facts) if finding.level == "warning"]
    texts = {document.path: document.text for document in documents}
    return locate_all(findings, texts.get)


def open_documents(context: "Context") -> tuple[int, Callable[[str], str | None], frozenset[str]]:
    """Return the number of checkpoints, a reader of their texts, and the paths of the old complete
    ones. Raises CheckpointError if the requested skill has no checkpoint.
    """
    from checkpoint_git.protocols.skill.drift.facts import SkillFacts

    facts = context.facts(SkillFacts)
    aged = facts.find_aged("complete", context.limits.complete)
    complete = frozenset(summary.path for summary, _ in aged)
    return len(facts.summaries), facts.read_text, complete


def name_schemas(place: Place, now: int, *, wanted: bool, dry_run: bool) -> list[str]:
    """Set $schema in the checkpoints that lack it, or remove ours; updated_at stays.

    Return the absolute paths of these checkpoints.
    """

    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        members = {key: member for key, member in (value or {}).items() if key != "$schema"}
        if wanted:
            members = {"$schema": _REFERENCE, **members}
        return members

    before = None if wanted else _REFERENCE
    found = []
    for skill in store.list_skills(place):
        value = _read_value(place, skill)
        if isinstance(value, dict) and value.get("$schema") == before:
            found.append(layout.checkpoint_path(place, skill))
            if not dry_run:
                store.change_checkpoint(place, skill, change, now)

    return found


def _read_value(place: Place, skill: str) -> Any:
    """Return the JSON value of a skill's checkpoint, None if it cannot be read."""
    try:
        data = store.read_skill(place, skill)
        if isinstance(data, bytes):
            return jsontext.load(jsontext.decode(data))
    except (CheckpointError, jsontext.JsonTextError):
        return None
    return None
