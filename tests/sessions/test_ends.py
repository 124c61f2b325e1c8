"""What really happens to a session has its own end code, told within seconds: in its record, its log, to its kernel.

Ends that other tests cause on the way (stopped, cancelled, idle, lease-over, pod-deleted, claim-deleted, image, quota,
wait-over) are not caused here again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jupyter_dra.errors import ClusterError, SessionEnded
from jupyter_dra.sessions import KernelChoice, Sessions, replacement, supervision
from tests.localcluster_fixture import LocalCluster, start_local_cluster
from tests.sessions.conftest import Place
from tests.sessions.test_launch import launched
from tests.sessions.test_lost_pods import replaced

L4 = {"tier": "gpu.nvidia.com", "host_memory": "400Mi", "cpu": "1"}
SECONDS = 5.0
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Six L4 on three nodes that count as lost after a second of silence."""
    made = start_local_cluster(None, ["l4"], lease_seconds=0.3)
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "jupyter_dra.sessions")
    return caplog


@pytest.fixture
def last_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the third replacement in ten minutes: the next loss of a pod is an end."""
    monkeypatch.setattr(replacement, "LIMIT", 0)


def ended(service: Sessions, session_id: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = service.loop.call(service.get(session_id)).as_dict()["ended"]
    return found


def check_end(
    place: Place,
    service: Sessions,
    session_id: str,
    code: str,
    log: pytest.LogCaptureFixture,
    *,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """The reason is known in time, in words with a next step, and stands in the log; everything is given back."""
    began = time.monotonic()
    found: dict[str, Any] = place.cluster.wait(lambda: ended(service, session_id), deadline=20)
    assert found["code"] == code, found
    assert time.monotonic() - began < seconds
    assert found["message"].endswith(".")
    assert found["next"].endswith(".")
    assert any(f"({code})" in record.message and found["next"] in record.message for record in log.records)
    done: dict[str, Any] = service.loop.call(service.ended(session_id), 30).as_dict()["ended"]
    assert done["code"] == code
    assert done["device_returned_at"] is not None
    place.cluster.wait(place.empty, deadline=10)
    return done


def run(service: Sessions, session_id: str, code: str) -> str:
    """Run code that takes the kernel away; the code of the end that whoever waits for the cell is told."""
    channel = service.channel(session_id)
    try:
        with pytest.raises(SessionEnded) as caught:
            channel.execute(code, told=lambda message: None)
        return caught.value.code
    finally:
        channel.close()


def test_memory_beyond_the_limit_is_out_of_memory_of_the_host(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    service = place.service()
    session_id = launched(service, L4)
    assert run(service, session_id, "hold = b'x' * (700 << 20)") == "out-of-memory"
    found = check_end(place, service, session_id, "out-of-memory", told)
    assert "400Mi of host memory" in found["message"]
    assert "not the device's" in found["message"]


def test_an_end_that_the_cluster_tells_while_the_kernel_is_dialled_is_not_missed(
    place: Place, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = place.service()
    session_id = launched(service, L4)
    ctx = service.loop.call(service._context())
    claims = ctx.caches.claims(place.namespace)

    async def late(*_: object, **__: object) -> None:
        """A dial that fails after all the news of the end has come, that of the claim's deallocation at last."""
        while "allocation" in (claims.get(session_id, place.namespace) or {}).get("status", {}):
            await asyncio.sleep(0.01)
        raise ClusterError("nobody listens", code="unreachable")

    monkeypatch.setattr(type(ctx.runtime), "connect", late)
    assert run(service, session_id, "hold = b'x' * (700 << 20)") == "out-of-memory"
    check_end(place, service, session_id, "out-of-memory", told)


def test_a_segmentation_fault_is_a_crash_with_its_signal_and_the_last_lines_of_the_log(
    place: Place, told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "DEAD_PATIENCE", 1.0)
    service = place.service()
    session_id = launched(service, L4)
    assert run(service, session_id, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)") == "crashed"
    found = check_end(place, service, session_id, "crashed", told)
    assert "SIGSEGV" in found["message"]
    assert "kernel ended" in found["params"]["last_lines"]


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (0, "exited", "The kernel ended by itself."),
        (3, "crashed", "The kernel ended with exit code 3."),
    ],
)
def test_a_kernel_that_leaves_by_itself_says_with_which_status(
    place: Place,
    told: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: str,
    message: str,
) -> None:
    monkeypatch.setattr(supervision, "DEAD_PATIENCE", 1.0)
    service = place.service()
    session_id = launched(service, L4)
    assert run(service, session_id, f"import os; os._exit({status})") == code
    assert check_end(place, service, session_id, code, told)["message"] == message


