"""Kubernetes quantities, exact: integers times powers of ten, never a float.

Follows ``k8s.io/apimachinery/pkg/api/resource/quantity.go``, including what depends on the path its parser takes
(``isInteger`` of ``1.0`` is false). One difference: a decimal exponent above 1,000 is refused here, because nobody
can mean it and computing with it could take for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from jupyter_dra.errors import QuantityError

__all__ = ["Quantity"]

_NANO = 10**9
_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_MAX_EXPONENT = 1_000
_FORMAT_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_TEXT = "unable to parse quantity's suffix"
_NUMERIC_TEXT = "unable to parse numeric part of quantity"

_SHAPE = re.compile(r"([+-]?)(0*)([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}
_BINARY_NAMES = {0: "", **{power: name for name, power in _BINARY.items()}}


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An amount, compared and hashed by its exact value.

    ``nanos`` is the value in billionths, rounded away from zero when parsed. ``text`` is what was given.
    Build one with :meth:`parse` or :meth:`from_int`; both raise :class:`~jupyter_dra.errors.QuantityError` when
    the text is no quantity.

    >>> Quantity.parse("80Gi") > Quantity.parse("80G")
    True
    >>> Quantity.parse("1500m") == Quantity.parse("1.5")
    True
    >>> Quantity.parse("40Gi").bytes
    42949672960
    """

    text: str
    nanos: int
    # The parser's fast path: value * 10**scale in 64 bits; None when only arbitrary precision can hold it.
    fast: tuple[int, int] | None = None
    style: str = "decimal"

    @staticmethod
    def parse(text: str | int | float) -> Quantity:
        """Read a quantity as the API server does; numbers are read by their JSON text."""
        if isinstance(text, bool) or not isinstance(text, (str, int, float)):
            raise QuantityError(_FORMAT_TEXT, params={"text": repr(text)})
        return _parse(text if isinstance(text, str) else _number_text(text))

    @staticmethod
    def is_valid(text: str) -> bool:
        """Tell whether a text is a quantity."""
        try:
            Quantity.parse(text)
        except QuantityError:
            return False
        return True

    @staticmethod
    def from_int(number: int) -> Quantity:
        """A whole number as a quantity."""
        return Quantity(str(number), number * _NANO, (number, 0) if _fits(number) else None)

    @property
    def bytes(self) -> int:
        """The value in whole units, rounded away from zero."""
        whole = -(-abs(self.nanos) // _NANO)
        return whole if self.nanos >= 0 else -whole

    @property
    def value(self) -> int:
        """The same as ``bytes``, for amounts that are no bytes."""
        return self.bytes

    @property
    def as_integer(self) -> int | None:
        """The number CEL's ``asInteger`` gives, or None where it raises."""
        if self.fast is None:
            return None
        number, scale = self.fast
        if scale < 0:
            return None
        if scale > 18:
            return 0 if number == 0 else None
        result = number * 10**scale
        return result if _fits(result) else None

    @property
    def is_integer(self) -> bool:
        """What CEL's ``isInteger`` says; it depends on the text, not only on the value (``1.0`` is none)."""
        return self.as_integer is not None

    @property
    def as_float(self) -> float:
        """The nearest floating-point number; infinite where none is large enough."""
        try:
            return self.nanos / _NANO
        except OverflowError:
            return float("inf") if self.nanos > 0 else float("-inf")

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.nanos > 0) - (self.nanos < 0)

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1, by value."""
        return (self.nanos > other.nanos) - (self.nanos < other.nanos)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __add__(self, other: Quantity) -> Quantity:
        return _combined(self, other, 1)

    def __sub__(self, other: Quantity) -> Quantity:
        return _combined(self, other, -1)

    def __neg__(self) -> Quantity:
        return _combined(Quantity.from_int(0), self, -1)

    def __str__(self) -> str:
        return self.text

    def canonical(self) -> str:
        """The shortest text of this value in its own style: no fraction, the largest suffix.

        >>> Quantity.parse("1024Mi").canonical(), Quantity.parse("1.5").canonical()
        ('1Gi', '1500m')
        """
        # A binary text above 64 bits would be cut when it is read again.
        if (
            self.style == "binary"
            and self.nanos % _NANO == 0
            and 1024 <= abs(self.nanos) // _NANO <= _INT64_MAX
        ):
            number, power = self.nanos // _NANO, 0
            while number % 1024 == 0 and power < 60:
                number, power = number // 1024, power + 10
            return f"{number}{_BINARY_NAMES[power]}"
        if self.nanos == 0:
            return "0"
        number, power = self.nanos, -9
        while number % 1000 == 0:
            number, power = number // 1000, power + 3
        if self.style == "exponent" or power > 18:
            return f"{number}e{power}" if power else str(number)
        return f"{number}{_DECIMAL_NAMES[power]}"


def _fits(number: int) -> bool:
    return _INT64_MIN <= number <= _INT64_MAX


def _number_text(number: int | float) -> str:
    if isinstance(number, int):
        return str(number) if abs(number) < 10**_MAX_EXPONENT else "too large"
    return repr(number)


@lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    shape = _SHAPE.fullmatch(text) if len(text) <= 4096 else None
    if not text or shape is None:
        raise QuantityError(_FORMAT_TEXT, params={"text": text})
    sign, zeros, whole, _point, fraction, suffix = shape.groups()
    fraction = fraction or ""
    exponent, style = _suffix(suffix, text)
    digits = len(whole or "0") + len(fraction)
    number = int((whole or "0") + fraction) * (-1 if sign == "-" else 1)
    fast = _fast_path(number, digits, len(fraction), exponent, style)
    if fast is not None:
        value, scale = fast
        return Quantity(text, value * 10 ** (scale + 9), fast, style)
    if not (zeros or whole or fraction):
        raise QuantityError(_NUMERIC_TEXT, params={"text": text})
    if style == "binary":
        nanos = _shifted(number * 2**exponent, 9 - len(fraction))
        nanos = min(max(nanos, -_INT64_MAX * _NANO), _INT64_MAX * _NANO)
        return Quantity(text, nanos, None, style if abs(nanos) >= _NANO or nanos == 0 else "decimal")
    return Quantity(text, _shifted(number, 9 + exponent - len(fraction)), None, style)


def _fast_path(number: int, digits: int, places: int, exponent: int, style: str) -> tuple[int, int] | None:
    if style == "binary":
        if places or 15 - digits - int(exponent * 3 / 10) - 1 < 0:
            return None
        return number * 2**exponent, 0
    if digits > 18 or exponent - places < -9:
        return None
    return number, exponent - places


def _suffix(suffix: str, text: str) -> tuple[int, str]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return _BINARY[suffix], "binary"
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(_SUFFIX_TEXT, params={"text": text})
    digits = match[1].lstrip("+-").lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > 2**31 - 1:
        raise QuantityError(_SUFFIX_TEXT, params={"text": text})
    exponent = -int(digits) if match[1].startswith("-") else int(digits)
    if exponent > _MAX_EXPONENT:
        raise QuantityError(
            f"the exponent of quantity {text!r} is too large to compute with", params={"text": text}
        )
    # Far below one nano every number rounds to the same: no need to compute with more zeros than digits.
    return max(exponent, -10_000), "exponent"


def _shifted(number: int, places: int) -> int:
    """number * 10**places, rounded away from zero."""
    if places >= 0:
        shifted: int = number * 10**places
        return shifted
    size: int = -(-abs(number) // 10**-places)
    return size if number >= 0 else -size


def _combined(left: Quantity, right: Quantity, sign: int) -> Quantity:
    nanos = left.nanos + sign * right.nanos
    style = right.style if left.nanos == 0 else left.style
    result = Quantity("", nanos, _combined_fast(left.fast, right.fast, sign), style)
    object.__setattr__(result, "text", result.canonical())
    return result


def _combined_fast(
    left: tuple[int, int] | None, right: tuple[int, int] | None, sign: int
) -> tuple[int, int] | None:
    """int64Amount.Add: keeps 64 bits at the smaller scale, or gives up."""
    if left is None or right is None:
        return None
    if right[0] == 0:
        return left
    if left[0] == 0:
        return sign * right[0], right[1]
    scale = min(left[1], right[1])
    if max(left[1], right[1]) - scale > 18:
        return None
    one, two = left[0] * 10 ** (left[1] - scale), right[0] * 10 ** (right[1] - scale)
    total = one + sign * two
    return (total, scale) if _fits(one) and _fits(two) and _fits(total) else None
