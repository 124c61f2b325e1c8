"""From a laptop: client certificates, login plugins and proxies, each against a real API server behind them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster import KubeClient, WatchCache, connect
from jupyter_dra.cluster.proxies import proxy_for
from jupyter_dra.errors import ClusterError
from tests.cluster.gateways import CertifiedFront, Gateway, certified_front, connect_proxy, pem
from tests.cluster.test_client import config_map
from tests.localcluster_fixture import LocalCluster

API = "client.authentication.k8s.io/v1"


@pytest.fixture
def front(cluster: LocalCluster, tmp_path: Path) -> Iterator[CertifiedFront]:
    made = certified_front(cluster, tmp_path)
    yield made
    made.gateway.stop()


@pytest.fixture
def proxy() -> Iterator[Gateway]:
    made = connect_proxy("ada:wonder")
    yield made
    made.stop()


def use(kubeconfig: Path, test: Any) -> Any:
    async def main() -> Any:
        async with await connect(kubeconfig=str(kubeconfig)) as client, asyncio.timeout(60):
            return await test(client)

    return asyncio.run(main())


async def names(client: KubeClient) -> list[str]:
    return [item["metadata"]["name"] for item in (await client.list("Namespace"))["items"]]


async def brief(client: KubeClient) -> Any:
    return await client.request("GET", "/version", timeout=1)


def certificate(front: CertifiedFront, name: str) -> dict[str, str]:
    pair = front.authority.client(name, "people")
    return {"client-certificate-data": pem(pair.certificate), "client-key-data": pem(pair.key)}


def test_a_client_certificate_of_the_kubeconfig_is_shown_and_without_one_nothing_is_told(
    front: CertifiedFront, tmp_path: Path
) -> None:
    path = front.kubeconfig(tmp_path / "with", certificate(front, "ada"))
    assert "default" in use(path, names)
    assert set(front.gateway.seen) == {"ada"}
    with pytest.raises(ClusterError) as caught:
        use(front.kubeconfig(tmp_path / "without", {}), brief)
    assert caught.value.code == "unreachable"


def test_certificate_files_beside_the_kubeconfig_are_found_from_anywhere(
    front: CertifiedFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keys").mkdir()
    pair = front.authority.client("file", "people")
    (tmp_path / "keys" / "a.crt").write_bytes(pair.certificate)
    (tmp_path / "keys" / "a.key").write_bytes(pair.key)
    path = front.kubeconfig(
        tmp_path / "files", {"client-certificate": "keys/a.crt", "client-key": "keys/a.key"}
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "default" in use(path, names)
    assert front.gateway.seen[0] == "file"


def plugin(folder: Path, statuses: list[dict[str, Any]]) -> tuple[dict[str, Any], Path]:
    """A login plugin that gives these answers in turn, the last one again and again; and its count of calls."""
    script, calls = folder / "login.py", folder / "calls"
    script.write_text(
        "import json, sys\n"
        f"statuses = json.loads({json.dumps(statuses)!r})\n"
        f"with open({str(calls)!r}, 'a+') as file:\n"
        "    file.write('x'); file.seek(0); n = len(file.read())\n"
        f"print(json.dumps({{'apiVersion': {API!r}, 'kind': 'ExecCredential',"
        " 'status': statuses[min(n, len(statuses)) - 1]}))\n"
    )
    spec = {"apiVersion": API, "command": sys.executable, "args": [str(script)], "interactiveMode": "Never"}
    return {"exec": spec}, calls


def test_a_plugin_gives_token_and_certificate_and_new_ones_when_they_run_out(
    front: CertifiedFront, tmp_path: Path
) -> None:
    def status(name: str, lasts: timedelta) -> dict[str, Any]:
        pair = front.authority.client(name, "people")
        return {
            "token": front.token,
            "clientCertificateData": pair.certificate.decode(),
            "clientKeyData": pair.key.decode(),
            "expirationTimestamp": (datetime.now(UTC) + lasts).isoformat(),
        }

    user, calls = plugin(
        tmp_path, [status("first", timedelta(seconds=1)), status("second", timedelta(hours=1))]
    )

    async def test(client: KubeClient) -> None:
        await names(client)
        await names(client)
        await names(client)

    use(front.kubeconfig(tmp_path / "config", user), test)
    assert calls.read_text() == "xx"
    assert front.gateway.seen[-1] == "second"


def test_a_token_that_is_refused_is_asked_for_anew_once(
    front: CertifiedFront, cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, calls = plugin(tmp_path, [{"token": "withdrawn"}, {"token": front.token}])
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"] = user
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    path.chmod(0o600)

    # As if the token had been good for a while.
    monkeypatch.setattr("jupyter_dra.cluster.transport._RELOAD_PAUSE", 0.0)
    assert "default" in use(path, names)
    assert calls.read_text() == "xx"


def test_everything_goes_through_the_proxy_of_the_kubeconfig(
    front: CertifiedFront, proxy: Gateway, tmp_path: Path
) -> None:
    through = f"http://ada:wonder@127.0.0.1:{proxy.port}"
    path = front.kubeconfig(tmp_path / "config", certificate(front, "ada"), **{"proxy-url": through})

    async def test(client: KubeClient) -> None:
        cache = await WatchCache(client, "ConfigMap", "default").ready()
        await client.create(config_map("w-proxy"))
        await cache.wait_object("w-proxy", lambda obj: obj, 10)
        proxy.cut(up=True)
        await client.delete("ConfigMap", "w-proxy")
        await cache.wait_object("w-proxy", lambda obj: obj is None, 20)
        await cache.close()

    use(path, test)
    assert set(proxy.seen) == {f"CONNECT 127.0.0.1:{front.gateway.port}"}


@pytest.mark.threat("T18")
def test_a_proxy_that_wants_another_login_is_told_as_out_of_reach(
    front: CertifiedFront, proxy: Gateway, tmp_path: Path
) -> None:
    wrong = f"http://ada:other@127.0.0.1:{proxy.port}"
    path = front.kubeconfig(tmp_path / "config", certificate(front, "ada"), **{"proxy-url": wrong})
    with pytest.raises(ClusterError) as caught:
        use(path, brief)
    assert caught.value.code == "unreachable"
    assert "other" not in str(caught.value)


@pytest.mark.threat("T20")
def test_a_netrc_adds_no_login_of_its_own(
    front: CertifiedFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("default login mallory password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert "default" in use(front.kubeconfig(tmp_path / "config", certificate(front, "ada")), names)


@pytest.mark.parametrize(
    ("server", "exceptions", "direct"),
    [
        ("https://api.example.org:6443", "", False),
        ("https://api.example.org:6443", "example.org", True),
        ("https://example.org", ".example.org", False),
        ("https://api.example.org", "*.example.org", True),
        ("https://badexample.org", "example.org", False),
        ("https://api.example.org:6443", "example.org:443", False),
        ("https://api.example.org:6443", "example.org:6443", True),
        ("https://10.1.2.3:6443", "10.0.0.0/8", True),
        ("https://11.1.2.3:6443", "10.0.0.0/8,nonsense/x", False),
        ("https://10.1.2.3:6443", "10.1.2.3", True),
        ("https://[fd00::7]:6443", "fd00::/8", True),
        ("https://[fd00::7]:6443", "[fd00::7]:6443", True),
        ("https://10.1.2.3:6443", "1.2.3", False),
        ("https://api.example.org", "*", True),
        ("https://127.0.0.1:6443", "", True),
        ("https://localhost:6443", "", True),
        ("https://[::1]:6443", "", True),
    ],
)
def test_exceptions_from_the_proxy_are_read_as_kubectl_reads_them(
    server: str, exceptions: str, direct: bool
) -> None:
    around = {"HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": exceptions}
    assert proxy_for(server, None, around) == (None if direct else "http://proxy.example:3128")
    assert proxy_for(server, "http://own:1", around) == "http://own:1"
    assert proxy_for(server, None, {"NO_PROXY": exceptions}) is None


def test_a_proxy_of_another_kind_is_refused_in_words() -> None:
    with pytest.raises(ClusterError, match="speaks socks5") as caught:
        proxy_for("https://api.example.org", "socks5://127.0.0.1:1080", {})
    assert "HTTP proxy" in (caught.value.next_step or "")
