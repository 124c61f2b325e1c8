"""Without a cluster: help, manifests, plans on files, and every failure in words with its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from jupyter_dra.cli.main import COMMANDS
from jupyter_dra.cluster import AUDIENCES

from .conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def dgx() -> list[str]:
    """Options that look at a packaged inventory instead of a cluster."""
    folder = files("jupyter_dra.localcluster") / "inventories"
    return ["--inventory", str(folder / "dgx-h100.yaml"), str(folder / "classes.yaml")]


def test_help_lists_every_command_and_the_exit_statuses(dra: Command) -> None:
    said = dra("--help")
    assert said.status == 0
    for command in COMMANDS:
        assert command.name in said.out
    assert "3 busy" in said.out


@pytest.mark.parametrize("command", [one.name for one in COMMANDS])
def test_every_command_explains_itself(dra: Command, command: str) -> None:
    said = dra(command, "--help")
    assert said.status == 0
    assert f"jupyter dra {command}" in said.out


def test_an_unknown_command_is_a_usage_error(dra: Command) -> None:
    said = dra("lunch")
    assert (said.status, "lunch" in said.err) == (2, True)


def test_help_loads_nothing_of_the_product() -> None:
    code = (
        "import sys; from jupyter_dra.cli.main import build_parser; build_parser().format_help(); "
        "sys.exit(', '.join({'yaml', 'kubernetes', 'jupyter_dra.claims', 'jupyter_client'} & set(sys.modules)) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr


def test_claim_prints_a_manifest_that_kubectl_would_take(dra: Command) -> None:
    said = dra("claim", "--tier", "high-memory-gpu", "--vram", "80GB", "--name", "vllm")
    assert said.status == 0
    claim = yaml.safe_load(said.out)
    assert claim["kind"] == "ResourceClaim"
    assert (
        json.loads(
            dra("claim", "--tier", "high-memory-gpu", "--vram", "80GB", "--name", "vllm", "-o", "json").out
        )
        == claim
    )


def test_claim_without_a_tier_chooses_from_the_inventory(dra: Command, dgx: list[str]) -> None:
    said = dra("claim", "--vram", "80GB", "-o", "json", *dgx)
    assert said.status == 0, said.err
    assert said.json["spec"]["devices"]["requests"][0]["name"] == "gpu"


@pytest.mark.parametrize(
    ("words", "verdict", "status"),
    [
        (("--vram", "80GB", "--tier", "gpu.nvidia.com"), "fits", 0),
        (("--vram", "800GB", "--tier", "gpu.nvidia.com"), "impossible", 4),
        (("--tier", "gpu.nvidia.com", "--where", 'device.capacity["memory"] > 1'), "invalid", 5),
    ],
)
def test_plan_answers_with_the_verdicts_exit_status(
    dra: Command, dgx: list[str], words: tuple[str, ...], verdict: str, status: int
) -> None:
    said = dra("plan", *words, "-o", "json", *dgx)
    assert (said.status, said.json["verdict"]) == (status, verdict), said.err
    assert dra("plan", *words, *dgx).status == status


def test_plan_takes_a_claim_from_a_file(dra: Command, dgx: list[str], tmp_path: Path) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text(dra("claim", "--tier", "gpu.nvidia.com", "--vram", "80GB").out)
    said = dra("plan", "-f", str(path), "-o", "json", *dgx)
    assert (said.status, said.json["verdict"]) == (0, "fits")


SURROUNDINGS = """
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
 spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: node-a},
 spec: {driver: gpu.example.com, nodeName: node-a, devices: [{name: gpu-0}, {name: gpu-1}, {name: gpu-2}],
        pool: {name: node-a, generation: 1, resourceSliceCount: 1}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: training, namespace: team-b},
 spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}},
 status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: node-a, device: gpu-1}]}},
          reservedFor: [{resource: pods, name: training-0, uid: "1"}]}}
---
"""
EVERYTHING = """
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: everything, namespace: team-a},
 spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: All}}]}}}
"""
POD = """
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: own, namespace: team-b},
 spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 2}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team-b},
 spec: {resourceClaims: [{name: a, resourceClaimName: training}, {name: b, resourceClaimTemplateName: own}],
        containers: [{name: c, image: i, resources: {claims: [{name: a}, {name: b}]}}]}}
