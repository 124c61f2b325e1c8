"""Times and durations as Go's ``time`` package refuses them (``time.Parse``, ``time.ParseDuration``)."""

from __future__ import annotations

import re
from calendar import monthrange

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
_PARTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d{2}"),
    ("-", "-"),
    ("02", r"\d{2}"),
    ("T", "T"),
    ("15", r"\d{2}"),
    (":", ":"),
    ("04", r"\d{2}"),
    (":", ":"),
    ("05", r"\d{2}"),
)
_ZONE = re.compile(r"Z|[+-]\d{2}:\d{2}", re.ASCII)
_FRACTION = re.compile(r"[.,]\d+", re.ASCII)
_AMOUNT = r"(\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)"
_DURATION = re.compile(rf"[+-]?({_AMOUNT})+", re.ASCII)


def time_problem(text: str, kind: str) -> str | None:
    """Go's error text for a time, microtime or duration, or None where it parses."""
    if kind == "duration":
        return _duration_problem(text)
    micro = kind == "microtime"
    layout = RFC3339_MICRO if micro else RFC3339
    prefix = f"parsing time {quote(text)}"
    if micro:
        # metav1.MicroTime wants exactly six digits of fraction.
        found, rest, values = _split(text)
        if found is None and not re.match(r"\.\d{6}(?!\d)", rest, re.ASCII):
            return f'{prefix} as "{layout}": cannot parse {quote(rest)} as ".000000"'
    found, rest, values = _split(text)
    if found is not None:
        return f'{prefix} as "{layout}": cannot parse {quote(rest)} as "{found}"'
    if (range_error := _out_of_range(values)) is not None:
        return f"{prefix}: {range_error} out of range"
    fraction = _FRACTION.match(rest)
    if fraction:
        rest = rest[fraction.end() :]
    zone = _ZONE.match(rest)
    if zone is None:
        return f'{prefix} as "{layout}": cannot parse {quote(rest)} as "Z07:00"'
    if zone.end() != len(rest):
        return f"{prefix}: extra text: {quote(rest[zone.end() :])}"
    return None


def _split(text: str) -> tuple[str | None, str, list[int]]:
    values: list[int] = []
    rest = text
    for name, pattern in _PARTS:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            return name, rest, values
        if name.isdigit():
            values.append(int(match.group()))
        rest = rest[match.end() :]
    return None, rest, values


def _out_of_range(values: list[int]) -> str | None:
    year, month, day, hour, minute, second = values
    if not 1 <= month <= 12:
        return "month"
    if not 1 <= day <= (monthrange(year, month)[1] if year else 31):
        return "day"
    if hour > 23:
        return "hour"
    if minute > 59:
        return "minute"
    return "second" if second > 59 else None


def _duration_problem(text: str) -> str | None:
    if text in {"0", "+0", "-0"} or _DURATION.fullmatch(text):
        return None
    if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)", text, re.ASCII):
        return f"time: missing unit in duration {quote(text)}"
    if unit := re.match(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)([^\d.]+)", text, re.ASCII):
        return f"time: unknown unit {quote(unit.group(1))} in duration {quote(text)}"
    return f"time: invalid duration {quote(text)}"


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def quote(text: str) -> str:
    """A text in double quotes, as Go's strconv.Quote writes plain text."""
    return f'"{text.translate(_ESCAPES)}"'
