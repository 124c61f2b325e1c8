"""The local cluster's times: ``python -m tests.perf.bench_localcluster`` (about half a minute).

Ready (both processes, slices published), a pod from its creation to its first line of output, the same with a claim
from a template, a hundred pods at once, and the end of it all. Each is set against something bare in the same run: a
bare interpreter for starts, a bare child process for pods. The machine may be busy: read the ratios.
"""

from __future__ import annotations

import http.client
import json
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.localcluster_fixture import LocalCluster, pod_manifest, start_local_cluster, template_manifest

STARTS, PODS, AT_ONCE = 5, 12, 100
HELLO = ("python", "-S", "-c", "print('hello', flush=True); import time; time.sleep(600)")
BARS = {"ready": 2.0, "pod to first output": 0.1, "pod with a claim": 0.1, "100 pods at once": 10.0}


class Wire:
    """One kept-alive connection to the API server: the bench must not measure its own handshakes."""

    def __init__(self, cluster: LocalCluster) -> None:
        config = json.loads(cluster.kubeconfig.read_text())
        address = urlsplit(cluster.server)
        context = ssl.create_default_context(cafile=str(cluster.dir / "pki" / "ca.crt"))
        self._connection = http.client.HTTPSConnection(address.hostname or "", address.port, context=context)
        self._headers = {
            "Authorization": f"Bearer {config['users'][0]['user']['token']}",
            "Content-Type": "application/json",
        }

    def send(self, method: str, path: str, body: Any = None) -> Any:
        self._connection.request(method, path, json.dumps(body) if body else None, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.headers.get_content_type() == "application/json" else text.decode()

    def close(self) -> None:
        self._connection.close()


def seconds(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not what():
        if time.monotonic() > deadline:
            raise AssertionError("not within two minutes")
        time.sleep(0.001)


def bare_interpreter() -> None:
    subprocess.run([sys.executable, "-c", "import aiohttp, tornado.web, cryptography.x509, yaml"], check=True)


def bare_child() -> None:
    with subprocess.Popen([sys.executable, *HELLO[1:]], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.kill()


def pod_time(wire: Wire, name: str, template: str | None) -> float:
    pods = "/api/v1/namespaces/default/pods"

    def whole() -> None:
        wire.send("POST", pods, pod_manifest(name, *HELLO, template=template))
        until(lambda: wire.send("GET", f"{pods}/{name}/log") == "hello\n")

    return seconds(whole)


def at_once(wire: Wire) -> float:
    pods = "/api/v1/namespaces/default/pods"

    def whole() -> None:
        for number in range(AT_ONCE):
            wire.send("POST", pods, pod_manifest(f"many-{number}", "sleep", "600"))
        until(lambda: running(wire) >= AT_ONCE)

    return seconds(whole)


def running(wire: Wire) -> int:
    selector = "/api/v1/namespaces/default/pods?fieldSelector=status.phase%3DRunning"
    return sum(item["metadata"]["name"].startswith("many-") for item in wire.send("GET", selector)["items"])


def show(name: str, times: list[float], bare: float) -> None:
    middle = statistics.median(times)
    bar = BARS.get(name)
    told = f"bar {bar:g} s {'met' if middle <= bar else 'MISSED'}" if bar else ""
    print(
        f"{name:<24} p50 {middle:7.3f} s   worst {max(times):7.3f} s   {middle / bare:6.2f} x bare   {told}"
    )


def main() -> None:
    bare_start = statistics.median(seconds(bare_interpreter) for _ in range(3))
    bare_pod = statistics.median(seconds(bare_child) for _ in range(5))
    print(f"bare: imports {bare_start:.3f} s, child process to its first line {bare_pod:.3f} s")
    starts, ends = [], []
    for _ in range(STARTS):
        began = time.perf_counter()
        cluster = start_local_cluster()
        starts.append(time.perf_counter() - began)
        ends.append(seconds(cluster.stop))
    show("ready", starts, bare_start)
    show("down", ends, bare_start)
    cluster = start_local_cluster()
    wire = Wire(cluster)
    try:
        wire.send(
            "POST",
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
            template_manifest("one", "high-memory-gpu"),
        )
        show("pod to first output", [pod_time(wire, f"plain-{n}", None) for n in range(PODS)], bare_pod)
        claims = min(PODS, 10)  # the default inventory has ten such devices in service
        show("pod with a claim", [pod_time(wire, f"claim-{n}", "one") for n in range(claims)], bare_pod)
        show("100 pods at once", [at_once(wire)], bare_pod)
        show("down with 120 pods", [seconds(cluster.stop)], bare_start)
    finally:
        wire.close()
        cluster.stop()


if __name__ == "__main__":
    main()
