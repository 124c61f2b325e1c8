"""Trouble on demand, for tests of clients: errors, delays, ended and outdated watches.

Only an administrator reaches the route. Everything is off until asked for, and ``clear`` turns it off again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.localcluster.requests import Target
from jupyter_dra.localcluster.status import APIError, bad_request, internal, too_many_requests

PATH = "/jupyter-dra/faults"
WORDS = frozenset(("clear", "delay", "drop_watches", "event_delay", "expire_history", "fail", "lose"))
_REASONS = {403: "Forbidden", 404: "NotFound", 409: "Conflict", 503: "ServiceUnavailable", 504: "Timeout"}


@dataclass(slots=True)
class Fault:
    """Hits the next ``count`` requests that match; an empty verb or resource matches any.

    With ``after`` the request is carried out first and only its answer is lost: replaced by ``status``, or (0) by a
    closed connection.
    """

    status: int = 0
    seconds: float = 0.0
    count: int = 1
    verb: str = ""
    resource: str = ""
    after: bool = False

    def matches(self, target: Target) -> bool:
        return self.verb in ("", target.verb) and self.resource in ("", target.rule_resource)

    def error(self) -> APIError:
        if self.status == 429:
            return too_many_requests(
                "the server has received too many requests and has asked us to try again later"
            )
        if self.status == 500:
            return internal("fault injected for a test")
        return APIError(self.status, _REASONS.get(self.status, "Unknown"), "fault injected for a test")


@dataclass(slots=True)
class Faults:
    """The faults that are set now. ``event_delay`` holds back every watch event by that many seconds."""

    pending: list[Fault] = field(default_factory=list)
    event_delay: float = 0.0

    def next_for(self, target: Target) -> Fault | None:
        """The first fault that matches, counted as used."""
        for fault in self.pending:
            if fault.matches(target):
                fault.count -= 1
                if fault.count <= 0:
                    self.pending.remove(fault)
                return fault
        return None

    def clear(self) -> None:
        self.pending.clear()
        self.event_delay = 0.0

    def add(self, wish: Mapping[str, Any]) -> None:
        """Set what ``fail``, ``lose``, ``delay`` and ``event_delay`` ask for; raises 400 where they make no sense."""
        unknown = set(wish) - WORDS
        if unknown:
            raise bad_request(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(WORDS))}")
        if wish.get("clear"):
            self.clear()
        for key, word in (("fail", "status"), ("delay", "seconds"), ("lose", "")):
            given = wish.get(key)
            if given is None:
                continue
            if not isinstance(given, Mapping) or (word and word not in given):
                raise bad_request(f"{key} needs an object{f' with {word}' if word else ''}")
            known = {
                name: given[name]
                for name in ("status", "seconds", "count", "verb", "resource", "after")
                if name in given
            }
            known["after"] = key == "lose" or bool(known.get("after"))
            self.pending.append(Fault(**known))
        if "event_delay" in wish:
            self.event_delay = float(wish["event_delay"])

    def as_dict(self) -> dict[str, Any]:
        pending = [
            {
                "status": fault.status,
                "seconds": fault.seconds,
                "count": fault.count,
                "verb": fault.verb,
                "resource": fault.resource,
                "after": fault.after,
            }
            for fault in self.pending
        ]
        return {"kind": "Faults", "version": 1, "pending": pending, "event_delay": self.event_delay}
