"""64-bit arithmetic and the text of numbers (``cel-go/common/types/overflow.go``, Go's ``strconv``)."""

from __future__ import annotations

import math
import re

from jupyter_dra.cel.values import EvalError, UInt

__all__ = ["as_int", "as_uint", "double_from_text", "double_text", "int_from_text"]

_INT_MAX, _INT_MIN, _UINT_MAX = 2**63 - 1, -(2**63), 2**64 - 1
_INT = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)|nan", re.IGNORECASE
)


def as_int(number: int) -> int:
    """The number where it fits 64 signed bits; raises EvalError."""
    if _INT_MIN <= number <= _INT_MAX:
        return number
    raise EvalError("integer overflow")


def as_uint(number: int) -> UInt:
    """The number where it fits 64 unsigned bits; raises EvalError."""
    if 0 <= number <= _UINT_MAX:
        return UInt(number)
    raise EvalError("unsigned integer overflow")


def divide(left: int, right: int) -> int:
    """Division that truncates toward zero."""
    if right == 0:
        raise EvalError("division by zero")
    quotient = abs(left) // abs(right)
    return as_int(quotient if (left < 0) == (right < 0) else -quotient)


def divide_uint(left: int, right: int) -> int:
    """Division of unsigned numbers."""
    if right == 0:
        raise EvalError("division by zero")
    return int(left) // int(right)


def modulus(left: int, right: int) -> int:
    """The remainder, with the sign of the dividend."""
    if right == 0:
        raise EvalError("modulus by zero")
    if left == _INT_MIN and right == -1:
        raise EvalError("integer overflow")
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


def divide_double(left: float, right: float) -> float:
    """Division as in IEEE 754: by zero gives an infinity or NaN."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def double_to_int(value: float) -> int:
    """The whole part; raises EvalError outside 64 bits."""
    if math.isnan(value) or math.isinf(value) or not -(2.0**63) < value < 2.0**63:
        raise EvalError("integer overflow")
    return int(value)


def double_to_uint(value: float) -> UInt:
    """The whole part; raises EvalError for negative or too large numbers."""
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise EvalError("unsigned integer overflow")
    return UInt(int(value))


def int_from_text(text: str) -> int:
    """A decimal number as Go's ParseInt reads it; raises EvalError."""
    if len(text) <= 400 and _INT.fullmatch(text):
        number = int(text)
        if _INT_MIN <= number <= _INT_MAX:
            return number
    raise EvalError("type conversion error from 'string' to 'int'")


def uint_from_text(text: str) -> UInt:
    """A decimal number without sign; raises EvalError."""
    if len(text) <= 400 and text.isascii() and text.isdigit() and int(text) <= _UINT_MAX:
        return UInt(int(text))
    raise EvalError("type conversion error from 'string' to 'uint'")


def double_from_text(text: str) -> float:
    """A number as Go's ParseFloat reads it; raises EvalError."""
    if len(text) <= 400 and _DOUBLE.fullmatch(text):
        number = float(text)
        if not math.isinf(number) or "inf" in text.lower():
            return number
    raise EvalError("type conversion error from 'string' to 'double'")


def double_text(value: float, fixed: bool = False) -> str:
    """The shortest text, as Go's ``%g`` writes it: ``1``, ``0.5``, ``1e+06``; ``fixed`` never has an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return ("Infinity" if fixed else "+Inf") if value > 0 else ("-Infinity" if fixed else "-Inf")
    mantissa, _, exponent_text = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return sign + "0"
    leading = len(whole + fraction) - len(digits)
    exponent = len(whole) - leading - 1 + (int(exponent_text) if exponent_text else 0)
    digits = digits.rstrip("0")
    if fixed or -4 <= exponent < 6:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        if len(digits) <= exponent + 1:
            return sign + digits + "0" * (exponent + 1 - len(digits))
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    tail = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
