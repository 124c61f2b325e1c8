"""Devices a kernel sees beyond those it was given: an image that says "all", a runtime that hides nothing. Pure.

What is seen is the pod's own word; it is shown as a warning and changes nothing else (threats T16 and T32).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model.reading import mapping, text
from .record import DeviceRecord


def foreign_devices(devices: Iterable[DeviceRecord], seen: Sequence[str] | None) -> tuple[str, ...]:
    """The identities that were seen and not given; empty where the driver publishes none to compare with."""
    if seen is None:
        return ()
    given: set[str] = set()
    for device in devices:
        own = {
            text(mapping(value).get("string"))
            for name, value in mapping(device.facts.get("attributes")).items()
            if name.rpartition("/")[2] == "uuid"
        } - {""}
        if not own and device.facts.get("device_kind") in ("gpu", "part"):
            return ()
        given |= own
    return tuple(one for one in seen if one not in given)
