"""What the claim would be charged, and whether the user may launch it: a question apart from the scheduler's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_dra.claims import labels
from jupyter_dra.model import ResourceClaim
from jupyter_dra.planner.quotas import CLAIMS, DEVICES, amount

if TYPE_CHECKING:
    from jupyter_dra.planner.inventory import Inventory

__all__ = ["Launch", "charges", "class_refusal", "refusal", "refusal_words"]

Json = Mapping[str, Any]
Launch = dict[str, Any]
# The quota evaluator charges an All request with the most devices a claim may get.
_ALL_CHARGE = 32


def charges(claims: Sequence[ResourceClaim]) -> dict[str, int]:
    """What creating these claims is charged (``pkg/quota/v1/evaluator/core/resource_claims.go``).

    Each alternative of a request counts: per class the maximum over the alternatives.
    """
    total: dict[str, int] = {}
    if claims:
        total[CLAIMS] = len(claims)
    for claim in claims:
        for request in claim.spec.requests:
            most: dict[str, int] = {}
            for _, body in request.bodies():
                number = _ALL_CHARGE if body.allocation_mode == "All" else body.count
                name = body.device_class_name
                most[name] = max(most.get(name, 0), number)
            for name, number in most.items():
                total[name + DEVICES] = total.get(name + DEVICES, 0) + number
    return total


def refusal(
    inventory: Inventory,
    charged: Mapping[str, int],
    namespace: str,
    limits: Json | None,
    count: dict[str, Any] | None = None,
) -> Launch | None:
    """Why the launch is not allowed, as the contract's ``launch`` object; None where nothing forbids it.

    Args:
        charged: what :func:`charges` gives for the claim.
        limits: what the server knows of the user, all parts optional:
            ``{"policy": {"allowed": false, "code": "policy", "message": …, "params": {…}}, "devices": {"limit": 2,
            "held": 2, "names": […]}, "counts": [1, 2, 4]}``.
        count: what :func:`asked_counts.count_refusal` says of the number of devices.
    """
    if count is not None:
        return _no("policy", count)
    limits = limits or {}
    policy = limits.get("policy") or {}
    if policy and policy.get("allowed") is False:
        params = {"message": policy.get("message"), "nearest": None, **(policy.get("params") or {})}
        return _no(str(policy.get("code") or "policy"), params)
    for name in (key.removesuffix(DEVICES) for key in charged if key.endswith(DEVICES)):
        if not _in_group(inventory, name):
            groups = sorted(_groups_of(inventory, name))
            message = f"Only group {' or '.join(groups)} may use {name}."
            return _no("policy", {"message": message, "tier": name, "groups": groups, "nearest": None})
    asked = sum(number for name, number in charged.items() if name.endswith(DEVICES))
    devices = limits.get("devices") or {}
    if devices.get("limit") is not None and int(devices.get("held") or 0) + asked > int(devices["limit"]):
        return _no(
            "limit",
            {
                "limit": int(devices["limit"]),
                "held": int(devices.get("held") or 0),
                "asked": asked,
                "names": list(devices.get("names") or ()),
            },
        )
    counts = limits.get("counts")
    if counts and asked not in counts:
        return _no("policy", {"message": f"{asked} devices are not offered.", "counts": list(counts)})
    return _over_quota(inventory, charged, namespace)


def refusal_words(launch: Json) -> tuple[str, str] | None:
    """What is not allowed and why: a head and a sentence; None where the launch may be tried.

    Args:
        launch: the contract's ``launch`` object.
    """
    code, given = launch.get("code"), launch.get("params") or {}
    if launch.get("can") != "no" or code not in ("limit", "quota", "policy"):
        return None
    if given.get("message"):
        return "Not allowed for you", str(given["message"])
    if code == "quota" and given.get("resource"):
        return (
            "Your team's limit is reached",
            f"Quota {given.get('quota')} allows {given.get('hard')} {given['resource']}, {given.get('used')} are used, "
            f"{given.get('asked', 1)} asked.",
        )
    if code == "limit" and given.get("limit") is not None:
        names = ", ".join(map(str, given.get("names") or ()))
        devices = "1 device" if given["limit"] == 1 else f"{given['limit']} devices"
        held = f"You may hold {devices} and hold {given.get('held')}"
        return "Your limit is reached", held + (f": {names}." if names else ".")
    return "Not allowed for you", f"The {code} does not allow it."


def class_refusal(inventory: Inventory, name: str, namespace: str) -> str | None:
    """Why a class is of no use to this user at all: ``quota`` (nothing left), ``group``, or None."""
    if not _in_group(inventory, name):
        return "group"
    return "quota" if _over_quota(inventory, {name + DEVICES: 1}, namespace) else None


def _in_group(inventory: Inventory, name: str) -> bool:
    mine = inventory.visibility.groups
    allowed = _groups_of(inventory, name)
    return mine is None or not allowed or not allowed.isdisjoint(mine)


def _groups_of(inventory: Inventory, name: str) -> set[str]:
    notes = ((inventory.classes.get(name) or {}).get("metadata") or {}).get("annotations") or {}
    return {group.strip() for group in str(notes.get(labels.GROUPS) or "").split(",") if group.strip()}


def _over_quota(inventory: Inventory, charged: Mapping[str, int], namespace: str) -> Launch | None:
    for (where, name), quota in sorted(inventory.quotas.items()):
        if where != namespace:
            continue
        for resource, asked in charged.items():
            if resource not in quota.hard:
                continue
            hard, used = amount(quota.hard[resource]), amount(quota.used.get(resource, "0"))
            if hard is not None and used is not None and used + asked > hard:
                return _no(
                    "quota",
                    {
                        "namespace": namespace,
                        "quota": name,
                        "resource": resource,
                        "hard": hard,
                        "used": used,
                        "asked": asked,
                    },
                )
    return None


def _no(code: str, params: dict[str, Any]) -> Launch:
    return {"can": "no", "code": code, "params": params}
