"""Semantic versions 2.0.0 as the scheduler reads them (``github.com/blang/semver/v4``, strict ``Parse``)."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import lru_cache

from jupyter_dra.errors import VersionError

__all__ = ["Semver"]

_DIGITS = frozenset(string.digits)
_ALPHANUMERIC = frozenset(string.ascii_letters + string.digits + "-")
_UINT64_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version; order as on semver.org, build metadata plays no part, also not in ``==``.

    Build one with :meth:`parse`, which raises :class:`~jupyter_dra.errors.VersionError`.

    >>> Semver.parse("1.10.0") > Semver.parse("1.9.9")
    True
    >>> Semver.parse("v535.183.01", normalize=True).patch
    1
    """

    text: str
    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    key: tuple[object, ...] = ()

    @staticmethod
    def parse(text: str, normalize: bool = False) -> Semver:
        """Read a version; ``normalize`` accepts a leading v, leading zeros and missing minor or patch."""
        return _parse(_normalized(text) if normalize else text)

    @staticmethod
    def is_valid(text: str, normalize: bool = False) -> bool:
        """Tell whether a text is a version."""
        try:
            Semver.parse(text, normalize)
        except VersionError:
            return False
        return True

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1."""
        mine, theirs = self.key, other.key
        return 0 if mine == theirs else (1 if mine > theirs else -1)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Semver) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Semver) -> bool:
        return self.key < other.key

    def __le__(self, other: Semver) -> bool:
        return self.key <= other.key

    def __gt__(self, other: Semver) -> bool:
        return self.key > other.key

    def __ge__(self, other: Semver) -> bool:
        return self.key >= other.key

    def __str__(self) -> str:
        tail = ("-" + ".".join(self.pre) if self.pre else "") + (
            "+" + ".".join(self.build) if self.build else ""
        )
        return f"{self.major}.{self.minor}.{self.patch}{tail}"


def _normalized(text: str) -> str:
    """Follows ``normalizeAndParse`` of apiserver/pkg/cel/library/semverlib.go."""
    parts = text.removeprefix("v").split(".", 2)
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise VersionError(
                "short version cannot contain PreRelease/Build meta data", params={"text": text}
            )
        parts += ["0"] * (3 - len(parts))
    for index, part in enumerate(parts):
        if len(part) > 1:
            cut = part.lstrip("0")
            parts[index] = cut if cut and cut[0] in _DIGITS else "0" + cut
    return ".".join(parts)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Semver:
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found", params={"text": text})
    major = _number(parts[0], "major", text)
    minor = _number(parts[1], "minor", text)
    rest, plus, build_text = parts[2].partition("+")
    patch_text, dash, pre_text = rest.partition("-")
    patch = _number(patch_text, "patch", text)
    pre = tuple(pre_text.split(".")) if dash else ()
    build = tuple(build_text.split(".")) if plus else ()
    order = tuple(_pre_key(part, text) for part in pre)
    for part in build:
        if not part:
            raise VersionError("Build meta data is empty", params={"text": text})
        if not _ALPHANUMERIC.issuperset(part):
            raise VersionError(
                f'Invalid character(s) found in build meta data "{part}"', params={"text": text}
            )
    return Semver(text, major, minor, patch, pre, build, (major, minor, patch, not pre, order))


def _number(part: str, name: str, text: str) -> int:
    if not _DIGITS.issuperset(part):
        raise VersionError(f'Invalid character(s) found in {name} number "{part}"', params={"text": text})
    if len(part) > 1 and part[0] == "0":
        message = f'{name.capitalize()} number must not contain leading zeroes "{part}"'
        raise VersionError(message, params={"text": text})
    if not part:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax', params={"text": text})
    if len(part) > 20 or int(part) > _UINT64_MAX:
        raise VersionError(f'strconv.ParseUint: parsing "{part}": value out of range', params={"text": text})
    return int(part)


def _pre_key(part: str, text: str) -> tuple[bool, int, str]:
    if not part:
        raise VersionError("Prerelease is empty", params={"text": text})
    if _DIGITS.issuperset(part):
        if len(part) > 1 and part[0] == "0":
            message = f'Numeric PreRelease version must not contain leading zeroes "{part}"'
            raise VersionError(message, params={"text": text})
        if len(part) > 20 or int(part) > _UINT64_MAX:
            raise VersionError(
                f'strconv.ParseUint: parsing "{part}": value out of range', params={"text": text}
            )
        return (False, int(part), "")
    if not _ALPHANUMERIC.issuperset(part):
        raise VersionError(f'Invalid character(s) found in prerelease "{part}"', params={"text": text})
    return (True, 0, part)
