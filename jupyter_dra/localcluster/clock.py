"""Time and identity as the API server needs them; tests give their own."""

from __future__ import annotations

import secrets
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Clock(Protocol):
    """What the API server asks of time and chance."""

    def seconds(self) -> float:
        """Now, in seconds since the epoch."""
        ...

    def stamp(self) -> str:
        """Now, as metav1.Time is written."""
        ...

    def uid(self) -> str:
        """A new identity."""
        ...

    def suffix(self) -> str:
        """Five characters without vowels, as generateName appends them."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The real clock and real randomness."""

    def seconds(self) -> float:
        return time.time()

    def stamp(self) -> str:
        return stamp(self.seconds())

    def uid(self) -> str:
        return str(uuid.uuid4())

    def suffix(self) -> str:
        return "".join(secrets.choice(_LETTERS) for _ in range(5))


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_stamp(text: str) -> float:
    """Seconds since the epoch of a metav1.Time or MicroTime; raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
