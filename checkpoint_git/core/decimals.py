"""Exact arithmetic on JSON's number tokens: a value is digits / 10 ** scale, both whole numbers,
scale >= 0.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_DIGITS = 1_000


def read_decimal(token: "Any") -> "tuple[int, int] | None":
    """Return (digits, scale) of a number token.

    None if it is none, or has so many digits that arithmetic is an attack.
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
    if scale < 0:
        return digits * 10**-scale, 0
    return digits, scale


def decimal_token(digits: int, scale: int) -> bytes:
    """Return the number token with all its decimals: (175, 2) is b"1.75"."""
    text = str(abs(digits)).rjust(scale + 1, "0")
    if scale:
        text = f"{text[:-scale]}.{text[-scale:]}"
    if digits < 0:
        text = f"-{text}"
    return text.encode()


def compare_decimals(first: "Any", second: "Any") -> "int | None":
    """Return a number above 0 if the first token is greater, below 0 if it is smaller, else 0.

    None if read_decimal does not read them.
    """
    first_number = read_decimal(first)
    second_number = read_decimal(second)
    if first_number is None or second_number is None:
        return None
    first_digits, first_scale = first_number
    second_digits, second_scale = second_number
    return int(first_digits * 10**second_scale - second_digits * 10**first_scale)
