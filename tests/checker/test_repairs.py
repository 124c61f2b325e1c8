"""--fix: minimal edits that keep comments, order and quotes, and prove what they changed."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.checker import CheckResult, check, documents
from jupyter_dra.planner import Inventory

from .conftest import DATA


def fixed(text: str, **options: Any) -> str:
    """The mended text; the result must be clean."""
    result = check(text, fix=True, **options)
    assert result.undecided == ()
    assert result.clean
    assert isinstance(result.fixed, str)
    again = check(result.fixed, **{name: value for name, value in options.items() if name != "fix"})
    assert again.clean
    return result.fixed


def lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_the_published_example_is_mended_and_means_more_than_forty_gigabytes() -> None:
    before = (DATA / "as-published.yaml").read_text()
    after = fixed(before)
    kept = [line for line in before.split("\n") if line in after.split("\n")]
    assert len(kept) >= len(before.split("\n")) - 4
    device_class, claim, pod = documents(after)
    assert claim["spec"]["devices"]["requests"] == [
        {"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu", "count": 1}}
    ]
    assert pod == documents(before)[2]
    inventory = Inventory.from_objects([device_class, *slices("39Gi", "40Gi", "81559Mi", None)])
    matching = {
        device["name"]: device["tiers"]
        for device in inventory.devices()
        if device["tiers"] == ["high-memory-gpu"]
    }
    assert set(matching) == {"gpu-2"}


def slices(*sizes: str | None) -> list[dict[str, Any]]:
    devices = [
        {"name": f"gpu-{number}", **({"capacity": {"memory": {"value": size}}} if size else {})}
        for number, size in enumerate(sizes)
    ]
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "gpu.nvidia.com",
                "nodeName": "node-a",
                "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
                "devices": devices,
            },
        }
    ]


FLAT = """\
# who owns this
apiVersion: resource.k8s.io/v1beta1   # old
kind: ResourceClaim
metadata:
  name: flat   # stays
spec:
  devices:
    requests:
    # the device
    - deviceClassName: 'gpu.example.com'   # class
      # how many
      count: 2
      name: gpu

      selectors:
      - cel:
          expression: |
            device.driver == "gpu.example.com" &&
            true
    - name: either
      firstAvailable:
      - {name: a, deviceClassName: x}
"""
NESTED = """\
# who owns this
apiVersion: resource.k8s.io/v1   # old
kind: ResourceClaim
metadata:
  name: flat   # stays
spec:
  devices:
    requests:
    # the device
    - name: gpu
      exactly:
        deviceClassName: 'gpu.example.com'   # class
        # how many
        count: 2

        selectors:
        - cel:
            expression: |
              device.driver == "gpu.example.com" &&
              true
    - name: either
      firstAvailable:
      - {name: a, deviceClassName: x}
"""


def test_a_beta_claim_becomes_v1_with_its_comments_and_quotes() -> None:
    assert fixed(FLAT) == NESTED


def test_flow_style_stays_flow_style() -> None:
    before = (
        "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
        "spec: {spec: {devices: {requests: [{name: gpu, deviceClassName: c, count: 1}]}}}\n"
    )
    assert lines(fixed(before))[-1] == (
        "spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: c, count: 1}}]}}}"
    )


def test_devices_of_a_beta_slice_lose_a_level_and_keep_their_comments() -> None:
    before = (
        "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: s}\nspec:\n"
        "  driver: gpu.example.com\n  nodeName: node-a\n"
        "  pool: {name: node-a, generation: 1, resourceSliceCount: 1}\n  devices:\n  - name: gpu-0\n"
        "    basic:\n      # memory\n      capacity:\n        memory: {value: 80Gi}  # all of it\n"
        "  - {name: gpu-1, basic: {capacity: {memory: {value: 1Gi}}}}\n"
    )
    assert lines(fixed(before))[8:] == [
        "  - name: gpu-0",
        "    # memory",
        "    capacity:",
        "      memory: {value: 80Gi}  # all of it",
        "  - {name: gpu-1, capacity: {memory: {value: 1Gi}}}",
    ]


def test_objects_inside_a_list_are_mended_in_place() -> None:
    before = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: resource.k8s.io/v1beta2\n  kind: DeviceClass\n"
        "  metadata: {name: c}\n  spec: {}\n"
    )
    assert fixed(before) == before.replace("v1beta2", "v1")


TRAIN = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: train
  namespace: team-a
spec:
  replicas: 2
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers:
      - name: main
        image: registry.example.org/train:1
        resources:
          limits:
            cpu: "4"   # cores
            nvidia.com/gpu: 2
          requests:
            nvidia.com/gpu: 2
      - name: helper
        image: registry.example.org/helper:1
        resources:
          limits:
            nvidia.com/mig-1g.10gb: 1
"""


