"""Time and identity as the API server needs them; tests give their own."""

from __future__ import annotations

import secrets
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Clock:
    """The real clock and real randomness."""

    def seconds(self) -> float:
        return time.time()

    def stamp(self) -> str:
        """Now, as metav1.Time is written."""
        return stamp(self.seconds())

    def uid(self) -> str:
        return str(uuid.uuid4())

    def suffix(self) -> str:
        """Five characters without vowels, as generateName appends them."""
        return "".join(secrets.choice(_LETTERS) for _ in range(5))


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_stamp(text: str) -> float:
    """Seconds since the epoch of a metav1.Time or MicroTime; raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
