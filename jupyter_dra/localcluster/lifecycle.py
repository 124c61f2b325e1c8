"""Starting, stopping and describing the local cluster of this account."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import select
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jupyter_dra.errors import ClusterError, ConflictError, InputError
from jupyter_dra.localcluster.agent.tree import identity, send
from jupyter_dra.localcluster.supervisor import READY_SECONDS, sweep_leftovers

CONTEXT = "jupyter-dra-local"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_STOP_SECONDS = 25.0
_STATUS_SECONDS = 5.0
_STATUS_KEYS = (
    "pid", "server", "kubeconfig", "context", "kubernetes_version", "started_at",
    "nodes", "devices", "inventory", "simulated", "pods", "state_file",
)  # fmt: skip
_GENERATED = ("kubeconfig", "agent.kubeconfig", "control.kubeconfig", "plan.json")


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What a local cluster is started with; equal options mean the same cluster.

    Attributes:
        name: several clusters may run side by side under different names.
        devices: inventories (packaged names, files, ``host``); none means ``default``.
        state_file: keeps the cluster's objects over restarts.
        missing_images: globs of images that fail to pull.
        workdir: working directory of the pods; None means the caller's.
        allow_root: run as root, pods too; without it root is refused.
        folder: where the cluster keeps its files; None means the account's place for it.
        tokens_file: further users of the API server (token,user,uid,"groups").
        attached: end with the calling process, however that ends.
        lease_seconds: how often node leases are renewed; they are valid four times as long, and a node that is silent
            for five times as long is lost.
        pull_seconds: how long an image pull takes.
    """

    name: str = "default"
    devices: tuple[str, ...] = ()
    state_file: str | None = None
    missing_images: tuple[str, ...] = ()
    workdir: str | None = None
    allow_root: bool = False
    folder: str | None = None
    tokens_file: str | None = None
    attached: bool = False
    port: int = 0
    lease_seconds: float = 10.0
    pull_seconds: float = 0.0


def local_folder(name: str = "default", environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the account's cluster of that name.

    Raises:
        InputError: the name is no short DNS label.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for a local cluster.",
            path="name",
            next_step="Use lower-case letters, digits and dashes.",
        )
    around = os.environ if environ is None else environ
    runtime = around.get("XDG_RUNTIME_DIR")
    if runtime:
        return Path(runtime) / "jupyter-dra" / "local" / name
    cache = around.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "jupyter-dra" / "local" / name


def up(options: UpOptions | None = None) -> dict[str, Any]:
    """Start the cluster and return its status when it is ready; one that runs with equal options is returned as it is.

    Raises:
        ConflictError: it runs already, with other options.
        ClusterError: it could not start; the message is the last line of the part that failed.
        NoHostDevices: ``host`` on a machine without a usable GPU.
        InputError: root without ``allow_root``, or an unusable option.
    """
    options = options or UpOptions()
    _refuse_root(options)
    _look_at_host(options)
    folder = _folder(options)
    _make_private(folder)
    lock = _lock(folder)
    try:
        present = _facts(folder)
        if present is not None and not _answers(present):
            _end(present)  # one of its parts was killed and the rest is about to follow
            present = None
        if present is not None:
            if _comparable(present["options"], options) == _comparable(_described(options), options):
                return _status(folder, options.name)
            raise ConflictError(
                f"The local cluster {options.name} runs already with other options.",
                code="in-use",
                next_step="Stop it with `jupyter dra local down`, or choose another --name.",
            )
        sweep_leftovers(folder)
        _clean(folder)
        _launch(folder, options)
        return _status(folder, options.name)
    finally:
        os.close(lock)


def down(name: str = "default", *, folder: str | Path | None = None) -> bool:
    """Stop the cluster and wait until nothing of it is left; False when none ran."""
    path = Path(folder) if folder is not None else local_folder(name)
    facts = _facts(path)
    if facts is None:
        swept = sweep_leftovers(path) if path.is_dir() else 0
        return swept > 0
    _end(facts)
    sweep_leftovers(path)
    _clean(path)
    return True


def status(name: str = "default", *, folder: str | Path | None = None) -> dict[str, Any]:
    """Return the contract's LocalCluster object; ``running`` is False, and the rest null, when none runs."""
    return _status(Path(folder) if folder is not None else local_folder(name), name)


