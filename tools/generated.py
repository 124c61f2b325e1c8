"""Files made from the code: written, or with ``--check`` only compared."""

from __future__ import annotations

import sys
from pathlib import Path


def write_or_check(target: Path, text: str, tool: str) -> int:
    """Write ``text`` to ``target``; where the command line says ``--check``, return 1 if it differs instead."""
    if "--check" not in sys.argv:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{target} is not current: run python {tool}", file=sys.stderr)
    return 1
