"""Devices and nodes that go out of service while pods use them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster, claim_manifest, pod_manifest, start_local_cluster


@pytest.fixture
def l4_cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    cluster = start_local_cluster(tmp_path, ["l4"])
    yield cluster
    cluster.stop()


def rule(name: str, effect: str, pool: str, device: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {
            "deviceSelector": {"driver": "gpu.nvidia.com", "pool": pool, "device": device},
            "taint": {"key": "example.com/broken", "effect": effect},
        },
    }


def test_a_noexecute_rule_ends_the_pod_with_the_real_reason(l4_cluster: LocalCluster) -> None:
    l4_cluster.apply(claim_manifest("held", "small-gpu"), pod_manifest("victim", "sleep", "60", claim="held"))
    l4_cluster.wait_for_pod("victim")
    result = l4_cluster.read("resourceclaims", "held")["status"]["allocation"]["devices"]["results"][0]
    uid = l4_cluster.read("pods", "victim")["metadata"]["uid"]
    l4_cluster.apply(rule("broken", "NoExecute", result["pool"], result["device"]))
    l4_cluster.wait_gone("pods", "victim")
    l4_cluster.wait(lambda: eviction(l4_cluster, "broken")["message"].startswith("1 pod evicted since"))
    assert eviction(l4_cluster, "broken")["reason"] == "Completed"
    events = [e for e in l4_cluster.list("events") if e["involvedObject"].get("uid") == uid]
    assert "DeviceTaintManagerEviction" in {e["reason"] for e in events}
    l4_cluster.wait(
        lambda: not (l4_cluster.get("resourceclaims", "held") or {}).get("status", {}).get("allocation")
    )
    l4_cluster.apply(pod_manifest("next", "sleep", "60", claim="held"))
    l4_cluster.wait_for_pod("next")
    claim = l4_cluster.read("resourceclaims", "held")
    fresh = claim["status"]["allocation"]["devices"]["results"][0]
    assert (fresh["pool"], fresh["device"]) != (result["pool"], result["device"])


def test_a_tolerated_taint_lets_the_pod_go_on(l4_cluster: LocalCluster) -> None:
    tolerates = [{"key": "example.com/broken", "operator": "Exists"}]
    l4_cluster.apply(
        claim_manifest("calm", "small-gpu", tolerations=tolerates),
        claim_manifest("touchy", "small-gpu"),
        pod_manifest("stays", "sleep", "60", claim="calm"),
        pod_manifest("goes", "sleep", "60", claim="touchy"),
    )
    for name in ("stays", "goes"):
        l4_cluster.wait_for_pod(name)
    everything = rule("everything", "NoExecute", "l4-0", "gpu-0")
    everything["spec"]["deviceSelector"] = {"driver": "gpu.nvidia.com"}
    l4_cluster.apply(everything)
    l4_cluster.wait_gone("pods", "goes")
    pod = l4_cluster.read("pods", "stays")
    assert "deletionTimestamp" not in pod["metadata"]


def test_a_published_taint_keeps_new_pods_away(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["tainted"])
    try:
        cluster.apply(
            claim_manifest("clean-only", "high-memory-gpu", 2),
            pod_manifest("fits", "sleep", "60", claim="clean-only"),
        )
        cluster.wait_for_pod("fits")
        claim = cluster.read("resourceclaims", "clean-only")
        devices = {result["device"] for result in claim["status"]["allocation"]["devices"]["results"]}
        assert devices == {"gpu-1", "gpu-2"}
        assert json.dumps(cluster.list("devicetaintrules")).count("dry-run")
    finally:
        cluster.stop()


def test_devices_that_attach_first_bind_the_pod_afterwards(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["network-attached"])
    try:
        cluster.apply(
            claim_manifest("fabric", "high-memory-gpu"),
            pod_manifest("attached", "sleep", "60", claim="fabric"),
        )
        node = cluster.wait_for_pod("attached")["spec"]["nodeName"]
        claim = cluster.read("resourceclaims", "fabric")
        assert node in ("worker-0", "worker-1")
        conditions = claim["status"]["devices"][0]["conditions"]
        assert [c["type"] for c in conditions] == ["fabric.example.com/attached"]
    finally:
        cluster.stop()


def test_a_silent_node_is_not_ready_its_pods_are_evicted_and_it_comes_back(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["l4"], lease_seconds=0.25)
    try:
        leaves = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
        cluster.apply(
            pod_manifest(
                "stranded",
                "sleep",
                "60",
                nodeSelector={"kubernetes.io/hostname": "l4-0"},
                tolerations=[{**leaves, "tolerationSeconds": 0}],
            )
        )
        cluster.wait_for_pod("stranded")
        cluster.kubectl("annotate", "node", "l4-0", "jupyter-dra.dev/fault=silent")
        cluster.wait(lambda: ready(cluster, "l4-0") == "Unknown")
        cluster.wait_gone("pods", "stranded")
        assert "NotReady" in cluster.kubectl("get", "node", "l4-0")
        cluster.apply(pod_manifest("elsewhere", "true"))
        cluster.wait_for_pod("elsewhere", "Succeeded")
        assert cluster.read("pods", "elsewhere")["spec"]["nodeName"] != "l4-0"
        cluster.kubectl("annotate", "node", "l4-0", "jupyter-dra.dev/fault-")
        cluster.wait(lambda: ready(cluster, "l4-0") == "True")
        cluster.wait(lambda: not (cluster.get("nodes", "l4-0") or {})["spec"].get("taints"))
    finally:
        cluster.stop()


def test_a_node_whose_object_was_deleted_registers_again(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["l4"], lease_seconds=0.25)
    try:
        cluster.kubectl("delete", "node", "l4-0")
        again = cluster.wait(lambda: cluster.get("nodes", "l4-0"))
        assert again["metadata"]["name"] == "l4-0"
    finally:
        cluster.stop()


def eviction(cluster: LocalCluster, rule_name: str) -> dict[str, Any]:
    status = (cluster.get("devicetaintrules", rule_name) or {}).get("status") or {}
    return dict(
        next(
            (c for c in status.get("conditions") or () if c["type"] == "EvictionInProgress"), {"message": ""}
        )
    )


def ready(cluster: LocalCluster, node: str) -> str:
    conditions = (cluster.get("nodes", node) or {}).get("status", {}).get("conditions") or []
    return str(next(c["status"] for c in conditions if c["type"] == "Ready"))
