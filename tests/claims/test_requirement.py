"""One vocabulary: what may be said, how it reads back, and what is refused in which words."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from jupyter_dra.claims import (
    Requirement,
    RequirementFields,
    format_duration,
    parse_duration,
    parse_size,
    sold_as_but_less,
)
from jupyter_dra.errors import RequirementError

FULL: dict[str, Any] = {
    "tier": "high-memory-gpu",
    "vram": "80GB",
    "max_vram": "141GB",
    "count": 2,
    "product": ["H100", "H200"],
    "architecture": ["Hopper"],
    "compute_capability": ">=9.0",
    "driver_version": ">=550,<600",
    "where": ['device.driver != "x"'],
    "near": [{"tier": "rdma-nic"}],
    "align": "pcieRoot",
    "spread": "gpu.nvidia.com/parentUUID",
    "or_else": [{"vram": "40GB"}, {"tier": "gpu-medium", "vram": None}],
    "tolerate": [{"key": "maintenance", "operator": "Exists"}],
    "kernel": "python3",
    "image": "jupyter-dra/kernel:local",
    "cpu": "8",
    "host_memory": "32Gi",
    "env": {"HF_HOME": "/tmp/hf"},
    "namespace": "team-a",
    "lease": "4h",
    "idle_timeout": "30m",
    "name": "bert",
    "volumes": ["home"],
}


def test_every_field_survives_the_way_through_json() -> None:
    assert Requirement.from_dict(FULL).as_dict() == FULL
    assert Requirement.from_dict(Requirement.from_dict(FULL).as_dict()) == Requirement.from_dict(FULL)


def test_an_empty_requirement_means_any_gpu_and_says_nothing() -> None:
    assert Requirement().as_dict() == {}


def test_a_single_device_that_was_asked_for_is_told_from_one_that_was_left_open() -> None:
    said, open_ = Requirement(tier="tpu", count=1), Requirement(tier="tpu")
    assert (said.count, said.count_given, said.as_dict()) == (1, True, {"tier": "tpu", "count": 1})
    assert (open_.count, open_.count_given, open_.as_dict()) == (1, False, {"tier": "tpu"})
    assert said == open_, "a claim asks for one device either way"
    assert Requirement.from_dict(said.as_dict()).count_given
    assert said.changed(vram="80GB").count_given and not open_.changed(vram="80GB").count_given
    assert not said.changed(count=None).count_given
    assert said.changed(or_else=[{"tier": "gpu"}]).alternative(0).count_given
    assert not open_.changed(or_else=[{"tier": "gpu"}]).alternative(0).count_given


def test_type_checkers_know_exactly_the_fields_there_are() -> None:
    assert set(RequirementFields.__annotations__) == {
        field.name for field in fields(Requirement) if field.init
    }


def test_one_value_may_stand_where_several_are_held() -> None:
    one = Requirement(
        tier="gpu",
        product="H100",
        architecture="Hopper",
        where='device.driver != "x"',
        near="rdma-nic",
        align="pcieRoot",
        or_else={"tier": "gpu-medium"},
        tolerate="maintenance",
        volumes="home",
    )
    assert one == Requirement(
        tier="gpu",
        product=["H100"],
        architecture=("Hopper",),
        where=['device.driver != "x"'],
        near=[Requirement(tier="rdma-nic")],
        align="pcieRoot",
        or_else=["gpu-medium"],
        tolerate=[{"key": "maintenance", "operator": "Exists"}],
        volumes=["home"],
    )


def test_numbers_are_read_as_bytes_cores_and_seconds() -> None:
    wish = Requirement(vram=85520809984, cpu=4, lease=5400)
    assert (wish.vram, wish.cpu, wish.lease, wish.lease_seconds) == ("85520809984", "4", "5400s", 5400)


def test_none_leaves_a_field_out() -> None:
    nothing: dict[str, Any] = dict.fromkeys(RequirementFields.__annotations__)
    assert Requirement(**nothing) == Requirement()
    assert Requirement.from_dict(FULL).changed(**nothing) == Requirement()


@pytest.mark.parametrize(
    ("written", "quantity", "count"),
    [
        ("80GB", "80G", 80 * 10**9),
        ("80 GB", "80G", 80 * 10**9),
        ("80g", "80G", 80 * 10**9),
        ("80Gi", "80Gi", 80 << 30),
        ("80 GiB", "80Gi", 80 << 30),
        ("81559Mi", "81559Mi", 81559 << 20),
        ("1.5Gi", "1.5Gi", 3 << 29),
        (85520809984, "85520809984", 85520809984),
    ],
)
def test_sizes_are_read_as_people_write_them(written: str | int, quantity: str, count: int) -> None:
    size = parse_size(written)
    assert (size.text, size.bytes) == (quantity, count)


@pytest.mark.parametrize("text", ["", "lots", "80 GX", "-4GB", "4,5GB", "80GBB", "0x10", "1e3", True, 3.5])
def test_what_is_no_size_is_refused_with_the_right_form(text: Any) -> None:
    with pytest.raises(RequirementError) as refused:
        parse_size(text)
    assert "80GB" in (refused.value.next_step or "")


def test_a_number_without_unit_is_not_taken_as_bytes() -> None:
    with pytest.raises(RequirementError, match="80 bytes") as refused:
        Requirement(vram="80")
    assert refused.value.next_step == "Write the unit: 80GB."


@pytest.mark.parametrize(
    ("values", "path", "words"),
    [
        ({"memory": "80GB"}, "memory", "vram or host_memory?"),
        ({"vran": "80GB"}, "vran", "no field"),
        ({"count": 0}, "count", "1 to 32"),
        ({"count": "many"}, "count", "1 to 32"),
        ({"vram": "80GB", "max_vram": "40GB"}, "max_vram", "more than"),
        ({"compute_capability": "8.0"}, "compute_capability", "version condition"),
        ({"driver_version": ">=new"}, "driver_version", "version"),
        ({"align": "numa"}, "align", "qualified"),
        ({"share": {}}, "share", "exactly one"),
        ({"share": {"profile": "1g.10gb", "memory": "10G"}}, "share", "exactly one"),
        ({"share": {"strategy": "luck"}}, "share.strategy", "time-slicing"),
        ({"near": [{"tier": "nic", "image": "x"}]}, "near[0].image", "companion"),
        ({"or_else": [{"near": []}]}, "or_else[0].near", "all alternatives"),
        ({"or_else": [{"vram": "x"}]}, "or_else[0].vram", "memory size"),
        ({"or_else": [{}] * 8}, "or_else", "at most 7"),
        ({"claim": "mine", "vram": "80GB"}, "vram", "stands alone"),
        ({"claim": "../secrets"}, "claim", "template/NAME"),
        ({"env": {"A B": "x"}}, "env.A B", "letters"),
        ({"lease": "soon"}, "lease", "duration"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_field_and_reason(
    values: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(RequirementError) as refused:
        Requirement.from_dict(values)
    assert refused.value.path == path
    assert words in refused.value.message + (refused.value.next_step or "")


def test_a_misspelt_field_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(RequirementError) as refused:
        Requirement.from_dict({"arquitecture": "Hopper"})
    assert refused.value.next_step == "Did you mean architecture?"


@pytest.mark.threat("T18")
def test_secrets_of_the_environment_never_show_in_the_representation() -> None:
    assert "hunter2" not in repr(Requirement(env={"PASSWORD": "hunter2"}))


def test_an_alternative_overrides_only_what_it_names() -> None:
    wish = Requirement(tier="big", vram="80GB", product="H100", or_else=[{"tier": "small", "vram": None}])
    assert wish.alternative(0) == Requirement(tier="small", product="H100")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("4h", 14400), ("1h30m", 5400), ("90 min", 5400), ("45s", 45), ("2d", 172800), (90, 90)],
)
def test_durations_are_read_as_people_write_them(text: str | int, seconds: int) -> None:
    assert parse_duration(text) == seconds
    assert parse_duration(format_duration(seconds)) == seconds


def test_a_literal_size_that_shuts_out_cards_sold_under_it_is_noticed() -> None:
    h100 = 81559 << 20
    assert sold_as_but_less(parse_size("80Gi"), [h100, 40 << 30]) == h100
    assert sold_as_but_less(parse_size("80GB"), [h100]) is None
