"""Memory sizes and durations as people write them.

`80GB` and `80G` are decimal, as printed on a card; `80Gi` and `80GiB` are literal. Cards report more than their decimal
size and often less than the binary one (an H100 "80 GB" reports 81559Mi = 79.65Gi), so claims say `80G`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import RequirementError

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kKmMgGtT])(i?)([bB]?)\s*\Z")
_POWER = {"k": 1, "m": 2, "g": 3, "t": 4}
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 1 << 60
_LONGEST = 40  # characters of a size or a duration
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(d|h|min|m|s)")
_SECONDS = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of memory: ``bytes``, the Kubernetes quantity ``text``, and whether it was written in binary units."""

    text: str
    bytes: int
    binary: bool = False

    @property
    def label(self) -> str:
        """As people read it: `80 GB` or `80 GiB`."""
        match = re.fullmatch(r"([0-9.]+)([kMGT])(i?)", self.text)
        if match is None:
            return f"{self.bytes / 1e9:.4g} GB"
        return f"{match[1]} {match[2].upper()}{match[3]}B"


def parse_size(value: str | int, path: str = "vram") -> Size:
    """Read a memory size.

    Args:
        value: text such as ``80GB``, ``80 G``, ``80Gi``, ``22528Mi``, or an integer of bytes.
        path: the field's name, for the error.

    Raises:
        RequirementError: not a size; the message says how to write one.

    >>> parse_size("80 GB").text, parse_size("80GiB").bytes
    ('80G', 85899345920)
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise _not_a_size(value, path)
    text = str(value).strip()
    if len(text) > _LONGEST:
        raise _not_a_size(value, path)
    if re.fullmatch(r"[0-9]+", text):
        number = int(text)
        if number > _MOST_BYTES:
            raise _not_a_size(value, path)
        if number < _LEAST_BYTES:
            raise RequirementError(
                f"{path} {text} would be {text} bytes.",
                code="size-without-unit",
                path=path,
                next_step=f"Write the unit: {text}GB.",
            )
        return Size(text=text, bytes=number)
    match = _SIZE.match(text)
    if match is None:
        raise _not_a_size(value, path)
    digits, letter, binary = match[1], match[2], bool(match[3])
    power = _POWER[letter.lower()]
    base = 1024 if binary else 1000
    whole, _, fraction = digits.partition(".")
    scaled = int(whole + fraction) * base**power
    exact = -(-scaled // 10 ** len(fraction))
    if exact > _MOST_BYTES:
        raise _not_a_size(value, path)
    prefix = letter.upper() if power > 1 or binary else "k"
    suffix = f"{prefix}i" if binary else prefix
    return Size(text=f"{digits}{suffix}", bytes=exact, binary=binary)


def _not_a_size(value: object, path: str) -> RequirementError:
    return RequirementError(
        f"{path}: {str(value)[:40]!r} is not a memory size.",
        code="size",
        path=path,
        next_step="Write a number and a unit: 80GB (as on the card) or 80Gi (exactly).",
    )


def parse_duration(value: str | int | float, path: str = "lease") -> int:
    """Whole seconds of ``4h``, ``1h30m``, ``90 min``, ``45s``, ``2d`` or a number of seconds.

    >>> parse_duration("1h30m"), parse_duration(90)
    (5400, 90)
    """
    error = RequirementError(
        f"{path}: {str(value)[:40]!r} is not a duration.",
        code="duration",
        path=path,
        next_step="Write for instance 4h, 90m or 1h30m.",
    )
    if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > _LONGEST:
        raise error
    if isinstance(value, int | float):
        seconds = float(value)
    else:
        text = value.strip().lower()
        if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            seconds = float(text)
        else:
            parts = _DURATION.findall(text)
            if not parts or _DURATION.sub("", text).strip():
                raise error
            seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not 0 < seconds < 366 * 86400:
        raise error
    return int(seconds)


def format_duration(seconds: int) -> str:
    """The shortest text that `parse_duration` reads back: ``4h``, ``1h30m``, ``45s``."""
    text = ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def sold_as_but_less(size: Size, reported: Iterable[int]) -> int | None:
    """The largest reported size (bytes) that a literal *size* just shuts out, of cards sold under that very number.

    None when nothing is shut out that way. 80Gi shuts out an H100 that reports 79.65Gi and is sold as 80 GB.
    """
    if not size.binary:
        return None
    match = re.fullmatch(r"([0-9.]+)([KMGT])i", size.text)
    if match is None:
        return None
    decimal = float(match[1]) * 1000 ** _POWER[match[2].lower()]
    near = [one for one in reported if decimal <= one < size.bytes]
    return max(near, default=None)
