"""What pod, claim and events say of a launch that does not come along."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.claims import labels
from jupyter_dra.cli.session_words import device_lines
from jupyter_dra.sessions.progress import progress, vanished
from jupyter_dra.sessions.record import DeviceRecord
from tests.sessions.place import Place, end_of
from tests.sessions.test_launch import H100

PENDING = {
    "metadata": {"name": "s-0", "uid": "1"},
    "spec": {"nodeName": "node-a"},
    "status": {"phase": "Pending"},
}


def event(why: str, message: str, count: int = 1) -> dict[str, Any]:
    return {"reason": why, "message": message, "count": count}


def claim(*devices: tuple[str, str]) -> dict[str, Any]:
    results = [
        {"request": "r", "driver": driver, "pool": "node-a", "device": name} for driver, name in devices
    ]
    return {"metadata": {"name": "s"}, "status": {"allocation": {"devices": {"results": results}}}}


def test_a_failed_preparation_names_device_driver_and_node() -> None:
    held = claim(("gpu.example.com", "gpu-0"), ("nic.example.net", "nic-0"))
    told = event("FailedPrepareDynamicResources", "claim s: plugin nic.example.net: link is down", count=3)
    failure = progress(PENDING, held, [told]).failure
    assert failure is not None
    assert failure.code == "prepare-failed"
    assert failure.message == "The device nic-0 (driver nic.example.net) could not be prepared on node-a."
    assert "link is down" in (failure.detail or "")


def test_what_was_given_is_told_by_request_with_choice_share_and_the_drivers_words() -> None:
    held = claim(("gpu.example.com", "gpu-3"), ("nic.example.net", "nic-0"))
    first, second = held["status"]["allocation"]["devices"]["results"]
    first.update(request="gpu/small", shareID="7a1f", consumedCapacity={"memory": "8Gi"})
    second["request"] = "nic"
    held["spec"] = {
        "devices": {
            "requests": [
                {"name": "gpu", "firstAvailable": [{"name": "large"}, {"name": "small"}]},
                {"name": "nic", "exactly": {}},
            ]
        }
    }
    condition = {"type": "Ready", "status": "False", "reason": "LinkDown", "message": "no carrier on port 1"}
    held["status"]["devices"] = [
        {"driver": "nic.example.net", "pool": "node-a", "device": "nic-0", "conditions": [condition]},
        {"driver": "nic.example.net", "pool": "node-a", "device": "nic-1", "conditions": [condition]},
    ]

    def describe(driver: str, pool: str, name: str) -> tuple[str | None, dict[str, Any]]:
        return ("SMALL", {"memory_published": "16Gi"}) if name == "gpu-3" else (None, {})

    gpu, nic = progress(PENDING, held, describe=describe).devices
    assert (gpu.choice, nic.choice) == (2, None)
    assert nic.conditions == (condition,) and gpu.conditions == ()
    lines = [line for one in (gpu, nic) for line in device_lines(one.as_dict())]
    assert lines == [
        "gpu (second choice): gpu-3 on - · SMALL, 16Gi · share: memory 8Gi of 16Gi",
        "nic: nic-0 on -",
        "  Ready: no carrier on port 1",
    ]


@pytest.mark.parametrize(
    ("told", "hopeless", "words"),
    [
        ([], None, None),
        (
            [event("TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 0->1 (max: 2)}]")],
            None,
            "A node is being started for this: [{gpu-pool 0->1 (max: 2)}].",
        ),
        (
            [event("NotTriggerScaleUp", "max size reached")],
            "max size reached",
            "No node is started for this: max size reached.",
        ),
        (
            [event("TriggeredScaleUp", "0->1"), event("FailedScaleUp", "quota exceeded")],
            "quota exceeded",
            "No node is started for this: quota exceeded.",
        ),
        (
            [event("FailedScaleUp", "quota exceeded"), event("TriggeredScaleUp", "0->1")],
            None,
            "A node is being started for this: 0->1.",
        ),
    ],
)
def test_the_last_word_of_the_autoscaler_counts(
    told: list[dict[str, Any]], hopeless: str | None, words: str | None
) -> None:
    found = progress(PENDING, claim(), told)
    assert (found.no_scale_up, found.scaling) == (hopeless, words)


def test_what_the_autoscaler_does_stands_among_the_reasons_of_a_wait_that_goes_on(place: Place) -> None:
    service = place.service()
    held = service.loop.call(service.launch({**H100, "count": 8}))
    service.loop.call(service.ready(held.id), 60)
    waiting = service.loop.call(service.launch(H100, wait=600)).id
    pod = place.cluster.wait(lambda: place.cluster.get("pods", f"{waiting}-0", place.namespace))

    def last_reason() -> Any:
        wait = service.loop.call(service.get(waiting)).wait
        return wait and wait.reasons[-1]

    assert place.cluster.wait(last_reason)["code"] == "taken"
    say(place, pod, "NotTriggerScaleUp", "1 max node group size reached")
    told = place.cluster.wait(lambda: last_reason()["code"] == "autoscaler" and last_reason())
    assert told["message"] == "No node is started for this: 1 max node group size reached."
    assert service.loop.call(service.get(waiting)).state == "waiting", "the device may become free"


def say(place: Place, pod: dict[str, Any], reason: str, message: str) -> None:
    """An event about a pod, as a cluster autoscaler writes it."""
    about = {"kind": "Pod", "namespace": place.namespace, **pod["metadata"]}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "autoscaler", "namespace": place.namespace},
        "involvedObject": {name: about[name] for name in ("kind", "namespace", "name", "uid")},
        "reason": reason,
        "message": message,
        "type": "Normal",
    }
    place.cluster.request("POST", f"/api/v1/namespaces/{place.namespace}/events", body)


def device(name: str, **facts: Any) -> DeviceRecord:
    return DeviceRecord("r", "gpu.example.com", "node-a", name, node="node-a", facts=facts)


def test_a_reserved_device_that_nobody_publishes_any_more_is_a_driver_that_is_gone() -> None:
    assert vanished([device("gpu-0", product="H100")]) is None
    assert vanished([]) is None
    lost = vanished([device("gpu-0", product="H100"), device("gpu-1")])
    assert lost is not None
    assert lost.code == "prepare-failed"
    assert "gpu.example.com publishes gpu-1 of node-a no more" in lost.message


def device_class(name: str, driver: str, **notes: str) -> dict[str, Any]:
    annotations = {labels.PREFIX + key.replace("_", "-"): value for key, value in notes.items()}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
    }


CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"


def test_a_tier_whose_nodes_cannot_be_started_ends_the_wait_with_the_autoscalers_words(place: Place) -> None:
    place.cluster.request("POST", CLASSES, device_class("far", "far.example.com", scales_from_zero="true"))
    service = place.service()
    try:
        record = service.loop.call(service.launch({"tier": "far"}, wait=600))
        pod = place.cluster.wait(lambda: place.cluster.get("pods", f"{record.id}-0", place.namespace))
        assert service.loop.call(service.get(record.id)).state in ("waiting", "starting"), "a node may come"
        say(place, pod, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")
        ended = end_of(service, record.id)
        assert ended.code == "impossible"
        assert "max node group size reached" in ended.message
    finally:
        place.cluster.request("DELETE", f"{CLASSES}/far")


def test_two_notebooks_that_name_one_new_claim_both_run_on_its_device(place: Place) -> None:
    exactly = {"deviceClassName": "gpu.nvidia.com"}
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "single-gpu"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims"
    place.cluster.request("POST", path, body)
    service = place.service()
    wish = {"claim": "single-gpu", **{key: value for key, value in H100.items() if key != "tier"}}
    begun = [service.loop.call(service.launch(wish, notebook=f"{name}.ipynb")) for name in ("one", "two")]
    for record in begun:
        service.loop.call(service.ready(record.id), 60)
    now = [service.loop.call(service.get(record.id)) for record in begun]
    assert now[0].devices[0].device == now[1].devices[0].device
    assert now[0].kernels[0].pod != now[1].kernels[0].pod
    for record in begun:
        service.loop.call(service.stop(record.id))
        end_of(service, record.id)
    assert place.objects()["claims"] == ["single-gpu"], "a user's claim is never deleted"
    place.cluster.request("DELETE", f"{path}/single-gpu")
