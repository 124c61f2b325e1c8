"""One person with a Jupyter server that dies and comes back, as seen through its REST API."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from jupyter_dra.sessions.identity import load_identity
from tests.server_fixture import RunningServer, start_server

from .cluster import BreakableCluster

LAUNCH_SECONDS = 20
AWAY_SECONDS = 60.0


class Refused(Exception):
    """The server's answer to a request it understood: problem+json."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {problem.get('code')}: {problem.get('message')}")
        self.status, self.code = status, str(problem.get("code") or status)


@dataclass
class Person:
    """Keeps a Jupyter server running in a folder of one's own; requests wait while it is away."""

    name: str
    cluster: BreakableCluster
    folder: Path
    server: RunningServer | None = None
    restarts: int = 0
    seen: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        api = self.cluster.api
        self.server = start_server(
            self.folder,
            api,
            user=self.name,
            namespace=f"chaos-{self.name}",
            launch_timeout=LAUNCH_SECONDS,
            cpu="1",
            host_memory="1Gi",
        )

    def kill(self) -> None:
        """End the server as a crash does, and start the next one."""
        with self._lock:
            if self.server is not None:
                self.server.kill()
            self.restarts += 1
            self.start()

    def stop(self) -> None:
        with self._lock:
            if self.server is not None:
                self.server.stop()

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """A request below our part of the API; repeated while the server is away, as an open page does.

        Raises:
            Refused: the server said no.
        """
        end = time.monotonic() + AWAY_SECONDS
        while True:
            try:
                server = self.server
                assert server is not None
                return server.dra(method, path, body)
            except urllib.error.HTTPError as error:
                with error:
                    text = error.read()
                with contextlib.suppress(ValueError):
                    raise Refused(error.code, json.loads(text)) from error
                raise
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)  # the page's own pause between tries

    def session(self, session_id: str) -> dict[str, Any] | None:
        """The session as the server shows it; None when it does not know it (any more), or not now."""
        try:
            return dict(self.request("GET", f"sessions/{session_id}"))
        except Refused:
            return None

    def wait(self, session_id: str, *states: str, seconds: float = 60) -> dict[str, Any] | None:
        """The session once it is in one of these states or ended; None when it is gone or time is over."""
        return self.until(session_id, lambda record: record["state"] in states, seconds=seconds)

    def until(
        self, session_id: str, condition: Callable[[dict[str, Any]], bool], *, seconds: float = 60
    ) -> dict[str, Any] | None:
        """The session once a condition holds or it ended; None when it is gone or time is over."""
        end, missing = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            record = self.session(session_id)
            self._saw(session_id, "unknown" if record is None else record["state"])
            missing = missing + 1 if record is None else 0
            if missing > 20:
                return None
            if record is not None and (record["state"] == "ended" or condition(record)):
                return record
            time.sleep(0.1)  # between looks, as a page without events does
        return None

    def _saw(self, session_id: str, state: str) -> None:
        path = self.seen.setdefault(session_id, [])
        if not path or path[-1][0] != state:
            path.append((state, time.monotonic()))

    def path(self, session_id: str) -> str:
        """The states a session was seen in, each with the seconds until the next."""
        seen = self.seen.get(session_id)
        if not seen:
            return ""
        ends = [at for _, at in seen[1:]] + [time.monotonic()]
        return " > ".join(f"{state} {end - at:.0f}" for (state, at), end in zip(seen, ends, strict=True))

    @property
    def data(self) -> Path:
        return self.folder / "data" / "jupyter-dra"

    def records(self) -> dict[str, dict[str, Any]]:
        """What is written about every session this person ever began."""
        found = {}
        for path in (self.data / "sessions").glob("[!.]*.json"):
            found[path.stem] = json.loads(path.read_text())
        return found

    @contextlib.contextmanager
    def shell(self) -> Iterator[Sessions]:
        """The same person at a terminal: a session service of another process's kind."""
        where = Where(kubeconfig=str(self.cluster.kubeconfig), namespace=f"chaos-{self.name}")
        policy = SessionPolicy(keep_on_stop=True, launch=LAUNCH_SECONDS, cpu="1", host_memory="1Gi")
        service = Sessions(where, identity=load_identity(self.data, user=self.name), policy=policy)
        try:
            yield service
        finally:
            service.close(keep=True)
