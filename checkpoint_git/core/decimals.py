"""Exact arithmetic on JSON's number tokens: a value is digits / 10 ** scale, both whole numbers,
scale >= 0.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_DIGITS = 1_000


def read_decimal(token: "Any") -> "tuple[int, int] | None":
    """Return (digits, scale); None if it is not a number token, or has so many digits that
    arithmetic is an attack.
    """
    if type(token) is not bytes or len(token) > _MOST_DIGITS:
        return None
    mantissa, _, exponent = token.decode().lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len(exponent) > 5:
        return None
    scale = len(decimals) - int(exponent or "0")
    if abs(scale) > _MOST_DIGITS:
        return None
    digits = int(whole + decimals)
    return (digits, scale) if scale >= 0 else (digits * 10**-scale, 0)


def decimal_token(digits: int, scale: int) -> bytes:
    """All decimals are kept: (175, 2) is b"1.75"."""
    text = str(abs(digits)).rjust(scale + 1, "0")
    sign = "-" if digits < 0 else ""
    return (sign + (f"{text[:-scale]}.{text[-scale:]}" if scale else text)).encode()


def compare_decimals(one: "Any", other: "Any") -> "int | None":
    left, right = read_decimal(one), read_decimal(other)
    if left is None or right is None:
        return None
    return int(left[0] * 10 ** right[1] - right[0] * 10 ** left[1])
