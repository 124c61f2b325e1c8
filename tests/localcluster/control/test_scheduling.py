"""Where pods land, and what those that do not land are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster, claim_manifest, pod_manifest, template_manifest

FAULTS = "/jupyter-dra/faults"


def scheduled(cluster: LocalCluster, pod: str) -> dict[str, Any] | None:
    """Return the pod's PodScheduled condition once it says no."""
    status = (cluster.get("pods", pod) or {}).get("status") or {}
    return next(
        (c for c in status.get("conditions") or () if c["type"] == "PodScheduled" and c["status"] == "False"),
        None,
    )


def results(cluster: LocalCluster, claim: str) -> list[dict[str, Any]]:
    found = cluster.get("resourceclaims", claim)
    allocation = ((found or {}).get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or [])


def remove(cluster: LocalCluster, *pods: str) -> None:
    cluster.kubectl("delete", "pod", *pods, "--wait", "--ignore-not-found")


def test_a_pod_with_a_template_gets_a_claim_a_device_and_its_node(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        template_manifest("one-large", "high-memory-gpu"),
        pod_manifest("templated", "sleep", "60", template="one-large"),
    )
    pod = shared_cluster.wait_for_pod("templated")
    (made,) = pod["status"]["resourceClaimStatuses"]
    assert made["resourceClaimName"].startswith("templated-gpu-")
    claim = shared_cluster.read("resourceclaims", made["resourceClaimName"])
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "gpu"
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert claim["status"]["reservedFor"][0]["uid"] == pod["metadata"]["uid"]
    assert results(shared_cluster, claim["metadata"]["name"])[0]["pool"] == pod["spec"]["nodeName"]
    remove(shared_cluster, "templated")
    shared_cluster.wait_gone("resourceclaims", claim["metadata"]["name"])


def test_a_claim_of_ones_own_loses_its_device_with_the_last_pod_and_stays(
    shared_cluster: LocalCluster,
) -> None:
    shared_cluster.apply(
        claim_manifest("mine", "high-memory-gpu"), pod_manifest("holder", "sleep", "60", claim="mine")
    )
    shared_cluster.wait_for_pod("holder")
    assert results(shared_cluster, "mine")
    remove(shared_cluster, "holder")
    shared_cluster.wait(lambda: not results(shared_cluster, "mine"))
    claim = shared_cluster.wait(
        lambda: (
            (c := shared_cluster.get("resourceclaims", "mine")) and not c["metadata"].get("finalizers") and c
        )
    )
    assert "reservedFor" not in claim.get("status", {})


def test_a_finished_pod_frees_its_device(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        claim_manifest("brief", "tpu-v6e-node", 8), pod_manifest("quick", "true", claim="brief")
    )
    shared_cluster.wait_for_pod("quick", "Succeeded")
    shared_cluster.wait(lambda: not results(shared_cluster, "brief"))


def test_two_pods_share_one_claim_on_one_node(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        claim_manifest("together", "medium-gpu"),
        pod_manifest("left", "sleep", "60", claim="together"),
        pod_manifest("right", "sleep", "60", claim="together"),
    )
    nodes = {shared_cluster.wait_for_pod(name)["spec"]["nodeName"] for name in ("left", "right")}
    assert len(nodes) == 1
    claim = shared_cluster.read("resourceclaims", "together")
    assert {consumer["name"] for consumer in claim["status"]["reservedFor"]} == {"left", "right"}
    remove(shared_cluster, "left", "right")


def test_a_pod_whose_claim_does_not_exist_waits_without_a_word(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("silent", "true", claim="not-yet"))
    shared_cluster.apply(pod_manifest("marker", "true"))
    shared_cluster.wait_for_pod("marker", "Succeeded")
    assert scheduled(shared_cluster, "silent") is None
    shared_cluster.apply(claim_manifest("not-yet", "tpu-v6e-node", 8))
    shared_cluster.wait_for_pod("silent", "Succeeded")


def test_a_missing_class_is_named_and_its_arrival_starts_the_pod(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        claim_manifest("classless", "no-such-class"), pod_manifest("waiter", "true", claim="classless")
    )
    condition = shared_cluster.wait(lambda: scheduled(shared_cluster, "waiter"))
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == (
        "0/5 nodes are available: request gpu: device class no-such-class does not exist. "
        "preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling."
    )
    shared_cluster.apply(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "no-such-class"},
            "spec": {"selectors": [{"cel": {"expression": 'device.driver == "tpu.google.com"'}}]},
        }
    )
    shared_cluster.wait_for_pod("waiter", "Succeeded")