def _status(folder: Path, name: str) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": "LocalCluster", "version": 1, "running": False, "name": name}
    result |= dict.fromkeys(_STATUS_KEYS)
    facts = _facts(folder)
    if facts is None:
        return result
    return result | {
        "running": True,
        "pid": facts["pid"],
        "server": facts["server"],
        "kubeconfig": facts["kubeconfig"],
        "context": CONTEXT,
        "kubernetes_version": facts["kubernetes_version"],
        "started_at": facts["started_at"],
        "nodes": len(facts["nodes"]),
        "devices": facts["devices"],
        "inventory": facts["inventory"],
        "simulated": facts["simulated"],
        "pods": _count_pods(Path(facts["kubeconfig"])),
        "state_file": facts["options"]["state_file"],
    }


def _answers(facts: Mapping[str, Any]) -> bool:
    return _count_pods(Path(facts["kubeconfig"])) is not None


def _end(facts: Mapping[str, Any]) -> None:
    """End the supervisor, and with it the cluster; kill it when it takes too long."""
    deadline = time.monotonic() + _STOP_SECONDS
    send(facts["pid"], signal.SIGTERM, expected=facts["identity"])
    while identity(facts["pid"]) == facts["identity"]:
        if time.monotonic() > deadline:
            send(facts["pid"], signal.SIGKILL, expected=facts["identity"])
            break
        time.sleep(0.01)
        _reap(facts["pid"])


def _refuse_root(options: UpOptions) -> None:
    if os.name == "posix" and os.geteuid() == 0 and not options.allow_root:
        raise InputError(
            "The local cluster runs pods as ordinary processes with your rights, so it does not start as root.",
            code="root",
            next_step="Use an ordinary account, or --allow-root if you mean it.",
        )


def _look_at_host(options: UpOptions) -> None:
    """Say at once, and in its own words, that this machine has no GPU to offer."""
    if "host" in options.devices:
        from jupyter_dra.localcluster.hostdevices import host_objects  # NVML only when asked for

        host_objects()


def _folder(options: UpOptions) -> Path:
    default = local_folder(options.name)
    return Path(options.folder).absolute() if options.folder else default


def _described(options: UpOptions) -> dict[str, Any]:
    found = asdict(options)
    found["devices"] = list(options.devices) or ["default"]
    found["missing_images"] = list(options.missing_images)
    found["workdir"] = str(Path(options.workdir or os.getcwd()).absolute())
    return found


def _comparable(described: Mapping[str, Any], asked: UpOptions) -> dict[str, Any]:
    """What has to be equal; where the caller happens to stand is no wish of theirs."""
    free = {"attached", "allow_root", "folder"} | (set() if asked.workdir else {"workdir"})
    return {key: value for key, value in described.items() if key not in free}


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or (os.name == "posix" and facts.st_uid != os.geteuid()):
        raise ClusterError(
            f"{folder} is not a folder of this account; the local cluster keeps out of it.",
            code="no-cluster",
            next_step="Remove it, or name another place in XDG_RUNTIME_DIR.",
        )
    folder.chmod(0o700)


def _lock(folder: Path) -> int:
    """Take the folder's lock, so that two starts at once make one cluster; closing the descriptor gives it back."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        import fcntl
    except ImportError:  # Windows: a second start at the same moment is left to luck
        return descriptor
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _facts(folder: Path) -> dict[str, Any] | None:
    """Return what the running supervisor published, or None when there is none: pid and start time must match."""
    try:
        facts = json.loads((folder / "cluster.json").read_text())
        alive = isinstance(facts["identity"], str) and identity(int(facts["pid"])) == facts["identity"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return facts if alive else None


def _clean(folder: Path) -> None:
    for name in ("cluster.json", *_GENERATED):
        (folder / name).unlink(missing_ok=True)
    for path in (folder / "pki", *folder.glob("pods-*")):
        shutil.rmtree(path, ignore_errors=True)


def _launch(folder: Path, options: UpOptions) -> None:
    described = _described(options)
    mark = secrets.token_hex(4)
    plan = {
        "commands": _commands(folder, options, described, mark),
        "mark": mark,
        "remove": list(_GENERATED),
        "facts": {
            "name": options.name,
            "options": described,
            "inventory": "+".join(described["devices"]),
            "simulated": described["devices"] != ["host"],
            "started_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }
    with open(os.open(folder / "plan.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(plan, file)
    ready, ready_end = os.pipe()
    passed = [ready_end]
    command = [sys.executable, "-m", "jupyter_dra.localcluster.supervisor", "--dir", str(folder)]
    command += ["--ready", str(ready_end)]
    if options.attached:
        lifeline_end = _lifeline()
        passed.append(lifeline_end)
        command += ["--lifeline", str(lifeline_end)]
    with open(os.open(folder / "supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_process_environment(),
            pass_fds=passed,
            start_new_session=True,
        )
    for descriptor in passed:
        os.close(descriptor)
    try:
        answer = _await_answer(ready, popen)
    finally:
        os.close(ready)
        popen.returncode = 0  # it is meant to outlive this call; nobody waits for it here
    if "error" in answer:
        _reap(popen.pid)
        raise ClusterError(
            f"The local cluster did not start. {answer['error']}",
            code="no-cluster",
            next_step=f"See {folder}/*.log.",
        )


def _lifeline() -> int:
    """Return the reading end of a pipe whose writing end lives as long as this process."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, False)
    return reading


