"""The API client against the local cluster: strict writes, typed errors, safe repetition."""

from __future__ import annotations

import asyncio
import http.server
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster import (
    KubeClient,
    Surroundings,
    connect,
    ensure_created,
    fetch_version,
    require_v1,
    rights,
)
from jupyter_dra.cluster.version import ServerVersion, dropped_fields
from jupyter_dra.errors import ClusterError, ConflictError, InputError, NotFoundError
from tests.localcluster_fixture import LocalCluster


def config_map(name: str, **annotations: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}}


def test_objects_go_there_and_back_as_they_are(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        made = await client.create(config_map("round-trip"))
        assert made["data"] == {"a": "1"}
        changed = await client.patch("ConfigMap", "round-trip", {"data": {"b": "2"}})
        assert changed["data"] == {"a": "1", "b": "2"}
        made["data"] = {"c": "3"}
        with pytest.raises(ConflictError) as caught:
            await client.replace(made)
        assert caught.value.code == "conflict"
        with pytest.raises(ConflictError):
            await client.delete("ConfigMap", "round-trip", uid="somebody-else")
        await client.delete("ConfigMap", "round-trip", uid=made["metadata"]["uid"])
        with pytest.raises(NotFoundError) as gone:
            await client.get("ConfigMap", "round-trip")
        assert gone.value.params["status"] == 404

    run(test)


def test_unknown_fields_are_refused_with_the_servers_text(run: Any) -> None:
    async def pod(client: KubeClient) -> None:
        body = {"containers": [{"name": "c", "image": "python", "comand": []}]}
        with pytest.raises(InputError, match=r'unknown field "spec\.containers'):
            await client.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": body})

    run(pod)


def test_a_creation_whose_answer_was_lost_is_recognized_by_its_proof(run: Any, cluster: LocalCluster) -> None:
    async def test(client: KubeClient) -> None:
        wish = {"fail": {"status": 500, "after": True, "verb": "create", "resource": "configmaps"}}
        await client.request("POST", "/jupyter-dra/faults", body=wish)
        made = await ensure_created(client, config_map("lost", proof="secret-1"), proof="proof")
        assert made["metadata"]["annotations"]["proof"] == "secret-1"
        await client.delete("ConfigMap", "lost")

    run(test)


def test_a_creation_is_asked_again_once_when_refused_by_a_server_that_may_just_have_started(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        wish = {"fail": {"status": 403, "verb": "create", "resource": "configmaps", "count": 1}}
        await client.request("POST", "/jupyter-dra/faults", body=wish)
        assert await ensure_created(client, config_map("again", proof="secret-1"), proof="proof")
        await client.delete("ConfigMap", "again")
        await client.request("POST", "/jupyter-dra/faults", body={"fail": {**wish["fail"], "count": 9}})
        with pytest.raises(ClusterError) as caught:
            await ensure_created(client, config_map("again", proof="secret-1"), proof="proof")
        assert caught.value.code == "forbidden"
        await client.request("DELETE", "/jupyter-dra/faults")

    run(test)


@pytest.mark.threat("T30")
def test_a_squatted_name_is_never_used(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        await client.create(config_map("squatted", proof="theirs"))
        for _ in range(2):
            with pytest.raises(ConflictError) as caught:
                await ensure_created(client, config_map("squatted", proof="ours"), proof="proof")
            assert caught.value.code == "exists"
        wish = {"fail": {"status": 503, "verb": "create", "resource": "configmaps"}}
        await client.request("POST", "/jupyter-dra/faults", body=wish)
        with pytest.raises(ConflictError):
            await ensure_created(client, config_map("squatted", proof="ours"), proof="proof")
        await client.delete("ConfigMap", "squatted")

    run(test)


def test_reads_and_deletions_are_repeated_writes_of_unknown_outcome_are_not(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        await client.create(config_map("repeat"))
        await client.request(
            "POST", "/jupyter-dra/faults", body={"fail": {"status": 503, "count": 2, "verb": "get"}}
        )
        assert (await client.get("ConfigMap", "repeat"))["data"]
        await client.request("POST", "/jupyter-dra/faults", body={"fail": {"status": 429, "verb": "create"}})
        await client.create(config_map("slowed"))
        await client.request("POST", "/jupyter-dra/faults", body={"fail": {"status": 503, "verb": "create"}})
        with pytest.raises(ClusterError) as caught:
            await client.create(config_map("unsure"))
        assert caught.value.code == "unreachable"
        for name in ("repeat", "slowed"):
            await client.delete("ConfigMap", name)

    run(test)


@pytest.mark.threat("T15")
def test_paths_cannot_be_broken_out_of(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        before = client.transport.requests
        for namespace in ("x/../secrets?", "..", "a/b", "a?b", "a%2Fb", ""):
            with pytest.raises(InputError):
                await client.get("ConfigMap", "name", namespace)
        with pytest.raises(InputError):
            await client.get("ConfigMap", "../secrets/x")
        assert client.transport.requests == before

    run(test)


@pytest.mark.threat("T15")
def test_a_redirect_is_not_followed_and_the_token_goes_nowhere(tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    class Redirecting(Elsewhere):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{other.server_port}/steal")
            self.end_headers()

        do_POST = do_GET

    other = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    stub = http.server.HTTPServer(("127.0.0.1", 0), Redirecting)
    threads = [threading.Thread(target=server.serve_forever, daemon=True) for server in (other, stub)]
    for thread in threads:
        thread.start()
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{stub.server_port}"}}],
                "users": [{"name": "u", "user": {"token": "secret"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    path.chmod(0o600)

    async def main() -> None:
        around = Surroundings(environ={}, home=tmp_path)
        async with await connect(kubeconfig=str(path), surroundings=around) as client:
            for verb in ("GET", "POST"):
                with pytest.raises(ClusterError, match="redirect"):
                    await client.request(verb, "/version")

    try:
        asyncio.run(main())
    finally:
        for server, thread in zip((other, stub), threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()
    assert seen == []


def test_an_absent_server_is_unreachable_in_words(tmp_path: Path) -> None:
    from tests.cluster.test_kubeconfig import config

    path = config(tmp_path / "config", "gone", current="gone")
    path.write_text(path.read_text().replace("https://gone.example:6443", "http://127.0.0.1:9"))

    async def main() -> None:
        async with await connect(kubeconfig=str(path)) as client:
            with pytest.raises(ClusterError) as caught:
                await client.request("GET", "/version", timeout=0.5)
            assert caught.value.code == "unreachable"
            assert "gone" in caught.value.message

    asyncio.run(main())


def test_version_and_rights_are_read_from_the_server(run: Any) -> None:
    async def test(client: KubeClient) -> None:
        version = await fetch_version(client)
        assert version.has_v1
        require_v1(version)
        assert all((await rights(client)).values())

    run(test)


def test_a_cluster_without_v1_is_too_old_with_its_version_named() -> None:
    with pytest.raises(ClusterError, match=r"v1\.33\.1.*only v1beta1, v1beta2") as caught:
        require_v1(ServerVersion("v1.33.1", "1.33", ("v1beta1", "v1beta2")))
    assert caught.value.code == "too-old"


def test_fields_the_server_dropped_are_named_by_path() -> None:
    sent = {
        "devices": {
            "requests": [{"name": "g", "exactly": {"count": 1, "capacity": {"requests": {"m": "1"}}}}]
        }
    }
    kept = {"devices": {"requests": [{"name": "g", "exactly": {"count": 1, "allocationMode": "ExactCount"}}]}}
    assert dropped_fields(sent, kept, "spec") == ["spec.devices.requests[0].exactly.capacity"]
    assert dropped_fields(kept, kept) == []
