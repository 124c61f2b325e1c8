"""Launching, looking at and stopping sessions on the local cluster, with real podside and kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_dra.errors import ConflictError, DRAError, NotFoundError, RefusedError, SessionEnded
from jupyter_dra.sessions import Session, SessionEvent, SessionRecord, Sessions
from tests.sessions.place import Place, end_of

H100 = {"tier": "high-memory-gpu"}


def launched(service: Sessions, requirement: dict[str, Any] | None = None, **options: Any) -> str:
    """Launch, wait for the kernel, return the id."""
    record = service.loop.call(service.launch(requirement or H100, **options))
    service.loop.call(service.ready(record.id), 60)
    return record.id


def test_a_launched_session_names_its_device_and_stopping_leaves_nothing(place: Place) -> None:
    service = place.service()
    session_id = launched(service, {"vram": "80GB"}, name="BERT train", notebook="train.ipynb")

    seen = service.loop.call(service.get(session_id)).as_dict()
    assert seen["state"] == "running"
    assert seen["id"].startswith("bert-train-")
    assert seen["devices"][0]["label"] == "H100 80 GB"
    assert seen["devices"][0]["node"] == "dgx-h100-0"
    assert seen["simulated"] is True
    assert [step["state"] for step in seen["steps"]] == ["done"] * 7
    assert seen["kernels"][0]["transport"] == "direct"
    assert seen["kernels"][0]["notebook"] == "train.ipynb"

    assert service.loop.call(service.stop(session_id)).state == "releasing"
    ended = service.loop.call(service.ended(session_id), 30)
    assert ended.state == "ended"
    assert ended.ended is not None
    assert ended.ended.code == "stopped"
    assert ended.ended.device_returned_at is not None
    place.cluster.wait(place.empty, deadline=5)


def test_a_launch_costs_at_most_six_requests_and_lists_nothing(place: Place) -> None:
    service = place.service()
    first = launched(service)
    client = service.loop.call(service.open())
    context = service._opening.current
    assert context is not None
    lists, before = sum(cache.lists for cache in context.caches.all), client.transport.requests

    second = launched(service)

    assert client.transport.requests - before <= 6
    assert sum(cache.lists for cache in context.caches.all) == lists
    for session_id in (first, second):
        service.loop.call(service.stop(session_id))


@pytest.mark.threat("T22")
@pytest.mark.threat("T19")
def test_pod_owns_claim_and_secret_and_runs_at_level_restricted(place: Place) -> None:
    service = place.service(longest_lease=7200)
    session_id = launched(service, {**H100, "env": {"TOKEN": "s3cr3t-value"}})

    pod = place.object("pods", f"{session_id}-0")
    claim = place.object("resourceclaims", session_id)
    secret = place.object("secrets", f"{session_id}-0-keys")
    for owned in (claim, secret):
        assert [o["uid"] for o in owned["metadata"]["ownerReferences"]] == [pod["metadata"]["uid"]]
    assert secret["immutable"] is True
    spec = pod["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == 7200
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    container = spec["containers"][0]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {entry["name"] for entry in container["env"]} == {"POD_IP", "NVIDIA_VISIBLE_DEVICES"}
    assert container["resources"]["claims"] == [{"name": spec["resourceClaims"][0]["name"]}]
    assert "s3cr3t-value" not in json.dumps([pod, claim])
    assert "s3cr3t-value" not in json.dumps(service.loop.call(service.get(session_id)).as_dict())
    labels = pod["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "jupyter-dra"
    assert labels["app.kubernetes.io/component"] == "kernel"
    assert labels["jupyter-dra.dev/session"] == session_id
    assert pod["metadata"]["annotations"]["jupyter-dra.dev/user"] == "ada"


@pytest.mark.parametrize(
    "step", ["claim-created", "allocated", "scheduled", "image-pulled", "kernel-starting"]
)
def test_cancel_at_every_step_leaves_nothing(place: Place, step: str) -> None:
    service = place.service()
    stopped: list[str] = []

    def on_event(event: SessionEvent) -> None:
        session = service._registry.live[event.id]
        if session.steps[step].state != "todo" and not stopped:
            stopped.append(event.id)
            service.loop.loop.create_task(service.stop(event.id))

    service.subscribe(on_event, every=True)
    record = service.loop.call(service.launch(H100))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 30)
    assert caught.value.code == "cancelled"
    ended = service.loop.call(service.ended(record.id), 30)
    assert ended.ended is not None
    assert ended.ended.code == "cancelled"
    place.cluster.wait(place.empty, deadline=7)


def test_an_image_that_cannot_be_pulled_ends_the_launch_and_undoes_it(place: Place) -> None:
    service = place.service()
    record = service.loop.call(service.launch({**H100, "image": "registry.invalid/lab/torch:missing"}))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 30)
    assert caught.value.code == "image"
    ended = service.loop.call(service.ended(record.id), 30).as_dict()
    assert ended["ended"]["params"]["image"] == "registry.invalid/lab/torch:missing"
    assert [s["code"] for s in ended["steps"] if s["state"] == "failed"] == ["image-pulled"]
    place.cluster.wait(place.empty, deadline=5)


def test_a_kernel_that_cannot_start_is_a_crash_with_its_words(place: Place) -> None:
    from jupyter_dra.sessions import KernelChoice

    service = place.service()
    choice = KernelChoice(argv=("python", "-c", "import sys; sys.exit(3)"))
    record = service.loop.call(service.launch(H100, kernel=choice))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 30)
    assert caught.value.code == "crashed"
    assert end_of(service, record.id).exit_code == 3


def test_the_same_key_or_a_starting_notebook_gives_the_first_session(place: Place) -> None:
    service = place.service()
    first = service.loop.call(service.launch(H100, key="click-1", notebook="a.ipynb"))
    assert service.loop.call(service.launch(H100, key="click-1")).id == first.id
    assert service.loop.call(service.launch(H100, notebook="a.ipynb")).id == first.id
    service.loop.call(service.ready(first.id), 60)
    other = service.loop.call(service.launch(H100, notebook="a.ipynb"))
    assert other.id != first.id


@pytest.mark.threat("T33")
def test_twenty_parallel_starts_at_limit_two_give_two_sessions(place: Place) -> None:
    import asyncio

    service = place.service(max_sessions=2)

    async def many() -> list[SessionRecord | BaseException]:
        return await asyncio.gather(*(service.launch(H100) for _ in range(20)), return_exceptions=True)

    results = service.loop.call(many(), 60)
    refused = [one for one in results if isinstance(one, RefusedError)]
    assert len(refused) == 18
    assert {one.code for one in refused} == {"limit"}
    assert len([one for one in results if not isinstance(one, BaseException)]) == 2


@pytest.mark.threat("T33")
def test_a_limit_counts_what_another_process_of_the_user_holds(place: Place) -> None:
    first, second = place.service(max_devices=3), place.service(max_devices=3)
    launched(first, {**H100, "count": 2})
    with pytest.raises(RefusedError) as caught:
        second.loop.call(second.launch({**H100, "count": 2}))
    assert caught.value.code == "limit"
    assert caught.value.params["used"] == 2
    second.loop.call(second.launch(H100))


@pytest.mark.threat("T25")
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_a_claim_or_template_with_admin_access_is_not_used_by_name(place: Place, kind: str) -> None:
    place.cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{place.namespace}",
        {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
        content_type="application/merge-patch+json",
    )
    exactly = {"deviceClassName": "gpu.nvidia.com", "adminAccess": True}
    spec: dict[str, Any] = {"devices": {"requests": [{"name": "g", "exactly": exactly}]}}
    body = {"spec": spec} if kind == "ResourceClaim" else {"spec": {"spec": spec}}
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/{kind.lower()}s"
    manifest = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "peek"}, **body}
    assert place.cluster.request("POST", path, manifest)["kind"] == kind
    service = place.service()
    name = "peek" if kind == "ResourceClaim" else "template/peek"
    with pytest.raises(RefusedError) as caught:
        service.loop.call(service.launch({"claim": name}))
    assert (caught.value.path or "").endswith("requests[0].exactly.adminAccess")
    place.cluster.request("DELETE", f"{path}/peek")


def test_impossible_requirements_are_refused_before_anything_is_made(place: Place) -> None:
    service = place.service()
    with pytest.raises(ConflictError) as caught:
        service.loop.call(service.launch({"tier": "high-memory-gpu", "vram": "200GB"}))
    assert caught.value.code == "impossible"
    assert caught.value.params["plan"]["verdict"] == "impossible"
    assert place.empty()


def test_a_busy_launch_is_refused_without_wait_and_starts_by_itself_with_wait(place: Place) -> None:
    service = place.service()
    holder = launched(service, {**H100, "count": 8})
    with pytest.raises(ConflictError) as caught:
        service.loop.call(service.launch(H100))
    assert caught.value.code == "busy"

    waiting = service.loop.call(service.launch(H100, wait=60))
    assert service.loop.call(service.get(waiting.id)).state == "waiting"

    def explained() -> Any:
        wait = service.loop.call(service.get(waiting.id)).wait
        return wait if wait and wait.reasons else None

    reasons = place.cluster.wait(explained, deadline=15).reasons
    assert any(reason["code"] == "taken" for reason in reasons)
    service.loop.call(service.stop(holder))
    service.loop.call(service.ready(waiting.id), 60)
    assert service.loop.call(service.get(waiting.id)).wait is None


def test_a_wait_that_is_over_ends_the_session(place: Place) -> None:
    service = place.service()
    launched(service, {**H100, "count": 8})
    waiting = service.loop.call(service.launch(H100, wait=1))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(waiting.id), 30)
    assert caught.value.code == "wait-over"


def test_two_kernels_share_one_claim_and_the_last_one_out_releases(place: Place) -> None:
    service = place.service()
    session_id = launched(service)
    record = service.loop.call(service.attach(session_id, notebook="eval.ipynb"))
    first, second = record.kernels
    service.loop.call(service.ready(session_id, second.id), 60)

    claim = place.object("resourceclaims", session_id)
    assert len(claim["metadata"]["ownerReferences"]) == 2
    assert len(claim["status"]["reservedFor"]) == 2
    secrets = [place.object("secrets", f"{session_id}-{n}-keys")["data"] for n in (0, 1)]
    assert secrets[0]["server.key"] != secrets[1]["server.key"]
    assert secrets[0]["podside.json"] != secrets[1]["podside.json"]

    service.loop.call(service.stop_kernel(session_id, first.id))
    place.cluster.wait(lambda: len(service.loop.call(service.get(session_id)).kernels) == 1)
    assert service.loop.call(service.get(session_id)).state == "running"
    assert place.objects()["claims"] == [session_id]

    service.loop.call(service.stop_kernel(session_id, second.id))
    assert end_of(service, session_id).code == "stopped"
    place.cluster.wait(place.empty, deadline=5)


def test_an_existing_claim_of_the_user_is_used_and_never_owned_or_deleted(place: Place) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "mine", "namespace": place.namespace},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu"}}]}
        },
    }
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaims"
    place.cluster.request("POST", path, claim)
    service = place.service()
    session_id = launched(service, {"claim": "mine"})
    assert service.loop.call(service.get(session_id)).as_dict()["claim"] == {
        "name": "mine",
        "made_by_us": False,
        "template": None,
    }
    assert not place.object("resourceclaims", "mine")["metadata"].get("ownerReferences")
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 30)
    assert place.objects()["claims"] == ["mine"]
    place.cluster.request("DELETE", f"{path}/mine")


def test_a_template_gives_a_claim_of_its_own_to_the_pod(place: Place) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "shape", "namespace": place.namespace},
        "spec": {
            "spec": {
                "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "high-memory-gpu"}}]}
            }
        },
    }
    path = f"/apis/resource.k8s.io/v1/namespaces/{place.namespace}/resourceclaimtemplates"
    place.cluster.request("POST", path, template)
    service = place.service()
    session_id = launched(service, {"claim": "template/shape"})
    seen = service.loop.call(service.get(session_id)).as_dict()
    assert seen["claim"]["template"] == "shape"
    assert seen["claim"]["name"].startswith(f"{session_id}-0-")
    assert seen["devices"][0]["label"] == "H100 80 GB"
    service.loop.call(service.stop(session_id))
    service.loop.call(service.ended(session_id), 30)
    place.cluster.wait(place.empty, deadline=5)


def test_the_log_of_a_kernel_can_be_read(place: Place) -> None:
    service = place.service()
    session = Session.find(launched(service), service=service)
    assert "podside" in session.log()
    follow = session.follow_log()
    assert b"podside" in next(follow)
    follow.close()
    with pytest.raises(NotFoundError):
        next(session.follow_log(kernel_id="nobody"))


def test_a_session_object_launches_blocks_and_stops(place: Place) -> None:
    service = place.service()
    with Session.launch(service=service, tier="high-memory-gpu", name="block") as session:
        assert session.state == "running"
        assert session.devices[0].driver == "gpu.nvidia.com"
    assert session.record().ended is not None
    with pytest.raises(NotFoundError):
        Session.find("nobody-22222", service=service)


def test_errors_are_ours(place: Place) -> None:
    service = place.service()
    with pytest.raises(DRAError) as caught:
        service.loop.call(service.launch({"tire": "x"}))
    assert "tier" in (caught.value.next_step or caught.value.message)


def test_a_tier_with_a_price_says_what_the_session_has_cost(place: Place) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    name = f"priced-{place.namespace}"
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name, "annotations": {"jupyter-dra.dev/price-per-hour": "7200.00 EUR"}},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
    }
    place.cluster.request("POST", path, made)
    service = place.service()
    session_id = launched(service, {"tier": name})

    def cost() -> float:
        price = service.loop.call(service.get(session_id)).as_dict()["price"]
        assert price["currency"] == "EUR"
        return float(price["so_far"])

    place.cluster.wait(lambda: cost() >= 2.0, deadline=10)
    place.cluster.request("DELETE", f"{path}/{name}")
