"""The depth-first search for one node (``structured/internal/incubating/allocator_incubating.go``).

First fit: claims, requests, alternatives and devices are tried in order and the first complete solution wins. Two
shortcuts skip branches that cannot hold a solution (equal candidates, attribute counts); they are off whenever a
selector may raise or upstream's faults are mirrored, so they never change which answer comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jupyter_dra.allocator.bounds import value_bounds
from jupyter_dra.allocator.capacity import Need
from jupyter_dra.allocator.constraints import Constraints
from jupyter_dra.allocator.counters import CounterBook
from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.matching import Failure
from jupyter_dra.allocator.requests import Body, PodClaims
from jupyter_dra.allocator.site import Site
from jupyter_dra.errors import AllocationError, BudgetExceeded
from jupyter_dra.model import DeviceID, limits

__all__ = ["Pick", "search", "selector_text", "unsatisfied_text"]

_FAIL, _DONE, _LIMIT = 0, 1, 2
_MAX_RESULTS = limits.ALLOCATION_RESULTS_MAX


@dataclass(frozen=True, slots=True)
class Pick:
    """One device taken: ``position`` counts the site's relevant devices."""

    body: Body
    position: int
    need: Need | None


def search(claims: PodClaims, site: Site, features: Features, budget: int) -> list[Pick] | None:
    """The picks of the first solution, or None.

    Raises AllocationError as upstream does, and BudgetExceeded after ``budget`` steps. In an AllocationError's
    params, ``position`` is the device's place in the site.
    """
    attempt = _Attempt(claims, site, features, budget)
    attempt.prepare()
    try:
        found = attempt.request(0, 0) == _DONE
    except RecursionError:
        raise BudgetExceeded("the claims ask for more devices than the search can follow") from None
    if found:
        return attempt.picks
    if any(pool.view.invalid is not None for pool in site.pools):
        raise AllocationError("invalid resource pools were encountered", kind="invalid-pools", node_only=True)
    return None


