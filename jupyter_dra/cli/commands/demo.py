"""``jupyter dra demo``: the local cluster and JupyterLab with the example notebooks, in one command."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...errors import ClusterError, InputError
from ..output import clean, write

_READY_SECONDS = 60
_STOP_SECONDS = 20
# Ctrl-C (which a shell has background jobs ignore, unless asked for), the terminal closed, and a plain kill.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", metavar="DIR", help="folder for the notebooks (default: jupyter-dra-demo in the home folder)"
    )
    parser.add_argument("--port", type=int, default=0, help="port of JupyterLab (default: a free one)")
    parser.add_argument(
        "--devices", nargs="+", default=[], metavar="NAME|FILE", help="inventories, as for local up"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--server-app", default="lab", choices=("lab", "notebook"), help="JupyterLab (default) or Notebook 7"
    )


def run(arguments: argparse.Namespace) -> int:
    from ...localcluster import lifecycle

    for number in _ENDING:
        signal.signal(number, _interrupt)
    folder = Path(arguments.dir or Path.home() / "jupyter-dra-demo").expanduser().resolve()
    _copy_examples(folder)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    before = lifecycle.status("default")
    ran_before = before["running"]
    if ran_before:
        status = before
    else:
        options = lifecycle.UpOptions(
            name="default",
            devices=tuple(arguments.devices),
            workdir=str(folder),
            allow_root=root,
            attached=True,
        )
        status = lifecycle.up(options)
    try:
        write(f"Local cluster: {status['devices']} devices on {status['nodes']} nodes, simulated.")
        write(f"  kubectl --kubeconfig {clean(status['kubeconfig'])} get resourceslices")
        return _serve(arguments, folder, status["kubeconfig"], root)
    finally:
        if not ran_before:
            lifecycle.down("default")


def _copy_examples(folder: Path) -> None:
    """Copy the example notebooks; what is there already stays as it is."""
    source = examples_folder()
    for path in sorted(source.rglob("*")):
        target = folder / path.relative_to(source)
        if path.is_file() and not target.exists() and "__pycache__" not in path.parts:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    folder.mkdir(parents=True, exist_ok=True)


def examples_folder() -> Path:
    """Where the example notebooks lie: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for candidate in (package / "examples", package.parent / "examples"):
        if candidate.is_dir():
            return candidate
    raise InputError(
        "The example notebooks are not installed.", code="no-examples", next_step="Install the package again."
    )


def _serve(arguments: argparse.Namespace, folder: Path, kubeconfig: str, root: bool) -> int:
    from ...kernels.folders import PrivateFolder

    if not _has("jupyterlab" if arguments.server_app == "lab" else "notebook"):
        raise InputError(
            f"{'JupyterLab' if arguments.server_app == 'lab' else 'Notebook'} is not installed.",
            code="no-lab",
            next_step="pip install 'jupyter-dra[demo]'",
        )
    token = secrets.token_urlsafe(24)
    port = arguments.port or _free_port()
    page = "lab" if arguments.server_app == "lab" else "tree"
    with PrivateFolder() as scratch:
        own = Path(scratch) / "jupyter"
        _install_kernelspecs(own)
        _decline_news(own)
        environment = environment_of(own, kubeconfig, os.environ) | {"JUPYTER_TOKEN": token}
        command = [
            sys.executable,
            "-m",
            "jupyterlab" if arguments.server_app == "lab" else "notebook",
            f"--ServerApp.root_dir={folder}",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.open_browser=False",
            "--Application.log_level=WARN",
            "--DRAExtension.context=local",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            *(["--allow-root"] if root else []),
        ]
        with _process(command, environment) as process:
            address = f"http://127.0.0.1:{port}/{page}?token={token}"
            _wait_until_ready(process, port)
            write("")
            write(f"  {address}")
            write("")
            write("Ctrl-C stops everything.")
            sys.stdout.flush()
            if not arguments.no_browser:
                _open_browser(address)
            return process.wait()


def environment_of(jupyter: Path, kubeconfig: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """What JupyterLab, its terminals and its notebooks see: our command, and no cluster but the local one.

    Args:
        jupyter: a folder with ``share/jupyter`` and ``etc/jupyter`` of this demo.
    """
    environment = {**inherited, "KUBECONFIG": kubeconfig}
    environment.pop(
        "KUBERNETES_SERVICE_HOST", None
    )  # the pod that a demo may run in has a cluster of its own
    _put_first(environment, "PATH", Path(sys.executable).parent)
    _put_first(environment, "JUPYTER_PATH", jupyter / "share" / "jupyter")
    _put_first(environment, "JUPYTER_CONFIG_PATH", jupyter / "etc" / "jupyter")
    return environment


def _install_kernelspecs(folder: Path) -> None:
    """A kernel per tier of the local cluster, seen by this demo only."""
    from ...kernels.kernelspecs import install

    for name, shown in _tiers():
        install(
            {"tier": name}, display_name=f"Python ({shown})", context="local", user=False, prefix=str(folder)
        )


def _decline_news(folder: Path) -> None:
    """Have JupyterLab not ask whether it may show its project's news; what a user chose in the settings wins."""
    target = folder / "etc" / "jupyter" / "labconfig" / "default_setting_overrides.json"
    target.parent.mkdir(parents=True)
    target.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}))


def _put_first(environment: dict[str, str], variable: str, path: Path) -> None:
    environment[variable] = os.pathsep.join(filter(None, (str(path), environment.get(variable))))


def _tiers() -> list[tuple[str, str]]:
    """Name and words of the local cluster's annotated tiers."""
    from ..surroundings import open_surroundings

    where = argparse.Namespace(inventory=None, context="local", kubeconfig=None, namespace=None)
    with suppress(ClusterError), open_surroundings(where) as around:
        tiers = around.tier_list()["tiers"]
        return [
            (one["name"], one["display_name"]) for one in tiers if one["display_name"] and not one["hidden"]
        ]
    return []


@contextmanager
def _process(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[Any]]:
    """The server in a session of its own, ended in every case; Ctrl-C and SIGTERM reach us, not it."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_us
    )
    try:
        yield process
    except KeyboardInterrupt:
        write("Stopping …")
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _end_with_us() -> None:
    """In the child, before it runs: end when this command is killed without a chance to say so (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _wait_until_ready(process: subprocess.Popen[Any], port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ClusterError(
                "JupyterLab ended while starting; its messages are above.",
                code="lab-ended",
                next_step="Mend what they say, then run `jupyter dra demo` again.",
            )
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
            return
        time.sleep(0.1)
    raise ClusterError(
        f"JupyterLab does not answer after {_READY_SECONDS} s.",
        code="lab-slow",
        next_step="Run `jupyter lab` alone to see what holds it up.",
    )


def _open_browser(address: str) -> None:
    import webbrowser

    # A text browser would take the terminal over; a missing one is no error.
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if getattr(browser, "name", "") not in ("www-browser", "links", "elinks", "lynx", "w3m"):
            browser.open(address)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _has(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None
