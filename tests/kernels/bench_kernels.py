"""Round trips, bulk output and restart over relay and podside, beside a plain local kernel in the same run.

Run: ``python -m tests.kernels.bench_kernels``. Prints medians and ratios; not a timed test.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from jupyter_dra.kernels.control import PodControl
from jupyter_dra.kernels.relay import Relay
from jupyter_dra.kernels.tls import Dialer
from jupyter_dra.sessions.loop import BackgroundLoop

from .conftest import Pods, eventually

ROUNDS = 300
BULK = 30_000_000


def round_trip(client: BlockingKernelClient) -> float:
    began = time.perf_counter()
    client.execute("pass", reply=True, timeout=30)
    return time.perf_counter() - began


def bulk(client: BlockingKernelClient) -> float:
    """Megabytes per second of printed text."""
    while True:
        try:
            client.get_iopub_msg(timeout=0.2)
        except Exception as error:
            if type(error).__name__ != "Empty":
                raise
            break
    began, received = time.perf_counter(), 0
    client.execute(f"print('y' * {BULK})")
    while received < BULK:
        message = client.get_iopub_msg(timeout=60)
        if message["msg_type"] == "stream":
            received += len(message["content"]["text"])
    return received / (time.perf_counter() - began) / 1e6


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)] * 1000


def compare(name: str, local: list[float], ours: list[float]) -> None:
    left, right = statistics.median(local) * 1000, statistics.median(ours) * 1000
    print(
        f"{name}: local p50 {left:.2f} ms, ours p50 {right:.2f} ms (+{right - left:.2f} ms, x{right / left:.2f}); "
        f"p95 {percentile(local, 0.95):.2f} / {percentile(ours, 0.95):.2f} ms"
    )


def timed(action: Callable[[], Any]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def main() -> None:
    background = BackgroundLoop("bench")
    with tempfile.TemporaryDirectory() as folder:
        pods = Pods(Path(folder))
        pod = pods.start()
        local = KernelManager()
        local.start_kernel()
        plain = local.client()
        plain.start_channels()
        plain.wait_for_ready(timeout=60)
        assert pod.port
        control = background.call(PodControl.connect(Dialer(pod, pod.credentials)))

        async def open_relay() -> Relay:
            relay = Relay("bench")
            await relay.open()
            relay.retarget(pod, pod.credentials)
            return relay

        relay = background.call(open_relay())
        client = BlockingKernelClient()
        client.load_connection_info(relay.connection_info())
        client.start_channels()
        client.wait_for_ready(timeout=60)
        for _ in range(20):
            round_trip(plain), round_trip(client)
        pairs = [(round_trip(plain), round_trip(client)) for _ in range(ROUNDS)]
        compare("execute 'pass'", [a for a, _b in pairs], [b for _a, b in pairs])
        rates = [(bulk(plain), bulk(client)) for _ in range(3)]
        print(
            f"bulk output: local {max(a for a, _ in rates):.0f} MB/s, ours {max(b for _, b in rates):.0f} MB/s"
        )

        def restart() -> None:
            background.call(control.restart())
            client.execute("1", reply=True, timeout=30)

        def restart_local() -> None:
            local.restart_kernel(now=True)
            plain.wait_for_ready(timeout=30)

        times = [(timed(restart_local), timed(restart)) for _ in range(4)]
        compare("restart to first reply", [a for a, _ in times], [b for _, b in times])
        client.stop_channels()
        plain.stop_channels()
        local.shutdown_kernel(now=True)
        background.call(control.close())
        background.call(relay.close())
        pod.stop()
        eventually(lambda: pod.process.poll() is not None)
    background.close()


if __name__ == "__main__":
    main()
