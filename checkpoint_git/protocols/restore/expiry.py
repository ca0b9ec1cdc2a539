"""How long a restore point is kept: "24h", "7d", "never". Pure."""

import re

from checkpoint_git.core.clock import DAY, HOUR, MINUTE
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, shorten

NEVER = "never"
_UNITS = {"m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_LONGEST = 100 * 366 * DAY


def read_expiry(text: str | None, now: int) -> int | None:
    """When a point expires, in seconds since 1970; None for never.

    text: a number with m, h, d or w behind it, "never", or None for the same. Raises CheckpointError for another one.
    """
    if text is None or text.strip().lower() == NEVER:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,8})([mhdw])", text.strip().lower(), re.ASCII)
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if 0 < seconds <= _LONGEST:
        return now + seconds
    shown = escape_controls(shorten(text, 40))
    raise CheckpointError(f'"{shown}" is no expiry', "write 30m, 24h, 7d, 2w or never")


def is_expired(expires: int | None, now: int) -> bool:
    """Whether a point may be cleared away when somebody asks for that. expires: as read_expiry gives it."""
    return expires is not None and now >= expires
