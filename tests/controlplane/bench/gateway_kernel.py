"""A driver for gateway-provisioners, run by a Python that has it: one launch per input line, one JSON line each.

It knows nothing of ours; what it measures is from ``start_kernel`` to the first result of a plain client.
"""

from __future__ import annotations

import json
import sys
import time

from jupyter_client.manager import KernelManager


def main() -> None:
    """Launch, run ``6*7``, shut down."""
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        manager = KernelManager(kernel_name="gateway-python")
        manager.start_kernel()
        client = manager.client()
        client.start_channels(hb=False)
        client.execute("6*7", reply=True, timeout=120)
        took = time.perf_counter() - began
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        print(json.dumps({"seconds": took}), flush=True)


if __name__ == "__main__":
    main()
