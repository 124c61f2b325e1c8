"""What a session of a tier gets: the administrator's defaults, its lease, and how far both may be changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..claims import SESSION_FIELDS, Requirement, format_duration, parse_duration
from ..errors import ConflictError, InputError, RefusedError, RequirementError
from .policy import SessionPolicy
from .record import Lease, epoch, iso

_NO_DEFAULT = frozenset({"name", "namespace", "lease", "idle_timeout"})
"""What no tier gives to a requirement; `lease_of` takes its lease and idle limit, cut to what is allowed."""


@dataclass(frozen=True, slots=True)
class TierTerms:
    """What the administrator set on a tier.

    Attributes:
        defaults: requirement fields for what the user left open.
        lease, idle: seconds a session of this tier may live and idle at most; None leaves it to the server's policy.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    lease: int | None = None
    idle: int | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> TierTerms:
        """From the planner's words about the tier; none are no terms."""
        limits = (row or {}).get("limits") or {}
        return cls((row or {}).get("defaults") or {}, limits.get("lease_seconds"), limits.get("idle_seconds"))


def with_defaults(wish: Requirement, terms: TierTerms) -> Requirement:
    """The requirement with the tier's defaults for the session around the device; what the user set wins.

    A default that is none of ours is left out: the doctor tells the administrator, it is no fault of the user's.
    """
    for name in SESSION_FIELDS:
        if name in terms.defaults and name not in _NO_DEFAULT and not getattr(wish, name):
            try:
                wish = wish.changed(**{name: terms.defaults[name]})
            except RequirementError:
                continue
    return wish


def lease_of(wish: Requirement, policy: SessionPolicy, terms: TierTerms, *, now: float) -> Lease:
    """The lease a session begins with.

    What is asked for beyond the limits is refused; defaults beyond them are cut, the user did not choose them.

    Raises:
        RefusedError: ``limit``, with ``path`` lease or idle_timeout.
    """
    longest = _least(policy.longest_lease, terms.lease)
    longest_idle = _least(policy.longest_idle, terms.idle)
    assert longest is not None
    _refuse_beyond(wish.lease_seconds, longest, "lease", "A lease")
    _refuse_beyond(wish.idle_seconds, longest_idle, "idle_timeout", "An idle limit")
    idle = wish.idle_seconds
    if idle is None:
        idle = _least(_duration(terms.defaults.get("idle_timeout")) or policy.idle, longest_idle)
    lease = wish.lease_seconds or min(_duration(terms.defaults.get("lease")) or policy.lease, longest)
    return Lease(now + lease, now + longest, idle, longest_idle=longest_idle)


def extended(
    lease: Lease,
    session_id: str,
    *,
    by: float | None = None,
    ends_at: str | None = None,
    idle_seconds: float | None = None,
) -> Lease:
    """The lease with a later (or earlier) end, or another idle limit; None leaves what is.

    Raises:
        ConflictError: ``longest-lease``: beyond the pod's deadline, which cannot grow.
        RefusedError: ``limit``: an idle limit beyond what the session may have.
        InputError: ``ends_at`` is no time.
    """
    wanted = _new_end(lease, by, ends_at)
    if wanted is not None and lease.longest_until is not None and wanted > lease.longest_until + 1:
        raise ConflictError(
            f"{session_id} cannot live longer than until {iso(lease.longest_until)}.",
            code="longest-lease",
            next_step="Extend it less, and start a new one later.",
            params={"longest_until": iso(lease.longest_until)},
        )
    _refuse_beyond(idle_seconds, lease.longest_idle, "idle_timeout", "An idle limit")
    idle = lease.idle_seconds if idle_seconds is None else idle_seconds
    return replace(lease, ends_at=wanted or lease.ends_at, idle_seconds=idle)


def _new_end(lease: Lease, by: float | None, ends_at: str | None) -> float | None:
    if ends_at is not None:
        value = epoch(ends_at)
        if value is None:
            raise InputError(
                f"{ends_at!r} is no RFC 3339 time.",
                path="lease.ends_at",
                next_step="Write it like 2026-11-30T18:00:00Z.",
            )
        return value
    if by is not None:
        if lease.ends_at is None:
            raise InputError(
                "This session has no end to extend.", path="lease", next_step="Stop it when you are done."
            )
        return lease.ends_at + by
    return None


def _refuse_beyond(asked: float | None, most: float | None, path: str, what: str) -> None:
    if asked is None or most is None or asked <= most:
        return
    told, longest = format_duration(round(asked)), format_duration(round(most))
    raise RefusedError(
        f"{what} of {told} is longer than the longest allowed, {longest}.",
        code="limit",
        path=path,
        next_step="Ask for less.",
        params={"limit": f"longest-{path.partition('_')[0]}", "longest_seconds": most},
    )


def _duration(value: Any) -> int | None:
    """Seconds of a tier's default; None where it has none, or one that cannot be read."""
    try:
        return None if value is None else parse_duration(value)
    except RequirementError:
        return None


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)
