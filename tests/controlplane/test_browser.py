"""The sidebar's main journey, in Chromium, on the real control plane."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .lab import Lab

pytestmark = pytest.mark.controlplane
ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_the_stories_of_the_sidebar_are_true_on_the_real_cluster(lab: Lab) -> None:
    """Pick 80 GB, launch, run a cell on the device, stop; and cancel while starting: the very story of ``tests/ui``."""
    node = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "node.py")], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = {
        **os.environ,
        "PATH": f"{node}{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "JUPYTER_DRA_STORY_KUBECONFIG": str(lab.person()),
    }
    story = subprocess.run(
        ["node", "--test", "tests/ui/main_journey.test.mjs"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert story.returncode == 0, story.stdout[-4000:] + story.stderr[-2000:]
    for kind in ("pods", "resourceclaims", "secrets"):
        lab.wait(lambda kind=kind: not lab.list(kind))  # type: ignore[misc]
