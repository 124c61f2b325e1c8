"""Version conditions such as ``>=8.0`` and ``>=550,<600``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import RequirementError, VersionError
from ..model import Semver

_CONDITION = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*v?([0-9A-Za-z.+-]+)\s*\Z")
OPERATORS = (">=", "<=", "==", "!=", ">", "<")


@dataclass(frozen=True, slots=True)
class VersionCondition:
    """One comparison with a version; ``version`` is normalized to major.minor.patch."""

    operator: str
    version: str


def parse_conditions(text: str, path: str) -> tuple[VersionCondition, ...]:
    """Read comma-separated version conditions.

    Raises:
        RequirementError: no operator, or no version; the message shows the right form.

    >>> parse_conditions(">=8.0, <10", "compute_capability")
    (VersionCondition(operator='>=', version='8.0.0'), VersionCondition(operator='<', version='10.0.0'))
    """
    conditions = []
    for part in str(text).split(","):
        match = _CONDITION.match(part)
        if match is None:
            raise RequirementError(
                f"{path}: {part.strip()[:40]!r} is not a version condition.",
                code="version-condition",
                path=path,
                next_step="Write an operator and a version: >=8.0 or >=550,<600.",
            )
        conditions.append(VersionCondition(match[1], _normalized(match[2], path)))
    return tuple(conditions)


def _normalized(text: str, path: str) -> str:
    try:
        version = Semver.parse(text, normalize=True)
    except VersionError as error:
        raise RequirementError(
            f"{path}: {text[:40]!r} is not a version.",
            code="version-condition",
            path=path,
            next_step="Write major.minor.patch; minor and patch may be left out.",
        ) from error
    pre = text.partition("-")[2].partition("+")[0]
    return f"{version.major}.{version.minor}.{version.patch}" + (f"-{pre}" if pre else "")


def spell(conditions: tuple[VersionCondition, ...]) -> str:
    """The text `parse_conditions` reads back to the same conditions."""
    return ",".join(condition.operator + condition.version for condition in conditions)
