"""No cluster, or an unreachable one: a helpful state, never a stack trace; nothing loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from .conftest import Fetch


async def test_status_says_that_there_is_no_cluster_and_what_to_do(fetch: Fetch) -> None:
    answer = await fetch("GET", "status")
    assert answer.status == 200
    status = answer.json
    assert status["kind"] == "Status"
    assert status["state"] in ("no-cluster", "unreachable")
    assert status["message"]
    assert status["local_cluster"]["running"] is False


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
    assert preview.json["python"] == "Requirement(tier='big', vram='80GB')"


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
