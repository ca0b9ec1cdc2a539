"""Instants as text (RFC 3339) and as numbers, on git's hot path; `now` is always an argument."""

try:
    from _datetime import date, datetime  # type: ignore[import-not-found]  # the C part alone: typeshed lacks it
except ImportError:  # an interpreter without it
    from datetime import date, datetime

_EPOCH = 719_163  # date.toordinal() of 1970-01-01
_FIRST, _LAST = -62_135_596_800, 253_402_300_799  # the years 1 to 9999

MINUTE = 60
HOUR = 3_600
DAY = 86_400


def read_instant(text: object) -> "tuple[int, str] | None":
    """Return an RFC 3339 timestamp as (seconds since 1970 in UTC, decimals), None for anything
    else.

    The decimals have no trailing zeros. Results compare as the instants do: the decimals are text,
    so no precision is lost. A leap second (:60) is the instant one second after :59. A timestamp
    without an offset is None.
    """
    if (
        not isinstance(text, str)
        or len(text) < 20
        or not text.isascii()
        or not _has_separators(text)
    ):
        return None

    fraction, offset = "", text[19:]
    if text[19] == ".":
        offset = text[20:].lstrip("0123456789")
        fraction = text[20 : len(text) - len(offset)]
        if not fraction:
            return None

    digits = text[:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19]
    if not digits.isdigit() or not _is_offset(offset):
        return None
    if text[11:13] == "24":  # Python 3.14 reads that hour as the next day
        return None

    is_leap = text[17:19] == "60"
    seconds = "59" if is_leap else text[17:19]
    try:
        moment = datetime.fromisoformat(f"{text[:17]}{seconds}{offset.upper()}")
    except ValueError:  # it is not on the calendar
        return None

    return _count_seconds(moment) + is_leap, fraction.rstrip("0")


def _has_separators(text: str) -> bool:
    is_date = text[4] == "-" and text[7] == "-" and text[10] in "Tt"
    return is_date and text[13] == ":" and text[16] == ":"


def _is_offset(text: str) -> bool:
    if text in ("Z", "z"):
        return True
    return len(text) == 6 and text[0] in "+-" and text[3] == ":" and text[4] < "6"


def _count_seconds(moment: "datetime") -> int:
    offset = moment.utcoffset()
    seconds: int = (
        (moment.toordinal() - _EPOCH) * DAY
        + moment.hour * HOUR
        + moment.minute * MINUTE
        + moment.second
    )
    if offset is not None:
        seconds -= offset.days * DAY + offset.seconds
    return seconds


def read_loose_instant(text: object) -> "tuple[int, str] | None":
    """Return a timestamp as read_instant does, also one in another form of ISO 8601.

    Such as with +0000, without seconds, or without an offset, which is taken for UTC then.
    """
    instant = read_instant(text)
    if instant is not None or not isinstance(text, str) or not 10 <= len(text) <= 40:
        return instant
    # Python 3.14 reads that hour as the next day
    hour = text[11:13] if text[4] == "-" else text[9:11]
    if hour == "24":
        return None
    try:
        moment = datetime.fromisoformat(text)
        return _count_seconds(moment), f"{moment.microsecond:06d}".rstrip("0")
    except ValueError:
        return None


def is_plain_instant(text: str) -> bool:
    """Whether a timestamp is in whole seconds and ends in Z: such texts sort as instants do.

    This takes a fifth of read_instant's time.
    """
    if (
        len(text) != 20
        or text[19] != "Z"
        or text[10] != "T"
        or text[4] != "-"
        or text[7] != "-"
        or text[13] != ":"
    ):
        return False

    try:
        datetime.fromisoformat(text)
    except ValueError:  # a leap second too
        return text[16] == ":" and read_instant(text) is not None

    return text[16] == ":" and text[11:13] != "24"  # Python 3.14 reads that as the next day


def write_instant(seconds: int) -> str:
    """Return an instant as text.

    One before the year 1 or after 9999 becomes their first or last second: commits come from any
    year.
    """
    days, rest = divmod(min(max(seconds, _FIRST), _LAST), DAY)
    hour, rest = divmod(rest, HOUR)
    minute, second = divmod(rest, MINUTE)
    return f"{date.fromordinal(days + _EPOCH)}T{hour:02d}:{minute:02d}:{second:02d}Z"


def write_stamp(seconds: int) -> str:
    """Return an instant as it is in names of files."""
    return write_instant(seconds).replace("-", "").replace(":", "")


_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"))
_LENGTHS = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def read_duration(text: str) -> "int | None":
    """Return the seconds of 30m, 12h, 2d or 3w; None for anything else, and for 0."""
    count = text.strip()[:-1]
    unit = text.strip().lower()[-1:]
    if unit not in _LENGTHS or not count.isascii() or not count.isdigit() or len(count) >= 10:
        return None
    return int(count) * _LENGTHS[unit] or None


def age_text(seconds: int) -> str:
    """Return an age such as "3d", "5h", "12m" or "now"; "in 3d" for a time ahead."""
    ahead = "in " if seconds < 0 else ""
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            return f"{ahead}{abs(seconds) // size}{unit}"
    return "now"


def ago_text(seconds: int) -> str:
    if abs(seconds) < MINUTE:
        return "just now"
    if seconds < 0:
        return age_text(seconds)
    return f"{age_text(seconds)} ago"
