"""Private folders: who made them, when they go, and what is never touched."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_dra.kernels.folders import PrivateFolder, sweep

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="folders are swept by locks and process numbers"
)

_HOLDER = """
import sys
from jupyter_dra.kernels.folders import PrivateFolder
folder = PrivateFolder(sys.argv[1])
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_a_folder_is_private_and_goes_at_the_end(tmp_path: Path) -> None:
    with PrivateFolder(str(tmp_path)) as path:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
        sweep(str(tmp_path))
        assert os.path.isdir(path)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_processes_are_removed_at_the_next_start(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        left = Path(holder.stdout.readline().strip())
        (left / "client.pem").touch()
        PrivateFolder(str(tmp_path)).close()
        assert left.is_dir()
        holder.send_signal(signal.SIGKILL)
    PrivateFolder(str(tmp_path)).close()
    assert list(tmp_path.iterdir()) == []


def test_what_others_may_still_use_is_left_alone(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"dra-{ended.pid}-link").symlink_to(elsewhere)
    (tmp_path / "dra-mine").mkdir()
    folder = PrivateFolder(str(tmp_path))
    # As a process in another container sees it: the number in the name means nobody there.
    seen = tmp_path / f"dra-{ended.pid}-held"
    os.rename(folder.path, seen)
    sweep(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {
        f"dra-{ended.pid}-link",
        f"dra-{ended.pid}-held",
        "dra-mine",
        "elsewhere",
    }
    folder.close()
