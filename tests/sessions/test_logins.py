"""A login that runs out while a kernel works, and the next one."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import SessionEnded
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from tests.localcluster_fixture import LocalCluster
from tests.sessions.place import Place
from tests.sessions.test_launch import launched

LOCAL = "jupyter-dra-local"  # pods are dialed at their addresses


def log_in(place: Place, account: str, path: Path) -> str:
    """Write a kubeconfig with a token of a service account, which lives as long as the account."""
    accounts = f"/api/v1/namespaces/{place.namespace}/serviceaccounts"
    place.cluster.request("POST", accounts, {"metadata": {"name": account}})
    name = f"system:serviceaccount:{place.namespace}:{account}"
    place.cluster.allow(name, place.namespace, "user")
    answer = place.cluster.request(
        "POST", f"{accounts}/{account}/token", {"spec": {"expirationSeconds": 600}}
    )
    token = str(answer["status"]["token"])
    config = json.loads(place.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    config["contexts"][0]["name"] = config["current-context"] = LOCAL
    path.write_text(json.dumps(config))
    path.chmod(0o600)
    return token


def refused(cluster: LocalCluster, token: str) -> bool:
    request = urllib.request.Request(
        f"{cluster.server}/version", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        context = ssl.create_default_context(cafile=str(cluster.ca))
        urllib.request.urlopen(request, context=context, timeout=10).close()
    except urllib.error.HTTPError as error:
        with error:
            return error.code == 401
    return False


def test_a_login_that_ran_out_leaves_the_kernel_alone_and_the_next_one_goes_on(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.cluster.transport._RELOAD_PAUSE", 0.5)
    path = tmp_path / "kubeconfig"
    token = log_in(place, "first", path)
    where = Where(kubeconfig=str(path), namespace=place.namespace)
    service = Sessions(where, identity=place.identity(), policy=SessionPolicy())
    place.services.append(service)
    session_id = launched(service)
    channel = service.channel(session_id)
    printed: list[str] = []

    def told(message: Mapping[str, Any]) -> None:
        if message["type"] == "stream":
            printed.append(str(message["content"]))

    channel.execute("x = 41", told=told)
    place.cluster.request("DELETE", f"/api/v1/namespaces/{place.namespace}/serviceaccounts/first")
    # The real server believes a token for ten seconds more.
    place.cluster.wait(lambda: refused(place.cluster, token))

    attached = service.loop.call(service.attach(session_id, notebook="second.ipynb"), 30)
    with pytest.raises(SessionEnded, match="does not accept these credentials"):
        service.loop.call(service.ready(session_id, attached.kernels[1].id), 60)
    channel.execute("print(x + 1)", told=told)
    assert "42" in "".join(printed)
    assert service.loop.call(service.get(session_id)).state == "running"

    log_in(place, "second", path)
    service.loop.call(service.stop(session_id))
    ended = service.loop.call(service.ended(session_id), 60).ended
    assert ended is not None and ended.code == "stopped"
    channel.close()
    place.cluster.wait(place.empty)