def test_a_missing_template_is_told_by_an_event(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("untemplated", "true", template="nowhere"))

    def told() -> bool:
        return any(
            event["reason"] == "FailedResourceClaimCreation" and '"nowhere"' in event["message"]
            for event in shared_cluster.list("events")
        )

    shared_cluster.wait(told)
    shared_cluster.apply(template_manifest("nowhere", "tpu-v6e-node", 8))
    shared_cluster.wait_for_pod("untemplated", "Succeeded")


def test_no_free_device_is_told_like_the_real_scheduler_and_the_pod_starts_when_one_is_freed(
    shared_cluster: LocalCluster,
) -> None:
    shared_cluster.apply(
        claim_manifest("all-chips", "tpu-v6e-node", 8),
        claim_manifest("more-chips", "tpu-v6e-node", 1),
        pod_manifest("owner", "sleep", "60", claim="all-chips"),
    )
    shared_cluster.wait_for_pod("owner")
    shared_cluster.apply(pod_manifest("later", "true", claim="more-chips"))
    condition = shared_cluster.wait(lambda: scheduled(shared_cluster, "later"))
    assert condition["message"].startswith(
        "0/5 nodes are available: 5 cannot allocate all claims. preemption: "
    )
    described = shared_cluster.kubectl("describe", "pod", "later")
    assert "FailedScheduling" in described
    remove(shared_cluster, "owner")
    shared_cluster.wait_for_pod("later", "Succeeded")


def test_the_preferred_alternative_wins_over_an_emptier_node(shared_cluster: LocalCluster) -> None:
    first = {"name": "large", "deviceClassName": "high-memory-gpu"}
    second = {"name": "small", "deviceClassName": "small-gpu"}
    claim = claim_manifest("ordered", "unused")
    claim["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": [first, second]}]
    shared_cluster.apply(claim, pod_manifest("chooser", "sleep", "60", claim="ordered"))
    shared_cluster.wait_for_pod("chooser")
    assert results(shared_cluster, "ordered")[0]["request"] == "gpu/large"
    remove(shared_cluster, "chooser")


