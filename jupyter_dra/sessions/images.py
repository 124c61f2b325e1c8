"""Which kernel images are allowed: references compared part by part, never by text prefix (threat T24)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..errors import RequirementError

_REPOSITORY = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*\Z")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?\Z")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")
_DIGEST = re.compile(r"[a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}\Z")


@dataclass(frozen=True, slots=True)
class ImageRef:
    """A container image reference in its parts; ``tag`` is None when only a digest is given."""

    host: str
    repository: str
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str, *, pattern: bool = False) -> ImageRef:
        """Read a reference as container runtimes do (docker.io and ``latest`` by default); raises RequirementError.

        With ``pattern`` the parts may hold ``*``, which stands for text without ``/``.
        """
        rest, _, digest = text.partition("@")
        head, slash, tail = rest.partition("/")
        if slash and ("." in head or ":" in head or head == "localhost" or (pattern and head == "*")):
            host, repository = head, tail
        else:
            host, repository = "docker.io", rest
        repository, colon, tag = repository.partition(":")
        if host == "docker.io" and "/" not in repository:
            repository = f"library/{repository}"
        checked = [text.replace("*", "x") if pattern else text for text in (host, repository, tag, digest)]
        good = (
            _HOST.match(checked[0])
            and _REPOSITORY.match(checked[1])
            and (not colon or _TAG.match(checked[2]))
            and (not digest or pattern or _DIGEST.match(checked[3]))
        )
        if not good:
            raise RequirementError(
                f"{text!r} is no container image.",
                code="image",
                path="image",
                next_step="Write it as registry/name:tag.",
            )
        named = tag if colon else (None if digest else ("*" if pattern else "latest"))
        return cls(host.lower(), repository, named, digest or None)

    def matches(self, allowed: ImageRef) -> bool:
        """Whether each part equals, or fits, that of ``allowed``.

        A runtime that sees a digest ignores the tag, so a digest passes only where it is itself allowed, or
        where any tag is.
        """
        if self.digest is not None and allowed.digest is None and allowed.tag != "*":
            return False
        mine, theirs = self.repository.split("/"), allowed.repository.split("/")
        return (
            self.host == allowed.host
            and len(mine) == len(theirs)
            and all(fnmatchcase(a, b) for a, b in zip(mine, theirs, strict=True))
            and (allowed.digest is None or self.digest == allowed.digest)
            and (allowed.tag is None or fnmatchcase(self.tag or "", allowed.tag))
        )


def image_allowed(image: str, patterns: tuple[str, ...] | None) -> bool:
    """Whether an administrator's list allows ``image``; None allows any that is well formed, empty none.

    >>> image_allowed("ghcr.io/lab/torch:2.9", ("ghcr.io/lab/*",))
    True
    >>> image_allowed("ghcr.io.evil.example/lab/torch:2.9", ("ghcr.io/lab/*",))
    False
    """
    reference = ImageRef.parse(image)
    if patterns is None:
        return True
    return any(reference.matches(ImageRef.parse(pattern, pattern=True)) for pattern in patterns)
