"""The devices of a picture, kept up change by change and told as changes."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.model import DeviceID
from jupyter_dra.planner import DevicePicture, Inventory, PictureRow
from tests.allocator.clusters import cluster

from .build import NVIDIA_CLASS, device_class, h100, held, l4, node, slice_of
from .test_incremental import objects_of

Json = dict[str, Any]


def lab() -> Inventory:
    return Inventory.from_objects(
        [
            device_class("any", NVIDIA_CLASS),
            slice_of("n1", [h100("gpu-0"), h100("gpu-1")]),
            slice_of("n2", [l4("gpu-0")]),
            held("x", ("gpu.nvidia.com", "n1", "gpu-0"), namespace="team-b"),
        ]
    )


def kept(picture: DevicePicture) -> dict[DeviceID, PictureRow]:
    return {DeviceID(row.driver, row.pool, row.name): row for row in picture.rows()}


def listed(inventory: Inventory) -> dict[DeviceID, Json]:
    return {DeviceID(one["driver"], one["pool"], one["name"]): one for one in inventory.devices()}


def assert_same(picture: DevicePicture, inventory: Inventory) -> None:
    rows, devices = kept(picture), listed(inventory)
    assert rows.keys() == devices.keys()
    assert len(picture) == len(devices)
    for id, row in rows.items():
        device = devices[id]
        assert row.node == (None if device["nodes"] is None else ", ".join(device["nodes"])), id
        assert list(row.tiers) == device["tiers"], id
        assert list(row.holders) == device["holders"], id
        assert list(row.taints) == device["taints"], id
        for name in ("device_kind", "label", "product", "memory_bytes", "state", "simulated"):
            assert getattr(row, name) == device[name], (id, name)


def changes(seed: int) -> tuple[Inventory, list[Json]]:
    """A cluster, and events that turn it step by step into another."""
    rnd = Random(seed)
    first, second = objects_of(cluster(rnd, 4)), objects_of(cluster(rnd, 4))
    events = []
    for key in rnd.sample(sorted({*first, *second}), k=len({*first, *second})):
        if key in second:
            events.append({"type": "MODIFIED" if key in first else "ADDED", "object": second[key]})
        else:
            events.append({"type": "DELETED", "object": first[key]})
    return Inventory.from_objects(first.values()), events


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_a_picture_kept_up_shows_what_the_list_of_devices_says(seed: int) -> None:
    inventory, events = changes(seed)
    picture = DevicePicture()
    picture.update(inventory)
    assert_same(picture, inventory)
    for event in events:
        inventory.apply(event)
        picture.update(inventory)
        assert_same(picture, inventory)


@given(st.integers(min_value=0, max_value=10**9))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_an_older_picture_and_the_changes_since_make_the_present_one(seed: int) -> None:
    inventory, events = changes(seed)
    picture = DevicePicture()
    picture.update(inventory)
    rnd = Random(seed)
    old, at = kept(picture), picture.revision
    for event in events:
        inventory.apply(event)
        picture.update(inventory)
        if rnd.random() < 0.5:
            change = picture.since(at)
            assert change is not None
            for id in change.removed:
                old.pop(id, None)
            old.update({DeviceID(row.driver, row.pool, row.name): row for row in change.rows})
            at = picture.revision
            assert old == kept(picture)


def test_one_claim_changes_the_row_of_its_device_only() -> None:
    inventory, picture = lab(), DevicePicture(100)
    picture.update(inventory)
    at = picture.revision
    inventory.apply({"type": "ADDED", "object": held("y", ("gpu.nvidia.com", "n2", "gpu-0"))})
    picture.update(inventory)
    change = picture.since(at)
    assert change is not None and change.removed == []
    (row,) = change.rows
    assert (row.node, row.name, row.state) == ("n2", "gpu-0", "taken")
    assert row.holders[0]["claim"] == "y"


def test_what_changes_no_device_leaves_the_revision_as_it_is() -> None:
    inventory, picture = lab(), DevicePicture()
    picture.update(inventory)
    at = picture.revision
    waiting = held("z")
    inventory.apply({"type": "ADDED", "object": waiting})
    picture.update(inventory)
    assert picture.revision == at
    change = picture.since(at)
    assert change is not None and not change.rows and not change.removed


def test_another_class_puts_devices_into_another_tier() -> None:
    inventory, picture = lab(), DevicePicture()
    picture.update(inventory)
    at = picture.revision
    hopper = device_class("hopper", 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"')
    inventory.apply({"type": "ADDED", "object": hopper})
    picture.update(inventory)
    change = picture.since(at)
    assert change is not None
    assert {(row.node, row.tiers) for row in change.rows} == {("n1", ("any", "hopper"))}


def test_a_pool_of_two_nodes_is_still_shown_when_one_of_them_leaves() -> None:
    slices = [
        slice_of(name, [h100(f"gpu-{name}")], pool={"name": "both", "resourceSliceCount": 2})
        for name in ("n1", "n2")
    ]
    inventory, picture = Inventory.from_objects([node("n1"), node("n2"), *slices]), DevicePicture()
    picture.update(inventory)
    assert_same(picture, inventory)
    inventory.apply({"type": "DELETED", "object": node("n2")})
    picture.update(inventory)
    assert_same(picture, inventory)


def test_changes_since_a_revision_of_another_picture_cannot_be_told() -> None:
    inventory = lab()
    first, later = DevicePicture(1000), DevicePicture(2000)
    first.update(inventory)
    later.update(inventory)
    assert later.since(first.revision) is None
    assert first.since(later.revision) is None
    assert first.since(999) is None


def test_changes_too_long_ago_cannot_be_told() -> None:
    inventory, picture = lab(), DevicePicture()
    picture.update(inventory)
    first = picture.revision
    for turn in range(12):
        many = slice_of("n3", [l4(f"gpu-{turn}-{index}") for index in range(1000)])
        inventory.apply({"type": "MODIFIED" if turn else "ADDED", "object": many})
        picture.update(inventory)
    assert picture.since(first) is None
    assert picture.since(picture.revision - 2) is not None
    assert_same(picture, inventory)


def test_without_the_right_to_see_devices_the_picture_is_empty() -> None:
    inventory = Inventory({"slices": False})
    inventory.apply({"type": "ADDED", "object": slice_of("n1", [h100("gpu-0")])})
    picture = DevicePicture()
    picture.update(inventory)
    assert list(picture.rows()) == []