def annotate(place: Place, kind: str, name: str, value: str | None) -> None:
    where = f"/namespaces/{place.namespace}" if kind == "pods" else ""
    notes = {"metadata": {"annotations": {"jupyter-dra.dev/fault": value}}}
    answer = place.cluster.request("PATCH", f"/api/v1{where}/{kind}/{name}", notes, content_type=MERGE)
    assert answer["kind"] != "Status", answer


@pytest.mark.usefixtures("last_loss")
def test_a_node_that_runs_short_evicts_with_its_reason(place: Place, told: pytest.LogCaptureFixture) -> None:
    service = place.service()
    session_id = launched(service, L4)
    annotate(place, "pods", f"{session_id}-0", "evict")
    params = check_end(place, service, session_id, "evicted", told)["params"]
    assert "low on resource" in params["detail"]
    assert params["resource"] == "memory"


def disrupt(place: Place, pod: str, reason: str) -> None:
    """What the scheduler (preemption) and the eviction API do: say it in the pod's status, then delete the pod."""
    path = f"/api/v1/namespaces/{place.namespace}/pods/{pod}"
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": "told by the cluster",
    }
    body = {"status": {"conditions": [condition]}}
    strategic = "application/strategic-merge-patch+json"
    answer = place.cluster.request("PATCH", f"{path}/status", body, content_type=strategic)
    assert answer["kind"] == "Pod", answer
    place.cluster.request("DELETE", path)


@pytest.mark.usefixtures("last_loss")
@pytest.mark.parametrize(
    ("reason", "code"),
    [("PreemptionByScheduler", "preempted"), ("EvictionByEvictionAPI", "node-drained")],
)
def test_a_pod_that_the_cluster_takes_away_says_for_what(
    place: Place, told: pytest.LogCaptureFixture, reason: str, code: str
) -> None:
    service = place.service()
    session_id = launched(service, L4)
    disrupt(place, f"{session_id}-0", reason)
    check_end(place, service, session_id, code, told)


