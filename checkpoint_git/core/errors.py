"""The one exception for "this cannot go on": what happened, and what to do about it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from checkpoint_git.core.hint import AnyHint


class CheckpointError(Exception):
    """A command could not run at all; it exits with 2. message: what is wrong and where, one
    sentence. hint: what to do now, or "". Trouble with the user's data is a Finding, which is
    returned, never raised.
    """

    def __init__(self, message: str, hint: "AnyHint" = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
