"""The hub's one picture of the cluster: rights, lost connections, and one answer for all who ask the same."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from kubernetes_asyncio.client import ApiException

from jupyter_dra.hub.watching import ClusterView
from jupyter_dra.planner import Inventory

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"


class Answer:
    """An answer as aiohttp gives it."""

    def __init__(
        self, status: int = 200, body: Any = None, lines: Any = (), end: Exception | str | None = None
    ) -> None:
        """``end``: how it ends after its lines: by an error, ``"closed"`` by the server, or (None) never."""
        self.status, self.reason = status, "because"
        self._body, self._lines, self._end = body, list(lines), end
        self.content = SimpleNamespace(iter_any=self._chunks)

    async def read(self) -> bytes:
        return json.dumps(self._body).encode()

    async def _chunks(self) -> AsyncIterator[bytes]:
        text = b"".join(json.dumps(line).encode() + b"\n" for line in self._lines)
        # Cut where no line ends.
        for start in range(0, len(text), 7):
            yield text[start : start + 7]
        if isinstance(self._end, Exception):
            raise self._end
        if self._end is None and (not self._lines or self._lines[-1].get("type") != "ERROR"):
            await asyncio.Event().wait()

    def close(self) -> None:
        """Nothing to close."""


def empty() -> Answer:
    return Answer(body={"metadata": {"resourceVersion": "1"}, "items": []})


def named(name: str, version: str = "1") -> dict[str, Any]:
    return {"kind": "DeviceClass", "metadata": {"name": name, "resourceVersion": version}, "spec": {}}


class Api:
    """Answers from a table by path; anything else is an empty list."""

    def __init__(self, answers: dict[str, Callable[[bool], Answer]]) -> None:
        self._answers = answers
        self.asked: list[str] = []
        self.began: list[float] = []
        self.since: list[str] = []

    async def call_api(self, path: str, method: str, *, query_params: Any, **more: Any) -> Answer:
        watch = bool(query_params)
        self.asked.append(path + ("?watch" if watch else ""))
        if watch and path == CLASSES:
            self.since.append(dict(query_params)["resourceVersion"])
            self.began.append(asyncio.get_running_loop().time())
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


async def until(view: ClusterView, *classes: str) -> None:
    """Wait until the hub knows exactly these classes."""
    while await view.ask(lambda inventory: sorted(inventory.classes), "hub") != sorted(classes):
        await view.change(0.05)


@pytest.mark.parametrize(
    "end",
    [aiohttp.ClientPayloadError("cut"), aiohttp.ServerDisconnectedError(), ConnectionResetError(), "closed"],
    ids=["cut", "disconnected", "reset", "closed"],
)
def test_a_watch_that_is_cut_goes_on_where_it_was_without_a_new_list(end: Exception | str) -> None:
    watches = iter(
        [
            Answer(lines=[{"type": "ADDED", "object": named("first", "7")}], end=end),
            Answer(lines=[{"type": "ADDED", "object": named("second", "8")}]),
        ]
    )
    api = Api({CLASSES: lambda watch: next(watches) if watch else empty()})

    async def main(view: ClusterView) -> None:
        await until(view, "first", "second")
        assert not view.trouble

    story(api, main)
    assert api.asked.count(CLASSES) == 1
    assert api.since == ["1", "7"]


def test_a_server_that_ends_every_watch_at_once_is_not_asked_without_pause() -> None:
    api = Api({CLASSES: lambda watch: Answer(end="closed") if watch else empty()})

    async def main(view: ClusterView) -> None:
        await view.start("hub")
        while len(api.began) < 3:
            await view.change(0.05)

    story(api, main)
    first, second, third = api.began[:3]
    assert second - first > 0.4 and third - second > 0.9
    assert api.asked.count(CLASSES) == 1


def test_a_watch_that_came_too_late_for_the_past_lists_anew() -> None:
    watches = iter([Answer(410), Answer(lines=[{"type": "ADDED", "object": named("late")}])])
    api = Api({CLASSES: lambda watch: next(watches) if watch else empty()})
    story(api, lambda view: until(view, "late"))
    assert api.asked.count(CLASSES) == 2


def test_an_object_that_cannot_be_taken_in_is_told_and_gotten_over(caplog: pytest.LogCaptureFixture) -> None:
    watches = iter(
        [[{"type": "ADDED", "object": {"metadata": {}}}], [{"type": "ADDED", "object": named("next")}]]
    )
    api = Api({CLASSES: lambda watch: Answer(lines=next(watches)) if watch else empty()})
    with caplog.at_level(logging.WARNING):
        story(api, lambda view: until(view, "next"))
    assert "An answer about DeviceClass cannot be taken in" in caplog.text


def test_a_connection_lost_while_asking_for_the_version_spoils_one_question_at_most() -> None:
    answers: Iterator[Answer | Exception] = iter(
        [aiohttp.ServerDisconnectedError(), Answer(body={"gitVersion": "v1.34.3"})]
    )

    def version(watch: bool) -> Answer:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def main(view: ClusterView) -> list[str]:
        return [
            str(await view.ask(lambda inventory: inventory.state.features.version, "hub")) for _ in range(2)
        ]

    assert story(Api({"/version": version}), main)[1] == "1.34"


def test_an_answer_that_failed_is_not_kept_for_the_next_who_asks() -> None:
    asked: list[int] = []

    def question(inventory: Any) -> int:
        asked.append(1)
        if len(asked) == 1:
            raise ValueError("once")
        return len(asked)

    async def main(view: ClusterView) -> int:
        with pytest.raises(ValueError, match="once"):
            await view.ask(question, "hub", key="q")
        return int(await view.ask(question, "hub", key="q"))

    assert story(Api({}), main) == 2
