"""The product on the real control plane, in fair weather and in trouble; after each test the namespace is empty."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.checker import check
from jupyter_dra.cli.main import main
from jupyter_dra.errors import ClusterError, DRAError, SessionEnded
from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.relay import Relay
from jupyter_dra.sessions import SessionPolicy, Sessions, Where
from tests.kernels.test_podside import run
from tests.server_fixture import start_server
from tests.sessions.place import CLAIMS
from tests.sessions.test_launch import H100, launched

from .lab import AFAR, Lab, LabPlace

pytestmark = pytest.mark.controlplane
EXAMPLE = Path(__file__).parents[2] / "examples" / "vllm"
RULES = "/apis/resource.k8s.io/v1/devicetaintrules"


def wait_for_outputs(client: BlockingKernelClient) -> None:
    """Wait until the kernel answers and its outputs arrive; a client's own wait trusts the heartbeat and gives up."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        client.kernel_info()
        with suppress(Empty):
            client.get_iopub_msg(timeout=1)
            client.get_shell_msg(timeout=10)
            break
    with suppress(Empty):
        while True:
            client.get_shell_msg(timeout=0.5)
    with suppress(Empty):
        while True:
            client.get_iopub_msg(timeout=0.5)


@contextmanager
def kernel_of(service: Sessions, session_id: str) -> Iterator[BlockingKernelClient]:
    """A plain Jupyter client of a session's kernel, through the relay."""
    handle = service.loop.call(service.ready(session_id), 60)

    async def open_relay() -> Relay:
        relay = Relay(handle.kernel_id)
        await relay.open()
        assert isinstance(handle.credentials, PodCredentials)
        relay.retarget(handle.target, handle.credentials)
        return relay

    relay = service.loop.call(open_relay())
    client = BlockingKernelClient()
    client.load_connection_info(relay.connection_info())
    client.start_channels()
    try:
        wait_for_outputs(client)
        yield client
    finally:
        client.stop_channels()
        service.loop.call(relay.close())
        client.context.term()


def end(service: Sessions, session_id: str) -> str:
    """Stop a session and return the code of its end."""
    service.loop.call(service.stop(session_id))
    return code_of_end(service, session_id)


def code_of_end(service: Sessions, session_id: str) -> str:
    ended = service.loop.call(service.ended(session_id), 60).ended
    assert ended is not None
    return str(ended.code)


def devices_of(place: LabPlace, claim: str) -> list[str]:
    status = place.object("resourceclaims", claim)["status"]
    return [result["device"] for result in status["allocation"]["devices"]["results"]]


@pytest.mark.parametrize(("context", "transport"), [("jupyter-dra-local", "direct"), (AFAR, "port-forward")])
def test_a_kernel_answers_and_a_restart_keeps_its_device(
    place: LabPlace, context: str, transport: str
) -> None:
    service = place.service_as("scientist", context=context)
    session_id = launched(service)
    before = devices_of(place, session_id)
    with kernel_of(service, session_id) as client:
        assert run(client, "x = 6; print(x * 7)") == "42\n"
    seen = service.loop.call(service.get(session_id)).as_dict()
    assert seen["kernels"][0]["transport"] == transport
    service.loop.call(service.restart_kernel(session_id), 30)
    with kernel_of(service, session_id) as client:
        assert run(client, "print('x' in globals())") == "False\n"
    assert devices_of(place, session_id) == before
    assert end(service, session_id) == "stopped"
    place.cluster.wait(place.empty, deadline=10)


