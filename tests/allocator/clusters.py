"""Random small clusters for property tests: several pools, shares, parts, taints, constraints, held devices."""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]
_TAINTS = [{"key": "team", "value": "ml", "effect": "NoSchedule"}, {"key": "bad", "effect": "NoExecute"}]


def cluster(rnd: Random, nodes: int = 6) -> Json:
    """Slices, classes and held claims over ``nodes`` nodes."""
    slices: list[Json] = []
    held: list[Json] = []
    for number in range(nodes):
        node = f"n{number}"
        devices = [_device(rnd, index) for index in range(rnd.randint(1, 5))]
        slices.append(_slice(node, "gpu.example.com", devices, complete=rnd.random() < 0.93))
        if rnd.random() < 0.6:
            nics = [_nic(rnd, index) for index in range(rnd.randint(1, 4))]
            slices.append(_slice(node, "nic.example.com", nics))
        if rnd.random() < 0.4:
            slices += _parts(rnd, node)
    if rnd.random() < 0.3:
        network = _slice("fabric", "gpu.example.com", [_device(rnd, index) for index in range(2)])
        del network["spec"]["nodeName"]
        network["spec"]["allNodes"] = True
        slices.append(network)
    for slice in slices:
        for device in slice["spec"].get("devices", ()):
            if rnd.random() < 0.3:
                held.append(_held(rnd, len(held), slice, device))
    return {"nodes": [f"n{n}" for n in range(nodes)], "slices": slices, "classes": classes(), "held": held}


def classes() -> list[Json]:
    def one(name: str, text: str) -> Json:
        return {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": text}}]}}

    return [
        one("gpu", 'device.driver == "gpu.example.com"'),
        one("nic", 'device.driver == "nic.example.com"'),
        one("part", 'device.driver == "part.example.com"'),
        one("any", "true"),
    ]


def _slice(node: str, driver: str, devices: list[Json], complete: bool = True, **spec: Any) -> Json:
    return {
        "metadata": {"name": f"{driver}-{node}{spec.get('suffix', '')}"},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {
                "name": node,
                "generation": 1,
                "resourceSliceCount": spec.get("count", 1 if complete else 2),
            },
            "devices": devices,
        },
    }


def _device(rnd: Random, index: int) -> Json:
    device: Json = {
        "name": f"d{index}",
        "attributes": {
            "model": {"string": rnd.choice(["a", "b", "c"])},
            "uuid": {"string": f"{rnd.getrandbits(64):016x}"},
            "example.com/root": {"string": f"root{rnd.randint(0, 2)}"},
        },
        "capacity": {"memory": {"value": rnd.choice(["16Gi", "24Gi", "80Gi"])}},
    }
    if rnd.random() < 0.2:
        del device["attributes"]["example.com/root"]
    if rnd.random() < 0.15:
        device["taints"] = [rnd.choice(_TAINTS)]
    if rnd.random() < 0.25:
        device["allowMultipleAllocations"] = True
    return device


def _nic(rnd: Random, index: int) -> Json:
    return {"name": f"nic{index}", "attributes": {"example.com/root": {"string": f"root{rnd.randint(0, 2)}"}}}


def _parts(rnd: Random, node: str) -> list[Json]:
    counters = _slice(node, "part.example.com", [], count=2, suffix="-c")
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "card", "counters": {"slots": {"value": "4"}}}]
    sizes = [rnd.choice([1, 2, 4]) for _ in range(rnd.randint(2, 4))]
    devices = [
        {
            "name": f"p{index}",
            "attributes": {"size": {"int": size}},
            "consumesCounters": [{"counterSet": "card", "counters": {"slots": {"value": str(size)}}}],
        }
        for index, size in enumerate(sizes)
    ]
    return [counters, _slice(node, "part.example.com", devices, count=2, suffix="-d")]


def _held(rnd: Random, number: int, slice: Json, device: Json) -> Json:
    result = {
        "request": "r",
        "driver": slice["spec"]["driver"],
        "pool": slice["spec"]["pool"]["name"],
        "device": device["name"],
    }
    if device.get("allowMultipleAllocations"):
        result |= {
            "shareID": f"s{number}",
            "consumedCapacity": {"memory": rnd.choice(["4Gi", "12Gi", "16Gi"])},
        }
    if rnd.random() < 0.1:
        result["adminAccess"] = True
    return {
        "metadata": {"name": f"held-{number}", "namespace": "other"},
        "spec": {"devices": {"requests": []}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def wanted(rnd: Random) -> list[Json]:
    """One or two claims of a pod."""
    return [_claim(rnd, number) for number in range(rnd.choice([1, 1, 2]))]


def _claim(rnd: Random, number: int) -> Json:
    requests = [_request(rnd, index) for index in range(rnd.randint(1, 3))]
    constraints: list[Json] = []
    if rnd.random() < 0.5:
        kind = rnd.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        constraints.append(
            {kind: rnd.choice(["example.com/root", "gpu.example.com/model", "gpu.example.com/uuid"])}
        )
        if rnd.random() < 0.5:
            constraints[0]["requests"] = [request["name"] for request in requests[:2]]
    return {
        "metadata": {"name": f"c{number}", "namespace": "default"},
        "spec": {"devices": {"requests": requests, "constraints": constraints}},
    }


def _request(rnd: Random, index: int) -> Json:
    if rnd.random() < 0.25:
        parts = [{"name": f"s{n}", **_body(rnd)} for n in range(rnd.randint(1, 3))]
        for part in parts:
            part.pop("adminAccess", None)
        return {"name": f"r{index}", "firstAvailable": parts}
    return {"name": f"r{index}", "exactly": _body(rnd)}


def _body(rnd: Random) -> Json:
    body: Json = {"deviceClassName": rnd.choice(["gpu", "gpu", "nic", "part", "any"])}
    roll = rnd.random()
    if roll < 0.1:
        body["allocationMode"] = "All"
    elif roll < 0.45:
        body["count"] = rnd.randint(1, 4)
    if rnd.random() < 0.3:
        text = rnd.choice(
            [
                'device.attributes["gpu.example.com"].?model.orValue("") == "a"',
                'device.capacity["gpu.example.com"].?memory.orValue(quantity("0")).compareTo(quantity("20G")) >= 0',
                'device.attributes["gpu.example.com"].uuid.startsWith("a")',
                'device.attributes["part.example.com"].?size.orValue(0) == 2',
            ]
        )
        body["selectors"] = [{"cel": {"expression": text}}]
    if rnd.random() < 0.2:
        body["tolerations"] = [{"operator": "Exists"}]
    if rnd.random() < 0.1:
        body["adminAccess"] = True
    if rnd.random() < 0.15:
        body["capacity"] = {"requests": {"memory": rnd.choice(["2Gi", "8Gi", "30Gi"])}}
    return body
