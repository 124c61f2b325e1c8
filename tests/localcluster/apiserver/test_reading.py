"""Get and list over HTTP, in every form clients ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Maker = Callable[..., dict[str, Any]]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
def maps(api: Any, namespace: str, config_map: Maker) -> str:
    """The path of a namespace's config maps: b, a (labeled x) and the one every namespace has."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    api.post(path, config_map("b"))
    labeled = config_map("a")
    labeled["metadata"]["labels"] = {"app": "x"}
    api.post(path, labeled)
    return path


def test_a_list_is_sorted_and_its_items_carry_no_kind(api: Any, maps: str) -> None:
    value = api.get(maps).json()
    assert (value["kind"], value["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(value["metadata"]["resourceVersion"]) > 0
    assert [item["metadata"]["name"] for item in value["items"]] == ["a", "b", "kube-root-ca.crt"]
    assert all("kind" not in item and "apiVersion" not in item for item in value["items"])


def test_a_list_without_namespace_covers_all_of_them(api: Any, maps: str) -> None:
    found = {item["metadata"]["namespace"] for item in api.get("/api/v1/configmaps").json()["items"]}
    assert {"default", "kube-system"} < found


def test_label_and_field_selectors_narrow_a_list(api: Any, maps: str) -> None:
    def names(**params: str) -> list[str]:
        return [item["metadata"]["name"] for item in api.get(maps, params=params).json()["items"]]

    assert names(labelSelector="app=x") == ["a"]
    assert names(labelSelector="!app", fieldSelector="metadata.name!=kube-root-ca.crt") == ["b"]
    assert names(fieldSelector="metadata.name=b") == ["b"]
    assert api.get(maps, params={"fieldSelector": "data.x=1"}).status_code == 400


def test_an_empty_list_is_a_list(api: Any, namespace: str) -> None:
    assert api.get(f"/api/v1/namespaces/{namespace}/pods").json()["items"] == []


def test_a_missing_object_is_not_found_in_the_real_words(api: Any, namespace: str) -> None:
    answer = api.get(f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/none")
    assert answer.status_code == 404
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'resourceclaims.resource.k8s.io "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "group": "resource.k8s.io", "kind": "resourceclaims"},
        "code": 404,
    }


@pytest.mark.parametrize(
    "path",
    [
        "/apis/resource.k8s.io/v1/widgets",
        "/api/v1/widgets",
        "/api/v2",
        "/api/v1/namespaces/default/nodes",
    ],
)
def test_what_is_not_served_is_not_found(api: Any, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.json()["kind"]) == (404, "Status")


@pytest.mark.parametrize("path", ["/nothing", "/apis/widgets.example.com/v1/widgets"])
def test_outside_the_api_a_missing_page_is_plain_text(api: Any, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.text) == (404, "404 page not found\n")


def test_a_table_has_columns_rows_and_the_metadata_of_each_object(api: Any, maps: str) -> None:
    value = api.get(maps, headers={"Accept": TABLE}).json()
    assert value["kind"] == "Table"
    assert [column["name"] for column in value["columnDefinitions"]] == ["Name", "Data", "Age"]
    row = value["rows"][0]
    assert row["cells"][:2] == ["a", 0]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    whole = api.get(maps, headers={"Accept": TABLE}, params={"includeObject": "Object"}).json()
    assert whole["rows"][0]["object"]["kind"] == "ConfigMap"
    bare = api.get(maps, headers={"Accept": TABLE}, params={"includeObject": "None"}).json()
    assert bare["rows"][0]["object"] is None


def test_metadata_alone_can_be_asked_for(api: Any, maps: str) -> None:
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    value = api.get(maps, headers={"Accept": accept}).json()
    assert value["kind"] == "PartialObjectMetadataList"
    assert set(value["items"][0]) == {"kind", "apiVersion", "metadata"}


@pytest.mark.local_only("the real one speaks protobuf")
def test_protobuf_is_answered_with_json(api: Any, maps: str) -> None:
    accept = "application/vnd.kubernetes.protobuf,application/json"
    assert api.get(maps, headers={"Accept": accept}).headers["Content-Type"] == "application/json"


@pytest.mark.local_only("the real one continues lists")
def test_a_limit_is_met_with_the_whole_list_and_a_foreign_continue_is_refused(api: Any, maps: str) -> None:
    value = api.get(maps, params={"limit": "1"}).json()
    assert len(value["items"]) == 3
    assert "continue" not in value["metadata"]
    assert api.get(maps, params={"continue": "abc"}).status_code == 501


def test_revisions_in_lists_are_honored(api: Any, maps: str) -> None:
    now = int(api.get(maps).json()["metadata"]["resourceVersion"])

    def status(**params: Any) -> int:
        return int(api.get(maps, params=params).status_code)

    assert status(resourceVersion="0") == 200
    assert status(resourceVersion=now, resourceVersionMatch="NotOlderThan") == 200
    assert status(resourceVersion=now + 1000) == 504
    assert status(resourceVersion="abc") == 400
    assert status(resourceVersionMatch="Exact") == 422


@pytest.mark.local_only("the real one still has the past in etcd")
def test_a_list_as_it_was_in_the_past_is_expired(api: Any, maps: str) -> None:
    now = int(api.get(maps).json()["metadata"]["resourceVersion"])
    exact = {"resourceVersion": now - 1, "resourceVersionMatch": "Exact"}
    assert api.get(maps, params=exact).status_code == 410


def test_discovery_comes_in_both_forms_and_is_kept_by_tag(api: Any) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    answer = api.get("/apis", headers={"Accept": accept})
    assert (
        answer.headers["Content-Type"]
        == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    groups = {item["metadata"]["name"] for item in answer.json()["items"]}
    assert "resource.k8s.io" in groups
    again = api.get("/apis", headers={"Accept": accept, "If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    legacy = api.get("/apis").json()
    assert {group["name"] for group in legacy["groups"]} == groups
    listed = api.get("/apis/resource.k8s.io/v1").json()
    names = {entry["name"] for entry in listed["resources"]}
    assert {"resourceclaims", "resourceclaims/status", "deviceclasses", "devicetaintrules"} <= names
    core = {entry["name"]: entry for entry in api.get("/api/v1").json()["resources"]}
    assert core["pods"]["shortNames"] == ["po"]
    assert core["pods"]["singularName"] == "pod"
    assert "pods/log" in core


def test_openapi_says_that_writes_take_field_validation(api: Any) -> None:
    index = api.get("/openapi/v3").json()
    url = index["paths"]["apis/resource.k8s.io/v1"]["serverRelativeURL"]
    document = api.get(url).json()
    path = "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    names = {parameter["name"] for parameter in document["paths"][path]["post"]["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation"} <= names
    kinds = [
        schema["x-kubernetes-group-version-kind"][0]["kind"]
        for schema in document["components"]["schemas"].values()
        if "x-kubernetes-group-version-kind" in schema
    ]
    assert "ResourceClaim" in kinds


def test_version_and_health(api: Any) -> None:
    value = api.get("/version").json()
    assert value["gitVersion"].startswith("v1.37.")
    assert (value["major"], value["minor"]) == ("1", "37")
    for path in ("/healthz", "/livez", "/readyz"):
        assert api.get(path).text == "ok"


@pytest.mark.parametrize(("text", "wanted"), [("maybe", True), ("", True), ("0", False), ("False", False)])
def test_a_boolean_is_true_unless_it_says_no(api: Any, namespace: str, text: str, wanted: bool) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with api.http.stream("GET", path, params={"watch": text, "timeoutSeconds": "1"}) as answer:
        assert (next(answer.iter_lines()).startswith('{"type":"ADDED"')) is wanted


def test_methods_that_a_resource_does_not_have_are_405(api: Any, namespace: str) -> None:
    assert api.delete("/api/v1/namespaces").status_code == 405
    assert api.request("HEAD", f"/api/v1/namespaces/{namespace}").status_code == 405
    assert api.post(f"/api/v1/namespaces/{namespace}/pods/p", {}).status_code == 405
    assert api.get("/apis/authentication.k8s.io/v1/selfsubjectreviews").status_code == 405
