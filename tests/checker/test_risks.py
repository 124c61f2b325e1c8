"""What the server accepts and experience warns about; other forms of documents; targets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_dra.checker import check
from jupyter_dra.claims import Requirement, build_claim
from jupyter_dra.planner import Inventory

from .conftest import codes, found, only


def claim(expression: str | None = None, **wish: Any) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": "gpu.nvidia.com", **wish}
    if expression is not None:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "team-a"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def nvidia(*devices: dict[str, Any]) -> Inventory:
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}", **device} for number, device in enumerate(devices)],
        },
    }
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.nvidia.com"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]},
    }
    return Inventory.from_objects([slice_, device_class])


H100 = {
    "attributes": {"productName": {"string": "NVIDIA H100"}},
    "capacity": {"memory": {"value": "81559Mi"}},
}
BARE: dict[str, Any] = {"attributes": {"type": {"string": "vfio"}}}


def test_a_selector_that_raises_on_a_device_of_the_inventory_is_an_error() -> None:
    risky = claim('device.attributes["gpu.nvidia.com"].productName.matches("H100")')
    assert check([risky], inventory=nvidia(H100)).findings == ()
    finding = only(check([risky], inventory=nvidia(H100, BARE)), "cel-raises")
    assert "no such key: productName on node-a/gpu-1" in finding.message
    assert finding.severity == "error"
    assert "has(" in (finding.fix or "")


def test_without_an_inventory_devices_of_the_driver_are_known_well_enough_to_warn() -> None:
    risky = claim('device.attributes["gpu.nvidia.com"].profile == "1g.5gb"', deviceClassName="any")
    assert only(check([risky]), "cel-unguarded").severity == "warning"
    guarded = claim(
        'device.attributes["gpu.nvidia.com"].?profile.orValue("") == "1g.5gb"', deviceClassName="any"
    )
    assert check([guarded]).findings == ()


def test_an_unknown_driver_is_only_hinted_at() -> None:
    finding = only(check([claim('device.attributes["x.example.org"].speed == 1')]), "cel-unguarded")
    assert finding.severity == "hint"


def test_binary_sizes_that_shut_out_cards_sold_under_the_number_are_warned_about() -> None:
    text = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80Gi")) >= 0'
    finding = only(check([claim(text)], inventory=nvidia(H100)), "literal-gi")
    assert "they report 81559Mi" in finding.message
    assert finding.fix == 'Write quantity("80G").'


def test_a_capacity_key_with_a_domain_is_mended_to_what_the_driver_publishes() -> None:
    wrong = claim(capacity={"requests": {"gpu.nvidia.com/memory": "10Gi"}})
    result = check([wrong], inventory=nvidia(H100), fix=True)
    assert result.clean
    assert "            memory: 10Gi" in str(result.fixed)


def test_all_devices_is_a_warning_beside_a_quota() -> None:
    everything = claim(allocationMode="All")
    assert only(check([everything]), "all-devices").severity == "hint"
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "team-a"},
        "spec": {"hard": {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "4"}},
    }
    assert only(check([everything, quota]), "all-devices").severity == "warning"
    assert check([everything]).devices_needed is None


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "img", "resources": {"claims": [{"name": "gpu"}]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
            "containers": [container],
            **spec,
        },
    }


def test_a_plugin_resource_beside_a_claim_is_removed() -> None:
    both = pod()
    both["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1", "memory": "1Gi"}
    result = check([claim(), both], fix=True)
    assert {finding.code for finding in result.repaired} == {"plugin-beside-claim"}
    assert "nvidia.com" not in str(result.fixed).partition("kind: Pod")[2]


def test_pod_tolerations_of_device_taints_are_sent_to_the_claim() -> None:
    tolerant = pod(tolerations=[{"key": "gpu.nvidia.com/xid", "operator": "Exists"}])
    finding = only(check([claim(), tolerant]), "pod-toleration")
    assert finding.path == "spec.tolerations[0]"
    assert "exactly.tolerations" in (finding.fix or "")


def test_a_container_may_name_only_requests_of_its_claim() -> None:
    wrong = pod()
    wrong["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu", "request": "card"}]
    assert only(check([claim(), wrong]), "request-missing").fix == (
        "Use one of gpu, or leave request out to get all devices."
    )


def test_a_missing_claim_is_told_where_the_cluster_is_known() -> None:
    lonely = pod()
    assert codes(json.dumps(lonely)) == set()
    assert only(check([lonely], inventory=nvidia(H100)), "claim-missing").severity == "warning"


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"])
def test_pod_templates_of_workloads_are_checked_with_their_paths(kind: str) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    template["spec"]["containers"][0]["resources"] = {}
    workload = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "w"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    assert only(check([workload]), "claim-unused").path == "spec.template.spec.resourceClaims[0]"


def test_jobs_and_cron_jobs_are_checked_too() -> None:
    spec = {**pod()["spec"], "restartPolicy": "Never", "resourceClaims": [{"name": "gpu"}]}
    job = {"template": {"spec": spec}}
    objects = [
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": job},
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "k"},
            "spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": job}},
        },
    ]
    assert [finding.path for finding in check(objects).findings] == [
        "spec.template.spec.resourceClaims[0]",
        "spec.jobTemplate.spec.template.spec.resourceClaims[0]",
    ]


def test_fields_of_features_a_target_lacks_are_named() -> None:
    shared = claim(capacity={"requests": {"memory": "1Gi"}})
    old = only(check([shared], target="1.35"), "field-dropped")
    assert old.path == "spec.devices.requests[0].exactly.capacity"
    assert "DRAConsumableCapacity" in (old.why or "")
    assert found(check([shared], target="1.37"), "field-dropped") == []


def test_misspelt_fields_are_renamed_and_misplaced_ones_shown_their_place() -> None:
    result = check([claim(selector=[], tolleration=[])], fix=True)
    assert {finding.fix for finding in result.repaired} == {
        "Did you mean selectors?",
        "Did you mean tolerations?",
    }
    wrong = pod(claims=[{"name": "gpu"}])
    finding = only(check([claim(), wrong]), "unknown-field")
    assert finding.path == "spec.claims"
    assert "spec.resources.claims" in (finding.fix or "") or "containers[].resources.claims" in (
        finding.fix or ""
    )


PROFILES = """\
singleuser:
  profileList:
  - display_name: With a GPU
    slug: gpu
    kubespawner_override:
      extra_pod_config:
        resourceClaims:
        - name: gpu
          resourceClaimTemplateName: one-gpu
  - display_name: Old style
    kubespawner_override:
      extra_resource_limits: {nvidia.com/gpu: "1"}
  - display_name: Wrong name
    kubespawner_override:
      extra_pod_config:
        resourceClaims: [{name: gpu, source: {resourceClaimName: c}}]
      extra_container_config:
        resources: {claims: [{name: card}]}
