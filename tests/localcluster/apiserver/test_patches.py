"""JSON, merge and strategic patches on plain values."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.localcluster.merge_keys import rules_for
from jupyter_dra.localcluster.patch import json_patch, merge_patch
from jupyter_dra.localcluster.resources import named
from jupyter_dra.localcluster.status import APIError
from jupyter_dra.localcluster.strategic import strategic_patch


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3], "b": {"c/d": "x"}}),
        ([{"op": "add", "path": "/a/0", "value": 0}], {"a": [0, 1, 2], "b": {"c/d": "x"}}),
        ([{"op": "remove", "path": "/a/1"}], {"a": [1], "b": {"c/d": "x"}}),
        ([{"op": "replace", "path": "/b/c~1d", "value": None}], {"a": [1, 2], "b": {"c/d": None}}),
        ([{"op": "move", "from": "/a/0", "path": "/a/1"}], {"a": [2, 1], "b": {"c/d": "x"}}),
        ([{"op": "copy", "from": "/b/c~1d", "path": "/e"}], {"a": [1, 2], "b": {"c/d": "x"}, "e": "x"}),
        ([{"op": "test", "path": "/a", "value": [1, 2]}], {"a": [1, 2], "b": {"c/d": "x"}}),
    ],
)
def test_each_json_patch_operation_does_what_rfc_6902_says(operations: list[Any], expected: Any) -> None:
    before = {"a": [1, 2], "b": {"c/d": "x"}}
    assert json_patch(before, operations) == expected
    assert before == {"a": [1, 2], "b": {"c/d": "x"}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "add", "path": "/missing/deep", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused_with_422(operation: dict[str, Any]) -> None:
    with pytest.raises(APIError) as caught:
        json_patch({"a": 1, "list": []}, [operation])
    assert caught.value.http_status == 422


@pytest.mark.parametrize(
    "operation", [{"op": "add"}, {"op": "jump", "path": "/a"}, {"op": "add", "path": "a"}, 5]
)
def test_a_malformed_json_patch_is_a_bad_request(operation: Any) -> None:
    with pytest.raises(APIError) as caught:
        json_patch({"a": 1}, [operation])
    assert caught.value.http_status == 400


def test_a_merge_patch_deletes_with_null_and_replaces_lists() -> None:
    before = {"a": {"x": 1, "y": 2}, "l": [1, 2], "s": "text"}
    patch = {"a": {"x": None, "z": 3}, "l": [3], "s": {"now": "map"}}
    assert merge_patch(before, patch) == {"a": {"y": 2, "z": 3}, "l": [3], "s": {"now": "map"}}


def pod_patch(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    return strategic_patch(before, patch, rules_for(named("pods")))


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


def test_containers_merge_by_name_and_their_variables_by_theirs() -> None:
    before = containers({"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"})
    patch = containers({"name": "a", "env": [{"name": "Y", "value": "2"}]})
    merged = pod_patch(before, patch)["spec"]["containers"]
    assert merged[0] == {
        "name": "a",
        "image": "1",
        "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
    }
    assert merged[1] == {"name": "b"}


def test_a_list_item_is_deleted_by_directive_and_the_order_can_be_set() -> None:
    before = containers({"name": "a"}, {"name": "b"}, {"name": "c"})
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "b", "$patch": "delete"}],
        }
    }
    merged = pod_patch(before, patch)
    assert [item["name"] for item in merged["spec"]["containers"]] == ["c", "a"]
    assert set(merged["spec"]) == {"containers"}


def test_a_list_is_replaced_whole_when_the_patch_says_so() -> None:
    before = containers({"name": "a"}, {"name": "b"})
    patch = containers({"name": "c"}, {"$patch": "replace"})
    assert pod_patch(before, patch) == containers({"name": "c"})


def test_retain_keys_drops_the_old_kind_of_a_volume() -> None:
    before = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    patch = {
        "spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}
    }
    expected = [{"name": "v", "secret": {"secretName": "s"}}]
    assert pod_patch(before, patch)["spec"]["volumes"] == expected


def test_pod_claims_merge_by_name_and_tolerations_are_replaced() -> None:
    before = {
        "spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}], "tolerations": [{"key": "k"}]}
    }
    patch = {
        "spec": {"resourceClaims": [{"name": "b", "resourceClaimName": "y"}], "tolerations": [{"key": "l"}]}
    }
    merged = pod_patch(before, patch)["spec"]
    assert [item["name"] for item in merged["resourceClaims"]] == ["a", "b"]
    assert merged["tolerations"] == [{"key": "l"}]


def test_finalizers_merge_as_a_set_and_can_be_taken_out() -> None:
    before = {"metadata": {"finalizers": ["a", "b"]}}
    assert pod_patch(before, {"metadata": {"finalizers": ["b", "c"]}})["metadata"]["finalizers"] == [
        "a",
        "b",
        "c",
    ]
    taken = pod_patch(before, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})
    assert taken["metadata"]["finalizers"] == ["b"]


def test_null_and_the_delete_directive_remove_a_map() -> None:
    before = {"spec": {"securityContext": {"runAsUser": 1}, "nodeName": "n"}}
    merged = pod_patch(before, {"spec": {"securityContext": {"$patch": "delete"}, "nodeName": None}})
    assert merged == {"spec": {}}


def test_reserved_for_merges_by_uid_as_upstream_declares() -> None:
    rules = rules_for(named("resourceclaims", "resource.k8s.io"))
    before = {"status": {"reservedFor": [{"uid": "1", "name": "a"}]}}
    merged = strategic_patch(before, {"status": {"reservedFor": [{"uid": "2", "name": "b"}]}}, rules)
    assert [item["uid"] for item in merged["status"]["reservedFor"]] == ["1", "2"]


def test_an_item_without_its_merge_key_is_an_error() -> None:
    with pytest.raises(APIError, match="declared merge key: name"):
        pod_patch(containers({"name": "a"}), containers({"image": "x"}))
