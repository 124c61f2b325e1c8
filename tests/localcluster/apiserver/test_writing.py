"""Create, replace and patch over HTTP."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

import pytest

Maker = Callable[..., dict[str, Any]]
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def test_a_created_object_comes_back_with_what_the_server_owns(api: Any, namespace: str, pod: Maker) -> None:
    answer = api.post(pods(namespace), pod("p"))
    assert answer.status_code == 201
    value = answer.json()
    metadata = value["metadata"]
    assert (value["kind"], value["apiVersion"]) == ("Pod", "v1")
    assert re.fullmatch(r"[0-9a-f-]{36}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["generation"] == 1
    assert int(metadata["resourceVersion"]) > 0
    assert value["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_pod_gets_the_defaults_that_clients_see(api: Any, namespace: str, pod: Maker) -> None:
    made = pod("p")
    made["spec"]["containers"][0]["resources"] = {"limits": {"cpu": 1, "memory": "1Gi"}}
    value = api.post(pods(namespace), made).json()
    spec, container = value["spec"], value["spec"]["containers"][0]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["securityContext"] == {}
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["serviceAccountName"] == "default"
    assert spec["priority"] == 0
    assert {t["key"] for t in spec["tolerations"]} == {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert container["terminationMessagePath"] == "/dev/termination-log"
    assert value["status"]["qosClass"] == "Guaranteed"


def test_generate_name_appends_five_characters_without_vowels(api: Any, namespace: str) -> None:
    body = {"metadata": {"generateName": "job-"}, "data": {}}
    names = {api.post(maps(namespace), body).json()["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"job-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_the_same_name_twice_is_already_exists(api: Any, namespace: str, claim: Maker) -> None:
    path = CLAIMS.format(namespace)
    assert api.post(path, claim("c")).status_code == 201
    answer = api.post(path, claim("c"))
    assert answer.status_code == 409
    assert answer.json()["reason"] == "AlreadyExists"
    assert answer.json()["message"] == 'resourceclaims.resource.k8s.io "c" already exists'
    assert answer.json()["details"] == {"name": "c", "group": "resource.k8s.io", "kind": "resourceclaims"}


def test_a_missing_namespace_is_not_found(api: Any, config_map: Maker) -> None:
    answer = api.post(maps("nowhere"), config_map("a"))
    assert (answer.status_code, answer.json()["message"]) == (404, 'namespaces "nowhere" not found')


def test_an_unknown_field_is_refused_with_the_real_text_when_strict(
    api: Any, namespace: str, claim: Maker
) -> None:
    flat = claim("c")
    flat["spec"]["devices"]["requests"] = [{"name": "gpu", "deviceClassName": "gpu"}]
    answer = api.post(CLAIMS.format(namespace), flat, params={"fieldValidation": "Strict"})
    assert answer.status_code == 400
    assert answer.json()["reason"] == "BadRequest"
    assert answer.json()["message"] == (
        'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding error: '
        'unknown field "spec.devices.requests[0].deviceClassName"'
    )


def test_by_default_an_unknown_field_is_dropped_with_a_warning(api: Any, namespace: str, pod: Maker) -> None:
    answer = api.post(pods(namespace), pod("p", nonsense=1))
    assert answer.status_code == 201
    assert "nonsense" not in answer.json()["spec"]
    assert answer.headers["Warning"] == '299 - "unknown field \\"spec.nonsense\\""'
    ignored = api.post(pods(namespace), pod("q", nonsense=1), params={"fieldValidation": "Ignore"})
    assert "Warning" not in ignored.headers


def test_a_key_that_stands_twice_is_a_duplicate_field(api: Any, namespace: str) -> None:
    text = b'{"metadata": {"name": "a", "name": "b"}}'
    answer = api.post(maps(namespace), content=text, params={"fieldValidation": "Strict"})
    assert answer.status_code == 400
    assert 'duplicate field "metadata.name"' in answer.json()["message"]


def test_a_wrong_type_is_a_bad_request_in_the_words_of_go(api: Any, namespace: str, pod: Maker) -> None:
    answer = api.post(pods(namespace), pod("p", containers="none"))
    assert answer.status_code == 400
    assert (
        "json: cannot unmarshal string into Go struct field PodSpec.spec.containers"
        in answer.json()["message"]
    )


def test_every_broken_rule_is_one_cause(api: Any, namespace: str, claim: Maker) -> None:
    answer = api.post(CLAIMS.format(namespace), claim("c", deviceClassName="", count=-1))
    body = answer.json()
    assert (answer.status_code, body["reason"]) == (422, "Invalid")
    assert body["message"].startswith('ResourceClaim.resource.k8s.io "c" is invalid: ')
    fields = {cause["field"] for cause in body["details"]["causes"]}
    assert "spec.devices.requests[0].exactly.deviceClassName" in fields
    assert "spec.devices.requests[0].exactly.count" in fields


def test_a_body_that_is_no_json_is_a_bad_request(api: Any, namespace: str) -> None:
    answer = api.post(maps(namespace), content=b"{nope")
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")


def test_a_body_of_another_kind_is_a_bad_request(api: Any, namespace: str, pod: Maker) -> None:
    assert api.post(maps(namespace), pod("p")).status_code == 400


def test_yaml_bodies_are_read(api: Any, namespace: str) -> None:
    kind = {"Content-Type": "application/yaml"}
    text = b"metadata:\n  name: when\ndata:\n  when: 2024-01-01\n"
    assert api.post(maps(namespace), content=text, headers=kind).json()["data"] == {"when": "2024-01-01"}
    answer = api.post(maps(namespace), content=b"metadata:\n  name: y\n", headers=kind)
    assert answer.status_code == 400
    assert "cannot unmarshal bool into Go struct field ObjectMeta.metadata.name" in answer.json()["message"]


def test_an_unknown_media_type_is_415(api: Any, namespace: str) -> None:
    answer = api.post(maps(namespace), content=b"x", headers={"Content-Type": "text/csv"})
    assert (answer.status_code, answer.json()["reason"]) == (415, "UnsupportedMediaType")


def test_string_data_of_a_secret_ends_up_encoded(api: Any, namespace: str) -> None:
    body = {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}}
    value = api.post(f"/api/v1/namespaces/{namespace}/secrets", body).json()
    assert value["data"] == {"a": base64.b64encode(b"b").decode(), "c": "ZA=="}
    assert "stringData" not in value
    assert value["type"] == "Opaque"


def test_a_dry_run_answers_like_a_write_and_stores_nothing(
    api: Any, namespace: str, config_map: Maker
) -> None:
    answer = api.post(maps(namespace), config_map("dry"), params={"dryRun": "All"})
    assert answer.status_code == 201
    assert answer.json()["metadata"]["uid"]
    assert api.get(f"{maps(namespace)}/dry").status_code == 404
    api.post(maps(namespace), config_map("real", a="1"))
    changed = api.patch(f"{maps(namespace)}/real", {"data": {"a": "2"}}, params={"dryRun": "All"})
    assert changed.json()["data"] == {"a": "2"}
    assert api.get(f"{maps(namespace)}/real").json()["data"] == {"a": "1"}
    assert api.post(maps(namespace), config_map("x"), params={"dryRun": "Some"}).status_code == 422


def test_a_stale_replace_is_a_conflict_with_the_real_text(
    api: Any, namespace: str, config_map: Maker
) -> None:
    first = api.post(maps(namespace), config_map("a", x="1")).json()
    assert api.put(f"{maps(namespace)}/a", {**first, "data": {"x": "2"}}).status_code == 200
    answer = api.put(f"{maps(namespace)}/a", {**first, "data": {"x": "3"}})
    assert answer.status_code == 409
    assert answer.json()["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_replace_without_revision_is_unconditional(api: Any, namespace: str, config_map: Maker) -> None:
    api.post(maps(namespace), config_map("a", x="1"))
    answer = api.put(f"{maps(namespace)}/a", config_map("a", x="2"))
    assert (answer.status_code, answer.json()["data"]) == (200, {"x": "2"})


def test_another_uid_is_a_conflict(api: Any, namespace: str, config_map: Maker) -> None:
    api.post(maps(namespace), config_map("a"))
    body = config_map("a")
    body["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    assert api.put(f"{maps(namespace)}/a", body).status_code == 409


def test_a_write_that_changes_nothing_keeps_the_revision(api: Any, namespace: str, claim: Maker) -> None:
    path = CLAIMS.format(namespace)
    first = api.post(path, claim("c")).json()
    again = api.put(f"{path}/c", first).json()
    patched = api.patch(f"{path}/c", {"metadata": {"labels": None}}).json()
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    assert first["metadata"]["resourceVersion"] == patched["metadata"]["resourceVersion"]


def test_status_and_main_part_are_written_apart(api: Any, namespace: str, claim: Maker) -> None:
    path = CLAIMS.format(namespace)
    value = api.post(path, {**claim("c"), "status": {"reservedFor": [{"uid": "1"}]}}).json()
    assert value["status"] == {}
    result = {"request": "gpu", "driver": "d.example.com", "pool": "p", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [result]}}}
    changed = {**value, "status": status, "metadata": {**value["metadata"], "labels": {"a": "b"}}}
    after = api.put(f"{path}/c/status", changed).json()
    assert after["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert "labels" not in after["metadata"]
    kept = api.patch(f"{path}/c", {"metadata": {"labels": {"a": "b"}}, "status": None}).json()
    assert kept["status"] == after["status"]
    assert kept["metadata"]["labels"] == {"a": "b"}


def test_the_spec_of_a_claim_and_of_a_pod_is_immutable(
    api: Any, namespace: str, claim: Maker, pod: Maker
) -> None:
    path = CLAIMS.format(namespace)
    api.post(path, claim("c"))
    refused = api.patch(f"{path}/c", claim("c", count=2))
    assert refused.status_code == 422
    assert "field is immutable" in refused.json()["message"]
    api.post(pods(namespace), pod("p"))
    assert api.patch(f"{pods(namespace)}/p", {"spec": {"hostname": "x"}}).status_code == 422
    image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    assert api.patch(f"{pods(namespace)}/p", image, kind="strategic").status_code == 200


def test_generation_rises_with_the_spec_only(api: Any) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    body = {"metadata": {"name": "generations"}, "spec": {}}
    assert api.post(path, body).json()["metadata"]["generation"] == 1
    labeled = api.patch(f"{path}/generations", {"metadata": {"labels": {"a": "b"}}}).json()
    assert labeled["metadata"]["generation"] == 1
    selector = {"cel": {"expression": 'device.driver == "d.example.com"'}}
    changed = api.patch(f"{path}/generations", {"spec": {"selectors": [selector]}}).json()
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("json", [{"op": "add", "path": "/data/y", "value": "2"}]),
        ("merge", {"data": {"y": "2"}}),
        ("strategic", {"data": {"y": "2"}}),
    ],
)
def test_three_kinds_of_patch_over_http(
    api: Any, namespace: str, config_map: Maker, kind: str, patch: Any
) -> None:
    api.post(maps(namespace), config_map("a", x="1"))
    assert api.patch(f"{maps(namespace)}/a", patch, kind=kind).json()["data"] == {"x": "1", "y": "2"}


def test_a_revision_in_a_patch_is_a_precondition(api: Any, namespace: str, config_map: Maker) -> None:
    first = api.post(maps(namespace), config_map("a", x="1")).json()
    revision = first["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": revision}, "data": {"x": "2"}}
    assert api.patch(f"{maps(namespace)}/a", patch).status_code == 200
    assert api.patch(f"{maps(namespace)}/a", {**patch, "data": {"x": "3"}}).status_code == 409


def test_strict_decoding_also_meets_the_result_of_a_patch(api: Any, namespace: str, pod: Maker) -> None:
    api.post(pods(namespace), pod("p"))
    params = {"fieldValidation": "Strict"}
    for kind in ("merge", "strategic"):
        patch = {"metadata": {"lables": {"a": "b"}}}
        answer = api.patch(f"{pods(namespace)}/p", patch, kind=kind, params=params)
        assert answer.status_code == 422
        (cause,) = answer.json()["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "patch")
        assert cause["message"].endswith('strict decoding error: unknown field "metadata.lables"')


def test_a_patch_of_what_is_not_there_is_not_found(api: Any, namespace: str) -> None:
    assert api.patch(f"{maps(namespace)}/none", {"data": {}}).status_code == 404


@pytest.mark.local_only("the real one does it")
def test_server_side_apply_says_that_it_is_left_out(api: Any, namespace: str) -> None:
    answer = api.request(
        "PATCH",
        f"{maps(namespace)}/a",
        content=b"{}",
        headers={"Content-Type": "application/apply-patch+yaml"},
    )
    assert answer.status_code == 501
    assert "server-side apply" in answer.json()["message"]


@pytest.mark.local_only("the real one does it")
@pytest.mark.parametrize("part", ["exec", "attach", "eviction", "ephemeralcontainers", "proxy"])
def test_what_is_left_out_says_so(api: Any, namespace: str, pod: Maker, part: str) -> None:
    api.post(pods(namespace), pod("p"))
    answer = api.post(f"{pods(namespace)}/p/{part}", {})
    assert answer.status_code == 501
    assert answer.json()["kind"] == "Status"
    assert "the local cluster does not implement" in answer.json()["message"]


def test_a_binding_puts_a_pod_on_its_node_once(api: Any, namespace: str, pod: Maker) -> None:
    api.post(pods(namespace), pod("p"))
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert api.post(f"{pods(namespace)}/p/binding", body).status_code == 201
    value = api.get(f"{pods(namespace)}/p").json()
    assert value["spec"]["nodeName"] == "n1"
    scheduled = [c for c in value["status"]["conditions"] if c["type"] == "PodScheduled"]
    assert scheduled[0]["status"] == "True"
    again = api.post(f"{pods(namespace)}/p/binding", body)
    assert again.status_code == 409
    assert 'already assigned to node "n1"' in again.json()["message"]


def test_a_new_device_taint_is_dated(api: Any) -> None:
    taint = {"key": "example.com/broken", "effect": "NoExecute"}
    body = {
        "metadata": {"name": "dated"},
        "spec": {"deviceSelector": {"driver": "d.example.com"}, "taint": taint},
    }
    answer = api.post("/apis/resource.k8s.io/v1/devicetaintrules", body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["spec"]["taint"]["timeAdded"]


def test_a_pod_with_an_unknown_service_account_is_forbidden(api: Any, namespace: str, pod: Maker) -> None:
    answer = api.post(pods(namespace), pod("p", serviceAccountName="ghost"))
    assert answer.status_code == 403
    assert f"error looking up service account {namespace}/ghost" in answer.json()["message"]
