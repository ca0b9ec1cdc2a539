"""The strategies that the merge is tested with: the shipped schema of skill checkpoints."""

from typing import Any

from checkpoint_git.core import jsontext
from checkpoint_git.protocols import registry


def skill_schema() -> dict[str, Any]:
    """The schema that the driver reads, as the driver reads it."""
    path = registry.schema_path(".checkpoints/build.checkpoint.json")
    assert path is not None
    with open(path, "rb") as file:
        schema: dict[str, Any] = jsontext.scan_tokens(jsontext.decode(file.read()))
    return schema