@pytest.mark.usefixtures("last_loss")
def test_a_silent_node_is_told_at_once_and_is_the_reason_when_its_pods_go(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    lost = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    service = place.service(tolerations=({**lost, "tolerationSeconds": 3},))
    session_id = launched(service, L4)
    node = service.loop.call(service.get(session_id)).devices[0].node
    assert node is not None
    annotate(place, "nodes", node, "silent")
    try:
        place.cluster.wait(lambda: not _ready(place, node), deadline=10)
        known = time.monotonic()
        place.cluster.wait(lambda: _kernel_state(service, session_id) == "unreachable", deadline=SECONDS)
        assert time.monotonic() - known < SECONDS
        history = service.loop.call(service.get(session_id)).history
        assert history[-1]["event"] == "node-not-ready"
        place.cluster.wait(lambda: ended(service, session_id), deadline=20)
        check_end(place, service, session_id, "node-lost", told)
    finally:
        annotate(place, "nodes", node, None)
        place.cluster.wait(lambda: _ready(place, node), deadline=20)


def test_a_frozen_pod_is_told_as_unreachable_and_comes_back_when_it_thaws(
    place: Place,
) -> None:
    service = place.service(silence=1)
    session_id = launched(service, L4)
    annotate(place, "pods", f"{session_id}-0", "freeze")
    place.cluster.wait(lambda: _kernel_state(service, session_id) == "unreachable", deadline=SECONDS)
    history = service.loop.call(service.get(session_id)).history
    assert history[-1]["event"] == "connection-lost"
    annotate(place, "pods", f"{session_id}-0", None)
    place.cluster.wait(lambda: _kernel_state(service, session_id) == "idle", deadline=20)
    assert service.loop.call(service.get(session_id)).history[-1]["event"] == "connected-again"


@pytest.mark.parametrize("code", ["evicted", "node-drained"])
def test_a_pod_that_its_node_could_not_keep_is_followed_by_another(place: Place, code: str) -> None:
    service = place.service()
    session_id = launched(service, L4)
    if code == "evicted":
        annotate(place, "pods", f"{session_id}-0", "evict")
    else:
        disrupt(place, f"{session_id}-0", "EvictionByEvictionAPI")
    after = replaced(place, service, session_id)
    assert [one.get("code") for one in after.history] == [code, None]
    assert place.objects()["pods"] == [f"{session_id}-1"]


def test_a_kernel_of_a_silent_node_comes_back_on_the_device_of_another_once_its_pod_is_gone(
    place: Place,
) -> None:
    lost = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    service = place.service(tolerations=({**lost, "tolerationSeconds": 1},))
    session_id = launched(service, L4)
    node = service.loop.call(service.get(session_id)).devices[0].node
    assert node is not None
    annotate(place, "nodes", node, "silent")
    try:
        after = replaced(place, service, session_id)
        assert [one["event"] for one in after.history] == ["node-not-ready", "pod-lost", "replaced"]
        assert after.history[1]["code"] == "node-lost"
        assert after.history[2]["same_device"] is False
        assert after.devices[0].node not in (None, node)
    finally:
        annotate(place, "nodes", node, None)
        place.cluster.wait(lambda: _ready(place, node), deadline=20)


def _ready(place: Place, node: str) -> bool:
    found = place.cluster.get("nodes", node) or {}
    conditions = found["status"]["conditions"]
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _kernel_state(service: Sessions, session_id: str) -> str:
    return service.loop.call(service.get(session_id)).kernels[0].state


@pytest.fixture
def out_of_service(place: Place) -> Iterator[Callable[..., None]]:
    """Takes devices out of service by a taint rule, for the time of a test."""
    path = "/apis/resource.k8s.io/v1/devicetaintrules"

    def take(effect: str, **selector: str) -> None:
        body = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceTaintRule",
            "metadata": {"name": place.namespace},
            "spec": {
                "deviceSelector": {"driver": "gpu.nvidia.com", **selector},
                "taint": {"key": "gpu.nvidia.com/xid", "value": "79", "effect": effect},
            },
        }
        answer = place.cluster.request("POST", path, body)
        assert answer["kind"] == "DeviceTaintRule", answer

    yield take
    place.cluster.request("DELETE", f"{path}/{place.namespace}")


def test_a_device_taken_out_of_service_ends_its_session(
    place: Place, told: pytest.LogCaptureFixture, out_of_service: Callable[..., None]
) -> None:
    service = place.service()
    session_id = launched(service, L4)
    device = service.loop.call(service.get(session_id)).devices[0]
    out_of_service("NoExecute", pool=device.pool, device=device.device)
    check_end(place, service, session_id, "device-unhealthy", told)


def test_a_wait_that_became_hopeless_ends_early(
    place: Place, told: pytest.LogCaptureFixture, out_of_service: Callable[..., None]
) -> None:
    service = place.service()
    four = {**L4, "count": 4}
    launched(service, four)
    waiting = service.loop.call(service.launch(four, wait=600)).id
    place.cluster.wait(lambda: service.loop.call(service.get(waiting)).wait, deadline=15)
    out_of_service("NoSchedule", pool="l4-2")
    began = time.monotonic()
    found = place.cluster.wait(lambda: ended(service, waiting), deadline=20)
    assert found["code"] == "impossible"
    assert time.monotonic() - began < SECONDS
    assert any(reason["code"] == "out-of-service" for reason in found["params"]["reasons"])


def refused(service: Sessions, wish: dict[str, Any], **options: Any) -> tuple[str, float]:
    """A launch that comes to nothing: its id, and how long that took."""
    began = time.monotonic()
    record = service.loop.call(service.launch(wish, **options))
    with pytest.raises(SessionEnded):
        service.loop.call(service.ready(record.id), 60)
    return record.id, time.monotonic() - began


def test_a_pod_larger_than_the_namespace_allows_is_refused_by_its_limit_range(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": place.namespace},
        "spec": {"limits": [{"type": "Container", "max": {"memory": "300Mi"}}]},
    }
    place.cluster.request("POST", f"/api/v1/namespaces/{place.namespace}/limitranges", limits)
    service = place.service()
    session_id, seconds = refused(service, L4)
    assert seconds < SECONDS
    found = check_end(place, service, session_id, "limit-range", told)
    assert "maximum memory usage per Container is 300Mi" in found["params"]["detail"]


