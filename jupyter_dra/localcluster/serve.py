"""The API server process: ``python -m jupyter_dra.localcluster.serve --dir DIR``.

Writes ``DIR/pki``, ``DIR/kubeconfig`` (the administrator's), ``DIR/agent.kubeconfig`` and
``DIR/control.kubeconfig``, prints one JSON line when it answers, and ends cleanly on SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from jupyter_dra.errors import DRAError
from jupyter_dra.localcluster.bootstrap import AGENT_USER, CONTROL_USER, NODES_GROUP
from jupyter_dra.localcluster.certificates import (
    Authority,
    private_folder,
    server_context,
    write_pki,
)
from jupyter_dra.localcluster.cluster import ADMIN, Cluster, Settings
from jupyter_dra.localcluster.ending import told_to_end
from jupyter_dra.localcluster.handlers import MAX_BODY
from jupyter_dra.localcluster.identity import AUTHENTICATED, User, new_token, read_token_file
from jupyter_dra.localcluster.kubeconfig import write_kubeconfig
from jupyter_dra.localcluster.routes import application, version
from jupyter_dra.localcluster.snapshot import Keeper, Kept, read_state
from jupyter_dra.localcluster.store import Store

log = logging.getLogger("jupyter_dra.localcluster")

HOST = "127.0.0.1"
_AGENT = User(AGENT_USER, AGENT_USER, (NODES_GROUP, AUTHENTICATED))
_CONTROL = User(CONTROL_USER, CONTROL_USER, (AUTHENTICATED,))

Stop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Options:
    """``port`` 0 takes a free one; ``control`` also runs the scheduler and the controllers."""

    folder: Path
    port: int = 0
    state: Path | None = None
    tokens: Path | None = None
    control: bool = True


class Server:
    """One running API server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = options.folder
        kept = read_state(options.state) if options.state else None
        self._kept = kept or Kept.fresh(Authority.create().pair, new_token(), secrets.token_bytes(32))
        self._authority = Authority(self._kept.authority)
        self._agent_token, self._control_token = new_token(), new_token()
        tokens = [
            (self._kept.admin_token, ADMIN),
            (self._agent_token, _AGENT),
            (self._control_token, _CONTROL),
        ]
        if options.tokens is not None:
            tokens += read_token_file(options.tokens)
        settings = Settings(
            pki=self._folder / "pki",
            ca=self._authority.pair.certificate,
            tokens=tokens,
            signing_key=self._kept.signing_key,
        )
        self.cluster = Cluster(settings, Store(self._kept.revision, self._kept.objects))
        self._keeper: Keeper | None = None
        self._http: HTTPServer | None = None
        self._stop_control: Stop | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    async def start(self) -> None:
        """Listen, write the files that clients need, and start the control plane."""
        private_folder(self._folder)
        write_pki(self._folder / "pki", self._authority)
        self.cluster.start()
        sockets = bind_sockets(self._options.port, HOST)
        self.port = sockets[0].getsockname()[1]
        self._http = HTTPServer(
            application(self.cluster),
            ssl_options=server_context(self._folder / "pki"),
            max_body_size=MAX_BODY,
            max_buffer_size=2 * MAX_BODY,
        )
        self._http.add_sockets(sockets)
        self._write_kubeconfigs()
        if self._options.state is not None:
            self._keeper = Keeper(self.cluster, self._options.state, self._kept)
            self._keeper.start()
        if self._options.control:
            await self._start_control()

    def _write_kubeconfigs(self) -> None:
        ca = self._authority.pair.certificate
        for name, token, user in (
            ("kubeconfig", self._kept.admin_token, ADMIN.name),
            ("agent.kubeconfig", self._agent_token, AGENT_USER),
            ("control.kubeconfig", self._control_token, CONTROL_USER),
        ):
            write_kubeconfig(self._folder / name, self.url, ca, token, user)

    async def _start_control(self) -> None:
        from jupyter_dra.localcluster import control
        from jupyter_dra.localcluster.client import Client

        client = Client.from_kubeconfig(self._folder / "control.kubeconfig")
        stop = await control.start(client)

        async def end() -> None:
            await stop()
            await client.close()

        self._stop_control = end

    async def stop(self) -> None:
        if self._stop_control is not None:
            await self._stop_control()
        if self._http is not None:
            self._http.stop()
            self.cluster.drop_watches()
            await asyncio.sleep(0)
            await self._http.close_all_connections()
        if self._keeper is not None:
            self._keeper.close()

    def announcement(self) -> dict[str, object]:
        return {
            "server": self.url,
            "pid": os.getpid(),
            "kubeconfig": str(self._folder / "kubeconfig"),
            "kubernetes_version": version()["gitVersion"],
        }


def read_arguments(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m jupyter_dra.localcluster.serve", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="folder of this cluster, made with mode 0700")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--state", type=Path, help="file that keeps the cluster's objects and credentials")
    parser.add_argument("--tokens", type=Path, help='further users, one a line: token,user,uid,"group,group"')
    parser.add_argument("--no-control", action="store_true", help="no scheduler and no controllers")
    parser.add_argument("--log-level", default="WARNING")
    found = parser.parse_args(arguments)
    logging.basicConfig(level=found.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    return Options(found.dir, found.port, found.state, found.tokens, not found.no_control)


async def serve(options: Options) -> None:
    """Run until SIGTERM or SIGINT."""
    server = Server(options)
    ending = told_to_end()
    await server.start()
    print(json.dumps(server.announcement()), flush=True)
    await ending
    await server.stop()


def main() -> int:
    options = read_arguments()
    try:
        asyncio.run(serve(options))
    except (DRAError, OSError, ValueError) as error:
        print(f"The local cluster's API server cannot start: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
