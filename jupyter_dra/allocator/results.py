"""From picks to ``status.allocation``, as the scheduler writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jupyter_dra.allocator.capacity import Need
from jupyter_dra.allocator.kinds import DeviceEntry
from jupyter_dra.allocator.requests import Body, PodClaims, WantedClaim

__all__ = ["Taken", "allocations"]

# A body with the device it got, and what its share takes where the device is shared.
Taken = tuple[Body, DeviceEntry, Need | None]


def allocations(
    claims: PodClaims, taken: Sequence[Taken], node: str, share_id: Callable[[], str]
) -> list[dict[str, Any]]:
    """One ``status.allocation`` per claim; without ``allocationTimestamp``, which needs a clock."""
    found = []
    for number, wanted in enumerate(claims.claims):
        mine = [entry for entry in taken if entry[0].claim == number]
        devices: dict[str, Any] = {"results": [_result(*entry, share_id) for entry in mine]}
        config = _config(wanted, mine)
        if config:
            devices["config"] = config
        allocation: dict[str, Any] = {"devices": devices}
        selector = _node_selector(mine, node)
        if selector is not None:
            allocation["nodeSelector"] = selector
        found.append(allocation)
    return found


def _result(
    body: Body, device: DeviceEntry, need: Need | None, share_id: Callable[[], str]
) -> dict[str, Any]:
    kind = device.kind
    result: dict[str, Any] = {
        "request": body.name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
    }
    if body.admin:
        result["adminAccess"] = True
    if body.tolerations:
        result["tolerations"] = [toleration.to_dict() for toleration in body.tolerations]
    if kind.binding_conditions:
        result["bindingConditions"] = list(kind.binding_conditions)
        result["bindingFailureConditions"] = list(kind.binding_failure_conditions)
    if need is not None:
        result["shareID"] = share_id()
        if need.texts:
            result["consumedCapacity"] = dict(need.texts)
    return result


def _config(wanted: WantedClaim, taken: Sequence[Taken]) -> list[dict[str, Any]]:
    """Class configuration once per class, then the claim's own for the chosen requests."""
    bodies = list({entry[0].index: entry[0] for entry in taken}.values())
    found: list[dict[str, Any]] = []
    classes: dict[str, list[Body]] = {}
    for body in bodies:
        classes.setdefault(body.class_name, []).append(body)
    for group in classes.values():
        device_class = group[0].device_class
        names = [body.name for body in group] if len(group) < len(bodies) else []
        for entry in device_class.config if device_class is not None else ():
            found.append(_entry("FromClass", names, entry.to_dict()))
    for entry in wanted.claim.spec.config:
        covered = [body for body in bodies if body.listed_in(entry.requests)]
        if not covered:
            continue
        names = list(entry.requests) if len(covered) < len(bodies) else []
        found.append(_entry("FromClaim", names, entry.to_dict()))
    return found


def _entry(source: str, requests: list[str], config: dict[str, Any]) -> dict[str, Any]:
    config.pop("requests", None)
    entry: dict[str, Any] = {"source": source}
    if requests:
        entry["requests"] = requests
    return {**entry, **config}


def _node_selector(taken: Sequence[Taken], node: str) -> dict[str, Any] | None:
    """None where the devices can be reached from every node."""
    term: dict[str, list[dict[str, Any]]] = {}
    for _, device, _ in taken:
        slice = device.slice
        scope = device.kind.scope if slice.per_device else slice.scope
        if device.kind.binds_to_node:
            return _pinned(node)
        if scope.node_name is not None:
            return _pinned(scope.node_name)
        if scope.selector is not None and scope.selector.terms:
            first = scope.selector.terms[0]
            for field, parts in (
                ("matchExpressions", first.match_expressions),
                ("matchFields", first.match_fields),
            ):
                for part in parts:
                    _add_once(term.setdefault(field, []), part.to_dict())
    term = {field: parts for field, parts in term.items() if parts}
    return {"nodeSelectorTerms": [term]} if term else None


def _add_once(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    def same(one: Mapping[str, Any]) -> bool:
        return (
            one.get("key") == part.get("key")
            and one.get("operator") == part.get("operator")
            and set(one.get("values") or ()) == set(part.get("values") or ())
        )

    if not any(map(same, parts)):
        parts.append(part)


def _pinned(node: str) -> dict[str, Any]:
    return {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    }