def _await_answer(ready: int, popen: subprocess.Popen[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + READY_SECONDS + 5
    text = b""
    while time.monotonic() < deadline and b"\n" not in text:
        readable, _, _ = select.select([ready], [], [], 0.5)
        if readable:
            chunk = os.read(ready, 65536)
            if not chunk:
                break
            text += chunk
    if b"\n" not in text:
        popen.kill()
        return {"error": "Its supervisor said nothing."}
    answer: dict[str, Any] = json.loads(text.split(b"\n")[0])
    return answer


def _commands(
    folder: Path, options: UpOptions, described: Mapping[str, Any], mark: str
) -> dict[str, list[str]]:
    server = [sys.executable, "-m", "jupyter_dra.localcluster.serve", "--dir", str(folder)]
    server += ["--port", str(options.port)]
    if options.state_file:
        server += ["--state", str(Path(options.state_file).absolute())]
    if options.tokens_file:
        server += ["--tokens", str(Path(options.tokens_file).absolute())]
    pki = folder / "pki"
    agent = [sys.executable, "-m", "jupyter_dra.localcluster.agent", "--dir", str(folder), "--lifeline"]
    agent += [
        "--kubeconfig",
        str(folder / "agent.kubeconfig"),
        "--install-kubeconfig",
        str(folder / "kubeconfig"),
    ]
    agent += ["--tls-cert", str(pki / "kubelet.crt"), "--tls-key", str(pki / "kubelet.key")]
    agent += ["--client-ca", str(pki / "ca.crt"), "--workdir", described["workdir"], "--mark", mark]
    duration = max(1, round(4 * options.lease_seconds))
    agent += ["--lease-seconds", str(options.lease_seconds), "--lease-duration", str(duration)]
    agent += ["--pull-seconds", str(options.pull_seconds)]
    for source in described["devices"]:
        path = Path(source)
        agent += [
            "--inventory",
            str(path.absolute()) if path.suffix in (".yaml", ".yml", ".json") else source,
        ]
    for pattern in options.missing_images:
        agent += ["--missing-image", pattern]
    if options.allow_root:
        agent.append("--allow-root")
    return {"server": server, "agent": agent}


def _process_environment() -> dict[str, str]:
    """Return the environment of the cluster's own processes: enough to find the interpreter and its packages."""
    kept = (
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TMPDIR",
        "XDG_RUNTIME_DIR",
        "XDG_CACHE_HOME",
        "SYSTEMROOT",
        "LD_LIBRARY_PATH",
    )
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    return env


def _count_pods(kubeconfig: Path) -> dict[str, int] | None:
    """Count pods by asking the API server; None when it does not answer."""
    try:
        config = json.loads(kubeconfig.read_text())
        server = urlsplit(config["clusters"][0]["cluster"]["server"])
        token = config["users"][0]["user"]["token"]
        context = ssl.create_default_context(cafile=str(kubeconfig.parent / "pki" / "ca.crt"))
        connection = http.client.HTTPSConnection(
            server.hostname or "127.0.0.1", server.port, timeout=_STATUS_SECONDS, context=context
        )
        try:
            connection.request("GET", "/api/v1/pods", headers={"Authorization": f"Bearer {token}"})
            items = json.loads(connection.getresponse().read()).get("items") or []
        finally:
            connection.close()
    except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException):
        return None
    phases = [(item.get("status") or {}).get("phase") for item in items]
    return {"running": phases.count("Running"), "pending": phases.count("Pending")}


def _reap(pid: int) -> None:
    """Collect the supervisor if it was this process's child."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except (ChildProcessError, AttributeError):
        pass
