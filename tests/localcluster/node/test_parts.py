"""The parts of the agent that need no cluster: paths, variables, volumes, logs, images, drivers."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ConflictError, InputError
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.addresses import AddressPool
from jupyter_dra.localcluster.agent.environment import MissingSource, Place, container_environment, expand
from jupyter_dra.localcluster.agent.figures import Load, simulated_figures
from jupyter_dra.localcluster.agent.images import ImageTable
from jupyter_dra.localcluster.agent.logs import LogFile, LogQuery
from jupyter_dra.localcluster.agent.paths import PathMap
from jupyter_dra.localcluster.agent.volumes import (
    FileContent,
    Folders,
    materialize,
    remove_tree,
    write_atomically,
)
from jupyter_dra.localcluster.devicelocks import DeviceLocks
from jupyter_dra.localcluster.drivers import (
    PreparedDevice,
    container_devices,
    device_environment,
    metadata_files,
)

POD = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u-1", "labels": {"app": "x"}},
    "spec": {"nodeName": "n", "containers": [{"name": "main"}]},
}
PLACE = Place(POD, "127.64.0.9", "127.0.0.1")


class Objects:
    """The objects a pod refers to: one Secret of this data under every name, or none at all."""

    def __init__(self, **data: str) -> None:
        self.data = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        return {"data": self.data} if self.data else None

    async def config_map(self, namespace: str, name: str) -> dict[str, Any] | None:
        return None

    async def token(self, pod: Any, audience: str | None, seconds: int) -> str:
        return f"token of {pod['metadata']['name']} for {audience}, {seconds} s"


def device(name: str, *, simulated: bool = True, **more: Any) -> PreparedDevice:
    attributes = {"uuid": {"string": f"GPU-{name}"}, "type": {"string": "gpu"}}
    base = {
        "pod_claim": "gpu", "claim": "c", "template": False, "request": "gpu", "driver": "gpu.nvidia.com",
        "pool": "n", "name": name, "simulated": simulated, "attributes": attributes,
        "capacity": {"memory": {"value": "81559Mi"}},
    }  # fmt: skip
    return PreparedDevice(**{**base, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/jupyter-dra/podside/x.py", "/P/x.py"),
        ("--file=/jupyter-dra/podside", "--file=/P"),
        ("a:/jupyter-dra/podside:b", "a:/P:b"),
        ("exec python /jupyter-dra/podside/x.py;", "exec python /P/x.py;"),
        ("/jupyter-dra/other", "/J/other"),
        ("/jupyter-drafts", "/jupyter-drafts"),
        ("/opt/jupyter-dra/podside", "/opt/jupyter-dra/podside"),
        ("/jupyter-dra/podside-2", "/J/podside-2"),
    ],
)
def test_mount_points_are_rewritten_at_path_boundaries_only(text: str, expected: str) -> None:
    paths = PathMap({"/jupyter-dra": Path("/J"), "/jupyter-dra/podside/": Path("/P")})
    assert paths.rewrite(text) == expected


@pytest.mark.threat("T42")
def test_references_are_expanded_in_one_pass_and_never_by_a_shell() -> None:
    values = {"A": "$(B)", "B": "never"}
    assert expand("$(A) $$(A) $(C) `id` $(id) $", values) == "$(B) $(A) $(C) `id` $(id) $"


def test_a_required_key_that_is_missing_is_named() -> None:
    source: dict[str, Any] = {"name": "s", "key": "k"}
    container = {"env": [{"name": "X", "valueFrom": {"secretKeyRef": source}}]}
    with pytest.raises(MissingSource, match='secret "s" not found'):
        asyncio.run(container_environment(container, PLACE, Objects()))
    source["optional"] = True
    assert asyncio.run(container_environment(container, PLACE, Objects())) == {}


def test_whole_secrets_and_resource_limits_become_variables() -> None:
    container = {
        "envFrom": [{"prefix": "S_", "secretRef": {"name": "s"}}],
        "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}},
        "env": [
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {
                "name": "MIB",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
            },
            {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        ],
    }
    env = asyncio.run(container_environment(container, PLACE, Objects(**{"token": "t", "not a name": ""})))
    assert env == {"S_token": "t", "CPUS": "2", "MIB": "1024", "APP": "x"}


def test_an_update_of_a_volume_is_seen_at_once_or_not_at_all(tmp_path: Path) -> None:
    assert write_atomically(tmp_path, {"a": FileContent(b"1", 0o644), "b/c": FileContent(b"2", 0o400)})
    before = os.readlink(tmp_path / "..data")
    assert (tmp_path / "b" / "c").read_bytes() == b"2"
    assert not write_atomically(tmp_path, {"a": FileContent(b"1", 0o644), "b/c": FileContent(b"2", 0o400)})
    assert write_atomically(tmp_path, {"a": FileContent(b"3", 0o644)})
    assert (tmp_path / "a").read_bytes() == b"3"
    assert not (tmp_path / "b").is_symlink()
    assert os.readlink(tmp_path / "..data") != before
    assert len([name for name in os.listdir(tmp_path) if name.startswith("..2")]) == 1


@pytest.mark.threat("T41")
@pytest.mark.parametrize("path", ["../x", "/etc/x", "..data", "a/../../x", ""])
def test_a_key_cannot_lead_out_of_its_volume(tmp_path: Path, path: str) -> None:
    volume = {"name": "v", "secret": {"secretName": "s", "items": [{"key": "k", "path": path}]}}
    with pytest.raises(InputError):
        asyncio.run(materialize(volume, PLACE, Folders(tmp_path, tmp_path), Objects(k="t")))
    assert not list(tmp_path.rglob("x"))


def test_a_service_account_token_is_asked_for_and_kept_private(tmp_path: Path) -> None:
    token = {"serviceAccountToken": {"path": "token", "audience": "hub", "expirationSeconds": 600}}
    volume = {"name": "v", "projected": {"sources": [token]}}
    folder = asyncio.run(materialize(volume, PLACE, Folders(tmp_path, tmp_path), Objects()))
    assert (folder / "token").read_text() == "token of p for hub, 600 s"
    assert (folder / "token").stat().st_mode & 0o777 == 0o600


@pytest.mark.threat("T41")
def test_cleaning_up_follows_no_link_that_a_pod_left(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.mkdir()
    (canary / "file").write_text("alive")
    folder = tmp_path / "pod"
    folder.mkdir()
    (folder / "volumes").symlink_to(canary)
    remove_tree(folder)
    assert not folder.exists()
    link = tmp_path / "whole"
    link.symlink_to(canary)
    remove_tree(link)
    assert (canary / "file").read_text() == "alive"


@pytest.mark.threat("T41")
def test_a_log_is_read_through_what_was_opened_first(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "main-1.log")
    os.write(log.descriptor, b"mine\n")
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    (tmp_path / "main-1.log").unlink()
    (tmp_path / "main-1.log").symlink_to(secret)
    assert read(log, LogQuery()) == b"mine\n"
    with pytest.raises(FileExistsError):
        LogFile(tmp_path / "main-1.log")
    log.close()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (LogQuery(tail_lines=2), b"2\n3"),
        (LogQuery(tail_lines=0), b""),
        (LogQuery(tail_lines=9), b"1\n2\n3"),
        (LogQuery(limit_bytes=3), b"1\n2"),
        (LogQuery(since=1e12), b""),
    ],
)
def test_parts_of_a_log(tmp_path: Path, query: LogQuery, expected: bytes) -> None:
    log = LogFile(tmp_path / "x.log")
    os.write(log.descriptor, b"1\n2\n3")
    assert read(log, query) == expected
    log.close()


def test_a_flood_of_output_keeps_the_newest_and_says_so(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    line = b"x" * 1023 + b"\n"
    for _ in range(65):
        os.write(log.descriptor, line * 1024)
    log.note_growth()
    assert log.size() < 17 << 20
    assert read(log, LogQuery()).startswith(b"[the oldest output of this container was dropped]\n")
    log.close()


def read(log: LogFile, query: LogQuery) -> bytes:
    async def collect() -> bytes:
        return b"".join([block async for block in log.read(query)])

    return asyncio.run(collect())


@pytest.mark.threat("T42")
@pytest.mark.parametrize("name", ["../../x", "", " python", "a//b", "x/../y"])
def test_an_image_is_a_name_and_never_a_path(name: str) -> None:
    with pytest.raises(InputError):
        ImageTable().resolve(name, {})


def test_the_image_table_says_which_images_exist() -> None:
    table = ImageTable(missing=("old/*",))
    assert table.resolve("registry.invalid/a:1", {}) is None
    assert table.resolve("python:missing", {}) is None
    assert table.resolve("old/kernel:2", {}) is None
    found = table.resolve("quay.io/jupyter/scipy-notebook:2026", {"JUPYTERHUB_API_TOKEN": "t"})
    assert found is not None
    assert found.command == ("jupyterhub-singleuser",)
    python = table.resolve("python:3.13", {})
    assert python is not None
    assert python.executable("python3", python.search_path()) == python.interpreter


def test_metadata_files_are_streams_of_one_object_per_version() -> None:
    files = metadata_files(
        [device("gpu-0"), device("gpu-1"), device("x", template=True, pod_claim="nic")], POD
    )
    assert set(files) == {
        "resourceclaims/c/gpu/gpu.nvidia.com-metadata.json",
        "resourceclaimtemplates/nic/gpu/gpu.nvidia.com-metadata.json",
    }
    first, last = map(json.loads, files["resourceclaims/c/gpu/gpu.nvidia.com-metadata.json"].splitlines())
    assert first["apiVersion"] == "metadata.resource.k8s.io/v1alpha1"
    assert last["kind"] == "DeviceMetadata"
    assert [d["name"] for d in last["requests"][0]["devices"]] == ["gpu-0", "gpu-1"]


@pytest.mark.threat("T32")
def test_only_allocated_devices_of_this_machine_are_shown_to_vendor_libraries() -> None:
    assert device_environment([device("gpu-0")]) == {}
    real = device_environment([device("gpu-0", simulated=False)])
    assert real == {"NVIDIA_VISIBLE_DEVICES": "GPU-gpu-0", "CUDA_VISIBLE_DEVICES": "GPU-gpu-0"}


def test_a_container_sees_the_requests_it_names() -> None:
    devices = [device("gpu-0"), device("nic-0", request="nic"), device("alt", request="gpu/large")]
    everything = {"resources": {"claims": [{"name": "gpu"}]}}
    one = {"resources": {"claims": [{"name": "gpu", "request": "gpu"}]}}
    assert [d.name for d in container_devices(everything, devices)] == ["gpu-0", "nic-0", "alt"]
    assert [d.name for d in container_devices(one, devices)] == ["gpu-0", "alt"]
    assert container_devices({}, devices) == ()


def test_simulated_figures_are_marked_and_missing_where_no_memory_is_stated() -> None:
    own = Load(1 << 30, 40)
    figures = simulated_figures(device("gpu-0"), own, own)
    assert figures["simulated"] is True
    assert figures["memory_total_bytes"] == 81559 << 20
    assert figures["memory_used_bytes"] == (420 << 20) + (1 << 30)
    chip = simulated_figures(device("0", driver="tpu.google.com", capacity={}), own, own)
    assert (chip["memory_used_bytes"], chip["utilisation_percent"]) == (None, 40)
    assert chip["why_missing"] == "not-known"
    card = simulated_figures(device("nic-0", driver="dra.net", capacity={}), own, own)
    assert (card["memory_used_bytes"], card["utilisation_percent"]) == (None, None)


def test_a_shared_simulated_device_shows_the_sum_and_each_pods_own_part() -> None:
    first, second = Load(1 << 30, 80), Load(2 << 30, 60)
    figures = simulated_figures(device("gpu-0"), first, first.plus(second))
    assert figures["memory_used_bytes"] == 2 * (420 << 20) + (3 << 30)
    assert figures["memory_of_kernel_bytes"] == (420 << 20) + (1 << 30)
    assert figures["utilisation_percent"] == 100


@pytest.mark.threat("T40")
def test_two_clusters_do_not_hand_out_one_device(tmp_path: Path) -> None:
    ours, theirs = DeviceLocks(tmp_path / "locks"), DeviceLocks(tmp_path / "locks")
    ours.take("GPU-1", "pod-a", "pod default/a")
    ours.take("GPU-1", "pod-b", "pod default/b")
    with pytest.raises(ConflictError, match="pod default/a"):
        theirs.take("GPU-1", "pod-c", "pod default/c")
    ours.release("pod-a")
    with pytest.raises(ConflictError):
        theirs.take("GPU-1", "pod-c", "pod default/c")
    ours.release("pod-b")
    theirs.take("GPU-1", "pod-c", "pod default/c")
    theirs.release("pod-c")


@pytest.mark.threat("T40")
def test_a_planted_link_is_no_lock(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("keep")
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "GPU-1").symlink_to(target)
    with pytest.raises(ConflictError, match="cannot be used"):
        DeviceLocks(tmp_path / "locks").take("GPU-1", "pod", "pod default/a")
    assert target.read_text() == "keep"


def test_addresses_are_unique_while_in_use() -> None:
    pool = AddressPool()
    taken = [pool.take() for _ in range(600)]
    if taken[0] != "127.0.0.1":
        assert len(set(taken)) == 600
    assert all(address.startswith("127.") for address in taken)


@pytest.mark.threat("T42")
def test_nothing_is_sent_to_init_to_a_group_or_to_ourselves() -> None:
    assert not tree.send(0, 0)
    assert not tree.send(1, 0)
    assert not tree.send(-1, 0)
    assert not tree.send(os.getpid(), 0)
