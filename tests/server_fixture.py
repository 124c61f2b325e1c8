"""A Jupyter server as a process of its own, in folders of its own; its REST API, and its kernels over web sockets."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.localcluster_fixture import LocalCluster

ROOT = Path(__file__).resolve().parents[1]
DEADLINE = 60.0
TOKEN = "story"
_OTHERS = ("jupyterlab", "notebook", "jupyter_lsp", "jupyter_server_terminals", "notebook_shim", "nbclassic")


def surroundings(folder: Path) -> dict[str, str]:
    """An environment in which Jupyter and we find nothing of this machine's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "JPY_", "XDG_")) and name != "KUBECONFIG"
    }
    places = {"run": "XDG_RUNTIME_DIR", "data": "XDG_DATA_HOME", "cache": "XDG_CACHE_HOME"}
    jupyter = {"config": "JUPYTER_CONFIG_DIR", "jdata": "JUPYTER_DATA_DIR", "runtime": "JUPYTER_RUNTIME_DIR"}
    own = {}
    for name, variable in (places | jupyter).items():
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        own[variable] = str(folder / name)
    return {**kept, **own, "PYTHONPATH": str(ROOT)}


@dataclass(slots=True)
class RunningServer:
    """A Jupyter server that answers."""

    folder: Path
    process: subprocess.Popen[bytes]
    url: str

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON (or None without a body); raises HTTPError."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def dra(self, method: str, path: str, body: Any = None) -> Any:
        """A request below our part of the API."""
        return self.request(method, f"/jupyter-dra/{path}", body)

    def session(self, session_id: str, *states: str, seconds: float = DEADLINE) -> dict[str, Any]:
        """The session once it is in one of these states."""

        def look() -> dict[str, Any] | None:
            record: dict[str, Any] = self.dra("GET", f"sessions/{session_id}")
            if record["state"] == "ended" and "ended" not in states:
                raise AssertionError(f"the session ended: {record['ended']}")
            return record if record["state"] in states else None

        return dict(eventually(look, seconds))

    def log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace")

    async def connect(self, kernel_id: str, client: str | None = None) -> KernelSocket:
        """A web socket to a kernel's channels, as a notebook has one; a page comes back with the same ``client``."""
        own = client or uuid.uuid4().hex
        words = f"token={TOKEN}&session_id={own}"
        address = f"{self.url}/api/kernels/{kernel_id}/channels?{words}".replace("http:", "ws:", 1)
        return KernelSocket(await websocket_connect(address, max_message_size=2**26), own)

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait(DEADLINE)

    def stop(self) -> None:
        """End it in order; safe to call again."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.kill()


class KernelSocket:
    """Executes code in a kernel of the server and waits for what it prints."""

    def __init__(self, socket: WebSocketClientConnection, session: str) -> None:
        self._socket = socket
        self._session = session

    async def execute(self, code: str, *, timeout: float = DEADLINE) -> str:
        """What the code prints; raises AssertionError with its error."""
        return await self.follow(await self.begin(code), timeout=timeout)

    async def begin(self, code: str) -> str:
        """Send code and return the id of the request."""
        own = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        await self._send("execute_request", own, content)
        return own

    async def printed(self, own: str) -> str:
        """The next text that a request prints."""
        while True:
            message = await self._receive()
            if message["parent_header"].get("msg_id") == own and message["msg_type"] == "stream":
                return str(message["content"]["text"])

    async def follow(self, own: str, *, timeout: float = DEADLINE) -> str:
        """What a request prints from now until it has ended and was answered; raises AssertionError with its error."""
        printed, replied, idle = [], False, False
        async with asyncio.timeout(timeout):
            while not (replied and idle):
                message = await self._receive()
                if message["parent_header"].get("msg_id") != own:
                    continue
                kind, content = message["msg_type"], message["content"]
                if kind == "stream":
                    printed.append(content["text"])
                elif kind == "error":
                    raise AssertionError(f"{content['ename']}: {content['evalue']}")
                replied = replied or kind == "execute_reply"
                idle = idle or (kind == "status" and content["execution_state"] == "idle")
        return "".join(printed)

    async def told(self, state: str, *, timeout: float = DEADLINE) -> None:
        """Wait until a status message says this of the kernel."""
        async with asyncio.timeout(timeout):
            while True:
                message = await self._receive()
                if message["msg_type"] == "status" and message["content"]["execution_state"] == state:
                    return

    async def _send(self, kind: str, own: str, content: Mapping[str, Any]) -> None:
        header = {"msg_id": own, "msg_type": kind, "username": "", "session": self._session, "version": "5.3"}
        header["date"] = "2026-01-01T00:00:00Z"
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        await self._socket.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))

    async def _receive(self) -> dict[str, Any]:
        while True:
            text = await self._socket.read_message()
            assert text is not None, "the server closed the web socket"
            if isinstance(text, str):
                return dict(json.loads(text))

    def let_go(self) -> None:
        """Close this end only; the server is gone."""
        self._socket.close()

    async def close(self) -> None:
        """Say goodbye and wait for the answer, so that no socket stays."""
        self._socket.close()
        while await self._socket.read_message() is not None:
            pass


def start_server(
    folder: Path, cluster: LocalCluster | None = None, *, extension: bool = True, **settings: Any
) -> RunningServer:
    """Start a server (a second one in the same folder is the same person's next one) and wait until it answers.

    Args:
        folder: everything it reads and writes.
        cluster: which one our extension uses.
        extension: False leaves ours out; other extensions are always left out.
        settings: of our extension.
    """
    env = surroundings(folder)
    (folder / "work").mkdir(exist_ok=True)
    enabled = {**dict.fromkeys(_OTHERS, False), "jupyter_dra": extension}
    config = {
        "ServerApp": {"jpserver_extensions": enabled, "root_dir": str(folder / "work")},
        "IdentityProvider": {"token": TOKEN},
        "DRAExtension": {**({"kubeconfig": str(cluster.person())} if cluster else {}), **settings},
    }
    (folder / "config" / "jupyter_server_config.json").write_text(json.dumps(config))
    command = [
        sys.executable,
        "-m",
        "jupyter",
        "server",
        "--no-browser",
        "--port=0",
        "--ServerApp.ip=127.0.0.1",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    with open(folder / "server.log", "ab") as log:
        process = subprocess.Popen(
            command, cwd=folder / "work", env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    about = folder / "runtime" / f"jpserver-{process.pid}.json"

    def answers() -> RunningServer | None:
        if process.poll() is not None:
            raise AssertionError(f"the server ended:\n{(folder / 'server.log').read_text()}")
        try:
            server = RunningServer(
                folder, process, f"http://127.0.0.1:{json.loads(about.read_text())['port']}"
            )
            server.request("GET", "/api")
        except (OSError, ValueError, urllib.error.URLError):
            return None
        return server

    try:
        running: RunningServer = eventually(answers, DEADLINE)
    except BaseException:
        process.kill()
        process.wait(DEADLINE)
        raise
    return running


def eventually(what: Callable[[], Any], seconds: float = DEADLINE) -> Any:
    """The first true value of ``what``; fails after the deadline."""
    end = time.monotonic() + seconds
    while not (value := what()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds:.0f} s")
        time.sleep(0.01)
    return value
