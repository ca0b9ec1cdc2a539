"""What tools call of skill checkpoints: drift in a push, and their `$schema` for `init --schemas`
and uninstall.
"""

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

    documents = list(
        iterate_checked(((path, data) for path, data in files if protocol_of(path) == "skill"), now)
    )
    facts = make_facts(plan_place(cwd), documents, now, env)
    texts = {document.path: document.text for document in documents}
    return locate_all(
        [finding for finding in find_shipped_actions(facts) if finding.level == "warning"],
        texts.get,
    )


def open_documents(context: "Context") -> tuple[int, Callable[[str], str | None], frozenset[str]]:
    """Raises CheckpointError if the skill that was asked for has no checkpoint."""
    from checkpoint_git.protocols.skill.drift.facts import SkillFacts

    facts = context.facts(SkillFacts)
    return (
        len(facts.summaries),
        facts.read_text,
        frozenset(one.path for one, _ in facts.find_aged("complete")),
    )


def name_schemas(place: Place, now: int, *, wanted: bool, dry_run: bool) -> list[str]:
    """Lets every checkpoint that has no $schema name ours, or none name it; their paths. updated_at
    stays.
    """

    def change(value: dict[str, Any] | None) -> dict[str, Any]:
        rest = {key: inner for key, inner in (value or {}).items() if key != "$schema"}
        return {"$schema": _REFERENCE, **rest} if wanted else rest

    found = []
    for skill in store.list_skills(place):
        try:
            data = store.read_skill(place, skill)
            value = jsontext.load(jsontext.decode(data)) if isinstance(data, bytes) else None
        except (CheckpointError, jsontext.JsonTextError):
            continue
        if isinstance(value, dict) and value.get("$schema") == (None if wanted else _REFERENCE):
            found.append(layout.checkpoint_path(place, skill))
            if not dry_run:
                store.change_checkpoint(place, skill, change, now)

    return found