"""


def test_profile_lists_are_checked_profile_by_profile() -> None:
    result = check(PROFILES)
    assert [(finding.code, finding.item) for finding in result.findings] == [
        ("claim-unused", 0),
        ("extended-resource", 1),
        ("claim-unused", 2),
        ("field-moved", 2),
        ("not-found", 2),
    ]
    assert result.findings[0].object is not None
    assert result.findings[0].object.name == "gpu"
    assert result.findings[0].path == (
        "singleuser.profileList[0].kubespawner_override.extra_pod_config.resourceClaims"
    )


def kernelspec(**provisioner: Any) -> str:
    return json.dumps(
        {
            "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": "Python on a device",
            "language": "python",
            "metadata": {"kernel_provisioner": provisioner},
        },
        indent=1,
    )


def test_kernelspecs_must_hold_a_requirement() -> None:
    good = kernelspec(provisioner_name="dra-provisioner", config={"tier": "gpu", "vram": "80GB"})
    assert check(good).findings == ()
    wrong = only(
        check(kernelspec(provisioner_name="dra-provisioner", config={"device_class": "small"})), "requirement"
    )
    assert wrong.path.startswith("metadata.kernel_provisioner.config")
    assert wrong.line is not None
    assert wrong.line > 5
    bad_size = check(kernelspec(provisioner_name="dra-provisioner", config={"vram": "lots"}))
    assert only(bad_size, "requirement").path == "metadata.kernel_provisioner.config.vram"


def test_a_kernelspec_of_another_provisioner_is_not_ours_to_judge() -> None:
    assert check(kernelspec(provisioner_name="local-provisioner")).findings == ()
    misspelt = check(kernelspec(provisioner_name="jupyter-dra"), fix=True)
    assert '"provisioner_name": "dra-provisioner"' in str(misspelt.fixed)


def test_kinds_nobody_knows_are_passed_over_with_a_hint() -> None:
    result = check("apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\nspec: {requests: 3}\n")
    assert [(finding.code, finding.severity) for finding in result.findings] == [("kind-unknown", "hint")]
    assert result.clean


def test_pools_that_do_not_add_up_are_told() -> None:
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 2},
            "devices": [{"name": "gpu-0"}],
        },
    }
    other = {**slice_, "metadata": {"name": "t"}}
    assert only(check([slice_]), "pool-incomplete").severity == "warning"
    assert only(check([slice_, other]), "device-duplicate").severity == "error"


@pytest.mark.parametrize(
    "wish",
    [
        {"tier": "gpu.nvidia.com"},
        {"tier": "gpu.nvidia.com", "vram": "80GB", "architecture": ["Hopper", "Blackwell"], "count": 2},
        {"tier": "gpu.nvidia.com", "product": "A100", "or_else": [{"product": "L4", "count": 2}]},
        {
            "tier": "gpu.nvidia.com",
            "compute_capability": ">=8.0",
            "near": [{"tier": "rdma-nic"}],
            "align": "pcieRoot",
        },
        {"tier": "gpu.nvidia.com", "share": {"strategy": "time-slicing"}},
        {"tier": "mig.nvidia.com", "share": {"profile": "1g.10gb"}},
    ],
)
def test_claims_we_build_have_nothing_to_find(wish: dict[str, Any]) -> None:
    built = build_claim(Requirement.from_dict(wish), name="c", namespace="team-a")
    serious = [finding for finding in check([built]).findings if finding.severity != "hint"]
    assert serious == []


def test_a_taint_rule_is_migrated_only_where_v1_has_it() -> None:
    rule = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec:\n"
    rule += "  deviceSelector: {driver: gpu.example.com}\n  taint: {key: broken, effect: NoSchedule}\n"
    assert "apiVersion: resource.k8s.io/v1\n" in str(check(rule, fix=True, target="1.37").fixed)
    assert check(rule, fix=True, target="1.36").fixed == rule
    newest = rule.replace("v1beta2", "v1")
    assert only(check(newest, target="1.36"), "version-not-served").server is not None