def test_a_gpu_and_its_network_card_come_from_one_pcie_root(shared_cluster: LocalCluster) -> None:
    claim = claim_manifest("pair", "unused")
    claim["spec"]["devices"] = {
        "requests": [
            {"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu"}},
            {"name": "nic", "exactly": {"deviceClassName": "rdma-nic"}},
        ],
        "constraints": [{"requests": ["gpu", "nic"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    }
    shared_cluster.apply(claim, pod_manifest("paired", "sleep", "60", claim="pair"))
    assert shared_cluster.wait_for_pod("paired")["spec"]["nodeName"] == "dgx-h100-0"
    assert {result["driver"] for result in results(shared_cluster, "pair")} == {"gpu.nvidia.com", "dra.net"}
    remove(shared_cluster, "paired")


def test_a_pod_that_asks_for_more_than_any_node_has_says_which_resource(shared_cluster: LocalCluster) -> None:
    wants = {"resources": {"requests": {"cpu": "1000", "memory": "1Gi"}}}
    shared_cluster.apply(pod_manifest("greedy", "true", container=wants))
    condition = shared_cluster.wait(lambda: scheduled(shared_cluster, "greedy"))
    assert condition["message"].startswith("0/5 nodes are available: 5 Insufficient cpu. ")


def test_a_node_selector_that_matches_nothing_is_told(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("picky", "true", nodeSelector={"zone": "moon"}))
    condition = shared_cluster.wait(lambda: scheduled(shared_cluster, "picky"))
    assert "5 node(s) didn't match Pod's node affinity/selector" in condition["message"]


def test_a_selector_that_raises_ends_the_attempt_with_an_error(shared_cluster: LocalCluster) -> None:
    raises = [{"cel": {"expression": 'device.attributes["tpu.google.com"].nosuch == 1'}}]
    shared_cluster.apply(
        claim_manifest("raises", "tpu-v6e-node", 1, selectors=raises),
        pod_manifest("wrong", "true", claim="raises"),
    )
    condition = shared_cluster.wait(lambda: scheduled(shared_cluster, "wrong"))
    assert condition["reason"] == "SchedulerError"
    assert condition["message"].startswith(
        'running "DynamicResources" filter plugin: claim default/raises: selector #0 on device tpu.google.com/'
    )
    assert "no such key: nosuch" in condition["message"]


def test_a_claim_in_use_is_only_deleted_when_its_pod_is_gone(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        claim_manifest("busy", "small-gpu"), pod_manifest("user", "sleep", "60", claim="busy")
    )
    shared_cluster.wait_for_pod("user")
    shared_cluster.kubectl("delete", "resourceclaim", "busy", "--wait=false")
    claim = shared_cluster.read("resourceclaims", "busy")
    assert claim["metadata"]["deletionTimestamp"]
    shared_cluster.apply(pod_manifest("latecomer", "true", claim="busy"))
    shared_cluster.apply(pod_manifest("after-latecomer", "true"))
    shared_cluster.wait_for_pod("after-latecomer", "Succeeded")
    assert scheduled(shared_cluster, "latecomer") is None
    remove(shared_cluster, "user", "latecomer")
    shared_cluster.wait_gone("resourceclaims", "busy")


def test_an_extended_resource_becomes_a_claim_of_the_class_that_names_it(
    shared_cluster: LocalCluster,
) -> None:
    asks = {"resources": {"limits": {"nvidia.com/gpu": "1", "memory": "1Gi"}}}
    program = "import os; print(os.listdir(os.environ['JUPYTER_DRA_DEVICE_ATTRIBUTES'] + '/resourceclaims'))"
    shared_cluster.apply(pod_manifest("classic", "python", "-c", program, container=asks))
    shared_cluster.wait_for_pod("classic", "Succeeded")
    log = shared_cluster.request("GET", "/api/v1/namespaces/default/pods/classic/log")["text"]
    assert "classic-extended-resources-" in log
    pod = shared_cluster.read("pods", "classic")
    assert pod["status"]["extendedResourceClaimStatus"]["requestMappings"] == [
        {
            "containerName": "main",
            "resourceName": "nvidia.com/gpu",
            "requestName": "container-0-request-1",
        }
    ]
    shared_cluster.wait_gone(
        "resourceclaims", pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    )


def test_two_pods_never_get_one_extended_resource(shared_cluster: LocalCluster) -> None:
    asks = {"resources": {"limits": {"deviceclass.resource.kubernetes.io/medium-gpu": "1"}}}
    names = [f"implicit-{number}" for number in range(3)]
    shared_cluster.apply(*(pod_manifest(name, "sleep", "60", container=asks) for name in names))

    def phases() -> list[str]:
        return sorted((shared_cluster.get("pods", name) or {})["status"]["phase"] for name in names)

    shared_cluster.wait(lambda: phases() == ["Pending", "Running", "Running"])
    condition = shared_cluster.wait(
        lambda: next((c for name in names if (c := scheduled(shared_cluster, name))), None)
    )
    assert "5 cannot allocate all claims" in condition["message"]
    remove(shared_cluster, *names)


def test_many_pods_at_once_never_share_a_device(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(template_manifest("any-large", "high-memory-gpu"))
    names = [f"rush-{number}" for number in range(14)]
    shared_cluster.apply(*(pod_manifest(name, "sleep", "60", template="any-large") for name in names))

    def settled() -> bool:
        pods = [shared_cluster.get("pods", name) for name in names]
        running = sum(1 for pod in pods if pod and pod["status"].get("phase") == "Running")
        return running == 10

    shared_cluster.wait(settled)
    held = [
        (result["driver"], result["pool"], result["device"])
        for claim in shared_cluster.list("resourceclaims")
        for result in results(shared_cluster, claim["metadata"]["name"])
    ]
    assert len(held) == len(set(held)) == 10
    remove(shared_cluster, *names)
    shared_cluster.wait(
        lambda: (
            not any(
                results(shared_cluster, c["metadata"]["name"]) for c in shared_cluster.list("resourceclaims")
            )
        )
    )


@pytest.mark.local_only("trouble on demand")
@pytest.mark.parametrize("writes_before", [0, 1], ids=["finalizer", "allocation"])
def test_a_claim_that_somebody_else_writes_to_meanwhile_is_allocated_in_the_same_attempt(
    shared_cluster: LocalCluster, writes_before: int
) -> None:
    name = f"written-{writes_before}"
    # The first write sets the finalizer, the second the status.
    resource = ("resourceclaims", "resourceclaims/status")[writes_before]
    shared_cluster.request("POST", FAULTS, {"fail": {"status": 409, "verb": "update", "resource": resource}})
    shared_cluster.apply(
        claim_manifest(name, "high-memory-gpu"), pod_manifest(name, "sleep", "60", claim=name)
    )
    shared_cluster.wait_for_pod(name)
    assert shared_cluster.request("GET", FAULTS)["pending"] == []
    told = [e["reason"] for e in shared_cluster.list("events") if e["involvedObject"]["name"] == name]
    assert "FailedScheduling" not in told and "Scheduled" in told
    remove(shared_cluster, name)
