"""Make untrusted text safe to print: a terminal obeys the escape sequences that it reads."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BIDI_AND_INVISIBLE = frozenset(
    # these show nothing
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
    "\U0001bca0\U0001bca1\U0001bca2\U0001bca3\U0001d173\U0001d174\U0001d175\U0001d176"
    "\U0001d177\U0001d178\U0001d179\U0001d17a"
    # these turn the direction, part words or lines, or have no width
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2065\u2066\u2067\u2068\u2069\u206a\u206b\u206c"
    "\u206d\u206e\u206f\ufeff\ufff9\ufffa\ufffb"
)


def escape_controls(text: str, keep: str = "") -> str:
    """Return a text with an escape for every control, bidirectional override and lone surrogate.

    keep: control characters that stay as they are, such as the newline if the caller lays out
    lines.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character, keep) for character in text)


def _shown(character: str, keep: str) -> str:
    if character in keep:
        return character
    code = ord(character)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{code:02x}")
    if 0xD800 <= code <= 0xDFFF or character in _BIDI_AND_INVISIBLE:
        return f"\\u{code:04x}"
    if 0xE0000 <= code <= 0xE0FFF:  # tags and selectors: whole sentences that nobody sees
        return f"\\U{code:08x}"
    return character


def quote_word(text: str) -> str:
    if (
        text.replace("-", "").replace("_", "").replace(".", "").replace("/", "").isalnum()
        and text.isascii()
    ):
        return text
    from shlex import quote

    return quote(text)


def plain_path(path: str) -> str:
    """Return a path that no program takes for an option."""
    if path.startswith("-"):
        return f"./{path}"
    return path


def quote_path(path: str) -> str:
    return quote_word(plain_path(path))


def shorten(text: str, limit: int) -> str:
    """Return a text cut to a number of characters, with "..." at its end."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 3, 0)] + "..."


def say_value(text: "str | None", limit: int = 60) -> str:
    """Return the JSON of a value, cut to `limit` characters, for a message. None: no value."""
    if text is None:
        return "(nothing)"
    return shorten(text, limit)


def plural(count: int, word: str) -> str:
    if count == 1:
        return f"{count} {word}"
    return f"{count} {word}s"


def join_some(items: "Sequence[str]", most: int = 5, separator: str = ", ") -> str:
    """Return the first items in a line, and how many there are besides."""
    joined = separator.join(items[:most])
    if len(items) <= most:
        return joined
    gap = separator
    if separator == ", ":
        gap = " "
    return f"{joined}{gap}and {len(items) - most} more"
