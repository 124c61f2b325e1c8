"""The agent and its drivers, unchanged, under the real control plane of Kubernetes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.controlplane.build import CannotBuild, program
from tests.controlplane.plane import ControlPlane
from tests.localcluster_fixture import claim_manifest, pod_manifest, start_node_agent, template_manifest

pytestmark = pytest.mark.controlplane

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    try:
        program()
    except CannotBuild as reason:
        pytest.fail(str(reason))
    with ControlPlane() as running:
        agent = start_node_agent(running.kubeconfig("admin"), running.pki)
        try:
            yield running
        finally:
            agent.stop()


def wait(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while not (value := what()):
        assert time.monotonic() < deadline, "not within a minute"
        time.sleep(0.05)
    return value


def phase(plane: ControlPlane, pod: str, wanted: str) -> dict[str, Any] | None:
    found = plane.get(f"{PODS}/{pod}")
    return found if found.get("status", {}).get("phase") == wanted else None


def test_a_pod_with_a_generated_claim_runs_logs_and_ends(plane: ControlPlane) -> None:
    program_text = "import os; print('on', os.environ['POD_IP'], flush=True); raise SystemExit(3)"
    env = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    plane.call("POST", TEMPLATES, template_manifest("one", "high-memory-gpu"))
    pod = pod_manifest("hello", "python", "-c", program_text, template="one", container={"env": env})
    assert plane.call("POST", PODS, pod)[0] == 201
    ended = wait(lambda: phase(plane, "hello", "Failed"))
    terminated = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert terminated["exitCode"] == 3
    assert plane.get(f"{PODS}/hello/log", raw=True) == f"on {ended['status']['podIP']}\n"
    wait(lambda: not plane.get(CLAIMS)["items"])


def test_a_claim_is_freed_when_its_pod_was_deleted(plane: ControlPlane) -> None:
    plane.call("POST", CLAIMS, claim_manifest("mine", "medium-gpu"))
    plane.call("POST", PODS, pod_manifest("held", "sleep", "600", claim="mine"))
    wait(lambda: phase(plane, "held", "Running"))
    assert plane.get(f"{CLAIMS}/mine")["status"]["allocation"]
    plane.call("DELETE", f"{PODS}/held")
    wait(lambda: plane.get(f"{PODS}/held").get("kind") == "Status")
    wait(lambda: not plane.get(f"{CLAIMS}/mine").get("status", {}).get("allocation"))


def test_an_extended_resource_reaches_its_container(plane: ControlPlane) -> None:
    listing = "import os; print(os.listdir(os.environ['JUPYTER_DRA_DEVICE_ATTRIBUTES'] + '/resourceclaims'))"
    asks = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    plane.call("POST", PODS, pod_manifest("classic", "python", "-c", listing, container=asks))
    wait(lambda: phase(plane, "classic", "Succeeded"))
    assert "classic-extended-resources-" in plane.get(f"{PODS}/classic/log", raw=True)


def test_slices_and_nodes_are_as_the_inventory_says(plane: ControlPlane) -> None:
    slices = plane.get("/apis/resource.k8s.io/v1/resourceslices")["items"]
    assert len(slices) == 8
    assert all(
        item["metadata"]["ownerReferences"][0]["kind"] == "Node"
        for item in slices
        if item["spec"].get("nodeName")
    )
    ready = {
        node["metadata"]["name"]
        for node in plane.get("/api/v1/nodes")["items"]
        if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
    }
    assert len(ready) == 5, json.dumps(sorted(ready))
