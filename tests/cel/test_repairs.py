"""Device memory read as an attribute, written as the capacity it is."""

from __future__ import annotations

import pytest

from jupyter_dra.cel import compile_selector
from jupyter_dra.cel.repairs import repair

MEANT = 'device.capacity["gpu.nvidia.com"].?memory.orValue(quantity("0")).compareTo(quantity("16Gi")) >= 0'


@pytest.mark.parametrize(
    "mistaken",
    [
        'device.attributes["gpu.nvidia.com"].memory >= "16Gi"',
        'device.attributes["gpu.nvidia.com"].vram >= quantity("16Gi")',
        'device.attributes["gpu.nvidia.com"].memory.compareTo(quantity("16Gi")) >= 0',
    ],
)
def test_a_comparison_of_memory_as_an_attribute_is_written_as_a_capacity_that_works(mistaken: str) -> None:
    found = repair(mistaken)
    assert found is not None and found.text == MEANT
    selector = compile_selector(found.text)
    large = {"driver": "gpu.nvidia.com", "capacity": {"memory": {"value": "24Gi"}}}
    assert selector.evaluate(large)
    assert not selector.evaluate({"driver": "gpu.nvidia.com"})


@pytest.mark.parametrize(
    "other",
    [
        MEANT,
        "device.driver ==",
        'device.attributes["gpu.nvidia.com"].architecture == "Hopper"',
        'device.attributes["gpu.nvidia.com"].memory >= 16',
        'device.attributes["a\\"b"].memory >= "16Gi"',
        'other.attributes["gpu.nvidia.com"].memory >= "16Gi"',
        'device.attributes["gpu.nvidia.com"].memory >= "16Gi" || true',
    ],
)
def test_what_is_no_such_mistake_is_left_alone(other: str) -> None:
    assert repair(other) is None
