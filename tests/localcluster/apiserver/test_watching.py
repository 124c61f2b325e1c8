"""Watches over HTTP: order, selectors, bookmarks, expiry, and trouble made on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.backends import LOCAL, Backend

Maker = Callable[..., dict[str, Any]]
FAULTS = "/jupyter-dra/faults"


@pytest.fixture
def maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture
def watcher(service: Any) -> Any:
    """A second connection pool, so that a watch and its writes do not share a connection."""
    return service.user(service.admin_token)


def brief(event: dict[str, Any]) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def revision(api: Any, path: str) -> str:
    return str(api.get(path).json()["metadata"]["resourceVersion"])


def test_a_watch_starts_with_what_is_there(api: Any, watcher: Any, maps: str, config_map: Maker) -> None:
    api.post(maps, config_map("a"))
    with watcher.watch(maps) as events:
        assert [brief(next(events)), brief(next(events))] == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")]
        api.post(maps, config_map("b"))
        assert brief(next(events)) == ("ADDED", "b")


def test_a_watch_from_a_revision_tells_only_what_came_after(
    api: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    api.post(maps, config_map("old"))
    since = revision(api, maps)
    api.post(maps, config_map("a"))
    api.patch(f"{maps}/a", {"data": {"x": "1"}})
    last = api.delete(f"{maps}/a")
    assert last.json()["status"] == "Success"
    with watcher.watch(maps, resourceVersion=since) as events:
        seen = [next(events) for _ in range(3)]
    assert [brief(event) for event in seen] == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert revisions == sorted(set(revisions))
    assert seen[0]["object"]["kind"] == "ConfigMap"


def test_an_object_that_starts_or_stops_to_match_is_added_or_deleted(
    api: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    api.post(maps, config_map("a"))
    with watcher.watch(maps, labelSelector="app=x", resourceVersion=revision(api, maps)) as events:
        api.patch(f"{maps}/a", {"metadata": {"labels": {"app": "x"}}})
        api.patch(f"{maps}/a", {"data": {"k": "v"}})
        changed = api.patch(f"{maps}/a", {"metadata": {"labels": {"app": "y"}}}).json()
        seen = [next(events) for _ in range(3)]
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert seen[2]["object"]["metadata"]["labels"] == {"app": "x"}
    assert seen[2]["object"]["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]


def test_a_field_selector_watches_one_object(api: Any, watcher: Any, maps: str, config_map: Maker) -> None:
    with watcher.watch(maps, fieldSelector="metadata.name=b", resourceVersion=revision(api, maps)) as events:
        api.post(maps, config_map("a"))
        api.post(maps, config_map("b"))
        assert brief(next(events)) == ("ADDED", "b")


def test_a_list_by_watch_ends_its_initial_events_with_a_marked_bookmark(
    api: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    api.post(maps, config_map("a"))
    options = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with watcher.watch(maps, **options) as events:
        seen = [next(events) for _ in range(3)]
    assert [event["type"] for event in seen] == ["ADDED", "ADDED", "BOOKMARK"]
    mark = seen[2]["object"]
    assert mark["kind"] == "ConfigMap"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert set(mark) == {"kind", "apiVersion", "metadata"}


def test_initial_events_need_their_companion_options(api: Any, maps: str) -> None:
    assert api.get(maps, params={"watch": "1", "sendInitialEvents": "true"}).status_code == 422
    assert api.get(maps, params={"watch": "1", "resourceVersionMatch": "NotOlderThan"}).status_code == 422


def test_a_watch_ends_cleanly_at_its_timeout(api: Any, backend: Backend, watcher: Any, maps: str) -> None:
    options = {"timeoutSeconds": 1, "allowWatchBookmarks": "true", "resourceVersion": revision(api, maps)}
    with watcher.watch(maps, **options) as events:
        seen = list(events)
    # The real one sends the last bookmark two seconds early, ours at the very end.
    assert [event["type"] for event in seen] == (["BOOKMARK"] if backend.name == LOCAL else [])


def test_a_watch_of_tables_sends_columns_once(api: Any, watcher: Any, maps: str, config_map: Maker) -> None:
    headers = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    params = {"watch": "true", "resourceVersion": revision(api, maps)}
    with watcher.http.stream("GET", maps, params=params, headers=headers) as response:
        lines = response.iter_lines()
        api.post(maps, config_map("a"))
        api.post(maps, config_map("b"))
        first, second = (json.loads(next(lines)) for _ in range(2))
    assert first["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"][0]["name"] == "Name"
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"


@pytest.mark.local_only("trouble on demand")
def test_an_outdated_revision_ends_the_watch_with_expired(api: Any, watcher: Any, maps: str) -> None:
    since = revision(api, maps)
    assert api.post(FAULTS, {"expire_history": True}).status_code == 200
    with watcher.watch(maps, resourceVersion=since) as events:
        seen = list(events)
    assert [event["type"] for event in seen] == ["ERROR"]
    status = seen[0]["object"]
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith(f"too old resource version: {since} (")


@pytest.mark.local_only("trouble on demand")
def test_watches_can_be_dropped_and_continued(api: Any, watcher: Any, maps: str, config_map: Maker) -> None:
    since = revision(api, maps)
    with watcher.watch(maps, resourceVersion=since) as events:
        assert api.post(FAULTS, {"drop_watches": True}).status_code == 200
        assert list(events) == []
    api.post(maps, config_map("meanwhile"))
    with watcher.watch(maps, resourceVersion=since) as events:
        assert brief(next(events)) == ("ADDED", "meanwhile")


@pytest.mark.local_only("trouble on demand")
def test_errors_and_delays_can_be_injected_and_cleared(api: Any, maps: str, config_map: Maker) -> None:
    wish = {"fail": {"status": 429, "count": 2, "verb": "create", "resource": "configmaps"}}
    assert api.post(FAULTS, wish).json()["pending"][0]["count"] == 2
    refused = [api.post(maps, config_map("a")) for _ in range(2)]
    assert [answer.status_code for answer in refused] == [429, 429]
    assert refused[0].headers["Retry-After"] == "1"
    assert api.post(maps, config_map("a")).status_code == 201
    api.post(FAULTS, {"fail": {"status": 500, "count": 9, "resource": "configmaps"}})
    assert api.get(maps).status_code == 500
    assert api.delete(FAULTS).json()["pending"] == []
    assert api.get(maps).status_code == 200
    assert api.post(FAULTS, {"fail": {}}).status_code == 400
    assert api.post(FAULTS, {"fial": {}}).status_code == 400


@pytest.mark.local_only("trouble on demand")
def test_an_answer_can_be_lost_after_the_work_was_done(api: Any, maps: str, config_map: Maker) -> None:
    api.post(FAULTS, {"lose": {"verb": "create", "resource": "configmaps"}})
    with pytest.raises(httpx.RemoteProtocolError):
        api.post(maps, config_map("a"))
    assert api.get(f"{maps}/a").status_code == 200
    api.post(FAULTS, {"lose": {"verb": "create", "resource": "configmaps", "status": 504}})
    assert api.post(maps, config_map("b")).status_code == 504
    assert api.get(f"{maps}/b").status_code == 200
    api.post(FAULTS, {"lose": {"count": 5, "resource": "pods"}})
    assert api.post(FAULTS, {"clear": True}).json()["pending"] == []


@pytest.mark.local_only("trouble on demand")
def test_only_an_administrator_reaches_the_faults(service: Any) -> None:
    user = service.user(service.tokens["ada"])
    assert user.post(FAULTS, {"drop_watches": True}).status_code == 403


@pytest.mark.local_only("looks inside")
def test_a_client_that_leaves_takes_its_watch_along(
    service: Any, watcher: Any, maps: str, config_map: Maker
) -> None:
    watches = service.thread.server.cluster.watches
    with watcher.watch(maps) as events:
        next(events)
        open_now = len(watches)
    watcher.http.close()
    for number in range(200):
        if len(watches) < open_now:
            break
        # Each write makes the server notice a connection that is gone.
        service.admin.post(maps, config_map(f"n{number}"))
    assert len(watches) < open_now
