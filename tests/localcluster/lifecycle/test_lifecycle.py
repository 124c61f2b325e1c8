"""Starting and stopping the local cluster, and what is left when something kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError, ConflictError, InputError
from jupyter_dra.localcluster import lifecycle
from jupyter_dra.localcluster.agent import tree
from jupyter_dra.localcluster.agent.surroundings import memory_folder
from tests.localcluster_fixture import LocalCluster, pod_manifest, start_local_cluster

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    running = start_local_cluster(tmp_path, ["l4"])
    yield running
    running.stop()


def options(folder: Path, **more: Any) -> lifecycle.UpOptions:
    return lifecycle.UpOptions(
        devices=("l4",),
        folder=str(folder),
        workdir=str(folder.parent),
        allow_root=IS_ROOT,
        **more,
    )


def mark_of(cluster: LocalCluster) -> str:
    return str(json.loads((cluster.dir / "plan.json").read_text())["mark"])


def pids_of(cluster: LocalCluster) -> dict[str, int]:
    facts = json.loads((cluster.dir / "cluster.json").read_text())
    return {"supervisor": facts["pid"], **facts["pids"]}


def wait_ended(pids: list[int], mark: str, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while any(tree.identity(pid) for pid in pids) or tree.marked(f"{mark}/"):
        if time.monotonic() > deadline:
            left = [pid for pid in pids if tree.identity(pid)]
            raise AssertionError(f"still alive: {left}, pods: {tree.marked(mark + '/')}")
        time.sleep(0.02)


def test_up_answers_with_the_contracts_status(cluster: LocalCluster) -> None:
    assert cluster.status["running"] is True
    assert cluster.status["kind"] == "LocalCluster"
    assert (cluster.status["nodes"], cluster.status["devices"]) == (3, 6)
    assert cluster.status["context"] == "jupyter-dra-local"
    assert cluster.status["pods"] == {"running": 0, "pending": 0}
    assert cluster.status["inventory"] == "l4"
    assert set(cluster.status) == set(lifecycle.status(folder=cluster.dir))


def test_a_second_up_with_equal_options_returns_the_running_cluster(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    again = lifecycle.up(options(cluster.dir))
    assert again["pid"] == cluster.status["pid"]
    with pytest.raises(ConflictError, match="runs already with other options"):
        lifecycle.up(replace(options(cluster.dir), devices=("tpu",)))


def test_down_leaves_no_process_and_no_credentials(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["l4"])
    cluster.apply(pod_manifest("runs", "sleep", "60"))
    cluster.wait_for_pod("runs")
    pids, mark = list(pids_of(cluster).values()), mark_of(cluster)
    assert lifecycle.down(folder=cluster.dir) is True
    wait_ended(pids, mark, 0.5)
    assert lifecycle.status(folder=cluster.dir)["running"] is False
    assert lifecycle.down(folder=cluster.dir) is False
    left = {path.name for path in cluster.dir.iterdir()}
    assert left - {".kube"} <= {
        "lock",
        "server.log",
        "agent.log",
        "supervisor.log",
    }  # .kube is kubectl's cache
    assert not memory_folder(mark).exists()


@linux_only
@pytest.mark.parametrize("victim", ["supervisor", "server", "agent"])
def test_killing_any_part_ends_the_rest_and_the_next_start_is_clean(tmp_path: Path, victim: str) -> None:
    cluster = start_local_cluster(tmp_path, ["l4"])
    tree_maker = (
        "import subprocess, time; subprocess.Popen(['sleep', '63'], start_new_session=True); time.sleep(63)"
    )
    cluster.apply(pod_manifest("family", "python", "-c", tree_maker))
    cluster.wait_for_pod("family")
    pids, mark = pids_of(cluster), mark_of(cluster)
    cluster.wait(lambda: len(tree.marked(f"{mark}/")) == 2)
    os.kill(pids[victim], signal.SIGKILL)
    wait_ended(list(pids.values()), mark)
    assert lifecycle.status(folder=cluster.dir)["running"] is False
    assert lifecycle.up(options(cluster.dir))["running"] is True
    assert lifecycle.down(folder=cluster.dir) is True


@linux_only
def test_the_next_start_sweeps_what_a_kill_of_everything_left(tmp_path: Path) -> None:
    cluster = start_local_cluster(tmp_path, ["l4"])
    cluster.apply(pod_manifest("family", "sleep", "64"))
    cluster.wait_for_pod("family")
    pids, mark = pids_of(cluster), mark_of(cluster)
    environment = {**os.environ, tree.MARK: f"{mark}/stray/main"}
    stray = subprocess.Popen(["sleep", "65"], env=environment, start_new_session=True)
    for pid in pids.values():
        tree.send(pid, signal.SIGKILL)
    assert lifecycle.up(options(cluster.dir))["running"] is True
    assert stray.wait(5) == -signal.SIGKILL
    assert lifecycle.down(folder=cluster.dir) is True


@pytest.mark.threat("T42")
@linux_only
def test_a_pid_that_now_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "66"])
    try:
        folder = tmp_path / "cluster"
        folder.mkdir(mode=0o700)
        noted = {"identities": {"server": f"{bystander.pid}:1"}, "mark": "00000000"}
        (folder / "processes.json").write_text(json.dumps(noted))
        facts = {"pid": bystander.pid, "identity": f"{bystander.pid}:1"}
        (folder / "cluster.json").write_text(json.dumps(facts))
        assert lifecycle.status(folder=folder)["running"] is False
        assert lifecycle.down(folder=folder) is False
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_cluster_ends_with_the_process_it_is_attached_to(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tests.localcluster_fixture import start_local_cluster\n"
        "start_local_cluster(Path(sys.argv[1]), ['l4']); print('up', flush=True); time.sleep(60)"
    )
    root = Path(__file__).parents[3]
    caller = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=root
    )
    assert caller.stdout is not None
    assert caller.stdout.readline() == b"up\n"
    folder = tmp_path / "cluster"
    facts = json.loads((folder / "cluster.json").read_text())
    mark = json.loads((folder / "plan.json").read_text())["mark"]
    caller.kill()
    caller.wait()
    caller.stdout.close()
    wait_ended([facts["pid"], *facts["pids"].values()], mark)


@pytest.mark.threat("T40")
@pytest.mark.skipif(not IS_ROOT, reason="only root can start as root")
def test_root_is_refused_unless_it_is_meant(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not start as root"):
        lifecycle.up(lifecycle.UpOptions(folder=str(tmp_path / "cluster")))


def test_an_unusable_inventory_is_told_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="neither a packaged inventory nor a readable file"):
        lifecycle.up(replace(options(tmp_path / "cluster"), devices=("nonsense",)))
    assert lifecycle.status(folder=tmp_path / "cluster")["running"] is False


def test_a_second_start_from_another_folder_joins_the_running_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    chosen = replace(options(tmp_path / "cluster", attached=True), workdir=None)
    first = lifecycle.up(chosen)
    try:
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert lifecycle.up(chosen)["pid"] == first["pid"]
        with pytest.raises(ConflictError):
            lifecycle.up(replace(chosen, workdir=str(tmp_path / "elsewhere")))
    finally:
        lifecycle.down(folder=tmp_path / "cluster")


def test_names_cannot_lead_out_of_the_folder() -> None:
    for name in ("../x", "", "a/b", "A", "x" * 60):
        with pytest.raises(InputError):
            lifecycle.local_folder(name)


@pytest.mark.threat("T39")
def test_everything_written_is_private(cluster: LocalCluster) -> None:
    assert cluster.dir.stat().st_mode & 0o777 == 0o700
    for path in cluster.dir.iterdir():
        if path.is_file():
            assert path.stat().st_mode & 0o077 == 0, path.name


def test_state_survives_in_a_file_and_lost_pods_are_marked_failed(tmp_path: Path) -> None:
    chosen = options(tmp_path / "cluster", state_file=str(tmp_path / "state.json"), attached=True)
    status = lifecycle.up(chosen)
    cluster = LocalCluster(Path(status["kubeconfig"]), tmp_path / "cluster", status)
    cluster.apply(pod_manifest("remembered", "sleep", "67"))
    cluster.wait_for_pod("remembered")
    lifecycle.down(folder=cluster.dir)
    status = lifecycle.up(chosen)
    again = LocalCluster(Path(status["kubeconfig"]), tmp_path / "cluster", status)
    try:
        pod = again.wait_for_pod("remembered", "Failed")
        terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        assert terminated["reason"] == "ContainerStatusUnknown"
    finally:
        again.stop()


@pytest.mark.threat("T40")
@pytest.mark.skipif(not IS_ROOT, reason="only root can act as another account")
def test_another_account_cannot_read_the_credentials(cluster: LocalCluster) -> None:
    cluster.dir.parent.chmod(0o755)
    for name in ("kubeconfig", "agent.kubeconfig", "pki/ca.crt", "server.log"):
        done = subprocess.run(
            ["cat", str(cluster.dir / name)], user=65534, group=65534, extra_groups=[], capture_output=True
        )
        assert done.returncode != 0, name
        assert done.stdout == b""


@pytest.mark.threat("T40")
def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "cluster").symlink_to(elsewhere)
    with pytest.raises(ClusterError, match="not a folder of this account"):
        lifecycle.up(options(tmp_path / "cluster"))
    assert not list(elsewhere.iterdir())