def test_plugin_resources_become_claim_templates_of_the_workload() -> None:
    first, second, workload = documents(fixed(TRAIN))
    assert first["kind"] == second["kind"] == "ResourceClaimTemplate"
    assert first["metadata"] == {"name": "train-2-gpu", "namespace": "team-a"}
    assert first["spec"]["spec"]["devices"]["requests"] == [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
    ]
    wish = second["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert wish["deviceClassName"] == "mig.nvidia.com"
    assert '"1g.10gb"' in wish["selectors"][0]["cel"]["expression"]
    pod = workload["spec"]["template"]["spec"]
    assert pod["resourceClaims"] == [
        {"name": "gpu", "resourceClaimTemplateName": "train-2-gpu"},
        {"name": "mig", "resourceClaimTemplateName": "train-mig"},
    ]
    assert pod["containers"][0]["resources"] == {"limits": {"cpu": "4"}, "claims": [{"name": "gpu"}]}
    assert pod["containers"][1]["resources"] == {"claims": [{"name": "mig"}]}
    assert "# cores" in fixed(TRAIN)


@pytest.mark.parametrize(
    ("resource", "device_class"),
    [
        ("nvidia.com/gpu", "gpu.nvidia.com"),
        ("amd.com/gpu", "gpu.amd.com"),
        ("google.com/tpu", "tpu.google.com"),
    ],
)
def test_each_vendors_resource_has_its_class(resource: str, device_class: str) -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: img\n"
        f"    resources: {{limits: {{{resource}: 1}}}}\n"
    )
    template, _ = documents(fixed(pod))
    assert template["spec"]["spec"]["devices"]["requests"][0]["exactly"] == {"deviceClassName": device_class}


def test_a_class_that_names_the_resource_is_used_instead() -> None:
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "big"},
        "spec": {"extendedResourceName": "nvidia.com/gpu"},
    }
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: img\n"
        "    resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    result = check(pod, fix=True, target="1.35", inventory=Inventory.from_objects([device_class]))
    assert isinstance(result.fixed, str)
    assert documents(result.fixed)[0]["spec"]["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "big"
    }


def test_a_resource_nobody_can_translate_stays_and_is_told() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: img\n"
        "    resources: {limits: {nvidia.com/gpu.shared: 1}}\n"
    )
    result = check(pod, fix=True)
    assert result.fixed == pod
    assert [finding.code for finding in result.undecided] == ["extended-resource"]
    assert not result.clean


def test_alpha_manifests_are_refused_with_the_way_and_a_draft() -> None:
    text = (
        "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaimTemplate\nmetadata: {name: t, namespace: team-a}\n"
        "spec:\n  spec:\n    resourceClassName: gpu.example.com\n    allocationMode: WaitForFirstConsumer\n"
        "    parametersRef: {apiGroup: gpu.example.com, kind: GpuParameters, name: small}\n"
    )
    result = check(text, fix=True)
    assert result.fixed == text
    assert not result.clean
    paths = {finding.path for finding in result.undecided}
    assert paths == {
        "apiVersion",
        "spec.spec.resourceClassName",
        "spec.spec.allocationMode",
        "spec.spec.parametersRef",
    }
    way = next(finding.fix for finding in result.undecided if finding.path == "apiVersion")
    assert way is not None
    assert "# Guess: nothing of GpuParameters small is in here" in way
    assert check(way.partition("A draft:\n")[2]).clean


def test_an_anchored_object_is_left_alone_when_the_edit_would_change_its_copies() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- &claim\n  apiVersion: resource.k8s.io/v1beta1\n  kind: ResourceClaim\n  metadata: {name: a}\n"
        "  spec: {devices: {requests: [{name: gpu, deviceClassName: c}]}}\n- *claim\n"
    )
    result = check(text, fix=True)
    assert result.fixed == text
    assert not result.clean


def test_json_stays_json_in_its_own_indentation() -> None:
    text = (
        '{\n    "apiVersion": "resource.k8s.io/v1",\n    "kind": "ResourceClaim",\n    "metadata": {"name": "c"},\n'
        '    "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "x"}]}}\n}\n'
    )
    after = fixed(text)
    import json

    assert json.loads(after)["spec"]["devices"]["requests"] == [
        {"name": "gpu", "exactly": {"deviceClassName": "x"}}
    ]
    assert after.startswith('{\n    "apiVersion"')


def test_a_claim_no_container_uses_is_given_to_the_first_one() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        "  resourceClaims:\n  - {name: gpu, resourceClaimName: c}\n"
        "  containers:\n  - name: kernel\n    image: img   # the image\n    resources:\n      requests: {cpu: '2'}\n"
    )
    after = fixed(pod)
    assert documents(after)[0]["spec"]["containers"][0]["resources"] == {
        "claims": [{"name": "gpu"}],
        "requests": {"cpu": "2"},
    }
    assert "# the image" in after
    assert "{cpu: '2'}" in after


def test_what_was_repaired_is_listed_beside_what_is_left() -> None:
    result: CheckResult = check((DATA / "as-published.yaml").read_text(), fix=True)
    assert {finding.code for finding in result.repaired} == {"cel-compile", "field-moved"}
    assert result.count("error") == 0


def test_a_sound_text_comes_back_unchanged() -> None:
    for path in sorted((DATA / "sound").glob("*.yaml")):
        text = path.read_text()
        assert check(text, fix=True).fixed == text


@pytest.mark.parametrize("ending", ["\n", "", "\n\n# the end\n"])
def test_endings_of_files_are_kept(ending: str) -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec:\n  devices:\n    requests:\n"
        f"    - name: gpu\n      deviceClassName: x{ending}"
    )
    assert fixed(text) == text.replace(
        "      deviceClassName: x", "      exactly:\n        deviceClassName: x"
    )
