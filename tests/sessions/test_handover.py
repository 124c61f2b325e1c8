"""A kernel moves to another pod: the claim never lacks a consumer, and two kernels never share the device."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.errors import ConflictError, RefusedError
from jupyter_dra.kernels.held_kernel import HeldKernel
from jupyter_dra.sessions import KernelChoice, PodChange, Sessions
from tests.sessions.place import Place, end_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses flock as the device")
WISH = {"tier": "high-memory-gpu", "cpu": "1", "host_memory": "1Gi"}

GUARDED = """
import fcntl, runpy, sys, time
log, connection = sys.argv[1:]
device = open(log + '.device', 'w')
try:
    fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
    word = 'alone'
except OSError:
    word = 'overlap'
open(log, 'a').write(word + '\\n')
sys.argv = ['ipykernel', '-f', connection]
runpy.run_module('ipykernel_launcher', run_name='__main__')
"""


def guarded(log: Path) -> KernelChoice:
    """A kernel that holds a lock while it lives, and notes whether another one held it."""
    return KernelChoice(argv=("python", "-c", GUARDED, str(log), "{connection_file}"))


class ClaimWatch:
    """Every state of one session's claim, as the watch shows it."""

    def __init__(self, service: Sessions, namespace: str, claim: str) -> None:
        self.consumers: list[list[str]] = []
        self.devices: set[str] = set()
        self._claim = claim

        async def follow() -> None:
            ctx = service._opening.current
            assert ctx is not None
            ctx.caches.claims(namespace).subscribe(self._seen)

        service.loop.call(follow())

    def _seen(self, type: str, obj: Any) -> None:
        if obj["metadata"]["name"] != self._claim or type == "DELETED":
            return
        status = obj.get("status") or {}
        self.consumers.append([entry["name"] for entry in status.get("reservedFor") or []])
        self.devices.add(str((status.get("allocation") or {}).get("devices", {}).get("results")))


def launched(service: Sessions, log: Path, **wish: Any) -> Any:
    record = service.loop.call(service.launch({**WISH, **wish}, kernel=guarded(log)))
    service.loop.call(service.ready(record.id))
    return service.loop.call(service.get(record.id))


def test_another_size_comes_with_a_pod_that_is_scheduled_first_and_starts_when_the_old_one_is_gone(
    place: Place,
) -> None:
    service, log = place.service(), place.folder / "kernels.log"
    before = launched(service, log)
    seen = ClaimWatch(service, place.namespace, before.id)

    after = service.loop.call(
        service.restart_kernel(before.id, change=PodChange(cpu="2", host_memory="2Gi", image="python:other"))
    )

    assert log.read_text().split() == ["alone", "alone"], "the second kernel found the device free"
    assert seen.consumers, "the watch showed the move"
    assert all(seen.consumers), "the claim always had a consumer"
    assert [f"{before.id}-0", f"{before.id}-1"] in [sorted(one) for one in seen.consumers]
    assert len(seen.devices) == 1, "the same device all along"
    assert after.devices == before.devices
    assert [one.id for one in after.kernels] == [one.id for one in before.kernels]
    pod = place.object("pods", f"{before.id}-1")
    container = pod["spec"]["containers"][0]
    assert container["image"] == "python:other"
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "2Gi"}
    assert place.objects()["pods"] == [f"{before.id}-1"]
    assert place.objects()["secrets"] == [f"{before.id}-1-keys"]
    owners = place.object("resourceclaims", before.id)["metadata"]["ownerReferences"]
    assert f"{before.id}-1" in [owner["name"] for owner in owners]
    assert [one["event"] for one in after.history] == ["moving", "moved"]
    moving, moved = after.history
    assert moving["at"] <= moving["placed_at"] <= moved["at"]


def test_the_clients_of_a_moved_kernel_go_on_at_the_same_addresses(place: Place) -> None:
    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.connect import KernelConnectionInfo

    service, log = place.service(), place.folder / "kernels.log"
    session = launched(service, log)
    handle = service.loop.call(service.ready(session.id))
    client = BlockingKernelClient()
    keys: list[object] = []

    def moved(info: KernelConnectionInfo) -> None:
        keys.append(info["key"])
        client.load_connection_info(info)

    held = HeldKernel(service, handle, on_moved=moved)
    try:
        opened = service.loop.call(held.open())
        client.load_connection_info(opened)
        client.start_channels(hb=False)
        first = _pid(client)
        service.loop.call(service.restart_kernel(session.id, change=PodChange(cpu="2")))
        place.cluster.wait(lambda: keys)
        assert _pid(client) != first
        assert len(keys) == 1
        assert keys[0] != opened["key"], "another pod has keys of its own"
    finally:
        client.stop_channels()
        service.loop.call(held.close())


