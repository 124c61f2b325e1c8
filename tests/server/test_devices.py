"""The devices in columns: what a page makes of them is what there is; afterwards only what changed."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from random import Random
from typing import Any

import pytest
from tornado.simple_httpclient import HTTPTimeoutError

from jupyter_dra.planner import DevicePicture, Inventory, PictureRow
from jupyter_dra.server.compact import compact_devices
from jupyter_dra.server.handlers.planning import PlanHandler
from tests.allocator.clusters import cluster
from tests.localcluster_fixture import LocalCluster
from tests.planner.build import h100, held, slice_of
from tests.planner.test_incremental import objects_of

from .answers import assert_conforms
from .conftest import Fetch, options_of

Json = dict[str, Any]


@pytest.fixture
def cluster_options(shared_cluster: LocalCluster) -> dict[str, str]:
    return options_of(shared_cluster)


def cells(column: Json, rows: int) -> list[Any]:
    """A column as a list of values, as a page reads it."""
    values = column["values"]
    if "runs" in column:
        runs = column["runs"]
        places = [place for at in range(0, len(runs), 2) for place in [runs[at]] * runs[at + 1]]
    else:
        places = column.get("cells", [0] * rows)
    assert len(places) == rows
    return [values[place] for place in places]


def table(document: Json) -> list[Json]:
    names, rows = list(document["columns"]), document["rows"]
    columns = [cells(document["columns"][name], rows) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def devices_of(document: Json) -> list[Json]:
    holders = table(document["holders"])
    return [{**row, "holders": [holders[number] for number in row["holders"]]} for row in table(document)]


def as_json(rows: list[PictureRow]) -> Any:
    return json.loads(json.dumps([row._asdict() for row in rows]))


@pytest.mark.parametrize("seed", range(20))
def test_columns_hold_every_device_as_the_picture_has_it(seed: int) -> None:
    inventory = Inventory.from_objects(objects_of(cluster(Random(seed), 6)).values())
    picture = DevicePicture()
    picture.update(inventory)
    document = json.loads(json.dumps(compact_devices(picture)))
    assert_conforms(
        {**document, "context": CONTEXT, "visible": {"slices": True, "claims": "all"}}, "CompactDeviceList"
    )
    assert devices_of(document) == as_json(list(picture.rows()))


CONTEXT = {"cluster": None, "namespace": None, "server_version": None, "as_of": None}


def test_changes_since_a_revision_hold_the_changed_rows_and_what_is_gone() -> None:
    inventory = Inventory.from_objects([slice_of("n1", [h100("gpu-0"), h100("gpu-1")])])
    picture = DevicePicture()
    picture.update(inventory)
    at = picture.revision
    inventory.apply({"type": "MODIFIED", "object": slice_of("n1", [h100("gpu-0")])})
    inventory.apply({"type": "ADDED", "object": held("x", ("gpu.nvidia.com", "n1", "gpu-0"))})
    picture.update(inventory)
    document = compact_devices(picture, at)
    assert document["since"] == at and document["revision"] > at
    assert document["removed"] == [["gpu.nvidia.com", "n1", "gpu-1"]]
    (device,) = devices_of(json.loads(json.dumps(document)))
    assert (device["name"], device["state"], device["holders"][0]["claim"]) == ("gpu-0", "taken", "x")


def test_an_unknown_revision_is_answered_with_everything() -> None:
    inventory = Inventory.from_objects([slice_of("n1", [h100("gpu-0")])])
    picture = DevicePicture(1000)
    picture.update(inventory)
    document = compact_devices(picture, 999)
    assert "since" not in document and document["rows"] == 1


def test_forty_thousand_devices_with_their_holders_stay_below_the_promised_size() -> None:
    objects: list[Json] = []
    for number in range(5000):
        name = f"node-{number:05}"
        objects.append(slice_of(name, [h100(f"gpu-{index}") for index in range(8)]))
        if number % 2:
            place = ("gpu.nvidia.com", name, f"gpu-{number % 8}")
            objects.append(held(f"claim-{number}", place, namespace=f"team-{number % 40}"))
    picture = DevicePicture()
    picture.update(Inventory.from_objects(objects))
    assert len(picture) == 40_000
    body = json.dumps(compact_devices(picture), separators=(",", ":")).encode()
    assert len(body) <= 1_500_000
    assert len(gzip.compress(body, 1)) <= 300_000


async def test_a_page_gets_columns_once_and_changes_afterwards(fetch: Fetch) -> None:
    first = await fetch("GET", "devices", params={"compact": "1"}, headers={"Accept-Encoding": "identity"})
    assert first.json["rows"] == first.json["total"] > 0
    whole = (await fetch("GET", "devices")).json
    assert {(one["pool"], one["name"]) for one in whole["devices"]} == {
        (one["pool"], one["name"]) for one in devices_of(first.json)
    }
    since = {"since": str(first.json["revision"])}
    again = await fetch("GET", "devices", params={"compact": "1", **since})
    assert again.json["since"] == first.json["revision"]
    assert again.json["rows"] < first.json["rows"]
    changed = await fetch("GET", "devices", params=since)
    assert len(changed.json["devices"]) < len(whole["devices"])


async def test_a_long_answer_is_compressed_for_those_who_take_that(fetch: Fetch) -> None:
    plain = await fetch("GET", "devices", headers={"Accept-Encoding": "identity"}, decompress_response=False)
    assert "Content-Encoding" not in plain.headers
    packed = await fetch("GET", "devices", headers={"Accept-Encoding": "gzip"}, decompress_response=False)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert len(packed.body) < len(plain.body) / 4
    assert json.loads(gzip.decompress(packed.body))["devices"] == plain.json["devices"]


async def test_columns_are_of_all_devices(fetch: Fetch) -> None:
    answer = await fetch("GET", "devices", params={"compact": "1", "node": "dgx-h100-0"})
    assert answer.status == 400


async def some_turns() -> None:
    """As many turns of a loop as a cancellation takes to arrive."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_plan_that_the_page_took_back_is_not_made(
    fetch: Fetch, jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = jp_serverapp.web_app.settings["jupyter_dra_board"]
    await board.ask(lambda inventory: None)
    made: list[Any] = []
    plan = Inventory.plan

    def noted(self: Inventory, wanted: Any, *args: Any, **more: Any) -> Any:
        made.append(wanted)
        return plan(self, wanted, *args, **more)

    monkeypatch.setattr(Inventory, "plan", noted)
    left = asyncio.Event()
    monkeypatch.setattr(PlanHandler, "on_finish", lambda self: left.set())
    busy, free = threading.Event(), threading.Event()

    def wait(inventory: Inventory) -> None:
        busy.set()
        free.wait(10)

    waiting = asyncio.ensure_future(board.ask(wait))
    await asyncio.to_thread(busy.wait, 10)
    with pytest.raises(HTTPTimeoutError):
        await fetch("POST", "plan", body={"requirement": {"vram": "8GB"}}, request_timeout=0.3)
    async with asyncio.timeout(10):
        await left.wait()
    await board.sessions.loop.wrap(some_turns())
    later = asyncio.ensure_future(fetch("POST", "plan", body={"requirement": {"vram": "80GB"}}))
    free.set()
    await waiting
    assert (await later).json["verdict"] == "fits"
    assert [wanted.as_dict() for wanted in made] == [{"vram": "80GB"}]