def test_a_session_from_the_shell(
    place: LabPlace, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    config = place.lab.plane.kubeconfig("scientist", place.namespace, context=AFAR)

    def dra(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        try:
            status = main([*words, "--kubeconfig", str(config)])
        except SystemExit as stopped:
            status = stopped.code if isinstance(stopped.code, int) else 2
        return (status, *capfd.readouterr())

    status, out, err = dra("plan", "--vram", "80GB", "-o", "json")
    assert (status, json.loads(out)["verdict"]) == (6, "unknown"), err
    status, out, err = dra("launch", "--tier", "high-memory-gpu", "--name", "shell", "-o", "json")
    assert status == 0, err
    session_id = json.loads(out)["id"]
    assert [one["id"] for one in json.loads(dra("sessions", "-o", "json")[1])["sessions"]] == [session_id]
    assert "podside" in dra("logs", session_id)[1]
    assert dra("restart", session_id)[0] == 0
    assert dra("stop", session_id)[0] == 0
    place.cluster.wait(place.empty, deadline=10)


def test_a_launch_over_rest_reaches_its_kernel_through_the_api_server(
    place: LabPlace, tmp_path: Path
) -> None:
    config = place.lab.plane.kubeconfig("scientist", place.namespace, context=AFAR)
    server = start_server(tmp_path / "server", kubeconfig=str(config))

    async def first_result(kernel_id: str) -> str:
        socket = await server.connect(kernel_id)
        try:
            return await socket.execute("print(6 * 7)")
        finally:
            await socket.close()

    try:
        begun = server.dra("POST", "sessions", {"requirement": H100, "notebook": "train.ipynb"})
        (kernel,) = server.session(begun["id"], "running")["kernels"]
        assert kernel["transport"] == "port-forward"
        assert asyncio.run(first_result(kernel["id"])) == "42\n"
        server.dra("DELETE", f"sessions/{begun['id']}")
        assert server.session(begun["id"], "ended")["ended"]["code"] == "stopped"
        place.lab.wait(place.empty)
    finally:
        server.stop()


def test_a_missing_class_is_told_as_such_even_when_forced(place: LabPlace) -> None:
    service = place.service()
    with pytest.raises(DRAError):
        service.loop.call(service.launch({"tier": "no-such-tier"}))
    record = service.loop.call(service.launch({"tier": "no-such-tier"}, force=True))
    with pytest.raises(SessionEnded) as caught:
        service.loop.call(service.ready(record.id), 60)
    assert caught.value.code == "class-missing"
    place.cluster.wait(place.empty, deadline=10)


def test_without_the_right_to_see_devices_a_launch_still_works(place: LabPlace) -> None:
    """``viewer`` has the Role but not the ClusterRole that shows slices and classes."""
    place.lab.allow("viewer", place.namespace, "user", "Role", "RoleBinding")
    service = place.service_as("viewer")
    plan = service.loop.call(service.plan(H100))
    assert (plan["verdict"], plan["certainty"]["sure"]) == ("unknown", False)
    session_id = launched(service)
    assert devices_of(place, session_id)
    assert end(service, session_id) == "stopped"


def test_a_namespace_without_rights_is_refused_in_plain_words(place: LabPlace) -> None:
    service = place.service()
    service.close()
    config = place.lab.plane.kubeconfig("scientist", "kube-system", context=AFAR)
    stranger = Sessions(
        Where(kubeconfig=str(config), namespace="kube-system"),
        identity=place.identity(),
        policy=SessionPolicy(),
    )
    try:
        with pytest.raises(DRAError) as caught:
            launched(stranger)
        assert "kube-system" in caught.value.message + json.dumps(caught.value.params)
        assert place.lab.list("pods", "kube-system") == []
    finally:
        stranger.close(keep=False)


def test_a_wrong_token_says_so(place: LabPlace) -> None:
    config = place.lab.plane.kubeconfig("scientist", place.namespace, token="0" * 32)
    with pytest.raises(ClusterError) as caught:
        place.service_as("scientist", kubeconfig=config)
    assert caught.value.code == "unauthorized"


def test_admin_access_is_refused_before_anything_is_made(place: LabPlace) -> None:
    exactly = {"deviceClassName": "high-memory-gpu", "adminAccess": True}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "see-all"},
        "spec": {"devices": {"requests": [{"name": "all", "exactly": exactly}]}},
    }
    service = place.service()
    with pytest.raises(DRAError):
        service.loop.call(service.launch({"claim": claim}))
    assert place.empty()


def test_a_device_taint_that_evicts_ends_the_session_with_that_reason(place: LabPlace) -> None:
    service = place.service()
    session_id = launched(service)
    (device,) = devices_of(place, session_id)
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": place.namespace},
        "spec": {
            "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "dgx-h100-0", "device": device},
            "taint": {"key": "example.com/broken", "effect": "NoExecute"},
        },
    }
    made = place.lab.request("POST", RULES, rule)
    assert made["kind"] == "DeviceTaintRule", made
    try:
        assert code_of_end(service, session_id) in ("device-unhealthy", "evicted")
        place.cluster.wait(place.empty, deadline=20)
    finally:
        place.lab.request("DELETE", f"{RULES}/{place.namespace}")


def test_a_kernel_survives_a_restart_of_the_api_server_and_its_end_is_seen_afterwards(
    place: LabPlace,
) -> None:
    service = place.service()
    session_id = launched(service)
    with kernel_of(service, session_id) as client:
        assert run(client, "x = 41") == ""
        place.lab.plane.restart_apiserver()
        assert run(client, "print(x + 1)") == "42\n"
    assert service.loop.call(service.get(session_id), 30).state == "running"
    # All watches were cut; what happens now must be noticed all the same.
    place.lab.request("DELETE", f"{CLAIMS.format(place.namespace)}/{session_id}")
    assert code_of_end(service, session_id) == "claim-deleted"
    place.cluster.wait(place.empty, deadline=20)


def test_a_launch_goes_on_when_the_api_server_restarts_in_the_middle(place: LabPlace) -> None:
    service = place.service()
    record = service.loop.call(service.launch(H100))
    place.lab.plane.restart_apiserver()
    service.loop.call(service.ready(record.id), 90)
    assert end(service, record.id) == "stopped"
    place.cluster.wait(place.empty, deadline=20)


def test_the_published_example_is_refused_and_runs_once_mended(lab: Lab) -> None:
    published = (EXAMPLE / "as-published.yaml").read_text()
    said = lab.kubectl("apply", "--dry-run=server", "-f", "-", stdin=published, check=False)
    assert 'unknown field "spec.devices.requests[0].deviceClassName"' in said
    mended = check(published, fix=True).fixed
    assert isinstance(mended, str)
    lab.kubectl("apply", "-f", "-", stdin=mended)
    try:
        lab.wait(lambda: ((lab.get("pods", "vllm-inference") or {})["spec"]).get("nodeName"))
        claim: Any = lab.get("resourceclaims", "vllm-gpu-claim")
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        assert (result["driver"], result["request"]) == ("gpu.nvidia.com", "gpu")
    finally:
        lab.kubectl("delete", "pod/vllm-inference", "resourceclaim/vllm-gpu-claim", "--wait=false")
    lab.wait_gone("pods", "vllm-inference")
    lab.wait_gone("resourceclaims", "vllm-gpu-claim")
