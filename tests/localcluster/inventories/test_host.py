"""The GPUs of this machine as an inventory, through a stand-in for NVIDIA's library at its C boundary."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ConflictError
from jupyter_dra.localcluster.devicelocks import DeviceLocks
from jupyter_dra.sessions import Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.localcluster_fixture import LocalCluster

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "tests" / "kernels" / "data" / "fake_nvml.c"
COMMAND = "import sys; from jupyter_dra.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libnvidia-ml.so.1: one whole H100, one that does not answer, one split into two parts."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.fail("No C compiler: the stand-in for NVIDIA's library cannot be built.")
    folder = tmp_path_factory.mktemp("nvml")
    target = str(folder / "libnvidia-ml.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, str(SOURCE)], check=True, timeout=60)
    return folder


def read(library: Path, **environ: str) -> Any:
    """What a fresh process reads of this machine: objects, or the error in words."""
    code = (
        "import json\n"
        "from jupyter_dra.localcluster.hostdevices import NoHostDevices, host_objects\n"
        "try: print(json.dumps(host_objects('here')))\n"
        "except NoHostDevices as error: print(json.dumps([error.code, error.message, error.next_step]))\n"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": str(library), **environ}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_whole_card_is_published_as_the_vendors_driver_does(library: Path) -> None:
    _node, slices = read(library)
    assert slices["spec"]["driver"] == "gpu.nvidia.com"
    assert slices["metadata"]["annotations"] == {"jupyter-dra.dev/simulated": "false"}
    whole = slices["spec"]["devices"][0]
    assert whole == {
        "name": "gpu-0",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-one"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.65.6"},
            "cudaDriverVersion": {"version": "13.1.0"},
            "resource.kubernetes.io/pciBusID": {"string": "ffff:ff:1f.0"},
        },
        "capacity": {"memory": {"value": "81920Mi"}},
    }


def test_a_split_card_is_published_as_its_parts_and_a_silent_one_not_at_all(library: Path) -> None:
    _node, slices = read(library)
    names = [device["name"] for device in slices["spec"]["devices"]]
    assert names == ["gpu-0", "gpu-2-mig-1g10gb-19-0", "gpu-2-mig-1g10gb-19-1"]
    part = slices["spec"]["devices"][2]
    assert part["attributes"]["type"] == {"string": "mig"}
    assert part["attributes"]["profile"] == {"string": "1g.10gb"}
    assert part["attributes"]["uuid"] == {"string": "MIG-b"}
    assert part["attributes"]["parentUUID"] == {"string": "MIG-b"}
    assert part["attributes"]["productName"] == {"string": "NVIDIA H100 80GB HBM3"}
    assert part["capacity"]["memory"] == {"value": "9856Mi"}
    assert part["capacity"]["memorySlice1"] == {"value": "1"}
    assert "memorySlice0" not in part["capacity"]


@pytest.mark.parametrize(
    ("environ", "said", "next_step"),
    [
        ({"FAKE_NVML_BROKEN": "1"}, "no usable NVIDIA driver (Driver Not Loaded)", "--devices default"),
        ({"FAKE_NVML_COUNT": "0"}, "lists no GPU", "--devices default"),
    ],
)
def test_a_machine_without_a_usable_gpu_says_why_and_what_to_do(
    library: Path, environ: dict[str, str], said: str, next_step: str
) -> None:
    code, message, advice = read(library, **environ)
    assert code == "no-devices"
    assert said in message
    assert next_step in advice


def test_a_local_cluster_of_host_devices_refuses_a_machine_without_any(tmp_path: Path, library: Path) -> None:
    words = ["local", "up", "--devices", "host", "--allow-root"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(tmp_path)}
    env |= {"LD_LIBRARY_PATH": str(library), "FAKE_NVML_COUNT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 8
    assert "lists no GPU" in done.stderr
    assert "--devices default" in done.stderr
    assert not list(tmp_path.iterdir()), "nothing was begun"


def test_a_machine_whose_library_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    code, message, _ = read(tmp_path)
    assert code == "no-devices"
    assert "NVIDIA driver" in message


@pytest.fixture
def places(library: Path) -> Iterator[Callable[[], LocalCluster]]:
    """Starts clusters of this machine's GPUs, as accounts do that share its folder for temporary files."""
    shared = Path(tempfile.mkdtemp(prefix="jdt-"))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": str(library)}
    made: list[LocalCluster] = []

    def start() -> LocalCluster:
        runtime = shared / f"account-{len(made)}"
        runtime.mkdir(mode=0o700)
        around = {**env, "TMPDIR": str(shared), "XDG_RUNTIME_DIR": str(runtime)}
        words = ["local", "up", "--devices", "host", "--allow-root", "-o", "json"]
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *words], env=around, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        status = json.loads(done.stdout)
        assert status["simulated"] is False
        kubeconfig = Path(status["kubeconfig"])
        made.append(LocalCluster(kubeconfig, kubeconfig.parent, status))
        return made[-1]

    yield start
    for cluster in made:
        cluster.stop()
    shutil.rmtree(shared, ignore_errors=True)


