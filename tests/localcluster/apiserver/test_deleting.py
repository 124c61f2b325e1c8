"""Delete, finalizers, owners, namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import eventually

Maker = Callable[..., dict[str, Any]]


@pytest.fixture
def watcher(service: Any) -> Any:
    return service.user(service.admin_token)


@pytest.fixture
def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def claims(namespace: str) -> str:
    return f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"


def owned(value: dict[str, Any], *owners: dict[str, Any], block: bool = False) -> dict[str, Any]:
    """The value with owner references to stored pods."""
    value["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **({"blockOwnerDeletion": True} if block else {}),
        }
        for owner in owners
    ]
    return value


def wait_gone(watcher: Any, path: str, name: str) -> None:
    """Read the watch until the object is deleted."""
    with watcher.watch(path, fieldSelector=f"metadata.name={name}") as events:
        seen = []
        for event in events:
            seen.append(event["type"])
            if event["type"] == "DELETED":
                return
    raise AssertionError(seen)


def test_delete_answers_with_the_object_or_with_success_by_kind(
    api: Any, pods: str, maps: str, claims: str, pod: Maker, claim: Maker, config_map: Maker
) -> None:
    api.post(pods, pod("p"))
    api.post(claims, claim("c"))
    uid = api.post(maps, config_map("m")).json()["metadata"]["uid"]
    assert api.delete(f"{pods}/p").json()["kind"] == "Pod"
    assert api.delete(f"{claims}/c").json()["kind"] == "ResourceClaim"
    answer = api.delete(f"{maps}/m").json()
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "m", "kind": "configmaps", "uid": uid}
    assert api.delete(f"{maps}/m").status_code == 404


def test_a_pod_on_a_node_waits_for_its_kubelet(api: Any, pods: str, pod: Maker) -> None:
    api.post(pods, pod("p", nodeName="n", terminationGracePeriodSeconds=5))
    value = api.delete(f"{pods}/p").json()
    assert value["metadata"]["deletionGracePeriodSeconds"] == 5
    assert value["metadata"]["deletionTimestamp"]
    again = api.delete(f"{pods}/p").json()
    assert again["metadata"]["deletionTimestamp"] == value["metadata"]["deletionTimestamp"]
    shorter = api.delete(f"{pods}/p", params={"gracePeriodSeconds": 1}).json()
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 1
    assert api.get(f"{pods}/p").status_code == 200
    last = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    assert api.delete(f"{pods}/p", {**last, "preconditions": {"uid": "other"}}).status_code == 409
    uid = value["metadata"]["uid"]
    assert api.delete(f"{pods}/p", {**last, "preconditions": {"uid": uid}}).status_code == 200
    assert api.get(f"{pods}/p").status_code == 404


def test_a_pod_without_node_or_one_that_has_ended_goes_at_once(api: Any, pods: str, pod: Maker) -> None:
    api.post(pods, pod("pending"))
    api.delete(f"{pods}/pending")
    assert api.get(f"{pods}/pending").status_code == 404
    api.post(pods, pod("ended", nodeName="n"))
    api.patch(f"{pods}/ended/status", {"status": {"phase": "Succeeded"}})
    api.delete(f"{pods}/ended")
    assert api.get(f"{pods}/ended").status_code == 404


def test_a_finalizer_holds_until_its_owner_lets_go(api: Any, watcher: Any, claims: str, claim: Maker) -> None:
    body = claim("c")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    api.post(claims, body)
    value = api.delete(f"{claims}/c").json()
    assert value["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}}
    refused = api.patch(f"{claims}/c", more)
    assert refused.status_code == 422
    assert "no new finalizers can be added if the object is being deleted" in refused.json()["message"]
    assert api.patch(f"{claims}/c", {"metadata": {"finalizers": None}}).status_code == 200
    assert api.get(f"{claims}/c").status_code == 404


def test_a_dependent_goes_with_its_last_owner(
    api: Any, watcher: Any, pods: str, claims: str, pod: Maker, claim: Maker
) -> None:
    first, second = (api.post(pods, pod(name)).json() for name in ("a", "b"))
    api.post(claims, owned(claim("c"), first, second))
    with watcher.watch(claims) as events:
        next(events)
        api.delete(f"{pods}/a")
        kept = next(events)
        assert kept["type"] == "MODIFIED"
        assert [ref["name"] for ref in kept["object"]["metadata"]["ownerReferences"]] == ["b"]
        api.delete(f"{pods}/b")
        assert next(events)["type"] == "DELETED"


def test_an_object_whose_owner_never_was_is_collected(
    api: Any, watcher: Any, maps: str, claims: str, config_map: Maker, claim: Maker
) -> None:
    ghost = {"kind": "Pod", "metadata": {"name": "ghost", "uid": "11111111-2222-3333-4444-555555555555"}}
    with watcher.watch(claims) as events:
        api.post(claims, owned(claim("c"), ghost))
        assert [next(events)["type"], next(events)["type"]] == ["ADDED", "DELETED"]


def test_an_owner_of_a_kind_that_is_not_served_is_left_alone(api: Any, maps: str, config_map: Maker) -> None:
    foreign = config_map("m")
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "hub", "uid": "1-2-3"}
    foreign["metadata"]["ownerReferences"] = [reference]
    api.post(maps, foreign)
    top = api.post(maps, config_map("top")).json()
    api.post(maps, owned(config_map("child"), top))
    api.delete(f"{maps}/top")
    eventually(lambda: api.get(f"{maps}/child").status_code == 404)
    assert api.get(f"{maps}/m").status_code == 200


def test_a_chain_of_owners_is_collected_to_its_end(
    api: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    top = api.post(maps, config_map("top")).json()
    middle = api.post(maps, owned(config_map("middle"), top)).json()
    api.post(maps, owned(config_map("bottom"), middle))
    with watcher.watch(maps, fieldSelector="metadata.name=bottom") as events:
        assert next(events)["type"] == "ADDED"
        api.delete(f"{maps}/top")
        assert next(events)["type"] == "DELETED"
    assert api.get(f"{maps}/bottom").status_code == 404


def test_orphans_lose_the_reference_and_stay(api: Any, watcher: Any, maps: str, config_map: Maker) -> None:
    top = api.post(maps, config_map("top")).json()
    api.post(maps, owned(config_map("child"), top))
    with watcher.watch(maps, fieldSelector="metadata.name=child") as events:
        next(events)
        api.delete(f"{maps}/top", params={"propagationPolicy": "Orphan"})
        changed = next(events)
    assert changed["type"] == "MODIFIED"
    assert "ownerReferences" not in changed["object"]["metadata"]
    eventually(lambda: api.get(f"{maps}/top").status_code == 404)
    assert api.get(f"{maps}/child").status_code == 200


def test_in_foreground_the_owner_waits_for_what_blocks_it(
    api: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    top = api.post(maps, config_map("top")).json()
    child = owned(config_map("child"), top, block=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    api.post(maps, child)
    with watcher.watch(maps, fieldSelector="metadata.name=child") as events:
        next(events)
        answer = api.delete(f"{maps}/top", params={"propagationPolicy": "Foreground"}).json()
        assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert next(events)["object"]["metadata"]["deletionTimestamp"]
        assert api.get(f"{maps}/top").status_code == 200
        with watcher.watch(maps, fieldSelector="metadata.name=top") as tops:
            next(tops)
            last = api.get(f"{maps}/child").json()["metadata"]["finalizers"]
            api.patch(f"{maps}/child", {"metadata": {"finalizers": [f for f in last if "hold" not in f]}})
            assert any(event["type"] == "DELETED" for event in tops)


def test_unknown_policies_and_bodies_are_refused(api: Any, maps: str, config_map: Maker) -> None:
    api.post(maps, config_map("m"))
    assert api.delete(f"{maps}/m", params={"propagationPolicy": "Sideways"}).status_code == 422
    assert api.delete(f"{maps}/m", {"kind": "Pod"}).status_code == 400
    assert api.delete(f"{maps}/m", params={"dryRun": "All"}).status_code == 200
    assert api.get(f"{maps}/m").status_code == 200


def test_a_whole_selection_is_deleted_at_once(api: Any, maps: str, config_map: Maker) -> None:
    for name in ("a", "b", "c"):
        body = config_map(name)
        body["metadata"]["labels"] = {"pick": "yes" if name != "c" else "no"}
        api.post(maps, body)
    answer = api.delete(maps, params={"labelSelector": "pick=yes"}).json()
    assert answer["kind"] == "ConfigMapList"
    assert {item["metadata"]["name"] for item in answer["items"]} == {"a", "b"}
    assert api.get(f"{maps}/c").status_code == 200


def test_a_namespace_takes_its_contents_along(
    api: Any, namespace: str, watcher: Any, pod: Maker, config_map: Maker
) -> None:
    base = f"/api/v1/namespaces/{namespace}"
    assert "BEGIN CERTIFICATE" in api.get(f"{base}/configmaps/kube-root-ca.crt").json()["data"]["ca.crt"]
    api.post(f"{base}/pods", pod("p", nodeName="n"))
    api.post(f"{base}/configmaps", config_map("m"))
    value = api.delete(base).json()
    assert value["status"]["phase"] == "Terminating"
    with watcher.watch(f"{base}/pods") as events:
        while not next(events)["object"]["metadata"].get("deletionTimestamp"):
            pass
    refused = api.post(f"{base}/configmaps", config_map("late"))
    assert refused.status_code == 403
    assert refused.json()["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert api.get(f"{base}/configmaps/m").status_code == 200  # until the pods are gone
    with watcher.watch("/api/v1/namespaces", fieldSelector=f"metadata.name={namespace}") as events:
        next(events)
        api.delete(f"{base}/pods/p", params={"gracePeriodSeconds": 0})
        assert any(event["type"] == "DELETED" for event in events)
    assert api.get(base).status_code == 404


def test_the_namespaces_of_the_system_stay(api: Any) -> None:
    assert api.delete("/api/v1/namespaces/kube-system").status_code == 403


def test_the_default_account_comes_back(api: Any, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
    first = api.get(path).json()["metadata"]["uid"]
    api.delete(path)
    eventually(lambda: api.get(path).json()["metadata"].get("uid") not in (None, first))
