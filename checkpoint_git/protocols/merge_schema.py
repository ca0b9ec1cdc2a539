"""Load the schema that a file is merged by: the package's, or the clone's. On git's hot path."""

from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.protocols.registry import schema_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load_merge_schema(
    path: str, extension: str = "", whole: str = "", *, strict: bool = True
) -> "dict[str, Any]":
    """Return the schema for a path of the repository, numbers as tokens; {} if no protocol owns it.

    extension: a file of the clone with the schema of the private skill_state, "" for none. whole:
    the file of a schema for a path that no protocol owns, as init copied it. Raises CheckpointError
    if such a file cannot be used. If not strict, an extension is left out instead, as the driver
    does.
    """
    if whole:
        kept: dict[str, Any] = _load_kept(whole)
        return kept

    shipped = schema_path(path)
    schema: dict[str, Any] = {} if shipped is None else _load(shipped)
    if extension and shipped:
        try:
            schema.setdefault("properties", {})["skill_state"] = _load(extension)
        except (OSError, JsonTextError) as error:
            if strict:
                # late: git starts this for every file that it merges
                from checkpoint_git.core.errors import CheckpointError
                from checkpoint_git.core.hint import advise

                trouble = f"cannot be read: {extension}: {error}"
                message = f"the schema that this clone merges skill_state by {trouble}"
                hint = advise("fix it, or forget it", "checkpoint", "init", "--merge-schema", "")
                raise CheckpointError(message, hint) from None

    return schema


def _load_kept(path: str) -> "Any":
    """Return the schema in a file whose name is its SHA-256. Raises CheckpointError for another."""
    from hashlib import sha256

    from checkpoint_git.core.errors import CheckpointError

    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        if path.endswith(f"/{sha256(data).hexdigest()}.json"):
            return scan_tokens(decode(data))
        why = "its content has changed"
    except (OSError, JsonTextError) as error:
        why = str(error)

    raise CheckpointError(
        f"the schema that this clone merges the file by cannot be used: {path}: {why}"
    )


def _load(path: str) -> "Any":
    with open(path, "rb", buffering=0) as file:
        return scan_tokens(decode(file.read()))
