"""A session from a laptop: its pod's address means nothing there, and the network comes and goes."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from jupyter_dra.sessions.ports import KernelChannel
from tests.cluster.gateways import CertifiedFront, Gateway, certified_front, connect_proxy
from tests.localcluster_fixture import LocalCluster
from tests.sessions.test_launch import H100, launched

API = "client.authentication.k8s.io/v1"


@pytest.fixture
def front(cluster: LocalCluster, tmp_path: Path) -> Iterator[CertifiedFront]:
    made = certified_front(cluster, tmp_path)
    yield made
    made.gateway.stop()


@pytest.fixture
def proxy() -> Iterator[Gateway]:
    made = connect_proxy()
    yield made
    made.stop()


def laptop(front: CertifiedFront, proxy: Gateway, folder: Path) -> Path:
    """A kubeconfig with a login plugin that gives token and certificate, and a proxy on the way."""
    pair = front.authority.client("ada", "people")
    status = {
        "token": front.token,
        "clientCertificateData": pair.certificate.decode(),
        "clientKeyData": pair.key.decode(),
    }
    answer = {"apiVersion": API, "kind": "ExecCredential", "status": status}
    (folder / "login.py").write_text(f"print({json.dumps(answer)!r})\n")
    user = {"exec": {"apiVersion": API, "command": sys.executable, "args": [str(folder / "login.py")]}}
    path = front.kubeconfig(folder / "config", user, **{"proxy-url": f"http://127.0.0.1:{proxy.port}"})
    # Another context than the local cluster's own: pods on this machine's addresses are out of reach then.
    config = json.loads(path.read_text())
    config["contexts"][0]["name"] = config["current-context"] = "lab"
    path.write_text(json.dumps(config))
    return path


def at_home(kubeconfig: Path, folder: Path) -> Sessions:
    return Sessions(
        Where(kubeconfig=str(kubeconfig)),
        identity=load_identity(folder / "data", user="ada"),
        policy=SessionPolicy(cpu="1", host_memory="1Gi"),
    )


def said(channel: KernelChannel, code: str) -> str:
    printed: list[str] = []

    def told(message: Any) -> None:
        if message["type"] == "stream":
            printed.append(message["content"]["text"])

    channel.execute(code, told=told)
    return "".join(printed)


def test_port_forward_is_chosen_by_itself_and_outlives_drops_of_the_network_and_of_the_api_server(
    cluster: LocalCluster, front: CertifiedFront, proxy: Gateway, tmp_path: Path
) -> None:
    service = at_home(laptop(front, proxy, tmp_path), tmp_path)
    try:
        session_id = launched(service, H100)
        record = service.loop.call(service.get(session_id))
        assert record.kernels[0].transport == "port-forward"
        channel = service.channel(session_id)
        assert said(channel, "import os; x = 42; print(os.getpid())").strip()
        pod = cluster.get("pods", f"{session_id}-0", record.namespace)
        for gateway, gone in ((proxy, False), (front.gateway, False), (proxy, True)):
            events = len(service.loop.call(service.get(session_id)).history)
            gateway.cut(up=gone)

            def happened(name: str, since: int = events) -> bool:
                history = service.loop.call(service.get(session_id)).history
                return any(entry["event"] == name for entry in history[since:])

            cluster.wait(lambda: happened("connection-lost"), deadline=20)
            gateway.up = True
            cluster.wait(lambda: happened("connected-again"), deadline=20)
            assert said(channel, "x += 1; print(x)").strip().isdigit()
        assert said(channel, "print(x)") == "45\n", "the kernel is the one it was"
        channel.close()
        now = cluster.get("pods", f"{session_id}-0", record.namespace)
        assert now is not None and pod is not None
        assert now["metadata"]["uid"] == pod["metadata"]["uid"]
        service.loop.call(service.stop(session_id))
        assert service.loop.call(service.ended(session_id), 30).ended is not None
    finally:
        service.close(keep=False)
    assert set(front.gateway.seen) == {"ada"}
    assert set(proxy.seen) == {f"CONNECT 127.0.0.1:{front.gateway.port}"}


def test_a_cell_whose_answer_was_lost_on_the_way_is_told_and_the_kernel_has_its_result(
    cluster: LocalCluster,
    front: CertifiedFront,
    proxy: Gateway,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jupyter_dra.kernels.channel.LOST_SECONDS", 2.0)
    service = at_home(laptop(front, proxy, tmp_path), tmp_path)
    done = tmp_path / "done"
    try:
        session_id = launched(service, H100)
        channel = service.channel(session_id)
        code = f"open({str(tmp_path / 'begun')!r}, 'w'); import time; time.sleep(1); open({str(done)!r}, 'w'); y = 7"

        def network() -> None:
            cluster.wait((tmp_path / "begun").exists)
            proxy.cut(up=False)
            cluster.wait(done.exists)
            proxy.up = True

        away = threading.Thread(target=network)
        away.start()
        with pytest.raises(ClusterError) as caught:
            said(channel, code)
        away.join()
        assert caught.value.code == "output-lost"
        assert said(channel, "print(y)") == "7\n"
        channel.close()
    finally:
        service.close(keep=False)
