"""Device figures: a fake NVML at its C boundary, the simulation of the local cluster, and honest gaps."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jupyter_dra.kernels import podmeter

KERNELS = Path(__file__).resolve().parents[2] / "jupyter_dra" / "kernels"
SOURCE = Path(__file__).parent / "data" / "fake_nvml.c"


@pytest.fixture(scope="module")
def podusage() -> ModuleType:
    """The module as podside loads it: a file, no package."""
    spec = importlib.util.spec_from_file_location("podusage", KERNELS / "podusage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.fail("No C compiler: the stand-in for NVIDIA's library cannot be built.")
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(SOURCE)], check=True, timeout=60)
    return str(path)


def device(uuid: str) -> dict[str, Any]:
    return {"name": "gpu-0", "attributes": {"gpu.nvidia.com/uuid": {"string": uuid}}}


def test_figures_are_those_of_the_allocated_device_and_of_the_kernels_processes(
    podusage: ModuleType, library: str, tmp_path: Path
) -> None:
    usage, seen = podusage.Sampler(str(tmp_path), library).sample([device("GPU-one")], [4242])
    assert usage["source"] == "nvml"
    assert usage["memory_used_bytes"] == 9 << 30
    assert usage["memory_total_bytes"] == 80 << 30
    assert usage["utilisation_percent"] == 87
    assert usage["by_kernel"] == [{"memory_used_bytes": 2 << 30}]
    assert usage["why_missing"] is None
    assert [entry["uuid"] for entry in seen["devices"]] == ["GPU-one", "GPU-two", "MIG-a", "MIG-b"]


def test_a_part_tells_its_memory_and_says_that_use_is_not_known(
    podusage: ModuleType, library: str, tmp_path: Path
) -> None:
    usage, _seen = podusage.Sampler(str(tmp_path), library).sample([device("MIG-a")], [])
    assert usage["memory_used_bytes"] == 9 << 30
    assert usage["utilisation_percent"] is None
    assert usage["why_missing"] == "not-on-a-part"


def test_what_the_driver_does_not_permit_is_said(podusage: ModuleType, library: str, tmp_path: Path) -> None:
    usage, _seen = podusage.Sampler(str(tmp_path), library).sample([device("GPU-two")], [])
    assert usage["memory_used_bytes"] is None
    assert usage["why_missing"] == "not-permitted"


@pytest.mark.threat("T32")
def test_an_allocated_device_that_cannot_be_seen_gives_no_figures_of_others(
    podusage: ModuleType, library: str, tmp_path: Path
) -> None:
    usage, seen = podusage.Sampler(str(tmp_path), library).sample([device("GPU-gone")], [])
    assert usage["why_missing"] == "no-device"
    assert usage["memory_used_bytes"] is None
    assert len(seen["devices"]) == 4


def test_without_any_library_nothing_is_zero(
    podusage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    usage, seen = podusage.Sampler(str(tmp_path), str(tmp_path / "none.so")).sample([], [])
    assert usage["why_missing"] == "no-library"
    assert usage["memory_used_bytes"] is None
    assert usage["by_kernel"] is None
    assert seen is None


def test_nvidia_smi_is_asked_where_the_library_is_missing(
    podusage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        f"#!{sys.executable}\nprint('GPU-one, NVIDIA L4, 1024, 23034, 7')\nprint('GPU-x, L4, 0, 9, [N/A]')\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    usage, _seen = podusage.Sampler(str(tmp_path), str(tmp_path / "none.so")).sample([device("GPU-one")], [])
    assert usage["source"] == "nvidia-smi"
    assert usage["memory_used_bytes"] == 1 << 30
    assert usage["utilisation_percent"] == 7


def test_simulated_figures_are_marked_and_network_cards_left_out(
    podusage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "figures.json"
    monkeypatch.setenv("JUPYTER_DRA_SIMULATED_USAGE", str(path))
    sampler = podusage.Sampler(str(tmp_path))
    waiting, _seen = sampler.sample([], [])
    assert waiting["why_missing"] == "not-known"
    gpu = {"uuid": "GPU-s", "memory_used_bytes": 5, "memory_total_bytes": 10, "utilisation_percent": 50}
    path.write_text(json.dumps({"devices": [gpu, {"uuid": "", "memory_total_bytes": None}, "x"]}))
    usage, seen = sampler.sample([], [])
    assert usage["simulated"] is True
    assert (usage["memory_used_bytes"], usage["memory_total_bytes"], usage["utilisation_percent"]) == (
        5,
        10,
        50,
    )
    assert [entry["uuid"] for entry in seen["devices"]] == ["GPU-s"]
    path.write_text("{" * 100_000)
    assert sampler.sample([], [])[0]["why_missing"] == "not-known"


def test_only_devices_that_cuda_may_use_count_as_seen(
    podusage: ModuleType, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-a")
    usage, seen = podusage.Sampler(str(tmp_path), library).sample([device("MIG-a")], [])
    assert [entry["uuid"] for entry in seen["devices"]] == ["MIG-a"]
    assert usage["memory_used_bytes"] == 9 << 30
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    _usage, seen = podusage.Sampler(str(tmp_path), library).sample([device("MIG-a")], [])
    assert len(seen["devices"]) == 4, "numbers are those of CUDA, not of NVML"


def amd(address: str, **attributes: str) -> dict[str, Any]:
    named = {"resource.kubernetes.io/pciBusID": address, "gpu.amd.com/productName": "MI300X", **attributes}
    return {"name": "gpu-0", "attributes": {key: {"string": value} for key, value in named.items()}}


def test_amds_cards_are_measured_by_their_drivers_files_and_only_the_allocated_ones(
    podusage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pci = tmp_path / "pci"
    for address, vendor, busy in (("0000:05:00.0", "0x1002", "37"), ("0000:06:00.0", "0x1002", "99")):
        (pci / address).mkdir(parents=True)
        files = {"vendor": vendor, "gpu_busy_percent": busy}
        files |= {"mem_info_vram_used": str(9 << 30), "mem_info_vram_total": str(192 << 30)}
        for name, text in files.items():
            (pci / address / name).write_text(text + "\n")
    sampler = podusage.Sampler(str(tmp_path), str(tmp_path / "none.so"), str(pci))
    usage, seen = sampler.sample([amd("0000:05:00.0")], [])
    assert (usage["source"], usage["utilisation_percent"], usage["memory_used_bytes"]) == (
        "sysfs",
        37,
        9 << 30,
    )
    assert len(usage["devices"]) == 1
    assert seen is None, "sysfs shows the machine, not the pod"
    part, _seen = sampler.sample([amd("0000:05:00.0", **{"gpu.amd.com/type": "amdgpu-partition"})], [])
    assert (part["memory_used_bytes"], part["why_missing"]) == (None, "not-on-a-part")
    for address in ("0000:07:00.0", "../0000:05:00.0", ""):
        gone, _seen = sampler.sample([amd(address)], [])
        assert gone["why_missing"] == "no-library"


def test_the_first_figures_of_a_pod_come_soon_and_the_later_ones_at_the_usual_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(podmeter, "FIRST_PAUSE", 0.01)
    now, told = [0.0], asyncio.Event()

    class Blind:
        def sample(self, devices: Any, pids: Any) -> tuple[dict[str, Any], None]:
            return {}, None

    async def next_sample(seconds: float) -> None:
        told.clear()
        await asyncio.wait_for(told.wait(), seconds)

    async def main() -> None:
        sampler: Any = Blind()
        meter = podmeter.Meter(sampler, "/nowhere", every=60.0, clock=lambda: now[0])
        task = asyncio.create_task(meter.run(lambda: ([], []), told.set))
        for _ in range(3):
            await next_sample(10)
        now[0] = podmeter.FIRST_SECONDS
        await next_sample(10)
        with pytest.raises(TimeoutError):
            await next_sample(0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
