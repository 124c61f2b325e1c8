"""A selector's outcomes over a table of devices, kept up to date as devices come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_dra.cel.selector import Outcome, Selector
from jupyter_dra.errors import CELRuntimeError

if TYPE_CHECKING:
    from jupyter_dra.cel.profiles import ProfileTable

__all__ = ["Results"]


class Results:
    """Outcomes by profile; by device only for profiles in which the selector reads a nearly unique attribute.

    ``by_profile[p]`` is True, False, the error, or None where the devices of ``p`` differ.
    """

    __slots__ = ("_by_profile", "_count", "_errors", "_pending", "_true", "selector", "table")

    def __init__(self, table: ProfileTable, selector: Selector) -> None:
        self.table = table
        self.selector = selector
        self._by_profile: list[Outcome | None] = []
        self._true: set[int] = set()
        self._errors: dict[int, CELRuntimeError] = {}
        self._pending: set[int] | None = None
        self._count: tuple[int, int] = (-1, 0)

    @property
    def by_profile(self) -> list[Outcome | None]:
        known = self._by_profile
        for profile in range(len(known), len(self.table.profiles)):
            known.append(self.table.profile_outcome(self.selector, profile))
        return known

    def of(self, number: int) -> Outcome:
        """The outcome for a device."""
        outcome = self.by_profile[self.table.profile_of[number]]
        if outcome is not None:
            return outcome
        if self._pending is None or number in self._pending:
            return self.table.outcome(self.selector, number)
        return True if number in self._true else self._errors.get(number, False)

    def matching(self) -> list[int]:
        """The devices for which the selector is true."""
        found: list[int] = []
        for profile, outcome in enumerate(self.by_profile):
            if outcome is True:
                found += self.table.members[profile]
        return found + self._settled()

    def errors(self) -> dict[int, CELRuntimeError]:
        """The devices on which the selector raises, with the error."""
        self._settled()
        found = dict(self._errors)
        for profile, outcome in enumerate(self.by_profile):
            if isinstance(outcome, CELRuntimeError):
                found.update(dict.fromkeys(self.table.members[profile], outcome))
        return found

    def count(self) -> int:
        """How many devices match."""
        if self._count[0] != self.table.revision:
            members = self.table.members
            count = sum(len(members[p]) for p, outcome in enumerate(self.by_profile) if outcome is True)
            self._count = self.table.revision, count + len(self._settled())
        return self._count[1]

    def singles(self) -> list[int]:
        """The matching devices of profiles whose devices differ."""
        return self._settled()

    def joined(self, number: int) -> None:
        """Called by the table: a device came, or changed its profile."""
        if self._pending is not None:
            self._pending.add(number)

    def left(self, number: int) -> None:
        """Called by the table: a device went."""
        if self._pending is not None:
            self._pending.discard(number)
            self._true.discard(number)
            self._errors.pop(number, None)

    def _settled(self) -> list[int]:
        """Evaluate what is pending on profiles whose devices differ; give the devices that match."""
        differing = [profile for profile, outcome in enumerate(self.by_profile) if outcome is None]
        if not differing:
            return []
        asked = {profile: self.table.members[profile] for profile in differing}
        if self._pending is not None:
            asked = {}
            for number in self._pending:
                profile = self.table.profile_of[number]
                if self._by_profile[profile] is None:
                    asked.setdefault(profile, []).append(number)
        for profile, numbers in asked.items():
            for number, outcome in self.table.outcomes(self.selector, profile, numbers):
                if outcome is True:
                    self._true.add(number)
                elif outcome is not False:
                    self._errors[number] = outcome
        self._pending = set()
        return list(self._true)
