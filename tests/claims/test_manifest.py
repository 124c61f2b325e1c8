"""A claim given as a manifest: a ResourceClaim and nothing more, whatever stands in it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from jupyter_dra.claims import Requirement, build_claim, requirement_from_claim
from jupyter_dra.errors import DRAError, RequirementError

SPEC = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}


def test_a_bare_spec_becomes_a_whole_claim() -> None:
    wish = Requirement.from_dict({"claim": {"spec": SPEC}})
    built = build_claim(wish, name="s-22222", namespace="team-a")
    assert built == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "s-22222", "namespace": "team-a"},
        "spec": SPEC,
    }


@pytest.mark.threat("T22")
@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}, "claim.apiVersion"),
        ({"kind": "Secret", "spec": SPEC}, "claim.kind"),
        ({"kind": "ResourceClaimTemplate", "spec": {"spec": SPEC}}, "claim.kind"),
        ({"apiVersion": "resource.k8s.io/v1beta1", "spec": SPEC}, "claim.apiVersion"),
        ({"spec": SPEC, "status": {"allocation": {}}}, "claim.status"),
        ({"spec": SPEC, "metadata": {"ownerReferences": []}}, "claim.metadata.ownerReferences"),
        ({"spec": SPEC, "metadata": {"finalizers": ["a/b"]}}, "claim.metadata.finalizers"),
        ({"spec": SPEC, "metadata": {"labels": {"a": 1}}}, "claim.metadata.labels"),
        ({"spec": SPEC, "metadata": []}, "claim.metadata"),
        ({"spec": SPEC, "metadata": {"name": {"a": "b"}}}, "claim.metadata.name"),
        ({"spec": "requests: []"}, "claim.spec"),
        ({}, "claim.spec"),
    ],
)
def test_what_is_more_than_a_claim_is_refused_by_its_path(manifest: Any, path: str) -> None:
    with pytest.raises(RequirementError) as caught:
        Requirement.from_dict({"claim": manifest})
    assert caught.value.path == path
    assert caught.value.next_step


WRONG: list[Any] = [5, "x", [], [5], {"a": 5}, True, None]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(
    "field", ["devices", "requests", "exactly", "firstAvailable", "selectors", "cel", "tolerations", "config"]
)
def test_a_field_of_the_wrong_type_is_an_answer_not_a_fault(field: str, wrong: Any) -> None:
    exactly: dict[str, Any] = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": "true"}}]}
    request: dict[str, Any] = {"name": "g", "exactly": exactly}
    devices: dict[str, Any] = {"requests": [request]}
    spec: dict[str, Any] = {"devices": devices}
    places = {"devices": spec, "requests": devices, "config": devices, "exactly": request}
    if field == "cel":
        exactly["selectors"] = [{"cel": wrong}]
    else:
        places.get(field, request if field == "firstAvailable" else exactly)[field] = wrong
    manifest = {"spec": spec}
    with suppress(DRAError):
        requirement_from_claim(manifest)
    with suppress(DRAError):
        build_claim(Requirement.from_dict({"claim": manifest}))


@pytest.mark.parametrize(
    "wish",
    [
        {"lease": {"a": 1}},
        {"lease": [4]},
        {"idle_timeout": 10**400},
        {"vram": "9" * 400},
        {"vram": "99999999T"},
        {"share": {"strategy": "mps", "thread_percentage": "abc"}},
        {"share": {"strategy": "mps", "thread_percentage": None}},
        {"share": {"strategy": "mps", "memory_limit": []}},
    ],
    ids=repr,
)
def test_values_of_another_type_or_size_are_refused_by_their_field(wish: dict[str, Any]) -> None:
    with pytest.raises(RequirementError) as caught:
        Requirement.from_dict(wish)
    assert (caught.value.path or "").startswith(next(iter(wish)))
