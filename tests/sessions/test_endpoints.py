"""The local endpoints of a kernel go when nothing can come back to them."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.kernels.held_kernel import HeldKernel
from jupyter_dra.sessions import Sessions
from tests.sessions.place import CLAIMS, Place

WISH = {"tier": "high-memory-gpu", "cpu": "1", "host_memory": "1Gi"}


def held(service: Sessions) -> tuple[str, Path]:
    """A running session whose kernel is held in this process; its id and the folder of its endpoints."""
    record = service.loop.call(service.launch(WISH))
    kernel = HeldKernel(service, service.loop.call(service.ready(record.id)))
    info = service.loop.call(kernel.open())
    folder = Path(info["ip"]).parent
    assert [path for path in folder.iterdir() if stat.S_ISSOCK(path.lstat().st_mode)]
    return record.id, folder


def _closed(service: Sessions, session_id: str, place: Place) -> None:
    service.close(keep=True)
    with_it = place.service()
    with_it.loop.call(with_it.stop(session_id))
    with_it.loop.call(with_it.ended(session_id), 20)


def _stopped_elsewhere(service: Sessions, session_id: str, place: Place) -> None:
    other = place.service(keep_on_stop=True)
    other.loop.call(other.stop(session_id))
    other.loop.call(other.ended(session_id), 20)


def _claim_deleted(service: Sessions, session_id: str, place: Place) -> None:
    place.cluster.request("DELETE", f"{CLAIMS.format(place.namespace)}/{session_id}")


@pytest.mark.parametrize("end", [_closed, _stopped_elsewhere, _claim_deleted])
def test_they_go_with_the_service_and_with_the_session(
    place: Place, end: Callable[[Sessions, str, Place], Any]
) -> None:
    service = place.service(keep_on_stop=True)
    session_id, folder = held(service)
    end(service, session_id, place)
    place.cluster.wait(lambda: not folder.exists())


def test_they_go_at_once_where_the_session_ended_before_they_were_opened(place: Place) -> None:
    service = place.service()
    record = service.loop.call(service.launch(WISH))
    kernel = HeldKernel(service, service.loop.call(service.ready(record.id)))
    service.loop.call(service.stop(record.id))
    service.loop.call(service.ended(record.id), 20)
    folder = Path(service.loop.call(kernel.open())["ip"]).parent
    place.cluster.wait(lambda: not folder.exists())
