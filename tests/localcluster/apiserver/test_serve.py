"""The process: start, files, state, end."""

from __future__ import annotations

import json
import os
import signal
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

READY_SECONDS = 2.0


class Process:
    """One server process and the administrator's HTTP client for it."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "jupyter_dra.localcluster.serve", "--dir", str(folder), *options]
        self.started = time.monotonic()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.seconds = time.monotonic() - self.started
        self.announced: dict[str, Any] = json.loads(line)
        config = json.loads((folder / "kubeconfig").read_text())
        self.token = config["users"][0]["user"]["token"]
        tls = ssl.create_default_context(cafile=str(folder / "pki" / "ca.crt"))
        headers = {"Authorization": f"Bearer {self.token}"}
        self.http = httpx.Client(base_url=self.announced["server"], verify=tls, headers=headers)

    def end(self, number: int = signal.SIGTERM) -> int:
        self.http.close()
        self._process.send_signal(number)
        status = self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder under an open umask, as a careless shell would give."""
    before = os.umask(0)
    yield tmp_path / "cluster"
    os.umask(before)


def test_it_announces_itself_when_it_answers_and_ends_on_a_signal(folder: Path) -> None:
    process = Process(folder, "--no-control")
    assert process.http.get("/readyz").text == "ok"
    assert process.announced["kubernetes_version"].startswith("v1.37.")
    assert process.announced["kubeconfig"] == str(folder / "kubeconfig")
    assert process.end() == 0


def test_it_is_ready_soon(folder: Path) -> None:
    process = Process(folder, "--no-control")
    assert process.end() == 0
    assert process.seconds < READY_SECONDS


@pytest.mark.threat("T39")
def test_keys_and_tokens_are_private_whatever_the_umask(folder: Path) -> None:
    process = Process(folder, "--no-control", "--state", str(folder.parent / "state.json"))
    assert process.end() == 0
    for path in (folder, folder / "pki"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    files = [*folder.glob("*kubeconfig"), *(folder / "pki").iterdir(), folder.parent / "state.json"]
    assert len(files) >= 11
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.threat("T39")
def test_tokens_and_authority_are_new_each_time_and_no_client_of_the_old_believes_the_new(
    folder: Path,
) -> None:
    first = Process(folder, "--no-control")
    ca = (folder / "pki" / "ca.crt").read_text()
    port = first.announced["server"].rpartition(":")[2]
    first.end()
    second = Process(folder, "--no-control", "--port", port)
    try:
        assert second.token != first.token
        assert (folder / "pki" / "ca.crt").read_text() != ca
        old = ssl.create_default_context(cadata=ca)
        with (
            httpx.Client(base_url=second.announced["server"], verify=old) as client,
            pytest.raises(httpx.ConnectError),
        ):
            client.get("/readyz")
    finally:
        second.end()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_state_file_keeps_objects_revisions_and_credentials(folder: Path, end: int) -> None:
    state = folder.parent / "state.json"
    maps = "/api/v1/namespaces/default/configmaps"
    first = Process(folder, "--no-control", "--state", str(state))
    made = first.http.post(maps, json={"metadata": {"name": "kept"}, "data": {"a": "b"}}).json()
    assert first.end(end) == 0
    second = Process(folder, "--no-control", "--state", str(state))
    try:
        assert second.token == first.token
        assert second.http.get(f"{maps}/kept").json() == made
        revision = int(second.http.get(maps).json()["metadata"]["resourceVersion"])
        assert revision >= int(made["metadata"]["resourceVersion"])
        namespaces = second.http.get("/api/v1/namespaces").json()["items"]
        assert len({item["metadata"]["uid"] for item in namespaces}) == 4
    finally:
        second.end()


def test_changes_reach_the_state_file_without_an_orderly_end(folder: Path) -> None:
    state = folder.parent / "state.json"
    process = Process(folder, "--no-control", "--state", str(state))
    process.http.post("/api/v1/namespaces/default/configmaps", json={"metadata": {"name": "kept"}})
    deadline = time.monotonic() + 10
    while '"kept"' not in state.read_text():
        assert time.monotonic() < deadline
        process.http.get("/readyz")
    assert process.end(signal.SIGKILL) == -signal.SIGKILL


def test_a_file_that_is_no_state_is_refused(folder: Path) -> None:
    state = folder.parent / "state.json"
    state.write_text('{"kind": "Pod"}')
    command = [
        sys.executable,
        "-m",
        "jupyter_dra.localcluster.serve",
        "--dir",
        str(folder),
        "--state",
        str(state),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert found.returncode != 0
    assert "state.json is no state of a local cluster" in found.stderr
    assert "Traceback" not in found.stderr
    assert state.read_text() == '{"kind": "Pod"}'
