"""Trouble of the real thing: a node that falls silent, connections that are cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.gateways import connect_proxy
from tests.kernels.test_podside import run
from tests.sessions.test_launch import launched
from tests.sessions.test_lost_pods import replaced

from .lab import DIRECT, Lab, LabPlace
from .test_product import kernel_of

pytestmark = pytest.mark.controlplane
MERGE = "application/merge-patch+json"


@contextmanager
def silent_node(lab: Lab, name: str) -> Iterator[None]:
    """One of the nodes stops renewing its lease; if all did, nobody would be evicted."""
    fault = "jupyter-dra.dev/fault"
    node = f"/api/v1/nodes/{name}"
    lab.request("PATCH", node, {"metadata": {"annotations": {fault: "silent"}}}, content_type=MERGE)
    try:
        yield
    finally:
        lab.request("PATCH", node, {"metadata": {"annotations": {fault: None}}}, content_type=MERGE)
        lab.wait(lambda: not lab.request("GET", node)["spec"].get("taints"), deadline=60)


@pytest.mark.slow
def test_a_kernel_of_a_node_that_falls_silent_comes_back_on_another(place: LabPlace) -> None:
    service = place.service()
    session_id = launched(service, {"tier": "gpu.nvidia.com", "cpu": "1", "host_memory": "1Gi"})
    node = service.loop.call(service.get(session_id)).devices[0].node
    assert node is not None
    with silent_node(place.lab, node):
        after = replaced(place, service, session_id, deadline=90)
        assert [one.get("code") for one in after.history if one["event"] == "pod-lost"] == ["node-lost"]
        assert after.devices[0].node not in (None, node)


def test_connections_that_are_cut_hide_no_loss(place: LabPlace, tmp_path: Path) -> None:
    proxy = connect_proxy()
    config = json.loads(place.lab.plane.kubeconfig("scientist", place.namespace, context=DIRECT).read_text())
    config["clusters"][0]["cluster"]["proxy-url"] = f"http://127.0.0.1:{proxy.port}"
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    service = place.service_as("scientist", kubeconfig=path)
    try:
        session_id = launched(service)
        with kernel_of(service, session_id) as client:
            proxy.cut(up=False)
            assert run(client, "print('still here')") == "still here\n"
            place.lab.request("DELETE", f"/api/v1/namespaces/{place.namespace}/pods/{session_id}-0")
            place.lab.wait_gone("pods", f"{session_id}-0", place.namespace)
            proxy.up = True
        # The claim went with its pod meanwhile: the same wish is met anew.
        assert replaced(place, service, session_id).kernels[0].pod == f"{session_id}-1"
        with kernel_of(service, session_id) as client:
            assert run(client, "print('back')") == "back\n"
    finally:
        service.close(keep=False)
        proxy.stop()
