"""The hub's one picture of the cluster: rights, lost connections, and one answer for all who ask the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

from kubernetes_asyncio.client import ApiException

from jupyter_dra.hub.watching import ClusterView
from jupyter_dra.planner import Inventory

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"


class Answer:
    """An answer as aiohttp gives it."""

    def __init__(self, status: int = 200, body: Any = None, lines: Any = ()) -> None:
        self.status, self.reason = status, "because"
        self._body, self._lines = body, list(lines)
        self.content = SimpleNamespace(iter_any=self._chunks)

    async def read(self) -> bytes:
        return json.dumps(self._body).encode()

    async def _chunks(self) -> AsyncIterator[bytes]:
        text = b"".join(json.dumps(line).encode() + b"\n" for line in self._lines)
        # Cut where no line ends.
        for start in range(0, len(text), 7):
            yield text[start : start + 7]
        if not self._lines or self._lines[-1].get("type") != "ERROR":
            await asyncio.Event().wait()

    def close(self) -> None:
        """Nothing to close."""


def empty() -> Answer:
    return Answer(body={"metadata": {"resourceVersion": "1"}, "items": []})


def named(name: str) -> dict[str, Any]:
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}


class Api:
    """Answers from a table by path; anything else is an empty list."""

    def __init__(self, answers: dict[str, Callable[[bool], Answer]]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def call_api(self, path: str, method: str, *, query_params: Any, **more: Any) -> Answer:
        watch = bool(query_params)
        self.asked.append(path + ("?watch" if watch else ""))
        if path in self._answers:
            return self._answers[path](watch)
        return Answer() if watch else empty()


def story(api: Api, main: Callable[[ClusterView], Any]) -> Any:
    async def whole() -> Any:
        view = ClusterView(api)
        try:
            return await asyncio.wait_for(main(view), 10)
        finally:
            await view.stop()

    return asyncio.run(whole())


def test_plans_are_made_for_the_kubernetes_that_the_cluster_is() -> None:
    api = Api({"/version": lambda watch: Answer(body={"gitVersion": "v1.34.3"})})

    async def main(view: ClusterView) -> None:
        features = await view.ask(lambda inventory: inventory.state.features, "hub")
        assert str(features.version) == "1.34"

    story(api, main)


def test_a_cluster_that_hides_its_version_is_taken_for_the_newest() -> None:
    api = Api({"/version": lambda watch: Answer(403)})

    async def main(view: ClusterView) -> None:
        told, newest = await view.ask(
            lambda inventory: (inventory.state.features, Inventory().state.features), "hub"
        )
        assert told == newest

    story(api, main)


def test_without_the_right_to_see_all_claims_those_of_our_namespaces_are_watched() -> None:
    api = Api({CLAIMS: lambda watch: Answer(403)})

    async def main(view: ClusterView) -> None:
        visible = await view.ask(lambda inventory: inventory.visibility.claims, "hub")
        assert visible == "namespace" and not view.trouble
        await view.ask(lambda inventory: None, "team-b")

    story(api, main)
    for namespace in ("hub", "team-b"):
        path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
        assert api.asked.count(path) == 1


def test_an_ended_watch_lists_anew_and_changes_arrive_in_order() -> None:
    lists = iter(["a", "b"])
    watches = iter(
        [
            [
                {"type": "ADDED", "object": named("late")},
                {"type": "BOOKMARK", "object": {}},
                {"type": "ERROR", "object": {}},
            ],
            [{"type": "DELETED", "object": named("b")}],
        ]
    )

    def classes(watch: bool) -> Answer:
        if watch:
            return Answer(lines=next(watches))
        return Answer(body={"metadata": {"resourceVersion": "1"}, "items": [named(next(lists))]})

    async def main(view: ClusterView) -> list[str]:
        while True:
            found: list[str] = await view.ask(lambda inventory: sorted(inventory.classes), "hub")
            if found == [] and view.revision > 4:
                return found
            await view.change(0.05)

    assert story(Api({CLASSES: classes}), main) == []


def test_a_kind_that_cannot_be_read_is_named_and_the_rest_goes_on() -> None:
    def broken(watch: bool) -> Answer:
        raise ApiException(status=500, reason="down")

    async def main(view: ClusterView) -> dict[str, str]:
        assert await view.ask(lambda inventory: len(inventory.classes), "hub") == 0
        return view.trouble

    assert story(Api({CLASSES: broken}), main) == {"DeviceClass": "HTTP 500"}


def test_forty_who_ask_the_same_get_one_answer() -> None:
    asked: list[int] = []

    def question(inventory: Any) -> int:
        asked.append(1)
        return len(asked)

    async def main(view: ClusterView) -> list[int]:
        await view.ask(lambda inventory: None, "hub")
        return list(await asyncio.gather(*(view.ask(question, "hub", key="q") for _ in range(40))))

    assert story(Api({}), main) == [1] * 40
