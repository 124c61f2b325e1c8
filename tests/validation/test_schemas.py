"""The facts about kinds that the local cluster and the checker build on."""

from __future__ import annotations

import pytest

from jupyter_dra.validation import schemas


def test_the_kinds_of_the_local_cluster_are_all_there() -> None:
    wanted = {
        ("v1", "Pod"),
        ("v1", "Secret"),
        ("v1", "Event"),
        ("events.k8s.io/v1", "Event"),
        ("coordination.k8s.io/v1", "Lease"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("resource.k8s.io/v1", "DeviceTaintRule"),
        ("resource.k8s.io/v1beta1", "ResourceClaim"),
        ("batch/v1", "CronJob"),
    }
    assert wanted <= {(kind.api_version, kind.kind) for kind in schemas.kinds()}


def test_a_url_leads_to_its_kind() -> None:
    kind = schemas.find_resource("resource.k8s.io", "v1", "resourceclaims")
    assert kind is not None
    assert kind.qualified_kind == "ResourceClaim.resource.k8s.io"
    assert kind.namespaced
    assert kind.has_status
    pods = schemas.find_resource("", "v1", "pods")
    assert pods is not None
    assert pods.short_names == ("po",)
    assert "portforward" in pods.subresources


@pytest.mark.parametrize(
    ("shape", "field", "strategy", "key"),
    [
        ("core/v1.PodSpec", "containers", "merge", "name"),
        ("core/v1.PodSpec", "resourceClaims", "merge,retainKeys", "name"),
        ("core/v1.Container", "ports", "merge", "containerPort"),
        ("meta/v1.ObjectMeta", "ownerReferences", "merge", "uid"),
        ("meta/v1.ObjectMeta", "finalizers", "merge", None),
        ("resource/v1.ResourceClaimStatus", "reservedFor", "merge", "uid"),
        ("resource/v1.DeviceClaim", "requests", None, None),
    ],
)
def test_strategic_merge_keys_are_those_of_the_go_types(
    shape: str, field: str, strategy: str | None, key: str | None
) -> None:
    found = schemas.shape(shape).fields[field]
    assert (found.strategy, found.merge_key) == (strategy, key)


def test_list_types_of_apply_are_known() -> None:
    devices = schemas.shape("resource/v1.ResourceClaimStatus").fields["devices"]
    assert devices.list_type == "map"
    assert set(devices.keys) == {"driver", "device", "pool", "shareID"}
    assert schemas.shape("core/v1.PodSpec").fields["tolerations"].list_type == "atomic"


def test_a_path_leads_to_its_field() -> None:
    kind = schemas.find_kind("resource.k8s.io/v1", "ResourceClaim")
    assert kind is not None
    found = schemas.field_at(kind, ("spec", "devices", "requests", 0, "exactly", "count"))
    assert found is not None
    assert found.type == "int64"
    assert schemas.field_at(kind, ("spec", "devices", "requests", 0, "count")) is None


def test_every_type_a_field_names_is_described() -> None:
    for kind in schemas.kinds():
        todo, seen = [kind.type], set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                shape = schemas.shape(name)
                todo += [field.type for field in shape.fields.values()]
                todo += [shape.elem] if shape.elem else []
