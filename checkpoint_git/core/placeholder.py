"""The placeholder that a pasted hint still has: no verb takes it as a value."""

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import UNFILLED


def check_filled(value: object) -> None:
    """Raise CheckpointError for a value that is the placeholder of a hint, or has it in it."""
    if isinstance(value, str) and value.strip() == UNFILLED:
        raise CheckpointError(f'"{UNFILLED}" is a placeholder', "write your own text in its place")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            check_filled(item)
