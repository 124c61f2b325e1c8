"""The claims of one pod, flattened into bodies: what is asked for, in the order it is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_dra.model import DeviceClass, Quantity, ResourceClaim, Toleration

__all__ = ["Body", "Constraint", "PodClaims", "WantedClaim"]


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A request, or one alternative of a request; ``index`` counts over all claims of the pod."""

    index: int
    claim: int
    request: int
    rank: int
    base: str
    sub: str | None
    class_name: str
    device_class: DeviceClass | None
    selectors: tuple[str, ...]
    all: bool
    count: int
    admin: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, Quantity]

    @property
    def name(self) -> str:
        """As results write it: ``gpu``, or ``gpu/second``."""
        return self.base if self.sub is None else f"{self.base}/{self.sub}"

    @property
    def short(self) -> str:
        """As upstream's messages write it: an alternative by its own name."""
        return self.base if self.sub is None else self.sub

    def listed_in(self, requests: Sequence[str]) -> bool:
        """Tell whether a list of request names (empty: all) covers this body."""
        return not requests or self.base in requests or self.name in requests


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint of a claim; ``bodies`` are the indexes of those it covers."""

    index: int
    claim: int
    attribute: str
    distinct: bool
    bodies: frozenset[int]


@dataclass(frozen=True, slots=True)
class WantedClaim:
    """A claim to allocate: its requests, each with its alternatives in order."""

    claim: ResourceClaim
    requests: tuple[tuple[Body, ...], ...]
    constraints: tuple[Constraint, ...]

    @property
    def title(self) -> str:
        """How messages name the claim."""
        return f"{self.claim.namespace or 'default'}/{self.claim.name}"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """All claims of the pod that are not allocated yet, in the pod's order."""

    claims: tuple[WantedClaim, ...]
    bodies: tuple[Body, ...]
    constraints: tuple[Constraint, ...]
    attributes: tuple[str, ...] = field(default=())

    @staticmethod
    def build(claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> PodClaims:
        """Flatten typed claims; a class that is missing leaves ``device_class`` None."""
        bodies: list[Body] = []
        constraints: list[Constraint] = []
        wanted = []
        for number, claim in enumerate(claims):
            requests = []
            for position, request in enumerate(claim.spec.requests):
                group: list[Body] = []
                exact = request.exactly is not None
                for part in (request.exactly,) if request.exactly is not None else request.first_available:
                    body = Body(
                        index=len(bodies),
                        claim=number,
                        request=position,
                        rank=len(group),
                        base=request.name,
                        sub=None if exact else part.name,
                        class_name=part.device_class_name,
                        device_class=classes.get(part.device_class_name),
                        selectors=part.selectors,
                        all=part.allocation_mode == "All",
                        count=part.count,
                        admin=part.admin_access and exact,
                        tolerations=part.tolerations,
                        capacity=part.capacity_requests,
                    )
                    bodies.append(body)
                    group.append(body)
                requests.append(tuple(group))
            mine = [body for group in requests for body in group]
            own: list[Constraint] = []
            for entry in claim.spec.constraints:
                covered = frozenset(body.index for body in mine if body.listed_in(entry.requests))
                own.append(
                    Constraint(
                        index=len(constraints) + len(own),
                        claim=number,
                        attribute=entry.match_attribute or entry.distinct_attribute or "",
                        distinct=entry.match_attribute is None,
                        bodies=covered,
                    )
                )
            constraints += own
            wanted.append(WantedClaim(claim, tuple(requests), tuple(own)))
        attributes = tuple(dict.fromkeys(entry.attribute for entry in constraints))
        return PodClaims(tuple(wanted), tuple(bodies), tuple(constraints), attributes)

    @property
    def needs_busy_devices(self) -> bool:
        """True where devices in use matter: an All request fails on one, an admin request may take one."""
        return any(body.all or body.admin for body in self.bodies)
