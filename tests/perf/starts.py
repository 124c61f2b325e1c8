"""How long things take to be there: local cluster, Jupyter server with and without us, command, notebook extension."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.localcluster_fixture import start_local_cluster
from tests.server_fixture import surroundings

from .measuring import Table, processor_ms, seconds

TIMES = 7
_LOAD = """
import json, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
began = time.process_time()
shell.run_line_magic("load_ext", "jupyter_dra")
print(json.dumps(time.process_time() - began))
"""
# The server in the process that measures: its application initialized, without the interpreter's own start.
_SERVER = """
import json, logging, sys, time
from jupyter_server.serverapp import ServerApp
words = ["--no-browser", "--port=0", "--ServerApp.ip=127.0.0.1", "--allow-root", "--log-level=ERROR"]
off = dict.fromkeys(%r, False)
began = time.process_time()
app = ServerApp.instance(jpserver_extensions={**off, "jupyter_dra": sys.argv[1] == "with"})
app.initialize(words)
took = time.process_time() - began
print(json.dumps([took, sorted(name for name in sys.modules if name.startswith("kubernetes"))]))
"""
_OTHERS = ("jupyterlab", "notebook", "jupyter_lsp", "jupyter_server_terminals", "notebook_shim", "nbclassic")


def measure(table: Table, folder: Path) -> None:
    cluster_ready(table)
    server_start(table, folder)
    command = Path(sys.executable).with_name("jupyter-dra")
    env = surroundings(folder)
    bare, ours = [], []
    for _ in range(TIMES):
        bare.append(processor_ms([sys.executable, "-c", "import argparse"], env))
        ours.append(processor_ms([str(command), "--help"], env))
    table.add("jupyter dra --help (processor)", ours, "ms", beside=bare, bar=120, processor=True)
    loads = [1000 * json.loads(_run(folder, sys.executable, "-c", _LOAD)) for _ in range(TIMES)]
    table.add("%load_ext jupyter_dra (processor)", loads, "ms", bar=100, processor=True)


def cluster_ready(table: Table) -> None:
    """Both processes up and the slices published, beside an interpreter that imports what they are made of."""
    imports = "import aiohttp, tornado.web, cryptography.x509, yaml"
    bare, ours = [], []
    for _ in range(3):
        bare.append(seconds(lambda: subprocess.run([sys.executable, "-c", imports], check=True)))
        table.sample()
        began = time.perf_counter()
        cluster = start_local_cluster()
        ours.append(time.perf_counter() - began)
        cluster.stop()
    table.add("local cluster ready", ours, beside=bare, bar=2.0)


def server_start(table: Table, folder: Path) -> None:
    """What our extension adds to the start, and that it imports no Kubernetes client."""

    def start(extension: str) -> float:
        took, modules = json.loads(_run(folder, sys.executable, "-c", _SERVER % (_OTHERS,), extension))
        assert modules == [], modules
        return 1000 * float(took)

    start("with")
    pairs = [(start("without"), start("with")) for _ in range(TIMES)]
    table.add(
        "jupyter server start (processor, over bare)",
        [ours for _, ours in pairs],
        "ms",
        beside=[bare for bare, _ in pairs],
        over=100,
        processor=True,
    )


def _run(folder: Path, *words: str) -> str:
    done = subprocess.run(words, env=surroundings(folder), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