---
"""


OFFERED_IN_PAIRS = """
{apiVersion: resource.k8s.io/v1, kind: DeviceClass,
 metadata: {name: pair, annotations: {jupyter-dra.dev/limits: '{"counts": [2]}'}},
 spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: two, namespace: team-a},
 spec: {hard: {gpu.deviceclass.resource.k8s.io/devices: "2"}},
 status: {hard: {gpu.deviceclass.resource.k8s.io/devices: "2"},
          used: {gpu.deviceclass.resource.k8s.io/devices: "1"}}}
"""


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (["--tier", "pair"], 0, "Fits now"),
        (["--tier", "pair", "--count", "1"], 7, "1 device of pair is not offered.\n  → Ask for 2."),
        (["--tier", "gpu"], 0, "Fits now"),
        (
            ["--tier", "gpu", "--count", "2"],
            7,
            "launch: no (quota) · Quota two allows 2 gpu.deviceclass.resource.k8s.io/devices, 1 are used, 2 asked.",
        ),
        (["--tier", "gpu", "--count", "4"], 4, "Not possible here"),
    ],
    ids=[
        "the-tiers-own-number",
        "number-not-offered",
        "within-the-quota",
        "over-the-quota",
        "impossible-comes-first",
    ],
)
def test_a_plan_that_may_not_be_launched_ends_as_the_launch_would(
    dra: Command, tmp_path: Path, words: list[str], status: int, told: str
) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(SURROUNDINGS + OFFERED_IN_PAIRS)
    said = dra("plan", *words, "--inventory", str(path), "--namespace", "team-a")
    assert said.status == status, said.err
    assert told in said.out


def test_a_claim_from_files_asks_for_the_number_its_tier_is_offered_in(dra: Command, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(SURROUNDINGS + OFFERED_IN_PAIRS)
    for words, count in ([], 2), (["--count", "1"], 1):
        said = dra("claim", "--tier", "pair", *words, "--inventory", str(path), "-o", "json")
        assert said.json["spec"]["devices"]["requests"][0]["exactly"]["count"] == count


def test_a_file_may_hold_a_claim_with_its_surroundings(dra: Command, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(SURROUNDINGS + EVERYTHING)
    said = dra("plan", "-f", str(path), "--inventory", str(path))
    assert said.status == 3
    assert "2 are free, but All needs every matching device of a node free." in said.out
    assert "2 instead of all devices" in said.out

    path.write_text(SURROUNDINGS + POD + EVERYTHING)
    plan = dra("plan", "-f", str(path), "--inventory", str(path), "-o", "json").json
    assert plan["verdict"] == "fits", "the pod's two claims: one allocated already, one of two devices"
    assert {one["device"] for one in plan["nodes"][0]["devices"]} == {"gpu-0", "gpu-2"}
    path.write_text(SURROUNDINGS + POD)
    assert dra("check", str(path)).out.rstrip().endswith("needs 3 devices")


def test_tiers_and_devices_of_files(dra: Command, dgx: list[str]) -> None:
    tiers = dra("tiers", "-o", "json", *dgx)
    assert tiers.status == 0, tiers.err
    assert "gpu.nvidia.com" in [one["name"] for one in tiers.json["tiers"]]
    devices = dra("devices", "-o", "json", *dgx)
    assert {one["state"] for one in devices.json["devices"]} == {"free"}
    assert "H100" in dra("devices", *dgx).out


@pytest.mark.parametrize(
    ("words", "status", "say"),
    [
        (("plan", "--vram", "lots", "--inventory", "x"), 5, "80GB"),
        (("claim", "--tier", "t", "--requirement", "["), 5, "JSON"),
        (("plan", "--inventory", "/nowhere.yaml"), 5, "/nowhere.yaml"),
        (("claim",), 8, "local up"),
        (("tiers",), 8, "local up"),
        (("run", "nothing.ipynb"), 5, "nothing.ipynb"),
        (("stop",), 5, "--all"),
        (("local", "status"), 1, ""),
        (("plan", "--frobnicate"), 2, "frobnicate"),
    ],
)
def test_failures_are_said_in_words_with_a_next_step(
    dra: Command, words: tuple[str, ...], status: int, say: str
) -> None:
    said = dra(*words)
    assert said.status == status, said.err
    assert say in said.err
    assert "Traceback" not in said.err


def test_the_published_example_is_refused_mended_and_then_clean(dra: Command, tmp_path: Path) -> None:
    published = EXAMPLES / "vllm" / "as-published.yaml"
    said = dra("check", str(published), "-o", "json")
    assert said.status == 1
    texts = [finding["server"]["text"] for finding in said.json["findings"] if finding["server"]]
    assert any("found no matching overload for 'isGreaterThan'" in text for text in texts)
    assert any('unknown field "spec.devices.requests[0].deviceClassName"' in text for text in texts)
    fixed = dra("check", str(published), "--fix")
    assert fixed.status == 0
    mended = tmp_path / "fixed.yaml"
    mended.write_text(fixed.out)
    assert dra("check", str(mended)).status == 0


@pytest.mark.threat("T26")
def test_write_replaces_the_file_and_follows_no_link(dra: Command, tmp_path: Path) -> None:
    original = (EXAMPLES / "vllm" / "as-published.yaml").read_text()
    path = tmp_path / "manifests.yaml"
    path.write_text(original)
    assert dra("check", "--write", str(path)).status == 0
    assert path.read_text() != original
    assert path.read_text().splitlines()[0] == original.splitlines()[0]
    link = tmp_path / "link.yaml"
    target = tmp_path / "target.yaml"
    target.write_text(original)
    link.symlink_to(target)
    assert dra("check", "--write", str(link)).status == 5
    assert target.read_text() == original


@pytest.mark.threat("T26")
@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: [*d, *d]\n" * 3,
        "[" * 20_000,
        "!!python/object/apply:os.system ['touch canary']",
        "kind: Pod\nkind: Pod\n",
        "\tkind: Pod",
        "kind: \x00",
    ],
)
def test_a_hostile_document_is_a_finding_not_a_traceback(dra: Command, tmp_path: Path, text: str) -> None:
    path = tmp_path / "hostile.yaml"
    path.write_text(text)
    said = dra("check", str(path))
    assert said.status == 1
    assert "Traceback" not in said.out + said.err
    assert not (tmp_path / "canary").exists()


@pytest.mark.threat("T02")
def test_control_and_direction_characters_of_foreign_names_are_shown_as_escapes(
    dra: Command, tmp_path: Path
) -> None:
    evil = "gpu\x1b]52;c;ZXZpbA==\x07\u202egnp\u200b"
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"model": {"string": evil}}}],
        },
    }
    path = tmp_path / "s.json"
    path.write_text(json.dumps(slice_))
    for form in ("table", "yaml", "json"):
        out = dra("devices", "--inventory", str(path), "-o", form).out
        assert not {c for c in out if (ord(c) < 0x20 and c not in "\n\t") or c in "\u202e\u200b"}, form


def test_kernelspecs_per_tier_come_and_go(dra: Command) -> None:
    assert "No kernels" in dra("kernelspec", "list").out
    made = dra("kernelspec", "install", "--tier", "high-memory-gpu", "-o", "json")
    assert made.status == 0, made.err
    assert made.json["tier"] == "high-memory-gpu"
    assert dra("kernelspec", "list", "-o", "json").json["kernelspecs"][0]["name"] == made.json["name"]
    assert dra("kernelspec", "remove", "high-memory-gpu").status == 0
    assert dra("kernelspec", "remove", "high-memory-gpu").status == 1


def test_rbac_prints_manifests_for_each_audience(dra: Command) -> None:
    for audience in AUDIENCES:
        said = dra("rbac", audience, "--namespace", "team-a")
        assert said.status == 0
        kinds = {document["kind"] for document in yaml.safe_load_all(said.out)}
        assert kinds <= {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"}
        assert json.loads(dra("rbac", audience, "-o", "json").out)["kind"] == "List"


def test_a_pipe_that_has_no_dots_and_arrows_gets_escapes_instead_of_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {}}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "jupyter_dra.cli.main", "plan", "--tier", "gpu", "--inventory", str(path)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 6, done.stderr
    assert "Cannot be sure \\xb7 0 devices" in done.stdout
    assert done.stderr == ""


def test_a_claim_whose_cluster_does_not_answer_is_made_without_it_and_says_so(
    dra: Command, tmp_path: Path
) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "x"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    said = dra("claim", "--tier", "pair", "--kubeconfig", str(path), "-o", "json")
    assert said.status == 0
    assert said.json["spec"]["devices"]["requests"][0]["exactly"] == {"deviceClassName": "pair"}
    assert said.err.startswith("The claim was made without the cluster: ")
    assert dra("claim", "--kubeconfig", str(path)).status == 8, "any GPU: its tiers stand in the cluster only"
