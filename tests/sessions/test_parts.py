"""Images, seals, limits, events, the loop: the parts of a session that need no cluster."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_dra.claims import Requirement
from jupyter_dra.errors import DRAError, RefusedError, RequirementError
from jupyter_dra.kernels.runtime import PORT
from jupyter_dra.sessions import BackgroundLoop, SessionEvent, SessionPolicy, VolumeOffer, load_identity
from jupyter_dra.sessions.events import Publisher
from jupyter_dra.sessions.images import image_allowed
from jupyter_dra.sessions.live import LiveSession
from jupyter_dra.sessions.pods import PodRequest, build_pod, build_secret, read_secret
from jupyter_dra.sessions.ports import PodMaterials
from jupyter_dra.sessions.record import Lease
from jupyter_dra.sessions.seal import is_sealed, lease_text, read_lease, seal
from jupyter_dra.sessions.store import SessionStore

KEY = b"k" * 32


@pytest.mark.threat("T24")
@pytest.mark.parametrize(
    ("image", "patterns", "allowed"),
    [
        ("ghcr.io/lab/torch:2.9", ("ghcr.io/lab/*",), True),
        ("ghcr.io/lab/torch@sha256:" + "0" * 64, ("ghcr.io/lab/*",), True),
        ("quay.io/j/base:2026-11@sha256:" + "0" * 64, ("quay.io/j/base:2026-*",), False),
        ("quay.io/j/base@sha256:" + "0" * 64, ("quay.io/j/base@sha256:" + "1" * 64,), False),
        ("ghcr.io/lab/deep/torch:1", ("ghcr.io/lab/*",), False),
        ("ghcr.io.evil.example/lab/torch:2.9", ("ghcr.io/lab/*",), False),
        ("evil.example/ghcr.io/lab/torch:1", ("ghcr.io/lab/*",), False),
        ("quay.io/jupyter/base:x", ("quay.io/jupyter/base:2026-*",), False),
        ("quay.io/jupyter/base:2026-11", ("quay.io/jupyter/base:2026-*",), True),
        ("quay.io/jupyter/base", ("quay.io/jupyter/base:latest",), True),
        ("python", ("docker.io/library/python:*",), True),
        ("python:3.12", ("python",), True),
        ("anything:1", (), False),
        ("anything:1", None, True),
    ],
)
def test_images_are_compared_part_by_part(
    image: str, patterns: tuple[str, ...] | None, allowed: bool
) -> None:
    assert image_allowed(image, patterns) is allowed


@pytest.mark.threat("T24")
@pytest.mark.parametrize(
    "image", ["", "a b", "UPPER/case:1", "x:y:z", "../../x", "a@sha256:zz", "-x", "x\nimage: y", "http://x/y"]
)
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(RequirementError):
        image_allowed(image, None)


def sealed(**labels: str) -> dict[str, Any]:
    obj = {"kind": "Pod", "metadata": {"name": "p-0", "namespace": "n", "labels": dict(labels)}}
    return seal(obj, KEY)


@pytest.mark.threat("T29")
def test_a_seal_holds_for_this_object_and_this_key_only() -> None:
    obj = sealed(**{"jupyter-dra.dev/session": "s"})
    assert is_sealed(obj, KEY)
    assert not is_sealed(obj, b"x" * 32)
    for change in ({"name": "q-0"}, {"namespace": "m"}, {"labels": {"jupyter-dra.dev/session": "t"}}):
        assert not is_sealed({**obj, "metadata": {**obj["metadata"], **change}}, KEY)


@pytest.mark.threat("T34")
def test_a_lease_somebody_edited_is_not_believed() -> None:
    text = lease_text(KEY, "s", ends_at=1000, idle_seconds=60)
    assert read_lease(KEY, "s", text) == (1000.0, 60.0)
    edited = json.dumps({**json.loads(text), "ends_at": 9_999_999})
    for bad in (edited, "", None, "{}", "[]", "nonsense"):
        assert read_lease(KEY, "s", bad) is None
    assert read_lease(KEY, "other", text) is None


def request(**changes: Any) -> PodRequest:
    materials = PodMaterials({"podside.py": b"x"}, ("python", "x"), 17117, None, {"client.key": b"secret"})
    fields = {"name": "s-0", "namespace": "n", "claim": "s", "image": "i", "cpu": "1", "host_memory": "1Gi"}
    return PodRequest(**{**fields, "materials": materials, "user_label": "ada-1", **changes})


@pytest.mark.threat("T12")
def test_private_keys_lie_in_the_secret_and_are_not_mounted() -> None:
    secret, pod = build_secret(request()), build_pod(request(), SessionPolicy())
    assert read_secret(secret) == ({"client.key": b"secret"}, {"podside.py": b"x"})
    volume = pod["spec"]["volumes"][0]["secret"]
    assert [item["key"] for item in volume["items"]] == ["podside.py"]
    assert volume["defaultMode"] == 0o400


@pytest.mark.threat("T09")
def test_the_network_policy_of_the_examples_covers_the_pods_that_are_made() -> None:
    text = (Path(__file__).parents[2] / "examples" / "cluster" / "network-policy.yaml").read_text()
    spec = yaml.safe_load(text)["spec"]
    tags = {"app.kubernetes.io/managed-by": "jupyter-dra"}
    pod = build_pod(request(labels=tags), SessionPolicy())
    assert spec["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [rule] = spec["ingress"]
    assert [port["port"] for port in rule["ports"]] == [PORT]
    assert rule["from"], "an empty list would let everybody in"
    metadata = ipaddress.ip_address("169.254.169.254")
    blocks = [peer["ipBlock"] for peer in spec["egress"][0]["to"]]
    assert {ipaddress.ip_network(block["cidr"]).version for block in blocks} == {4, 6}
    assert any(metadata in ipaddress.ip_network(one) for block in blocks for one in block["except"])


@pytest.mark.threat("T21")
@pytest.mark.parametrize("text", ["x\nhostNetwork: true", "{{ 7*7 }}", "$(id)", '"}, {"a": "', "🙂" * 20])
def test_user_text_changes_one_leaf_of_the_pod(text: str) -> None:
    plain = build_pod(request(), SessionPolicy())
    changed = build_pod(request(image=text), SessionPolicy())
    assert changed["spec"]["containers"][0]["image"] == text
    changed["spec"]["containers"][0]["image"] = "i"
    assert changed == plain


@pytest.mark.threat("T23")
def test_volumes_come_from_the_administrators_offers_only() -> None:
    offer = VolumeOffer("/home/jovyan", {"persistentVolumeClaim": {"claimName": "home-{user}"}})
    policy = SessionPolicy(volumes={"home": offer})
    pod = build_pod(request(volumes=("home",)), policy)
    assert pod["spec"]["volumes"][2]["persistentVolumeClaim"] == {"claimName": "home-ada-1"}
    with pytest.raises(RefusedError) as caught:
        build_pod(request(volumes=("claim-of-eve",)), policy)
    assert caught.value.path == "volumes"


@pytest.mark.threat("T37")
def test_events_of_one_session_are_merged_to_five_a_second() -> None:
    async def main() -> list[SessionEvent]:
        publisher = Publisher()
        seen: list[SessionEvent] = []
        publisher.subscribe(seen.append)
        for n in range(40):
            publisher.publish(SessionEvent("s", n, "usage", "running"))
        publisher.publish(SessionEvent("s", 40, "state", "releasing"))
        publisher.publish(SessionEvent("s", 41, "usage", "releasing"))
        await asyncio.sleep(0.5)
        publisher.close()
        return seen

    seen = asyncio.run(main())
    assert len(seen) <= 8
    assert (seen[-1].revision, seen[-1].change) == (41, "state")


def test_a_failing_subscriber_does_not_disturb_the_others() -> None:
    async def main() -> list[SessionEvent]:
        publisher = Publisher()
        seen: list[SessionEvent] = []

        def broken(event: SessionEvent) -> None:
            raise RuntimeError("mine alone")

        publisher.subscribe(broken)
        publisher.subscribe(seen.append)
        publisher.publish(SessionEvent("s", 1, "created", "starting"))
        return seen

    assert len(asyncio.run(main())) == 1


@pytest.mark.threat("T12")
def test_the_identity_is_private_lasting_and_shared_by_processes(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        first = load_identity(tmp_path / "data", user="ada")
        SessionStore(first.folder).write("s-22222", {"a": 1})
    finally:
        os.umask(old)
    again = load_identity(tmp_path / "data", user="ada")
    assert (first.server, first.key) == (again.server, again.key)
    assert "key" not in repr(first)
    for path in tmp_path.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_data_folder_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file where the folder should be")
    with pytest.raises(DRAError) as found:
        load_identity(taken / "data", user="ada")
    assert found.value.code == "data-folder"
    assert found.value.message == f"The data folder {taken / 'data'} cannot be used: Not a directory."
    assert found.value.next_step and "XDG_DATA_HOME" in found.value.next_step
    store = SessionStore(tmp_path)
    shutil.rmtree(tmp_path / "sessions")
    with pytest.raises(DRAError, match="No such file or directory"):
        store.write("s-22222", {"a": 1})


def test_what_held_a_step_up_is_told_while_it_is_under_way_only() -> None:
    session = LiveSession(
        id="s-22222",
        name="s",
        namespace="default",
        user="ada",
        server="",
        requirement=Requirement(tier="gpu"),
        created_at=0.0,
        lease=Lease(None, None, None),
        emit=lambda event: None,
        clock=lambda: 1.0,
    )
    session.begin("scheduled")
    session.explain("the object has been modified")
    assert session.steps["scheduled"].params == {"detail": "the object has been modified"}
    session.done("scheduled", node="n-1")
    assert session.steps["scheduled"].params == {"node": "n-1"}


def test_the_background_loop_runs_while_the_caller_blocks_and_ends_cleanly() -> None:
    loop = BackgroundLoop()

    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert loop.call(work()) == "done"
    assert asyncio.run(loop.wrap(work())) == "done"
    hanging = loop.run(asyncio.sleep(60))
    loop.close()
    loop.close()
    assert hanging.cancelled()