def blind(service: Sessions) -> None:
    """A user who may not look at slices and classes: nothing can be planned, the cluster's own words must do."""
    context = service._opening.current
    assert context is not None
    names = ("read_slices", "read_classes")
    context.inventory.rights = {**context.inventory.rights, **dict.fromkeys(names, False)}


def manifest(device_class: str) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "given"},
        "spec": {"devices": {"requests": [request]}},
    }


def test_a_missing_class_ends_the_wait_though_nothing_could_be_planned(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    service = place.service()
    blind(service)
    wish = {"claim": manifest("no-such-tier"), "host_memory": "400Mi"}
    session_id, seconds = refused(service, wish, wait=600)
    assert seconds < SECONDS
    check_end(place, service, session_id, "class-missing", told)


def test_who_may_not_look_at_devices_waits_with_the_schedulers_own_words(place: Place) -> None:
    service = place.service()
    blind(service)
    held = launched(service, {"claim": manifest("gpu.nvidia.com"), "host_memory": "400Mi"})
    four = manifest("gpu.nvidia.com")
    four["spec"]["devices"]["requests"][0]["exactly"]["count"] = 4
    launched(service, {"claim": four, "host_memory": "400Mi"})
    waiting = service.loop.call(service.launch({"claim": four, "host_memory": "400Mi"}, wait=60)).id

    def reason() -> Any:
        wait = service.loop.call(service.get(waiting)).wait
        return wait and wait.reasons

    (told,) = place.cluster.wait(reason, deadline=10)
    assert told["code"] == "scheduler"
    assert "cannot allocate all claims" in told["message"]
    assert held != waiting


def test_a_device_that_no_driver_can_prepare_ends_the_launch(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    driver = "ghost.example.com"
    ghost = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": place.namespace},
        "spec": {
            "driver": driver,
            "nodeName": "l4-0",
            "pool": {"name": place.namespace, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}],
        },
    }
    tier = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": place.namespace},
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}]},
    }
    slices, classes = "/apis/resource.k8s.io/v1/resourceslices", "/apis/resource.k8s.io/v1/deviceclasses"
    assert place.cluster.request("POST", slices, ghost)["kind"] == "ResourceSlice"
    assert place.cluster.request("POST", classes, tier)["kind"] == "DeviceClass"
    try:
        service = place.service()
        session_id, seconds = refused(service, {"claim": manifest(place.namespace), "host_memory": "400Mi"})
        assert seconds < 15
        found = check_end(place, service, session_id, "prepare-failed", told)
        assert "not registered" in found["params"]["detail"]
        assert found["params"]["device"] == "gpu-0"
    finally:
        place.cluster.request("DELETE", f"{slices}/{place.namespace}")
        place.cluster.request("DELETE", f"{classes}/{place.namespace}")


def test_a_kernel_that_never_answers_is_given_up_at_the_one_deadline_of_the_launch(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    service = place.service(launch=3)
    silent = KernelChoice(argv=("python", "-c", "import time; print('thinking', flush=True); time.sleep(60)"))
    session_id, seconds = refused(service, L4, kernel=silent)
    assert seconds < 3 + SECONDS
    found = check_end(place, service, session_id, "launch-timeout", told)
    assert "thinking" in found["params"]["last_lines"]


def test_a_session_of_a_server_that_stops_in_order_is_told_to_the_next_one(place: Place) -> None:
    first = place.service()
    session_id = launched(first, L4)
    first.close(keep=False)
    second = place.service()
    (record,) = second.loop.call(second.list(ended=True))
    assert record.id == session_id
    assert record.ended is not None
    assert record.ended.code == "server-stopped"
    assert record.ended.next_step


def test_an_administrator_who_stops_a_session_is_named_with_the_words_given(
    place: Place, told: pytest.LogCaptureFixture
) -> None:
    service, admin = place.service(), place.service(user="ops", folder="ops")
    session_id = launched(service, L4)
    admin.loop.call(admin.stop_as_admin(session_id, because="maintenance at noon"))
    found = check_end(place, service, session_id, "stopped-by-admin", told)
    assert found["by"] == "ops"
    assert found["params"]["detail"] == "maintenance at noon"
