"""A real JupyterHub with the example's configuration: from the form to a running server and back, and its API."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from jupyter_dra.kernels.folders import PrivateFolder
from tests.hub.hubs import Hub, wait_for
from tests.localcluster_fixture import LocalCluster, claim_manifest, pod_manifest

# People whose name begins with "lab-" get the real single-user server; it is what takes the time.
_LAB = """
def _real_server(spawner):
    if spawner.user.name.startswith("lab-"):
        spawner.image = "quay.io/jupyter/minimal-notebook"
        spawner.cmd = ["jupyterhub-singleuser"]
        spawner.args = ["--allow-root"]

c.KubeSpawner.pre_spawn_hook = _real_server
c.KubeSpawner.http_timeout = 60
c.DRASpawner.tiers.append({"name": "middle", "device_class": "medium-gpu", "display_name": "Medium GPU"})
"""


@pytest.fixture(scope="module")
def hub(cluster: LocalCluster) -> Iterator[Hub]:
    with PrivateFolder(tempfile.gettempdir()) as folder:
        found = Hub(Path(folder), cluster, _LAB).start()
        yield found
        found.stop()


def claims(cluster: LocalCluster, user: str) -> list[dict[str, Any]]:
    return [
        one
        for one in cluster.list("resourceclaims")
        if one["metadata"]["name"].startswith(f"jupyter-{user}-")
    ]


def gone(cluster: LocalCluster, user: str) -> bool:
    pods = [one["metadata"]["name"] for one in cluster.list("pods")]
    return not claims(cluster, user) and not any(name.startswith(f"jupyter-{user}") for name in pods)


def test_a_person_chooses_a_device_works_on_it_and_gives_it_back(hub: Hub, cluster: LocalCluster) -> None:
    token = hub.add_user("lab-ada")
    ada = hub.browser("lab-ada")
    page = ada.form()
    assert page.status_code == 200
    assert "Small GPU" in page.text and "4 of 4 free" in page.text.replace("at most ", "")
    assert "near-network" not in page.text  # for another group
    answer = ada.choose(tier="large", vram="80GB", **{"count--large": "2", "count--small": "1"})
    assert "/hub/spawn-pending/lab-ada" in answer.url or "/user/lab-ada" in answer.url, answer.text[:3000]
    told = ada.progress(until=lambda one: bool(one.get("ready") or one.get("failed")))
    texts = [str(one.get("message")) for one in told]
    assert told[-1].get("ready"), texts
    assert any(text.startswith("Device reserved: ") for text in texts), texts

    (claim,) = claims(cluster, "lab-ada")
    pod = cluster.get("pods", "jupyter-lab-ada")
    assert pod is not None
    assert claim["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert len(claim["status"]["allocation"]["devices"]["results"]) == 2
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "4", "memory": "17179869184"}
    assert resources["claims"] == [{"name": "device"}]
    status = requests.get(
        f"{hub.url}/user/lab-ada/api/status", headers={"Authorization": f"token {token}"}, timeout=20
    )
    assert status.status_code == 200 and "kernels" in status.json()

    state = (hub.server("lab-ada") or {})["state"]["dra"]
    assert state["asked"] == [{"tier": "high-memory-gpu", "vram": "80GB", "count": 2}]
    assert len(state["given"]) == 2

    # A server's own token starts nothing.
    mine = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
    refused = hub.start_server(
        "lab-ada", {"tier": "small"}, server="x", token=str(mine["JUPYTERHUB_API_TOKEN"])
    )
    assert refused.status_code in (403, 404)

    assert hub.stop_server("lab-ada").status_code in (202, 204)
    wait_for(lambda: gone(cluster, "lab-ada"))


@pytest.mark.threat("T46")
@pytest.mark.parametrize(
    ("options", "status", "field"),
    [
        ({"tier": "small", "count": 16}, 403, "count"),
        ({"tier": "high-memory-gpu"}, 400, "tier"),
        ({"tier": "near-network"}, 400, "Offered: small, large"),
        ({"tier": "small", "where": ["true"]}, 403, "where"),
        ({"tier": "small", "adminAccess": True}, 400, "adminAccess"),
        ({"tier": "large", "vram": "80GB\n"}, 400, "vram"),
        ({"tier": "large", "vram": "{unescaped_username}"}, 400, "vram"),
        ({"profile": "gpu-older"}, 400, "profile"),
    ],
)
def test_a_start_by_api_is_refused_with_the_field(
    hub: Hub, options: dict[str, Any], status: int, field: str
) -> None:
    token = hub.add_user("mia")
    answer = hub.start_server("mia", options, token=token)
    assert answer.status_code == status and field in answer.json()["message"], answer.text
    # A choice that was refused is remembered by the hub, but stands in nobody's way.
    assert "Small GPU" in hub.browser("mia").form().text


@pytest.mark.threat("T46")
def test_a_form_posted_from_another_site_starts_nothing(hub: Hub, cluster: LocalCluster) -> None:
    person = hub.browser("nia")
    answer = person.session.post(f"{hub.url}/hub/spawn/nia", data={"dra-tier": "small"}, timeout=20)
    assert answer.status_code == 403 and not claims(cluster, "nia")


def test_a_refused_form_comes_back_with_the_reason(hub: Hub) -> None:
    answer = hub.browser("oda").choose(tier="small", vram="80GB")
    assert answer.status_code == 400
    assert "Not possible here" in answer.text and "80 GB" in answer.text and "dra-tiers" in answer.text


def test_a_choice_of_last_term_is_told_to_be_gone(hub: Hub) -> None:
    hub.add_user("pia")
    assert hub.start_server("pia", {"tier": "gpu-older"}).status_code == 400
    page = hub.browser("pia").form().text
    assert "Your last choice, " in page and "<b>gpu-older</b>" in page and "no longer offered" in page
    hub.start_server("pia", {"tier": "gpu-old", "count": 16})
    assert "no longer offered" not in hub.browser("pia").form().text


@pytest.mark.threat("T33")
def test_twenty_starts_by_api_at_once_stay_within_the_limit(hub: Hub, cluster: LocalCluster) -> None:
    token = hub.add_user("quin")
    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(
                lambda n: hub.start_server("quin", {"tier": "small"}, server=f"s{n}", token=token), range(20)
            )
        )
    # A slow hub answers 202 before it has decided; what counts is who runs in the end.
    assert {one.status_code for one in answers} <= {201, 202, 403}

    def running() -> list[str]:
        servers = hub.api("GET", "/users/quin").json()["servers"]
        assert sum(one["ready"] for one in servers.values()) <= 2 and len(claims(cluster, "quin")) <= 2
        pending = any(one["pending"] for one in servers.values())
        return [] if pending else [name for name, one in servers.items() if one["ready"]]

    names = wait_for(running)
    assert len(names) == 2, [
        line for line in hub.log.splitlines() if "quin" in line and line[:2] in ("[E", "[W")
    ]
    for name in names:
        hub.stop_server("quin", name)
    wait_for(lambda: gone(cluster, "quin"))


@pytest.mark.threat("T48")
def test_others_stay_unnamed_and_a_cancelled_wait_leaves_nothing(hub: Hub, cluster: LocalCluster) -> None:
    hub.add_user("sentinel-sue")
    hub.start_server("sentinel-sue", {"tier": "middle", "count": 2})
    hub.wait_ready("sentinel-sue")
    rex = hub.browser("rex")
    assert "all 2 taken" in rex.form().text
    begun = time.monotonic()
    page = rex.choose(tier="middle")
    told = rex.progress(until=lambda one: str(one.get("message")).startswith("Waiting"))
    assert told[-1]["message"].startswith(
        "Waiting: 2 of 2 Medium GPUs are taken. 2 are held in this hub, 0 outside"
    )
    shown = page.text + rex.form().text + str(told)
    assert "sentinel" not in shown
    assert time.monotonic() - begun < 20
    assert hub.stop_server("rex").status_code in (202, 204)
    wait_for(lambda: gone(cluster, "rex"))
    hub.stop_server("sentinel-sue")
    wait_for(lambda: gone(cluster, "sentinel-sue"))


@pytest.mark.threat("T47")
def test_a_hub_that_was_killed_finds_its_servers_and_their_claims(hub: Hub, cluster: LocalCluster) -> None:
    """Last: it leaves a hub of another configuration behind."""
    hub.add_user("tess")
    hub.add_user("uma")
    hub.start_server("tess", {"tier": "small"})
    hub.wait_ready("tess")
    taking = claim_manifest("taking", "medium-gpu", 2)
    cluster.apply(
        taking, pod_manifest("taking", "python", "-c", "import signal; signal.pause()", claim="taking")
    )
    cluster.wait_for_pod("taking")
    hub.start_server("uma", {"tier": "middle"})
    wait_for(lambda: claims(cluster, "uma"))
    before = {one["metadata"]["uid"] for one in cluster.list("pods")}
    hub.kill()

    hub.config = (
        _LAB + '\nc.KubeSpawner.pod_name_template = "nb-{user_server}"\nc.KubeSpawner.http_timeout = 3\n'
    )
    hub.start()
    tess = hub.wait_ready("tess")
    assert tess["state"]["pod_name"] == "jupyter-tess" and len(tess["state"]["dra"]["claims"]) == 1
    assert {one["metadata"]["uid"] for one in cluster.list("pods")} <= before
    # The one that was waiting is cleaned up, under the names it had.
    wait_for(lambda: gone(cluster, "uma"))
    hub.stop_server("tess")
    wait_for(lambda: gone(cluster, "tess"))
    hub.start_server("tess", {"tier": "none"})
    assert hub.wait_ready("tess")["state"]["pod_name"] == "nb-tess"
    hub.stop_server("tess")
    wait_for(lambda: cluster.get("pods", "nb-tess") is None)
    cluster.kubectl("delete", "pod", "taking")
    cluster.kubectl("delete", "resourceclaim", "taking")
