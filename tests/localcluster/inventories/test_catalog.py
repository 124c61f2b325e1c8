"""The packaged inventories, and inventories from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_dra.errors import InputError
from jupyter_dra.localcluster.inventories import PACKAGED, load
from jupyter_dra.validation import decode, validate


@pytest.mark.parametrize("name", PACKAGED)
def test_every_packaged_object_would_be_accepted_by_the_server(name: str) -> None:
    inventory = load([name])
    objects = [*inventory.slices, *inventory.classes, *inventory.rules]
    assert inventory.slices
    for item in objects:
        decoded = decode(item)
        assert not decoded.problems, item["metadata"]["name"]
        assert not [error.text() for error in validate(item)], item["metadata"]["name"]


def test_the_default_is_small_and_mixed() -> None:
    inventory = load([])
    assert inventory.device_count() == 26
    assert sorted(inventory.node_names()) == ["a100-80-0", "a100-mig-0", "dgx-h100-0", "l4-2", "tpu-v6e-0"]
    shown = [
        item["metadata"]["annotations"]["jupyter-dra.dev/display-name"]
        for item in inventory.classes
        if "annotations" in item["metadata"]
    ]
    assert shown == [
        "Small GPU",
        "Medium GPU",
        "High-memory GPU",
        "GPU slice",
        "TPU v6e node",
        "RDMA network card",
    ]


def test_the_default_has_no_pool_that_breaks_requests_for_all() -> None:
    pools: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in load([]).slices:
        pools.setdefault((item["spec"]["driver"], item["spec"]["pool"]["name"]), []).append(
            item["spec"]["pool"]
        )
    for members in pools.values():
        assert all(pool["resourceSliceCount"] == len(members) for pool in members)
        assert len({pool["generation"] for pool in members}) == 1


def test_a_dump_of_a_cluster_is_an_inventory(tmp_path: Path) -> None:
    packaged = load(["l4"])
    items = [*packaged.slices, *packaged.classes[:1]]
    items[0]["metadata"]["resourceVersion"] = "17"
    path = tmp_path / "dump.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    found = load([str(path)])
    assert found.node_names() == ["l4-0", "l4-1", "l4-2"]
    assert [item["metadata"]["name"] for item in found.classes] == ["gpu.nvidia.com"]
    assert "resourceVersion" not in found.slices[0]["metadata"]


def test_slices_without_classes_get_their_vendors(tmp_path: Path) -> None:
    path = tmp_path / "slices.yaml"
    path.write_text(yaml.safe_dump_all(list(load(["tpu"]).slices)))
    assert [item["metadata"]["name"] for item in load([str(path)]).classes] == ["tpu.google.com"]


def test_inventories_join(tmp_path: Path) -> None:
    both = load(["l4", "tpu"])
    assert both.name == "l4+tpu"
    assert both.device_count() == 18
    names = [item["metadata"]["name"] for item in both.classes]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- just\n- a list\n", "no Kubernetes object"),
        ("kind: [", "no readable YAML"),
        ("kind: ResourceSlice\n", "without a name"),
        ("[" * 20000, "no readable YAML"),
    ],
)
def test_what_is_no_inventory_is_said_to_be_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load([str(path)])


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        load(["h900"])
    assert caught.value.next_step is not None
    assert "dgx-h100" in caught.value.next_step
