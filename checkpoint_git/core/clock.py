"""Instants as text (RFC 3339) and as numbers. It never asks what time it is: `now` is an argument.

Standard library names are kept out on purpose: the merge driver imports this on git's hot path.
"""

_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH_DAY = 719_162  # days from 0001-01-01 to 1970-01-01

MINUTE = 60
HOUR = 3_600
DAY = 86_400


def read_instant(text: object) -> "tuple[int, str] | None":
    """An RFC 3339 timestamp as (seconds since 1970 in UTC, decimals without trailing zeros), else None.

    Two results compare as the instants do: the decimals are text, so no precision is lost. A date that is not on the
    calendar, an hour of 24, or a missing offset is None; so is anything that is not a string. A leap second
    (:60) is the instant one second after :59.
    """
    if not isinstance(text, str) or len(text) < 20 or not text.isascii():
        return None
    if text[4] != "-" or text[7] != "-" or text[10] not in "Tt" or text[13] != ":" or text[16] != ":":
        return None
    fields = (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
    if not all(field.isdigit() for field in fields):
        return None
    year, month, day, hour, minute, second = (int(field) for field in fields)
    if not (year >= 1 and 1 <= month <= 12 and hour < 24 and minute < 60 and second <= 60):
        return None
    if not 1 <= day <= _days_in(year, month):
        return None
    rest = _read_fraction_and_offset(text[19:])
    if rest is None:
        return None
    fraction, offset = rest
    days = _day_number(year, month, day) - _EPOCH_DAY
    return days * DAY + hour * HOUR + minute * MINUTE + second - offset, fraction


# Parts of texts that were instants in whole seconds of UTC: each part is right or wrong by itself, and files say the
# same ones again and again.
_SEEN_DAYS: "set[str]" = set()  # "2026-03-31"
_SEEN_HOURS: "set[str]" = set()  # "T14:"
_SEEN_MINUTES: "set[str]" = set()  # "00:00Z", the seconds with them
_MOST_DAYS = 10_000


def is_plain_instant(text: str) -> bool:
    """Whether a text is an instant as write_instant writes it: in whole seconds, ending in Z.

    Such texts sort as their instants do. It takes a fifth of the time of read_instant.
    """
    day, hour, minute = text[:10], text[10:14], text[14:]
    if day in _SEEN_DAYS and hour in _SEEN_HOURS and minute in _SEEN_MINUTES:
        return True
    if len(text) != 20 or text[10] != "T" or text[19] != "Z" or read_instant(text) is None:
        return False
    if len(_SEEN_DAYS) >= _MOST_DAYS:
        _SEEN_DAYS.clear()
    _SEEN_DAYS.add(day)
    _SEEN_HOURS.add(hour)
    _SEEN_MINUTES.add(minute)
    return True


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _DAYS_IN_MONTH[month - 1]


def _day_number(year: int, month: int, day: int) -> int:
    past = year - 1
    leap_day = 1 if month > 2 and _is_leap(year) else 0
    return past * 365 + past // 4 - past // 100 + past // 400 + _DAYS_BEFORE_MONTH[month - 1] + leap_day + day - 1


def _read_fraction_and_offset(rest: str) -> "tuple[str, int] | None":
    fraction = ""
    if rest[:1] == ".":
        end = 1
        while end < len(rest) and rest[end].isdigit():
            end += 1
        fraction, rest = rest[1:end], rest[end:]
        if not fraction:
            return None
    if rest in ("Z", "z"):
        return fraction.rstrip("0"), 0
    if len(rest) != 6 or rest[0] not in "+-" or rest[3] != ":":
        return None
    if not (rest[1:3].isdigit() and rest[4:].isdigit()):
        return None
    hours, minutes = int(rest[1:3]), int(rest[4:])
    if hours > 23 or minutes > 59:
        return None
    offset = hours * HOUR + minutes * MINUTE
    return fraction.rstrip("0"), -offset if rest[0] == "-" else offset


def write_instant(seconds: int) -> str:
    """Seconds since 1970 as "2026-03-31T15:30:00Z"."""
    days, rest = divmod(seconds, DAY)
    year, month, day = _date_of(days + _EPOCH_DAY)
    hour, rest = divmod(rest, HOUR)
    minute, second = divmod(rest, MINUTE)
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"


def _date_of(day_number: int) -> "tuple[int, int, int]":
    year = day_number * 400 // 146_097 + 1
    while _day_number(year, 1, 1) > day_number:
        year -= 1
    while _day_number(year + 1, 1, 1) <= day_number:
        year += 1
    month = 1
    while month < 12 and _day_number(year, month + 1, 1) <= day_number:
        month += 1
    return year, month, day_number - _day_number(year, month, 1) + 1


_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"))


def age_text(seconds: int) -> str:
    """How long ago, as people say it in a table: "3d", "5h", "12m", "now"; "in 3d" for a time ahead."""
    ahead = "in " if seconds < 0 else ""
    for size, unit in _UNITS:
        if abs(seconds) >= size:
            return f"{ahead}{abs(seconds) // size}{unit}"
    return "now"
