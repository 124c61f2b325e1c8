"""Starts against the local cluster: claims and their owner, waiting, early ends, and that nothing is left."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import aiohttp
import pytest
from tornado import web

from jupyter_dra.hub.spawner import DRASpawner
from tests.hub.spawners import Stories, make_spawner, start, until
from tests.localcluster_fixture import LocalCluster, claim_manifest, pod_manifest

TIERS = [
    {"name": "small", "device_class": "small-gpu", "display_name": "Small GPU"},
    {"name": "medium", "device_class": "medium-gpu", "display_name": "Medium GPU"},
]


def spawner(user: str, server: str = "", **settings: Any) -> DRASpawner:
    return make_spawner(user, server, **{"tiers": TIERS, **settings})


def claims(cluster: LocalCluster, user: str, namespace: str = "default") -> list[dict[str, Any]]:
    prefix = f"jupyter-{user}-"
    return [
        one for one in cluster.list("resourceclaims", namespace) if one["metadata"]["name"].startswith(prefix)
    ]


def pod(cluster: LocalCluster, user: str) -> dict[str, Any] | None:
    return cluster.get("pods", f"jupyter-{user}")


def message(error: pytest.ExceptionInfo[web.HTTPError]) -> str:
    text: str = error.value.jupyterhub_message  # type: ignore[attr-defined]
    # From 500 on JupyterHub would count it against itself and in the end give up.
    assert error.value.status_code < 500
    return text


async def messages(one: DRASpawner) -> list[str]:
    return [event["message"] async for event in one.progress()]


async def settle(cluster: LocalCluster, user: str, namespace: str = "default") -> None:
    await until(lambda: not pod(cluster, user) and not claims(cluster, user, namespace))


def hold(cluster: LocalCluster, name: str, device_class: str, count: int) -> None:
    """Take devices by a claim and pod of another namespace, which the hub may not look into."""
    claim = claim_manifest(name, device_class, count)
    holder = pod_manifest(name, "python", "-c", "import signal; signal.pause()", claim=name)
    for one in (claim, holder):
        one["metadata"]["namespace"] = "team-c"
    cluster.apply(claim, holder)
    cluster.wait_for_pod(name, namespace="team-c")


def test_a_server_gets_a_claim_that_goes_with_its_pod(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> None:
        one = spawner("ada")
        told = asyncio.create_task(messages(one))
        url = await start(one, {"tier": "small"})
        running = pod(cluster, "ada")
        assert running is not None and running["status"]["podIP"] in url
        (claim,) = claims(cluster, "ada")
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"]) == ("Pod", running["metadata"]["uid"])
        assert claim["status"]["reservedFor"][0]["name"] == "jupyter-ada"
        assert one.get_state()["dra"]["given"] == [
            {
                key: claim["status"]["allocation"]["devices"]["results"][0][key]
                for key in ("driver", "pool", "device")
            }
        ]
        texts = await told
        assert any(text.startswith("Device reserved: gpu-") for text in texts), texts
        await one.stop()
        await settle(cluster, "ada")

    stories.run(story)


def test_a_pod_deleted_by_hand_takes_the_claim_along_but_not_a_claim_of_the_users(
    stories: Stories, cluster: LocalCluster
) -> None:
    cluster.apply(claim_manifest("team-gpu", "small-gpu"))

    async def story() -> None:
        own = spawner("bea")
        shared = spawner("cleo", tiers=[{"name": "team", "requirement": {"claim": "team-gpu"}}])
        await asyncio.gather(start(own, {"tier": "small"}), start(shared, {"tier": "team"}))
        assert sum(shared.held().values()) == 1
        cluster.kubectl("delete", "pod", "jupyter-bea", "jupyter-cleo")
        await settle(cluster, "bea")
        await until(lambda: own.current_pod() is None)
        assert await own.poll() == 1
        claim = cluster.get("resourceclaims", "team-gpu")
        assert claim is not None and not claim["metadata"].get("ownerReferences")

    stories.run(story)
    cluster.kubectl("delete", "resourceclaim", "team-gpu")


def test_a_choice_that_failed_leaves_no_trace_in_the_next(stories: Stories, cluster: LocalCluster) -> None:
    hold(cluster, "holder-a", "medium-gpu", 2)

    async def story() -> None:
        failing = spawner("dora", wait_timeout=1)
        with pytest.raises(web.HTTPError) as caught:
            await start(failing, {"tier": "medium"})
        assert message(caught).startswith("No device became free within 1 s. 2 of 2 Medium GPUs are taken.")
        # What JupyterHub does after a failure: stop, then a new spawner from the saved state.
        await failing.stop()
        following = spawner("dora")
        following.load_state(failing.get_state())
        following.clear_state()
        await start(following, {"tier": "none"})
        running = pod(cluster, "dora")
        assert running is not None and "resourceClaims" not in running["spec"]
        assert not claims(cluster, "dora")
        await following.stop()

    stories.run(story)
    cluster.kubectl("delete", "-n", "team-c", "pod", "holder-a")
    cluster.kubectl("delete", "-n", "team-c", "resourceclaim", "holder-a")


def test_a_start_waits_in_words_and_goes_on_when_a_device_is_freed(
    stories: Stories, cluster: LocalCluster
) -> None:
    hold(cluster, "holder-b", "medium-gpu", 2)

    async def story() -> None:
        one = spawner("eve")
        told: list[str] = []

        async def listen() -> None:
            async for event in one.progress():
                told.append(event["message"])
                assert "html_message" not in event

        listening = asyncio.create_task(listen())
        starting = asyncio.ensure_future(start(one, {"tier": "medium"}))
        await until(lambda: [text for text in told if text.startswith("Waiting")])
        assert told[-1] == (
            "Waiting: 2 of 2 Medium GPUs are taken. 0 are held in this hub, 2 outside it. "
            "It goes on by itself when one is free; at most 2 h."
        )
        # The neighbour's name is not told: the hub may not see that namespace.
        assert not any("holder-b" in text for text in told)
        cluster.kubectl("delete", "-n", "team-c", "pod", "holder-b")
        freed = time.monotonic()
        await starting
        assert time.monotonic() - freed < 10
        await listening
        await one.stop()
        await settle(cluster, "eve")

    stories.run(story)
    cluster.kubectl("delete", "-n", "team-c", "resourceclaim", "holder-b")


def test_who_waited_in_vain_reads_since_when_all_is_taken(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> str:
        holders = [spawner("lea", server) for server in ("one", "two")]
        await asyncio.gather(*(start(one, {"tier": "medium"}) for one in holders))
        late = spawner("mia", wait_timeout=1)
        with pytest.raises(web.HTTPError) as caught:
            await start(late, {"tier": "medium"})
        await asyncio.gather(late.stop(), *(one.stop() for one in holders))
        await asyncio.gather(settle(cluster, "lea"), settle(cluster, "mia"))
        return message(caught)

    told = stories.run(story)
    assert re.fullmatch(
        r"No device became free within 1 s\. 2 of 2 Medium GPUs are taken\. 2 are held in this hub, 0 outside it\. "
        r"The last one was taken on \d{4}-\d\d-\d\d at \d\d:\d\d UTC\.",
        told,
    ), told


def test_a_wrong_image_ends_the_start_and_frees_the_device(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> None:
        one = spawner("fay", image="reg.invalid/notebok:1")
        begun = time.monotonic()
        with pytest.raises(web.HTTPError) as caught:
            await start(one, {"tier": "small"})
        assert "There is no image reg.invalid/notebok:1. Check its name." in message(caught)
        assert time.monotonic() - begun < 40
        await one.stop()
        await settle(cluster, "fay")

    stories.run(story)


def test_a_limit_range_or_quota_ends_the_start_at_once_and_leaves_no_claim(
    stories: Stories, cluster: LocalCluster
) -> None:
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "caps", "namespace": "team-b"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "8Gi"}}]},
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "no-gpus", "namespace": "team-b"},
            "spec": {"hard": {"small-gpu.deviceclass.resource.k8s.io/devices": "0"}},
        },
    )

    async def story() -> None:
        big = spawner("gil", namespace="team-b", mem_limit="16G", cpu_limit=1)
        with pytest.raises(web.HTTPError) as caught:
            await start(big, {"tier": "small"})
        text = message(caught)
        assert "LimitRange caps" in text and "8Gi" in text
        poor = spawner("hal", namespace="team-b", mem_limit="1G", cpu_limit=1)
        with pytest.raises(web.HTTPError) as caught:
            await start(poor, {"tier": "small"})
        assert message(caught).startswith("Your team's limit is reached (quota): no-gpus")
        await settle(cluster, "gil", "team-b")
        await until(lambda: not claims(cluster, "hal", "team-b") and not cluster.list("pods", "team-b"))

    stories.run(story)


def test_a_server_too_big_for_every_node_is_not_told_to_wait_for_a_device(
    stories: Stories, cluster: LocalCluster
) -> None:
    async def story() -> None:
        one = spawner("ira", cpu_guarantee=5000, wait_timeout=3)
        starting = asyncio.ensure_future(start(one, {"tier": "small"}))
        texts = await messages(one)
        assert "Waiting for room on a node." in texts and not any("taken" in text for text in texts), texts
        with pytest.raises(web.HTTPError) as caught:
            await starting
        assert message(caught).startswith("No node had room for the server within 3 s.")
        await one.stop()
        await settle(cluster, "ira")

    stories.run(story)


def test_an_evicted_server_is_told_as_such_and_can_start_again(
    stories: Stories, cluster: LocalCluster
) -> None:
    async def story() -> None:
        one = spawner("jo")
        await start(one, {"tier": "small"})
        status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        answer = cluster.request(
            "PATCH",
            "/api/v1/namespaces/default/pods/jupyter-jo/status",
            {"status": {**status, "containerStatuses": None}},
            content_type="application/merge-patch+json",
        )
        assert answer["status"]["reason"] == "Evicted", answer
        await until(lambda: (one.current_pod() or {}).get("status", {}).get("phase") == "Failed")
        assert await one.poll() == 1
        await settle(cluster, "jo")
        again = spawner("jo")
        form = await again._device_form(again)
        assert "ran low on memory and ended the server" in form
        await start(again, {"tier": "small"})
        await again.stop()

    stories.run(story)


def test_a_limit_per_user_counts_claims_and_starts(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> None:
        a, b = spawner("kim", "a", max_devices=2), spawner("kim", "b", max_devices=2)
        await asyncio.gather(start(a, {"tier": "small"}), start(b, {"tier": "small"}))
        third = spawner("kim", "c", max_devices=2)
        with pytest.raises(web.HTTPError) as caught:
            await start(third, {"tier": "small"})
        assert caught.value.status_code == 403
        assert "hold 2: a, b; this start asks for 1" in message(caught)
        without = spawner("kim", "d", max_devices=2)
        await start(without, {"tier": "none"})
        more = spawner("kim", "e", max_devices=2, group_max_devices={"research": 4}, groups=("research",))
        await start(more, {"tier": "small"})
        for one in (a, b, without, more):
            await one.stop()
        await until(lambda: not claims(cluster, "kim-"))

    stories.run(story)


@pytest.mark.threat("T33")
def test_twenty_starts_at_once_stay_within_the_limit(stories: Stories) -> None:
    async def story() -> list[int]:
        ones = [spawner("lin", f"s{number}", max_devices=2) for number in range(20)]

        async def settle_options(one: DRASpawner) -> int:
            one.user_options = {"tier": "small"}
            try:
                await one.load_user_options()
            except web.HTTPError as error:
                return error.status_code
            return 200

        found = await asyncio.gather(*(settle_options(one) for one in ones))
        for one in ones:
            DRASpawner.reservations.give_back("lin", one.name)
        return list(found)

    answers = stories.run(story)
    assert answers.count(200) == 2 and answers.count(403) == 18


@pytest.mark.threat("T27")
@pytest.mark.threat("T47")
def test_names_that_look_alike_have_claims_of_their_own(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> None:
        first, second = spawner("a", "b-c"), spawner("a-b", "c")
        await asyncio.gather(start(first, {"tier": "small"}), start(second, {"tier": "small"}))
        found = [one for one in cluster.list("resourceclaims") if "jupyter-a-" in one["metadata"]["name"]]
        assert len(found) == 2 and first.pod_name != second.pod_name
        assert len({one["metadata"]["labels"]["jupyter-dra.dev/server"] for one in found}) == 2
        assert len({one.user_label for one in (first, second, spawner("A"))}) == 3
        kept = second.server_claims.as_state()["claims"][0]["name"]
        old = first.server_claims.as_state()["claims"][0]["name"]
        await first.stop()
        await until(lambda: cluster.get("resourceclaims", old) is None)
        assert cluster.get("resourceclaims", kept) is not None
        again = spawner("a", "b-c")
        await start(again, {"tier": "small"})
        assert again.server_claims.as_state()["claims"][0]["name"] != old
        await asyncio.gather(again.stop(), second.stop())

    stories.run(story)


@pytest.mark.threat("T36")
def test_forty_people_load_the_form_and_share_one_watch(stories: Stories, cluster: LocalCluster) -> None:
    async def story() -> float:
        people = [spawner(f"person-{number}") for number in range(40)]
        begun = time.monotonic()
        forms = await asyncio.gather(*(one._device_form(one) for one in people))
        assert all("Small GPU" in form for form in forms)
        assert len({id(one.view) for one in people}) == 1
        return time.monotonic() - begun

    assert stories.run(story) < 2


def test_forty_people_share_eight_devices(stories: Stories, cluster: LocalCluster) -> None:
    tiers = [{"name": "tpu", "device_class": "tpu-v6e-node", "display_name": "TPU"}]

    def running() -> list[DRASpawner]:
        return [one for one, task in starts.items() if task.done() and not task.cancelled()]

    starts: dict[DRASpawner, asyncio.Task[str]] = {}

    async def story() -> None:
        ones = [spawner(f"guest-{number:02}", tiers=tiers, wait_timeout=600) for number in range(40)]
        for one in ones:
            starts[one] = asyncio.create_task(start(one, {"tier": "tpu"}))
        await until(lambda: len(running()) == 8, 45)
        waiting = next(one for one in ones if not starts[one].done())
        told = await until_text(
            waiting, "Waiting: 8 of 8 TPUs are taken. 8 are held in this hub, 0 outside it."
        )
        assert "place" not in told and "queue" not in told
        first, second = running()[:2]
        await asyncio.gather(first.stop(), second.stop())
        await until(lambda: len(running()) == 10, 20)
        for task in starts.values():
            task.cancel()
        await asyncio.gather(*starts.values(), return_exceptions=True)
        await asyncio.gather(*(one.stop(now=True) for one in ones))
        await until(lambda: not claims(cluster, "guest"))

    async def until_text(one: DRASpawner, begin: str) -> str:
        async for event in one.progress():
            text = str(event["message"])
            if text.startswith(begin):
                return text
        raise AssertionError("it did not wait")

    stories.run(story)


@pytest.mark.threat("T30")
@pytest.mark.parametrize("loss", [TimeoutError(), aiohttp.ServerDisconnectedError()], ids=["silent", "cut"])
def test_a_lost_answer_makes_no_second_claim(
    stories: Stories, cluster: LocalCluster, loss: Exception
) -> None:
    async def story() -> None:
        one = spawner("jil")
        ask = one.server_claims._api
        lost: list[Any] = []

        async def losing(method: str, *args: Any, **more: Any) -> Any:
            answer = await ask(method, *args, **more)
            if method.startswith("create") and not lost:
                lost.append(answer)
                raise loss
            return answer

        one.server_claims._api = losing  # type: ignore[method-assign]
        await start(one, {"tier": "small"})
        assert len(lost) == 1 and len(claims(cluster, "jil")) == 1
        await one.stop()
        await settle(cluster, "jil")

    stories.run(story)


def test_a_cluster_that_never_answers_is_no_failure_of_the_hub(
    stories: Stories, cluster: LocalCluster
) -> None:
    async def story() -> str:
        one = spawner("joy", k8s_api_request_retry_timeout=1)

        async def silent(*_: Any, **__: Any) -> Any:
            raise TimeoutError

        one.server_claims._api = silent  # type: ignore[method-assign]
        with pytest.raises(web.HTTPError) as caught:
            await start(one, {"tier": "small"})
        await one.stop()
        await settle(cluster, "joy")
        return message(caught)

    assert stories.run(story) == "The cluster did not answer in time. Try again in a moment."


def test_the_chosen_image_becomes_the_servers_and_another_is_refused(stories: Stories) -> None:
    async def story() -> tuple[str, str, str]:
        one = spawner("ivy", images=["python", "jupyter-dra/other"])
        one.user_options = {"tier": "none", "image": "jupyter-dra/other"}
        await one.load_user_options()
        chosen = one.image
        one.user_options = {"tier": "none"}
        await one.load_user_options()
        first = one.image
        one.user_options = {"tier": "none", "image": "evil:1"}
        with pytest.raises(web.HTTPError) as error:
            await one.load_user_options()
        return chosen, first, message(error)

    chosen, first, refusal = stories.run(story)
    assert (chosen, first) == ("jupyter-dra/other", "python")
    assert "is not offered" in refusal and "jupyter-dra/other" in refusal


@pytest.mark.local_only("trouble on demand")
def test_a_template_the_hub_may_not_read_is_not_said_to_be_missing(
    stories: Stories, cluster: LocalCluster
) -> None:
    tiers = [{"name": "one", "requirement": {"claim": "template/out-of-sight"}}]

    async def story() -> str:
        one = spawner("kim", tiers=tiers)
        fault = {"status": 403, "verb": "get", "resource": "resourceclaimtemplates"}
        await asyncio.to_thread(cluster.request, "POST", "/jupyter-dra/faults", {"fail": fault})
        with pytest.raises(web.HTTPError) as caught:
            await start(one, {"tier": "one"})
        return message(caught)

    text = stories.run(story)
    assert text.startswith("The cluster refused it: ") and "does not exist" not in text