def _pid(client: Any) -> str:
    said: list[str] = []
    client.execute_interactive(
        "import os; print(os.getpid())",
        timeout=30,
        output_hook=lambda message: said.append(message["content"].get("text", "")),
    )
    return "".join(said).strip()


def test_a_kernel_whose_next_pod_finds_no_place_goes_on_where_it_is(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_dra.sessions.handover.ROOM_SECONDS", 1.0)
    service, log = place.service(), place.folder / "kernels.log"
    session = launched(service, log)

    with pytest.raises(ConflictError) as refused:
        service.loop.call(service.restart_kernel(session.id, change=PodChange(cpu="100000")))

    assert refused.value.code == "not-replaced"
    assert "Insufficient cpu" in refused.value.message
    assert log.read_text().split() == ["alone"]
    now = service.loop.call(service.get(session.id))
    assert now.state == "running"
    assert [one.pod for one in now.kernels] == [f"{session.id}-0"]
    assert [one["event"] for one in now.history] == ["moving", "not-moved"]
    assert place.objects()["pods"] == [f"{session.id}-0"]
    assert service.loop.call(service.restart_kernel(session.id)).state == "running"


def test_an_image_that_is_not_allowed_moves_nothing(place: Place) -> None:
    service, log = place.service(images=("python:*",)), place.folder / "kernels.log"
    session = launched(service, log)
    with pytest.raises(RefusedError) as refused:
        service.loop.call(service.restart_kernel(session.id, change=PodChange(image="other/image:1")))
    assert refused.value.code == "policy"
    assert service.loop.call(service.get(session.id)).history == ()


def test_a_session_that_is_stopped_while_its_kernel_moves_leaves_nothing(place: Place) -> None:
    service, log = place.service(), place.folder / "kernels.log"
    session = launched(service, log)
    service.loop.call(service.restart_kernel(session.id, change=PodChange(cpu="2"), wait=False))
    place.cluster.wait(lambda: f"{session.id}-1" in place.objects()["pods"])
    service.loop.call(service.stop(session.id))
    assert end_of(service, session.id, 20).code == "stopped"
    assert place.empty()
    assert "overlap" not in log.read_text()


def test_a_process_that_follows_the_kernel_stays_with_it_when_another_one_moves_it(place: Place) -> None:
    server, shell = place.service(keep_on_stop=True), place.service(keep_on_stop=True)
    log = place.folder / "kernels.log"
    session = launched(server, log)

    shell.loop.call(shell.restart_kernel(session.id, change=PodChange(cpu="2")))

    async def followed() -> Any:
        while True:
            record = await server.get(session.id)
            if record.state != "running":
                raise AssertionError(record)
            if [one["event"] for one in record.history][-1:] == ["moved"]:
                return await server.ready(session.id)
            await asyncio.sleep(0.02)

    handle = asyncio.run(asyncio.wait_for(followed(), 20))
    assert handle.pod_name == f"{session.id}-1"
    assert log.read_text().split() == ["alone", "alone"]
    server.loop.call(server.stop(session.id))
    server.loop.call(server.ended(session.id), 20)
    assert place.empty()


@pytest.mark.parametrize("gone", [False, True], ids=["before", "after"])
def test_a_move_that_its_maker_left_half_done_is_finished_or_taken_back_by_the_next(
    place: Place, gone: bool
) -> None:
    """The maker dies before (or after) it ended the old pod."""
    maker, log = place.service(keep_on_stop=True), place.folder / "kernels.log"
    session = launched(maker, log)
    _die_in_the_middle(maker, session.id, switched=gone)

    heir = place.service()
    handles = heir.loop.call(heir.reattach(session.id), 30)

    assert [one.pod_name for one in handles] == [f"{session.id}-{int(gone)}"]
    place.cluster.wait(lambda: place.objects()["pods"] == [f"{session.id}-{int(gone)}"])
    assert log.read_text().split() == ["alone"] * (1 + gone)
    heir.loop.call(heir.stop(session.id))
    heir.loop.call(heir.ended(session.id), 20)
    assert place.empty()


def _die_in_the_middle(maker: Sessions, session_id: str, *, switched: bool) -> None:
    """Let a handover come as far as the connected next pod (or the end of the old one), then lose its maker."""
    from jupyter_dra.sessions import handover, life
    from jupyter_dra.sessions.beginning import next_pod
    from jupyter_dra.sessions.release import release_kernel

    async def half() -> None:
        ctx = maker._opening.current
        assert ctx is not None
        session = maker._registry.live[session_id]
        kernel = session.kernels[0]
        successor = next_pod(session, kernel, cpu="2")
        session.spare.append(successor)
        await handover._place(ctx, session, successor)
        if switched:
            await life.cancel([kernel.task])
            await release_kernel(ctx, session, kernel)
        await successor.let_go()

    maker.loop.call(half(), 30)
    maker.close(keep=True)
