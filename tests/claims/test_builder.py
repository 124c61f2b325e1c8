"""The claim says what the requirement says: tried on every catalog device and on invented ones."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.cel import compile_selector
from jupyter_dra.claims import (
    ClassFacts,
    Requirement,
    build_claim,
    build_template,
    parse_size,
    pod_claims,
    requirement_from_claim,
    resolve,
    to_magic,
    to_python,
    to_shell,
    to_yaml,
)
from jupyter_dra.claims.catalog import SPECIMENS, Specimen
from jupyter_dra.errors import RequirementError

GPU_CLASS = {
    "metadata": {"name": "gpu.nvidia.com"},
    "spec": {
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ]
    },
}


def request_of(claim: dict[str, Any]) -> dict[str, Any]:
    (request,) = claim["spec"]["devices"]["requests"]
    found: dict[str, Any] = request["exactly"]
    return found


def matches(claim: dict[str, Any], device: dict[str, Any]) -> bool:
    expressions = [one["cel"]["expression"] for one in request_of(claim).get("selectors", [])]
    return all(compile_selector(one).evaluate(device) for one in expressions)


def test_a_plain_requirement_becomes_the_claim_a_person_would_write() -> None:
    assert build_claim(Requirement(tier="high-memory-gpu", vram="80GB"), name="vllm") == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "vllm"},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "exactly": {
                            "deviceClassName": "high-memory-gpu",
                            "selectors": [
                                {
                                    "cel": {
                                        "expression": "device.capacity[device.driver].?memory"
                                        '.orValue(quantity("0")).compareTo(quantity("80G")) >= 0'
                                    }
                                }
                            ],
                        },
                    }
                ]
            }
        },
    }


def test_a_tier_that_fixes_the_driver_makes_the_expression_exact() -> None:
    claim = build_claim(Requirement(tier="gpu.nvidia.com", vram="24G"), name="c", classes=[GPU_CLASS])
    assert 'device.capacity["gpu.nvidia.com"]' in request_of(claim)["selectors"][0]["cel"]["expression"]


def test_without_tier_and_without_classes_one_is_asked_for() -> None:
    with pytest.raises(RequirementError) as refused:
        build_claim({"vram": "80GB"}, name="c")
    assert refused.value.code == "tier-needed"


def test_any_gpu_takes_the_visible_gpu_tiers_smallest_memory_first() -> None:
    facts = [
        ClassFacts("big", ("gpu.nvidia.com",), "gpu", 80 * 10**9, 80 * 10**9),
        ClassFacts("small", ("gpu.nvidia.com",), "gpu", 24 * 10**9, 24 * 10**9),
        ClassFacts("medium", ("gpu.nvidia.com",), "gpu", 40 * 10**9, 40 * 10**9),
        ClassFacts("closed", ("gpu.nvidia.com",), "gpu", 40 * 10**9, 40 * 10**9, refused="quota"),
        ClassFacts("slices", ("gpu.nvidia.com",), "part", 5 * 10**9, 20 * 10**9),
        ClassFacts("nics", ("dra.net",), "nic"),
    ]
    claim = build_claim(Requirement(vram="40GB"), name="c", classes=facts)
    (request,) = claim["spec"]["devices"]["requests"]
    assert [one["deviceClassName"] for one in request["firstAvailable"]] == ["medium", "big"]
    assert [one["name"] for one in request["firstAvailable"]] == ["1", "2"]
    assert dict(resolve(Requirement(vram="40GB"), facts).left_out) == {
        "small": "too small",
        "closed": "quota",
    }


def test_at_most_eight_alternatives_are_written_and_the_rest_is_named() -> None:
    facts = [ClassFacts(f"t{n}", ("gpu.nvidia.com",), "gpu", n * 10**9, n * 10**9) for n in range(10, 22)]
    resolution = resolve(Requirement(), facts)
    assert [one.tier for one in resolution.alternatives] == [f"t{n}" for n in range(10, 18)]
    assert len(resolution.left_out) == 4


def test_alternatives_keep_their_order_and_companions_apply_to_all() -> None:
    claim = build_claim(
        Requirement(
            tier="big",
            or_else=[{"tier": "two", "count": 2}],
            near=[{"tier": "rdma-nic"}],
            align="pcieRoot",
            spread="x.io/y",
        ),
        name="c",
    )
    devices = claim["spec"]["devices"]
    assert [one["name"] for one in devices["requests"]] == ["gpu", "near-1"]
    assert [one.get("count") for one in devices["requests"][0]["firstAvailable"]] == [None, 2]
    assert devices["constraints"] == [
        {"requests": ["gpu", "near-1"], "matchAttribute": "resource.kubernetes.io/pcieRoot"},
        {"requests": ["gpu"], "distinctAttribute": "x.io/y"},
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ({"memory": "10G"}, {"capacity": {"requests": {"memory": "10G"}}}),
        ({"profile": "1g.10gb"}, {}),
        ({"strategy": "time-slicing"}, {}),
    ],
)
def test_each_way_of_sharing_has_its_place_in_the_claim(
    share: dict[str, str], expected: dict[str, Any]
) -> None:
    claim = build_claim(Requirement(tier="t", share=share), name="c")
    assert expected.items() <= request_of(claim).items()
    if "strategy" in share:
        parameters = claim["spec"]["devices"]["config"][0]["opaque"]["parameters"]
        assert parameters["sharing"]["strategy"] == "TimeSlicing"


def test_a_whole_word_is_meant_not_a_part_of_one() -> None:
    claim = build_claim(Requirement(tier="t", product="A10"), name="c")
    products = [
        specimen.attributes["productName"]
        for specimen in SPECIMENS
        if "productName" in specimen.attributes and matches(claim, specimen.as_device())
    ]
    assert set(products) == {"NVIDIA A10"}


@pytest.mark.threat("T03")
def test_user_text_stays_a_literal_inside_the_expression() -> None:
    hostile = 'x" || true || "'
    claim = build_claim(Requirement(tier="t", product=hostile), name="c")
    assert not any(matches(claim, specimen.as_device()) for specimen in SPECIMENS)


names = st.text(alphabet="aA1bB2 .-+()|[\\\"'é", min_size=1, max_size=8).filter(str.strip)
sizes = st.sampled_from(["10GB", "24GB", "40GB", "80GB", "80Gi", "22.5Gi", "192GB", "4864Mi"])
versions = st.sampled_from([">=8.0", "<9", ">=7.5,<8.9", "==9.0.0", "!=8.0", ">=580.126.20", ">8"])
requirements = st.fixed_dictionaries(
    {"tier": st.just("t")},
    optional={
        "vram": sizes,
        "max_vram": sizes,
        "count": st.integers(1, 8) | st.just("all"),
        "product": st.lists(
            st.sampled_from(["A100", "H100", "L4", "MI300X", "e211", "v6e"]) | names, min_size=1, max_size=3
        ),
        "architecture": st.lists(
            st.sampled_from(["Hopper", "Ampere", "AI", "Ada Lovelace"]) | names, min_size=1, max_size=2
        ),
        "compute_capability": versions,
        "driver_version": versions,
        "tolerate": st.lists(
            st.sampled_from(["maintenance", "a=b", "x=y:NoSchedule"]), min_size=1, max_size=2
        ),
        "share": st.sampled_from([{"profile": "1g.5gb"}, {"memory": "10G"}, {"strategy": "mps"}]),
        "or_else": st.lists(
            st.sampled_from([{"vram": "24GB"}, {"tier": "u"}, {"count": 2}]), min_size=1, max_size=3
        ),
        "near": st.just([{"tier": "rdma-nic"}]),
        "align": st.sampled_from(["pcieRoot", "numaNode", "dra.net/numaNode"]),
        "spread": st.just("gpu.nvidia.com/uuid"),
    },
)


def build_or_none(values: dict[str, Any]) -> tuple[Requirement, dict[str, Any]] | None:
    try:
        requirement = Requirement.from_dict(values)
    except RequirementError:
        return None
    return requirement, build_claim(requirement, name="c")


@settings(max_examples=150, deadline=None)
@given(requirements, st.sampled_from([None, "gpu.nvidia.com", "gpu.amd.com"]))
def test_a_claim_reads_back_as_the_same_requirement(values: dict[str, Any], driver: str | None) -> None:
    try:
        requirement = Requirement.from_dict(values)
        facts = [ClassFacts(name, (driver,), "gpu") for name in "tu"] if driver else None
        claim = build_claim(requirement, name="c", classes=facts)
    except RequirementError:
        return
    again = requirement_from_claim(claim)
    assert build_claim(again, name="c", classes=facts) == claim
    if not requirement.or_else:
        assert _meaning(again) == _meaning(requirement)


def _meaning(requirement: Requirement) -> dict[str, Any]:
    values = requirement.as_dict()
    for field in ("compute_capability", "driver_version"):
        if field in values:
            values[field] = [tuple((part + ".0.0").split(".")[:3]) for part in values[field].split(",")]
    return values


def _number(text: str | None) -> int | None:
    return (
        int(re.sub("Mi", "", text)) << 20
        if text and text.endswith("Mi")
        else (int(text[:-2]) << 30 if text else None)
    )


def _means(requirement: Requirement, specimen: Specimen) -> bool:
    """The requirement judged without CEL."""
    memory = _number(specimen.memory)
    low, high = requirement.vram_size, requirement.max_vram_size
    if low and (memory or 0) < low.bytes:
        return False
    if high and (not memory or memory > high.bytes):
        return False
    for names, keys in (
        (requirement.product, ("productName", "model", "tpuGen")),
        (requirement.architecture, ("architecture", "family", "tpuGen")),
    ):
        texts = [
            str(specimen.attributes[key]).lower()
            for key in keys
            if isinstance(specimen.attributes.get(key), str)
        ]
        if names and not any(_has_word(text, name.lower()) for text, name in itertools.product(texts, names)):
            return False
    for conditions, key in (
        (requirement.compute_capability, "cudaComputeCapability"),
        (requirement.driver_version, "driverVersion"),
    ):
        value = specimen.attributes.get(key)
        if conditions and not (value and all(_holds(value["version"], one) for one in conditions.split(","))):
            return False
    return True


def _has_word(text: str, word: str) -> bool:
    starts = (at for at in range(len(text)) if text.startswith(word, at))
    alnum = "abcdefghijklmnopqrstuvwxyz0123456789"
    return any(
        (at == 0 or text[at - 1] not in alnum)
        and (at + len(word) == len(text) or text[at + len(word)] not in alnum)
        for at in starts
    )


def _holds(version: str, condition: str) -> bool:
    parts = re.fullmatch(r"(>=|<=|==|!=|>|<)(.*)", condition)
    assert parts is not None
    operator, wanted = parts.groups()
    have, want = ([int(part) for part in (text + ".0.0").split(".")[:3]] for text in (version, wanted))
    return bool(
        {
            ">=": have >= want,
            "<=": have <= want,
            "==": have == want,
            "!=": have != want,
            ">": have > want,
            "<": have < want,
        }[operator]
    )


@settings(max_examples=200, deadline=None)
@given(requirements)
def test_the_claim_matches_exactly_the_devices_the_requirement_means(values: dict[str, Any]) -> None:
    for field in ("share", "or_else", "near", "align", "spread"):
        values.pop(field, None)
    built = build_or_none(values)
    if built is None:
        return
    requirement, claim = built
    for specimen in SPECIMENS:
        assert matches(claim, specimen.as_device()) == _means(requirement, specimen), specimen


def test_the_memory_asked_is_a_floor_that_every_card_sold_under_it_meets() -> None:
    sold = {"H100 80GB": 80, "A100-SXM4-80GB": 80, "A100-SXM4-40GB": 40, "L4": 24, "T4": 16}
    for specimen in SPECIMENS:
        for words, gigabytes in sold.items():
            if specimen.kind == "gpu" and words in str(specimen.attributes.get("productName")):
                claim = build_claim(Requirement(tier="t", vram=f"{gigabytes}GB"), name="c")
                assert matches(claim, specimen.as_device()), specimen


def test_previews_say_the_same_in_each_language() -> None:
    requirement = Requirement(vram="80GB", product=["it's; $(rm)"], near=[{"tier": "rdma-nic"}])
    namespace: dict[str, Any] = {"Requirement": Requirement}
    assert eval(to_python(requirement), namespace) == requirement
    assert to_shell(requirement).startswith("jupyter dra launch --vram 80GB --product")
    assert to_magic(requirement).startswith("%dra launch")


@pytest.mark.threat("T21")
@pytest.mark.threat("T03")
@settings(max_examples=100, deadline=None)
@given(names, st.sampled_from(["y", "no", "on", "1e3", "null", "~", "0o7", ": x", "- a", "#c", "{a}", "@x"]))
def test_yaml_reads_back_equal_whatever_the_text(name: str, trap: str) -> None:
    claim = build_claim(
        Requirement(tier="t", product=[name, trap]), name="c", extra_annotations={"a/b": trap, "c/d": name}
    )
    assert yaml.safe_load(to_yaml(claim)) == claim


@pytest.mark.parametrize("field", ["align", "spread"])
@pytest.mark.parametrize("short", ["numaNode", "pcieRoot"])
def test_short_names_of_common_attributes_are_written_in_full(field: str, short: str) -> None:
    requirement = Requirement.from_dict({"tier": "t", "count": 2, field: short})
    claim = build_claim(requirement, name="c")
    (constraint,) = claim["spec"]["devices"]["constraints"]
    kind = "matchAttribute" if field == "align" else "distinctAttribute"
    assert constraint[kind] == f"resource.kubernetes.io/{short}"
    assert requirement_from_claim(claim) == requirement


def test_a_template_wraps_the_same_spec_and_the_pod_part_names_it() -> None:
    template = build_template(Requirement(tier="t"), name="one-gpu", claim_labels={"a": "b"})
    assert template["spec"]["metadata"] == {"labels": {"a": "b"}}
    assert template["spec"]["spec"] == build_claim(Requirement(tier="t"), name="x")["spec"]
    assert pod_claims("one-gpu", template=True)["resourceClaims"] == [
        {"name": "device", "resourceClaimTemplateName": "one-gpu"}
    ]


def test_a_hand_written_selector_is_kept_word_for_word() -> None:
    expression = 'device.attributes["gpu.nvidia.com"].brand == "Nvidia"'
    claim = build_claim(Requirement(tier="t", where=[expression]), name="c")
    assert requirement_from_claim(claim) == Requirement(tier="t", where=[expression])


def test_what_the_vocabulary_cannot_say_is_refused_by_path() -> None:
    claim = build_claim(Requirement(tier="t"), name="c")
    claim["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    with pytest.raises(RequirementError, match="admin access"):
        requirement_from_claim(claim)


def test_gigabytes_and_gibibytes_are_told_apart() -> None:
    assert parse_size("80GB").bytes < parse_size("80Gi").bytes
