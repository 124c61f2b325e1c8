"""What the person who asks may see, and who that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jupyter_dra.claims import hashed_slug, labels

__all__ = ["Visibility"]


@dataclass(frozen=True, slots=True)
class Visibility:
    """Rights that decide how sure an answer is.

    ``claims``: ``all`` (every namespace), ``namespace`` (only ``namespaces``) or ``none``. ``user`` is the asking
    user's full name, to tell their own sessions, ``groups`` their groups (None: not known); ``names`` false withholds
    other people's names by policy. ``version`` false means that the cluster does not tell its version.
    """

    slices: bool = True
    claims: Literal["all", "namespace", "none"] = "all"
    classes: bool = True
    quota: bool = True
    version: bool = True
    names: bool = True
    namespaces: tuple[str, ...] = ()
    user: str | None = None
    groups: tuple[str, ...] | None = None

    @staticmethod
    def read(given: Mapping[str, Any] | Visibility | None) -> Visibility:
        """Read ``{"slices": true, "claims": "namespace", "namespaces": ["team-a"], "user": "ada"}``; None sees all.

        ``claims`` may also be a list of namespaces.
        """
        if isinstance(given, Visibility):
            return given
        given = given or {}
        claims = given.get("claims", "all")
        namespaces = tuple(given.get("namespaces") or ())
        if not isinstance(claims, (str, bool)) and claims:
            claims, namespaces = "namespace", (*namespaces, *claims)
        elif not isinstance(claims, str):
            claims = "all" if claims else "none"
        seen: Literal["all", "namespace", "none"] = "none"
        if claims == "all":
            seen = "all"
        elif claims == "namespace":
            seen = "namespace"
        return Visibility(
            slices=bool(given.get("slices", True)),
            claims=seen,
            classes=bool(given.get("classes", True)),
            quota=bool(given.get("quota", True)),
            version=bool(given.get("version", True)),
            names=bool(given.get("names", True)),
            namespaces=namespaces,
            user=given.get("user"),
            groups=None if given.get("groups") is None else tuple(given["groups"]),
        )

    @property
    def all_claims(self) -> bool:
        return self.slices and self.claims == "all"

    def is_mine(self, metadata: Mapping[str, Any]) -> bool:
        """Tell whether an object belongs to the asking user: by our annotation or label, else by the namespace."""
        annotations = metadata.get("annotations") or {}
        owner = annotations.get(labels.USER)
        label = (metadata.get("labels") or {}).get(labels.USER)
        if self.user is not None:
            return owner == self.user or label in (self.user, hashed_slug(self.user))
        return self.claims == "namespace" and (metadata.get("namespace") or "default") in self.namespaces

    def as_dict(self) -> dict[str, Any]:
        """As in the contract: ``{"slices": true, "claims": "namespace"}``."""
        return {"slices": self.slices, "claims": self.claims}
