"""What runs in place of an image that has no command of its own here: it says so, and waits to be ended."""

from __future__ import annotations

import signal
import sys
import time


def main(image: str) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(
        f"stand-in: the local cluster pulls no images, so the program of {image} does not run here.\n"
        "stand-in: give the container a command to run one from this machine's Python environment.",
        flush=True,
    )
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[-1]))