WHOLE = {"tier": "gpu.nvidia.com", "host_memory": "1Gi", "cpu": "1"}
PART = {"tier": "mig.nvidia.com", "host_memory": "1Gi", "cpu": "1"}


def service_of(cluster: LocalCluster, folder: Path) -> Sessions:
    return Sessions(Where(kubeconfig=str(cluster.kubeconfig)), identity=load_identity(folder, user="ada"))


def told(service: Sessions, session_id: str, code: str) -> str:
    lines: list[str] = []
    channel = service.channel(session_id)
    channel.execute(code, told=lambda m: lines.append(str(m["content"].get("text") or "")))
    channel.close()
    return "".join(lines).strip()


SEEN = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ['NVIDIA_VISIBLE_DEVICES'])"


@pytest.mark.threat("T40")
def test_kernels_see_their_own_device_with_its_live_figures_and_two_accounts_never_share_one(
    places: Callable[[], LocalCluster], tmp_path: Path
) -> None:
    first, second = places(), places()
    ours, theirs = service_of(first, tmp_path / "a"), service_of(second, tmp_path / "b")
    try:
        whole = ours.loop.call(ours.launch(WHOLE)).id
        part = ours.loop.call(ours.launch(PART)).id
        for session_id in (whole, part):
            ours.loop.call(ours.ready(session_id), 60)
        assert told(ours, whole, SEEN) == "GPU-one GPU-one"
        assert told(ours, part, SEEN) in ("MIG-a MIG-a", "MIG-b MIG-b")

        def usage() -> Any:
            return ours.loop.call(ours.get(whole)).as_dict()["usage"]

        figures = first.wait(usage, deadline=20)
        assert (figures["source"], figures["simulated"]) == ("nvml", False)
        assert figures["utilisation_percent"] == 87
        assert [one["uuid"] for one in figures["devices"]] == ["GPU-one"]
        assert ours.loop.call(ours.get(whole)).simulated is False

        refused = theirs.loop.call(theirs.launch(WHOLE)).id
        found = second.wait(lambda: theirs.loop.call(theirs.get(refused)).ended, deadline=30)
        assert found.code == "prepare-failed"
        assert "GPU-one is in use: uid" in found.params["detail"]
    finally:
        ours.close(keep=False)
        theirs.close(keep=False)


def test_a_lock_of_another_account_is_opened_without_asking_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "locks"
    theirs = DeviceLocks(folder)
    theirs.take("GPU-1", "pod-a", "pod default/a")
    theirs.release("pod-a")
    real = os.open

    def protected(path: Any, flags: int, *mode: int) -> int:
        """fs.protected_regular: O_CREAT on a file of another account in a sticky folder is refused."""
        if flags & os.O_CREAT and Path(path).exists():
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr("jupyter_dra.localcluster.devicelocks.os.open", protected)
    ours = DeviceLocks(folder)
    ours.take("GPU-1", "pod-b", "pod default/b")
    with pytest.raises(ConflictError, match="pod default/b"):
        DeviceLocks(folder).take("GPU-1", "pod-c", "pod default/c")
