"""Logs and port-forward through the API server, towards a kubelet that the test plays."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import ClientSession, WSMsgType, WSServerHandshakeError, web

from jupyter_dra.localcluster.certificates import KUBELET_CLIENT, Authority, write_pki

Maker = Callable[..., dict[str, Any]]
pytestmark = pytest.mark.local_only("the kubelet here has keys of this server's authority")
V4 = "v4.channel.k8s.io"


class Kubelet:
    """Serves two log lines (the second when told to) and echoes on a forwarded port."""

    def __init__(self, pki: Any) -> None:
        self.asked: list[str] = []
        self.callers: set[str] = set()
        self.loop = asyncio.new_event_loop()
        self._more = asyncio.Event()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.port = self.call(self._start(pki))

    def call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    async def _start(self, pki: Any) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki / "kubelet.crt", pki / "kubelet.key")
        context.load_verify_locations(pki / "ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        application = web.Application()
        application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._logs)
        application.router.add_get("/portForward/{namespace}/{pod}", self._forward)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context).start()
        return int(self._runner.addresses[0][1])

    def _note(self, request: web.Request) -> None:
        self.asked.append(request.path_qs)
        assert request.transport is not None
        subject = request.transport.get_extra_info("peercert")["subject"]
        self.callers |= {value for part in subject for key, value in part if key == "commonName"}

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        if request.match_info["container"] == "gone":
            raise web.HTTPNotFound(text="no such container\n")
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        await response.write(b"first\n")
        if "follow" in request.query:
            await self._more.wait()
            await response.write(b"second\n")
        await response.write_eof()
        return response

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        if request.query["port"] == "9":
            raise web.HTTPBadRequest(text="port 9 is not the pod's\n")
        socket = web.WebSocketResponse(protocols=[V4])
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data[:1] + message.data[1:].upper())
        return socket

    def continue_log(self) -> None:
        self.loop.call_soon_threadsafe(self._more.set)

    def stop(self) -> None:
        self.call(self._runner.cleanup())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()


@pytest.fixture
def kubelet(service: Any, api: Any) -> Iterator[Kubelet]:
    running = Kubelet(service.folder / "pki")
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": running.port}},
    }
    api.post("/api/v1/nodes", {"metadata": {"name": "n-streams"}, "status": status})
    yield running
    api.delete("/api/v1/nodes/n-streams")
    running.stop()


@pytest.fixture
def path(api: Any, kubelet: Kubelet, namespace: str, pod: Maker) -> str:
    """A pod on the node of the kubelet."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert api.post(pods, pod("p", nodeName="n-streams")).status_code == 201
    return f"{pods}/p"


def test_a_log_is_fetched_from_the_node_with_its_options(
    api: Any, kubelet: Kubelet, path: str, namespace: str
) -> None:
    answer = api.get(f"{path}/log", params={"tailLines": 5, "timestamps": "true", "unknown": "x"})
    assert (answer.status_code, answer.text) == (200, "first\n")
    assert answer.headers["Content-Type"] == "text/plain"
    assert kubelet.asked == [f"/containerLogs/{namespace}/p/main?timestamps=true&tailLines=5"]
    assert kubelet.callers == {KUBELET_CLIENT}


def test_a_followed_log_arrives_as_it_is_written(api: Any, kubelet: Kubelet, path: str) -> None:
    with api.http.stream("GET", f"{path}/log", params={"follow": "true"}) as response:
        lines = response.iter_lines()
        assert next(lines) == "first"
        kubelet.continue_log()
        assert list(lines) == ["second"]


def test_log_requests_that_make_no_sense_are_refused_as_by_a_real_server(
    api: Any, kubelet: Kubelet, namespace: str, path: str, pod: Maker
) -> None:
    assert "container x is not valid for pod p" in api.get(f"{path}/log", params={"container": "x"}).text
    assert api.get(f"{path}/log", params={"tailLines": "-1"}).status_code == 400
    pods = f"/api/v1/namespaces/{namespace}/pods"
    two = pod("two", nodeName="n-streams")
    two["spec"]["containers"].append({"name": "gone", "image": "python"})
    api.post(pods, two)
    text = api.get(f"{pods}/two/log").json()["message"]
    assert text == "a container name must be specified for pod two, choose one of: [main gone]"
    missing = api.get(f"{pods}/two/log", params={"container": "gone"})
    assert (missing.status_code, missing.json()["message"]) == (404, "no such container")
    api.post(pods, pod("pending"))
    assert "does not have a host assigned" in api.get(f"{pods}/pending/log").text