class _Attempt:
    def __init__(self, claims: PodClaims, site: Site, features: Features, budget: int) -> None:
        self.claims = claims
        self.site = site
        self.features = features
        self.left = budget
        self.picks: list[Pick] = []
        self.sizes = [0] * len(claims.claims)
        self.by: dict[int, list[int]] = {}
        self.shares: dict[int, list[dict[str, int]]] = {}
        self.counters = CounterBook(site, features.repairs)
        self.constraints = Constraints(claims, features.repairs)
        self.numbers: list[int] = [body.count for body in claims.bodies]
        self.lists: list[list[int]] = [[] for _ in claims.bodies]
        self.candidates: list[list[int] | None] = [None] * len(claims.bodies)
        self.drift: dict[tuple[int, str], int] = {}
        drifting = not features.repairs.fractions_kept and any(
            need is not None and need.drifting for token in site.tokens for need in token.needs
        )
        self.shortcuts = (
            features.repairs.complete
            and not drifting
            and not any(token.fails for token in site.tokens)
            # An All request that a constraint forbids is an error: a branch cut could be the one that raises it.
            and not any(
                body.all and body.index in c.bodies for c in claims.constraints for body in claims.bodies
            )
        )

    # Preparation: validateDeviceRequest and the limit of 32 results per claim.

    def prepare(self) -> None:
        for wanted in self.claims.claims:
            least = 0
            for request in wanted.requests:
                alternatives = bool(request) and request[0].sub is not None
                if alternatives and not self.features.prioritized_list:
                    raise _disabled(wanted.title, request[0].base, "subrequests", "DRAPrioritizedList")
                for body in request:
                    self._prepare_body(body, wanted.title)
                least += min((self.numbers[body.index] for body in request), default=0)
            if least > _MAX_RESULTS:
                raise AllocationError(
                    f"claim {wanted.title}: number of requested devices {least} exceeds the claim limit of"
                    f" {_MAX_RESULTS}",
                    kind="too-many-devices",
                    params={"asked": least, "limit": _MAX_RESULTS},
                )

    def _prepare_body(self, body: Body, title: str) -> None:
        features = self.features
        if body.admin and not features.admin_access:
            raise _disabled(title, body.short, "admin access", "DRAAdminAccess")
        if body.capacity and features.looks_at_capacity and not features.consumable_capacity:
            raise _disabled(title, body.short, "capacity requests", "DRAConsumableCapacity")
        if body.device_class is None:
            raise AllocationError(
                f"claim {title}, request {body.short}: could not retrieve device class {body.class_name}:"
                f' deviceclass.resource.k8s.io "{body.class_name}" not found',
                kind="class-missing",
                params={"class": body.class_name, "request": body.name},
            )
        if body.all:
            self.lists[body.index] = self._all_devices(body, title)
            self.numbers[body.index] = len(self.lists[body.index])

    def _all_devices(self, body: Body, title: str) -> list[int]:
        """Every device that the request means; busy ones count; shares without room only where repaired."""
        found = []
        full_too = self.features.repairs.all_means_full_shares
        for pool in self.site.pools:
            view = pool.view
            if view.broken:
                state = "being updated" if view.incomplete else "invalid"
                raise AllocationError(
                    f"claim {title}, request {body.short}: asks for all devices, but resource pool"
                    f" {view.driver}/{view.name} is currently {state}",
                    kind="all-incomplete-pool" if view.incomplete else "all-invalid-pool",
                    node_only=self.features.repairs.all_rejects_node_only,
                    params={"driver": view.driver, "pool": view.name},
                )
            for position in pool.positions:
                result = self.site.result(position, body.index)
                if isinstance(result, Failure):
                    self._raise(result, body, position)
                need = self.site.tokens[position].needs[body.index]
                if result and (
                    need is None or need.fits({} if full_too else self.site.held_amounts(position), {})
                ):
                    found.append(position)
        return found

    def _raise(self, failure: Failure, body: Body, position: int) -> None:
        wanted = self.claims.claims[body.claim]
        device_class = body.device_class
        of_class = device_class is not None and failure.selector in device_class.selectors
        texts = device_class.selectors if of_class and device_class is not None else body.selectors
        owner = f"class {body.class_name}" if of_class else f"claim {wanted.title}"
        stage = "compile" if failure.kind == "cel-compile" else "runtime"
        index = texts.index(failure.selector)
        raise AllocationError(
            selector_text(owner, index, None, stage, failure.message),
            kind=failure.kind,
            params={
                "position": position,
                "request": body.name,
                "selector": index,
                "expression": failure.selector,
                "in_class": body.class_name if of_class else None,
                "owner": owner,
                "error": failure.message,
            },
        )

    # Search: allocateOne.

    def request(self, claim: int, number: int) -> int:
        if claim == len(self.claims.claims):
            return _DONE
        requests = self.claims.claims[claim].requests
        if number == len(requests):
            code = self.request(claim + 1, 0)
            return _FAIL if code == _LIMIT else code
        group = requests[number]
        if len(group) == 1 and group[0].sub is None:
            return self.devices(group[0], 0, 0)
        only_limit = True
        for body in group:
            code = self.devices(body, 0, 0)
            if code == _DONE:
                return _DONE
            only_limit = only_limit and code == _LIMIT
        return _LIMIT if only_limit else _FAIL

    def devices(self, body: Body, taken: int, start: int) -> int:
        """Take the devices of one body from its ``taken``-th on, not before candidate ``start``."""
        self.left -= 1
        if self.left < 0:
            raise BudgetExceeded("too many combinations to try within the search budget")
        number = self.numbers[body.index]
        if body.all and number == 0:
            return _FAIL
        if taken >= number:
            return self.request(body.claim, body.request + 1)
        if self.sizes[body.claim] + number - taken > _MAX_RESULTS:
            return _LIMIT
        if body.all:
            position = self.lists[body.index][taken]
            if not self._take(body, position):
                return _FAIL
            code = self.devices(body, taken + 1, 0)
            if code != _DONE:
                self._undo()
            return code
        for index, position in self._worth_trying(body, number - taken, start):
            if self._in_use(body, position):
                continue
            result = self.site.result(position, body.index)
            if isinstance(result, Failure):
                self._raise(result, body, position)
            if not self._take(body, position):
                continue
            code = self.devices(body, taken + 1, index + 1)
            if code == _DONE:
                return _DONE
            self._undo()
            if code == _LIMIT:
                return _LIMIT
        return _FAIL

    def _candidates(self, body: Body) -> list[int]:
        found = self.candidates[body.index]
        if found is None:
            site = self.site
            found = [
                position
                for pool in site.pools
                if not pool.view.broken
                for position in pool.positions
                if site.result(position, body.index)
            ]
            self.candidates[body.index] = found
        return found

    def _worth_trying(self, body: Body, needed: int, start: int) -> Iterator[tuple[int, int]]:
        """Candidates from ``start`` on, with their index; without those that cannot lead to a solution."""
        candidates = self._candidates(body)
        if not self.shortcuts:
            yield from enumerate(candidates[start:], start)
            return
        usable = [position for position in candidates[start:] if not self._in_use(body, position)]
        if len(usable) < needed:
            return
        tokens = self.site.tokens
        bounds = value_bounds(self.claims, body, usable, needed, self)
        if bounds is None:
            return
        failed: set[Any] = set()
        for index in range(start, len(candidates)):
            position = candidates[index]
            if self._in_use(body, position):
                continue
            if not bounds.allows(tokens[position].values):
                continue
            mark = (
                None if self.shares.get(position) else (self.site.mark(position), *self.by.get(position, ()))
            )
            if mark in failed:
                continue
            yield index, position
            # Asked for the next one: this one led nowhere, and neither will its equals.
            if mark is not None:
                failed.add(mark)

    def values(self, position: int) -> Sequence[Any]:
        return self.site.tokens[position].values

    def reusable(self, position: int) -> bool:
        return self.site.tokens[position].shared

    def number(self, body: Body) -> int:
        return self.numbers[body.index]

    def unpicked(self, body: Body) -> list[int]:
        return [position for position in self._candidates(body) if not self._in_use(body, position)]

    def _in_use(self, body: Body, position: int) -> bool:
        site = self.site
        if site.tokens[position].shared:
            return site.busy[position] and not body.admin
        picked = self.by.get(position)
        if body.admin:
            return picked is not None and body.claim in picked
        return bool(picked) or site.busy[position]

    # One device: allocateDevice.

    def _take(self, body: Body, position: int) -> bool:
        token = self.site.tokens[position]
        if self._in_use(body, position):
            return False
        need = token.needs[body.index]
        if not body.all and not self._has_room(body, position, need):
            return False
        started = token.shared and (position in self.site.held or bool(self.shares.get(position)))
        charges = bool(token.consumes) and not started
        if charges and not self.counters.charge(position):
            return False
        if not token.tolerated[body.index]:
            self._reject(position, charges)
            return False
        if not self.constraints.add(body, token.values):
            if body.all:
                raise self._unsatisfied(body, position)
            self._reject(position, charges)
            return False
        if body.all and not self._has_room(body, position, need):
            if self.features.repairs.counters_returned:
                self.constraints.remove(body, token.values)
                self._reject(position, charges)
            return False
        self.by.setdefault(position, []).append(body.claim)
        if token.shared:
            amounts = {} if need is None else {key: amount for key, amount, _ in need.amounts}
            self.shares.setdefault(position, []).append(amounts)
        self.sizes[body.claim] += 1
        self.picks.append(Pick(body, position, need))
        return True

    def _has_room(self, body: Body, position: int, need: Need | None) -> bool:
        if need is None:
            return True
        picked: dict[str, int] = {}
        for share in self.shares.get(position, ()):
            for key, amount in share.items():
                picked[key] = picked.get(key, 0) + amount
        held = self.site.held_amounts(position)
        if not need.drifting or self.features.repairs.fractions_kept:
            return need.fits(held, picked)
        for key, amount, value in need.amounts:
            wanted = amount + self.drift.get((body.index, key), 0)
            if key in need.drifting and key in picked and key not in held:
                self.drift[body.index, key] = wanted - amount + picked[key]
            if wanted + held.get(key, 0) + picked.get(key, 0) > value:
                return False
        return True

    def _reject(self, position: int, charged: bool) -> None:
        if charged and self.features.repairs.counters_returned:
            self.counters.give_back(position)

    def _undo(self) -> None:
        pick = self.picks.pop()
        token = self.site.tokens[pick.position]
        self.sizes[pick.body.claim] -= 1
        self.by[pick.position].remove(pick.body.claim)
        if not self.by[pick.position]:
            del self.by[pick.position]
        last_share = True
        if token.shared:
            self.shares[pick.position].pop()
            last_share = not self.shares[pick.position] and pick.position not in self.site.held
        self.constraints.remove(pick.body, token.values)
        if token.consumes and last_share and (self.features.repairs.counters_returned or not token.shared):
            self.counters.give_back(pick.position)

    def _unsatisfied(self, body: Body, position: int) -> AllocationError:
        title = self.claims.claims[body.claim].title
        return AllocationError(
            unsatisfied_text(title, body.short, self.site.devices[position].id),
            kind="all-constraint",
            params={"position": position, "request": body.name, "claim": title, "short": body.short},
        )


def _disabled(claim: str, request: str, what: str, gate: str) -> AllocationError:
    return AllocationError(
        f"claim {claim}, request {request}: has {what}, but the {gate} feature is disabled",
        kind="feature-disabled",
    )


def selector_text(owner: str, index: int, device: DeviceID | None, stage: str, message: str) -> str:
    """Upstream's sentence for a selector that cannot be answered; 1.37 names the device."""
    place = f" on device {device}" if device is not None else ""
    return f"{owner}: selector #{index}{place}: CEL {stage} error: {message}"


def unsatisfied_text(claim: str, request: str, device: DeviceID) -> str:
    """Upstream's sentence for an All request that a constraint forbids."""
    subject = f"claim {claim}, request {request}: cannot add device {device}"
    return f"{subject} because a claim constraint would not be satisfied"
