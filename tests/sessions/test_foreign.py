"""What a kernel sees beside what it was given."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.kernels.control import clean_seen
from jupyter_dra.sessions.foreign import foreign_devices
from jupyter_dra.sessions.record import DeviceRecord

pytestmark = pytest.mark.threat("T32")


def gpu(uuid: str | None) -> DeviceRecord:
    attributes = {} if uuid is None else {"gpu.nvidia.com/uuid": {"string": uuid}}
    facts = {"device_kind": "gpu", "attributes": attributes}
    return DeviceRecord("gpu", "gpu.nvidia.com", "node-a", "gpu-0", facts=facts)


NIC = DeviceRecord("near-1", "dra.net", "node-a", "nic-0", facts={"device_kind": "nic", "attributes": {}})


@pytest.mark.parametrize(
    ("given", "seen", "foreign"),
    [
        ([], ["GPU-a", "GPU-b"], ("GPU-a", "GPU-b")),
        ([gpu("GPU-a")], ["GPU-b"], ("GPU-b",)),
        ([gpu("GPU-a")], ["GPU-a", "GPU-b"], ("GPU-b",)),
        ([gpu("GPU-c")], ["GPU-c"], ()),
        ([gpu("GPU-c"), NIC], ["GPU-c"], ()),
        ([gpu(None)], ["GPU-a"], ()),
        ([gpu("GPU-a")], None, ()),
    ],
    ids=["none given", "another", "one more", "the same", "a card beside", "no identity", "not known"],
)
def test_what_was_not_given_is_named_where_it_can_be_told(
    given: list[DeviceRecord], seen: list[str] | None, foreign: tuple[str, ...]
) -> None:
    assert foreign_devices(given, seen) == foreign


@pytest.mark.parametrize("said", [None, 7, {}, {"devices": 7}, {"devices": [7, {"uuid": 7}, {}]}])
def test_a_pod_that_says_nonsense_is_taken_for_one_that_cannot_tell(said: Any) -> None:
    assert not clean_seen(said)


def test_what_a_pod_says_is_bounded() -> None:
    found = clean_seen({"devices": [{"uuid": "x" * 10_000}] * 10_000})
    assert found == ["x" * 100] * 64
