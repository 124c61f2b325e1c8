"""What the extension costs a server that starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from jupyter_dra.server.app import kernel_dirs

START = """
import json, sys
from jupyter_server.serverapp import ServerApp
others = dict.fromkeys(("jupyterlab", "notebook", "jupyter_lsp", "jupyter_server_terminals", "notebook_shim"), False)
app = ServerApp.instance(jpserver_extensions={**others, "jupyter_dra": True})
app.initialize(["--no-browser", "--port=0", "--ServerApp.ip=127.0.0.1", "--allow-root"])
print(json.dumps([name for name in ("IPython", "kubernetes", "aiohttp") if name in sys.modules]))
"""


@pytest.mark.parametrize("own", [False, True])
def test_the_folders_of_kernelspecs_are_those_jupyter_client_would_choose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if own:
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    assert kernel_dirs(KernelSpecManager()) == KernelSpecManager().kernel_dirs
    assert kernel_dirs(KernelSpecManager(kernel_dirs=["/only"])) == ["/only"]


def test_starting_a_server_imports_neither_kubernetes_nor_ipython(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START],
        cwd=Path(__file__).parents[2],
        env={"PATH": "/usr/bin", "HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.strip().splitlines()[-1]) == []
