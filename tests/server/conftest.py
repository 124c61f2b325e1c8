"""A Jupyter server with our extension, with and without a cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_jupyter.jupyter_server import *  # noqa: F403  # fixtures and hooks for this folder only
from tornado.httpclient import HTTPClientError, HTTPResponse

from tests.backends import Backend
from tests.localcluster_fixture import LocalCluster

from .answers import assert_answer_conforms


class Answer:
    """Status, headers and JSON of one request; errors are answers too."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status = response.code
        self.headers = response.headers
        self.body = response.body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Fetch = Callable[..., Awaitable[Answer]]


@pytest.fixture
def cluster_options() -> dict[str, str]:
    """Settings of the extension; tests without a cluster leave it as it is."""
    return {"kubeconfig": "/nowhere/kubeconfig"}


@pytest.fixture  # type: ignore[no-redef]  # takes the place of pytest_jupyter's
def jp_server_config(cluster_options: dict[str, str]) -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"jupyter_dra": True}}, "DRAExtension": cluster_options}


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identity and records of the session service live in the test's folder; no cluster of this machine is found."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture
def fetch(jp_fetch: Any, jp_serverapp: Any, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Iterator[Fetch]:
    """``await fetch("POST", "plan", body={…})`` below ``jupyter-dra``; every answer must be as it is described."""

    async def do(method: str, path: str, body: Any = None, **options: Any) -> Answer:
        if method in ("POST", "PUT", "PATCH"):
            options["body"] = body if isinstance(body, str) else json.dumps(body if body is not None else {})
            options.setdefault("headers", {"Content-Type": "application/json"})
        options.setdefault("request_timeout", 30)
        try:
            answer = Answer(await jp_fetch("jupyter-dra", *path.split("/"), method=method, **options))
        except HTTPClientError as error:
            if error.response is None:
                raise
            answer = Answer(error.response)
        if "json" in answer.headers.get("Content-Type", "") and "Content-Encoding" not in answer.headers:
            assert_answer_conforms(method, path, answer.status, answer.json)
        return answer

    yield do
    board = jp_serverapp.web_app.settings["jupyter_dra_board"]
    jp_asyncio_loop.run_until_complete(board.close())


@pytest.fixture(scope="module")
def shared_cluster(backend: Backend) -> Iterator[LocalCluster]:
    """One cluster for a module: others start their own, and the real control plane has one set of nodes at a time."""
    made = backend.start()
    yield made
    made.stop()


def options_of(cluster: LocalCluster) -> dict[str, str]:
    """The extension's settings for a local cluster."""
    return {"kubeconfig": str(cluster.person())}
