"""Ask the API server's own code about every object of data/objects.jsonl and write down its answers.

Usage: python record.py ORACLE, where ORACLE is the program built from oracle/main.go.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"


def main() -> None:
    lines = (DATA / "objects.jsonl").read_bytes()
    answer = subprocess.run([sys.argv[1]], input=lines, capture_output=True, check=True).stdout
    with (DATA / "recorded.jsonl").open("w") as target:
        for line in answer.splitlines():
            entry = json.loads(line)
            text = entry.get("decode") or entry.get("error")
            target.write(json.dumps({"id": entry["id"], "text": text}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
