"""No cluster, or an unreachable one: a helpful state, never a stack trace; nothing loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Fetch


async def test_status_says_that_there_is_no_cluster_and_what_to_do(fetch: Fetch) -> None:
    answer = await fetch("GET", "status")
    assert answer.status == 200
    status = answer.json
    assert status["kind"] == "Status"
    assert status["state"] in ("no-cluster", "unreachable")
    assert status["message"]
    assert status["local_cluster"]["running"] is False


async def test_status_names_a_data_folder_that_cannot_be_used(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "full").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "full"))
    status = (await fetch("GET", "status")).json
    assert "The data folder" in status["message"]
    assert "XDG_DATA_HOME" in status["next"]


async def test_questions_that_need_a_cluster_are_answered_with_the_reason(fetch: Fetch) -> None:
    for path in ("tiers", "devices", "waiting", "sessions"):
        answer = await fetch("GET", path)
        assert answer.status == 503, path
        problem = answer.json
        assert problem["code"] in ("no-cluster", "unreachable")
        assert problem["detail"]


async def test_manifests_can_be_checked_and_previewed_without_a_cluster(fetch: Fetch) -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: g, count: 1}]}}\n"
    )
    answer = await fetch("POST", "check", body={"text": text})
    assert answer.status == 200
    assert answer.json["clean"] is False
    preview = await fetch("POST", "claims/preview", body={"requirement": {"tier": "big", "vram": "80GB"}})
    assert preview.status == 200
    assert "80G" in preview.json["yaml"]
    assert preview.json["python"] == 'Requirement(tier="big", vram="80GB")'
    assert preview.json["kept"] == []


WRITTEN = """
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: mine}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: big, count: 2}}]
    config: [{requests: [gpu], opaque: {driver: gpu.nvidia.com, parameters: {mode: exclusive}}}]
"""


async def test_a_claim_written_by_hand_is_read_back_and_what_has_no_field_is_named(fetch: Fetch) -> None:
    answer = await fetch("POST", "claims/preview", body={"text": WRITTEN})
    assert answer.status == 200
    assert answer.json["claim"]["spec"]["devices"]["config"][0]["requests"] == ["gpu"]
    assert answer.json["form"] == {"tier": "big", "count": 2}
    assert answer.json["kept"] == [
        {"path": "spec.devices.config[0]", "code": "config", "what": "this driver configuration"}
    ]
    again = await fetch("POST", "claims/preview", body={"requirement": {"claim": answer.json["claim"]}})
    assert again.json["kept"] == answer.json["kept"]
    assert "mode: exclusive" in again.json["yaml"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kind: [", "line 2"),
        ("kind: Pod", "ResourceClaim"),
        ("- a\n- b\n", "one ResourceClaim"),
        ("kind: ResourceClaim\n---\nkind: ResourceClaim\n", "one ResourceClaim"),
        ("", "one ResourceClaim"),
    ],
)
async def test_text_that_is_no_claim_is_refused_with_the_reason(fetch: Fetch, text: str, says: str) -> None:
    answer = await fetch("POST", "claims/preview", body={"text": text})
    assert answer.status == 422
    assert says in answer.json["detail"]


async def test_an_unknown_context_is_refused_by_name(fetch: Fetch) -> None:
    answer = await fetch("PUT", "contexts/current", body={"name": "elsewhere"})
    assert answer.status == 422
    assert answer.json["path"] == "name"


def test_starting_a_server_loads_no_kubernetes_client() -> None:
    code = (
        "import sys\n"
        "from jupyter_server.serverapp import ServerApp\n"
        "app = ServerApp.instance(); app.jpserver_extensions = {'jupyter_dra': True}\n"
        "app.initialize(['--allow-root', '--ServerApp.port=0', '--ServerApp.token='], new_httpserver=False)\n"
        "heavy = {'kubernetes', 'aiohttp', 'jupyter_dra.planner', 'jupyter_dra.cel', 're2'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.splitlines()[-1]


async def test_the_extension_closes_without_having_been_used(jp_serverapp: Any) -> None:
    await jp_serverapp.cleanup_extensions()
