"""Durations and timestamps (``cel-go/common/types/duration.go``, ``timestamp.go``; Go's ``time.ParseDuration``)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import timezone as fixed_zone

from jupyter_dra.cel.values import Duration, EvalError, Timestamp

__all__ = ["duration_text", "local_time", "parse_duration", "parse_timestamp", "timestamp_text"]

SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_PART = re.compile("([0-9]*)(?:\\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_SECONDS, MAX_SECONDS = -62135596800, 253402300799


def parse_duration(text: str) -> Duration:
    """``1h30m``, ``-1.5s``, ``100ms``; raises EvalError."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return Duration(0)
    total, offset = 0, 0
    while offset < len(rest):
        match = _PART.match(rest, offset)
        if match is None or not (match[1] or match[2]) or len(match[1]) > 19 or len(match[2] or "") > 30:
            raise _bad_duration(text)
        unit = _UNITS[match[3]]
        total += int(match[1] or 0) * unit
        if match[2]:
            total += int(match[2]) * unit // 10 ** len(match[2])
        offset = match.end()
    if not rest or total > 2**63 - 1:
        raise _bad_duration(text)
    return Duration(-total if text[0] == "-" else total)


def _bad_duration(text: str) -> EvalError:
    del text
    return EvalError("type conversion error from 'string' to 'google.protobuf.Duration'")


def parse_timestamp(text: str) -> Timestamp:
    """RFC 3339; raises EvalError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise _bad_timestamp()
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise _bad_timestamp() from None
    delta = moment - _EPOCH
    seconds = delta.days * 86400 + delta.seconds
    if match[8]:
        if int(match[9]) > 24 or int(match[10]) > 59:
            raise _bad_timestamp()
        seconds -= (1 if match[8] == "+" else -1) * (int(match[9]) * 3600 + int(match[10]) * 60)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise EvalError("range error converting string to timestamp")
    nanos = int(((match[7] or "") + "000000000")[:9])
    return Timestamp(seconds * SECOND + nanos)


def _bad_timestamp() -> EvalError:
    return EvalError("type conversion error from 'string' to 'google.protobuf.Timestamp'")


def duration_text(duration: int) -> str:
    """Seconds with as many decimals as needed: ``5400s``."""
    sign = "-" if duration < 0 else ""
    seconds, nanos = divmod(abs(duration), SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{sign}{seconds}{fraction}s"


def timestamp_text(timestamp: int) -> str:
    """RFC 3339 in UTC, with as many decimals as needed."""
    seconds, nanos = divmod(timestamp, SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment.year:04d}-{moment.strftime('%m-%dT%H:%M:%S')}{fraction}Z"


def local_time(timestamp: int, zone: str | None) -> datetime:
    """The calendar time in a zone: a name, or an offset such as ``-02:00``; raises EvalError for a bad zone."""
    try:
        moment = _EPOCH + timedelta(seconds=timestamp // SECOND)
        return moment if zone is None else moment.astimezone(_zone(zone))
    except (OverflowError, ValueError):
        raise EvalError("timestamp overflow") from None


def _zone(name: str) -> tzinfo:
    match = _OFFSET.fullmatch(name)
    if match is not None:
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes < 1440:
            return fixed_zone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if name in ("UTC", ""):
        return UTC
    try:
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)
    except Exception:
        raise EvalError(f"unknown time zone {name}") from None
