"""The published example: refused, mended, applied by the real kubectl, given a GPU above 40Gi."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_dra import check
from jupyter_dra.model import Quantity
from tests.localcluster_fixture import LocalCluster, local_cluster, shared_cluster

__all__ = ["local_cluster", "shared_cluster"]

VLLM = Path(__file__).parents[2] / "examples" / "vllm"


def memory_of(cluster: LocalCluster, driver: str, pool: str, device: str) -> Quantity:
    """What the slices say of a device."""
    for one in cluster.list("resourceslices"):
        spec = one["spec"]
        if (spec["driver"], spec["pool"]["name"]) == (driver, pool):
            for entry in spec.get("devices") or ():
                if entry["name"] == device:
                    return Quantity.parse(entry["capacity"]["memory"]["value"])
    raise AssertionError(f"{driver}/{pool}/{device} is in no slice")


def test_the_server_refuses_what_was_published_in_the_words_the_checker_foretold(
    local_cluster: LocalCluster,
) -> None:
    text = (VLLM / "as-published.yaml").read_text()
    said = local_cluster.kubectl("apply", "-f", "-", stdin=text, check=False)
    foretold = [one["server"]["text"] for one in check(text).as_dict()["findings"] if one["server"]]
    assert "found no matching overload for 'isGreaterThan'" in said
    assert 'unknown field "spec.devices.requests[0].deviceClassName"' in said
    assert foretold


def test_the_mended_manifests_apply_and_the_pod_gets_a_large_gpu(local_cluster: LocalCluster) -> None:
    fixed = check((VLLM / "as-published.yaml").read_text(), fix=True).as_dict()["fixed"]
    assert check(fixed).as_dict()["clean"]
    local_cluster.kubectl("apply", "-f", "-", stdin=fixed)
    claim = local_cluster.wait(
        lambda: (
            (found := local_cluster.get("resourceclaims", "vllm-gpu-claim"))
            and (found.get("status") or {}).get("allocation")
            and found
        )
    )
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert memory_of(local_cluster, result["driver"], result["pool"], result["device"]) > Quantity.parse(
        "40Gi"
    )
    local_cluster.wait_for_pod("vllm-inference")
    local_cluster.kubectl("delete", "pod", "vllm-inference", "--wait=true", "--timeout=30s")
    local_cluster.wait(
        lambda: (
            (left := local_cluster.get("resourceclaims", "vllm-gpu-claim"))
            and not left["status"].get("allocation")
        )
    )


@pytest.mark.parametrize("name", ["fixed.yaml"])
def test_the_mended_file_in_the_examples_is_what_fix_prints(name: str) -> None:
    fixed = check((VLLM / "as-published.yaml").read_text(), fix=True).as_dict()["fixed"]
    assert (VLLM / name).read_text() == fixed
