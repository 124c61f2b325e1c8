"""What must hold on any cluster: shared work and shortcuts change nothing, nothing is given away twice."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_dra.allocator import ClusterState, allocate
from jupyter_dra.allocator.search import _Attempt, search
from jupyter_dra.allocator.site import Site
from jupyter_dra.errors import AllocationError, BudgetExceeded
from jupyter_dra.model import DeviceID, Quantity

from .clusters import cluster, wanted

seeds = st.integers(min_value=0, max_value=10**9)
few = settings(max_examples=60, deadline=None, derandomize=True)


def state_of(world: dict[str, Any]) -> ClusterState:
    state = ClusterState()
    for device_class in world["classes"]:
        state.set_class(device_class)
    for slice in world["slices"]:
        state.set_slice(slice)
    for claim in world["held"]:
        state.set_claim(claim)
    for node in world["nodes"]:
        state.set_node(node, {})
    return state


def answer(ask: Any) -> Any:
    try:
        return ask()
    except AllocationError as error:
        return error.kind, error.node_only, error.message
    except BudgetExceeded:
        return "budget"


@given(seeds)
@few
def test_asking_all_nodes_of_one_state_equals_asking_each_alone(seed: int) -> None:
    rnd = Random(seed)
    world, claims = cluster(rnd), wanted(rnd)
    state = state_of(world)
    attempt = state.attempt(claims)
    for node in world["nodes"]:
        alone = answer(
            lambda node=node: allocate(
                {"name": node},
                claims,
                slices=world["slices"],
                classes=world["classes"],
                allocated=world["held"],
            )
        )
        assert answer(lambda node=node: attempt.allocations(state.node(node))) == alone


@given(seeds)
@few
def test_shortcuts_never_change_which_solution_comes_first(seed: int) -> None:
    rnd = Random(seed)
    world, claims = cluster(rnd, nodes=3), wanted(rnd)
    state = state_of(world)
    attempt = state.attempt(claims)
    for node in world["nodes"]:
        view = state.node(node)
        site = Site(view.name, view.labels, view.pools, attempt.tokens, False)

        def plain(site: Site = site) -> Any:
            full = _Attempt(attempt.claims, site, attempt.features, 60_000)
            full.prepare()
            full.shortcuts = False
            return full.picks if full.request(0, 0) == 1 else None

        def quick(site: Site = site) -> Any:
            try:
                return search(attempt.claims, site, attempt.features, 60_000)
            except AllocationError as error:
                if error.kind == "invalid-pools":
                    return None
                raise

        slow = answer(plain)
        if slow != "budget":
            assert answer(quick) == slow


@given(seeds)
@few
def test_devices_shares_and_counters_are_never_given_away_twice(seed: int) -> None:
    rnd = Random(seed)
    world, claims = cluster(rnd, nodes=2), wanted(rnd)
    state = state_of(world)
    devices = {d.id: d for d in state.devices()}
    for node in world["nodes"]:
        found = answer(lambda node=node: state.attempt(claims).allocations(state.node(node)))
        if not isinstance(found, list):
            continue
        whole: Counter[Any] = Counter()
        shared: Counter[Any] = Counter()
        slots: Counter[Any] = Counter()
        everything = [
            r for claim in world["held"] for r in claim["status"]["allocation"]["devices"]["results"]
        ]
        fresh = [r for allocation in found for r in allocation["devices"]["results"]]
        for result in everything + fresh:
            key = DeviceID(result["driver"], result["pool"], result["device"])
            if "shareID" in result:
                for name, amount in result.get("consumedCapacity", {}).items():
                    shared[key, name] += Quantity.parse(amount).nanos
            elif not result.get("adminAccess"):
                whole[key] += 1
                for _, uses in devices[key].kind.consumes:
                    for name, amount in uses:
                        slots[key.pool, name] += amount
        taken_now = {(r["driver"], r["pool"], r["device"]) for r in fresh}
        assert all(whole[key] <= 1 for key in taken_now)
        for (key, name), amount in shared.items():
            if key in taken_now:
                assert amount <= devices[key].kind.capacity[name].value.nanos
        for pool, name in slots:
            if any(key[0] == "part.example.com" and key[1] == pool for key in taken_now):
                assert slots[pool, name] <= 4 * 10**9


@given(seeds)
@few
def test_giving_everything_back_restores_the_first_answer(seed: int) -> None:
    rnd = Random(seed)
    world, claims = cluster(rnd, nodes=2), wanted(rnd)
    state = state_of({**world, "held": []})
    before = [answer(lambda n=n: state.attempt(claims).allocations(state.node(n))) for n in world["nodes"]]
    for claim in world["held"]:
        state.set_claim(claim)
    empty = state.attempt(claims, empty=True)
    assert [answer(lambda n=n: empty.allocations(state.node(n))) for n in world["nodes"]] == before
    for claim in world["held"]:
        state.remove_claim(f"other/{claim['metadata']['name']}")
    after = [answer(lambda n=n: state.attempt(claims).allocations(state.node(n))) for n in world["nodes"]]
    assert after == before