def test_the_log_of_a_waiting_container_says_what_it_waits_for(api: Any, kubelet: Kubelet, path: str) -> None:
    one = {"name": "main", "image": "python", "imageID": "", "ready": False, "restartCount": 0}
    one["state"] = {"waiting": {"reason": "ImagePullBackOff"}}
    api.patch(f"{path}/status", {"status": {"containerStatuses": [one]}})
    answer = api.get(f"{path}/log")
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        'container "main" in pod "p" is waiting to start: trying and failing to pull image'
    )
    previous = api.get(f"{path}/log", params={"previous": "true"})
    assert previous.json()["message"] == 'previous terminated container "main" in pod "p" not found'


def test_a_node_that_does_not_answer_is_an_error_with_its_address(
    api: Any, service: Any, namespace: str, pod: Maker
) -> None:
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 9}},
    }
    api.post("/api/v1/nodes", {"metadata": {"name": "n-dead"}, "status": status})
    api.post(f"/api/v1/namespaces/{namespace}/pods", pod("p", nodeName="n-dead"))
    answer = api.get(f"/api/v1/namespaces/{namespace}/pods/p/log")
    assert answer.status_code == 500
    assert f"https://127.0.0.1:9/containerLogs/{namespace}/p/main" in answer.json()["message"]
    api.delete("/api/v1/nodes/n-dead")


def forward(
    service: Any, kubelet: Kubelet, path: str, token: str, port: int, *messages: bytes
) -> list[bytes]:
    """Send messages through a port-forward and collect as many answers."""

    async def run() -> list[bytes]:
        tls = ssl.create_default_context(cafile=str(service.folder / "pki" / "ca.crt"))
        async with ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
            url = f"{service.url}{path}/portforward?ports={port}"
            async with session.ws_connect(url, protocols=[V4], ssl=tls) as socket:
                assert socket.protocol == V4
                answers = []
                for message in messages:
                    await socket.send_bytes(message)
                    answers.append(await socket.receive_bytes())
                return answers

    result: list[bytes] = kubelet.call(run())
    return result


def test_a_port_is_forwarded_both_ways_over_a_websocket(service: Any, kubelet: Kubelet, path: str) -> None:
    big = b"\x00" + b"x" * 200_000
    answers = forward(service, kubelet, path, service.admin_token, 8888, b"\x00hello", big)
    assert answers == [b"\x00HELLO", big.upper()]
    assert kubelet.asked[-1].endswith("/p?port=8888")


def test_what_the_kubelet_refuses_is_told(service: Any, kubelet: Kubelet, path: str) -> None:
    with pytest.raises(WSServerHandshakeError) as caught:
        forward(service, kubelet, path, service.admin_token, 9)
    assert caught.value.status == 400


def test_a_forward_needs_the_verb_create_as_well(
    service: Any, api: Any, kubelet: Kubelet, path: str, namespace: str
) -> None:
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get"]}]
    api.post(f"{rbac}/roles", {"metadata": {"name": "pf"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pf"}
    subject = {"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}
    api.post(
        f"{rbac}/rolebindings", {"metadata": {"name": "pf"}, "roleRef": reference, "subjects": [subject]}
    )
    with pytest.raises(WSServerHandshakeError) as caught:
        forward(service, kubelet, path, "ada-token", 8888, b"\x00x")
    assert caught.value.status == 403
    rules[0]["verbs"] = ["get", "create"]
    api.put(f"{rbac}/roles/pf", {"metadata": {"name": "pf"}, "rules": rules})
    assert forward(service, kubelet, path, "ada-token", 8888, b"\x00x") == [b"\x00X"]


def test_spdy_is_left_out_and_says_so(api: Any, path: str) -> None:
    headers = {"Upgrade": "SPDY/3.1", "Connection": "Upgrade"}
    answer = api.post(f"{path}/portforward", headers=headers)
    assert answer.status_code == 501
    assert V4 in answer.json()["message"]


@pytest.mark.threat("T39")
def test_a_kubelet_of_another_authority_is_not_believed(
    service: Any, api: Any, tmp_path_factory: pytest.TempPathFactory, namespace: str, pod: Maker
) -> None:
    foreign = tmp_path_factory.mktemp("foreign") / "pki"
    write_pki(foreign, Authority.create())
    impostor = Kubelet(foreign)
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": impostor.port}},
    }
    api.post("/api/v1/nodes", {"metadata": {"name": "n-foreign"}, "status": status})
    api.post(f"/api/v1/namespaces/{namespace}/pods", pod("p", nodeName="n-foreign"))
    answer = api.get(f"/api/v1/namespaces/{namespace}/pods/p/log")
    assert answer.status_code == 500
    assert "certificate verify failed" in answer.json()["message"]
    assert impostor.asked == []
    api.delete("/api/v1/nodes/n-foreign")
    impostor.stop()
