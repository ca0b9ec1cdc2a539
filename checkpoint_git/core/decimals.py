"""Exact arithmetic on JSON's number tokens: a value and its decimals as whole numbers. It knows no other type."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_DIGITS = 1_000


def read_decimal(token: "Any") -> "tuple[int, int] | None":
    """A number token as (digits, scale), its value being digits / 10 ** scale with scale >= 0.

    None for what is no number, or has so many digits that exact arithmetic on it would be an attack.
    """
    if type(token) is not bytes or len(token) > MOST_DIGITS:
        return None
    mantissa, _, exponent = token.decode().lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    if len(exponent) > 5:
        return None
    scale = len(decimals) - int(exponent or "0")
    if abs(scale) > MOST_DIGITS:
        return None
    digits = int(whole + decimals)
    return (digits, scale) if scale >= 0 else (digits * 10**-scale, 0)


def decimal_token(digits: int, scale: int) -> bytes:
    """Digits / 10 ** scale as a number token with all its decimals: (175, 2) is b"1.75"."""
    text = str(abs(digits)).rjust(scale + 1, "0")
    sign = "-" if digits < 0 else ""
    return (sign + (f"{text[:-scale]}.{text[-scale:]}" if scale else text)).encode()
