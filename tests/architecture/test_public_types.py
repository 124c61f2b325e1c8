"""What other people's programs call is typed: the documented forms pass a strict type checker, others do not.

The type checker is half of each test: `assert_type` fails it, and so does a `type: ignore` that ignores nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, assert_type

import pytest

from jupyter_dra import Inventory, Requirement, Session, allocate, build_claim, check, compile_selector, plan
from jupyter_dra.checker import CheckResult
from jupyter_dra.errors import InputError, RequirementError
from jupyter_dra.planner import Plan
from jupyter_dra.sessions import AsyncSession, KernelHandle, SessionRecord

if TYPE_CHECKING:
    from jupyter_dra.kernels.control import PodControl
    from jupyter_dra.kernels.runtime import KernelPods
    from jupyter_dra.sessions import Sessions, SessionService
    from jupyter_dra.sessions.ports import Control, PodRuntime
    from jupyter_dra.sessions.record import DeviceRecord
    from jupyter_dra.widgets.ports import Launcher

TIER: dict[str, Any] = {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}


def test_a_requirement_takes_one_or_several_and_holds_tuples() -> None:
    overriding: dict[str, object] = {"tier": "gpu-medium", "vram": None}
    wish = Requirement(
        tier="gpu",
        vram="80GB",
        count=2,
        product=["H100", "H200"],
        architecture="Hopper",
        where='device.driver == "gpu.nvidia.com"',
        near=[{"tier": "rdma-nic"}, Requirement(tier="disk"), "scratch"],
        align="numaNode",
        or_else=[overriding],
        share={"strategy": "mps"},
        tolerate="maintenance",
        env={"HF_HOME": "/tmp/hf"},
        cpu=4,
        lease="4h",
    )
    assert_type(wish.count, int | Literal["all"])
    assert_type(wish.product, tuple[str, ...])
    assert_type(wish.near, tuple[Requirement, ...])
    assert_type(wish.or_else, tuple[Mapping[str, Any], ...])
    assert_type(wish.changed(count="all", product="H200", lease=None), Requirement)
    assert [one.tier for one in wish.near] == ["rdma-nic", "disk", "scratch"]


def test_a_requirement_refuses_values_of_other_types() -> None:
    with pytest.raises(RequirementError):
        Requirement(architecture=9)  # type: ignore[arg-type]
    with pytest.raises(RequirementError):
        Requirement(count="some")  # type: ignore[arg-type]
    with pytest.raises(RequirementError):
        Requirement(near=[7])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Requirement(vran="80GB")  # type: ignore[call-arg]


def test_a_claim_is_built_of_a_requirement_or_its_mapping() -> None:
    wish = Requirement(tier="gpu")
    assert_type(build_claim(wish, name="training", classes=[TIER]), dict[str, Any])
    assert build_claim(wish) == build_claim({"tier": "gpu"})


def test_a_plan_is_made_for_a_requirement_a_claim_or_a_pods_claims() -> None:
    wish = Requirement(tier="gpu")
    known = Inventory.from_objects([TIER])
    assert_type(plan(wish, known), Plan)
    claim = build_claim(wish, namespace="default")
    answers = [
        plan({"tier": "gpu"}, [TIER], namespace="default", detail="full", budget_ms=100),
        plan(claim, {"kind": "List", "items": [TIER]}),
        known.plan([claim, claim], detail="verdict"),
    ]
    assert {answer.verdict for answer in answers} == {"impossible"}
    with pytest.raises(TypeError):
        plan(wish, known, details="full")  # type: ignore[call-arg]
    with pytest.raises(RequirementError):
        known.plan(7)  # type: ignore[arg-type]


def test_a_check_takes_text_or_documents() -> None:
    assert_type(check("kind: Pod", target="1.36", fix=True), CheckResult)
    assert check([build_claim({"tier": "gpu"})]).findings == check(build_claim({"tier": "gpu"})).findings


def test_selectors_and_allocations_take_plain_objects() -> None:
    selector = compile_selector('device.driver == "gpu.example.com"', version="1.37")
    assert_type(selector.evaluate({"driver": "gpu.example.com"}), bool)
    claim = build_claim({"tier": "gpu"}, namespace="default")
    answer = allocate({"name": "node-a"}, [claim], slices=[], classes=[TIER], features={"version": "1.37"})
    assert_type(answer, list[dict[str, Any]] | None)
    assert answer is None


def test_a_session_is_launched_by_a_requirement_or_by_its_fields() -> None:
    with pytest.raises(InputError):
        Session.launch({"tier": "gpu"}, vram="80GB", wait=7200)
    with pytest.raises(RequirementError):
        Session.launch(tire="gpu")  # type: ignore[call-arg]


if TYPE_CHECKING:

    def is_what_surfaces_call(sessions: Sessions) -> SessionService:
        return sessions

    def is_what_the_picker_asks(sessions: Sessions) -> Launcher:
        return sessions

    def is_what_sessions_ask(pods: KernelPods, control: PodControl) -> tuple[PodRuntime, Control]:
        return pods, control

    def used_in_a_notebook() -> None:
        with Session.launch(Requirement(tier="gpu"), ready=False) as session:
            assert_type(session.ready(), KernelHandle)
            assert_type(session.attach(notebook="other.ipynb"), KernelHandle)
            assert_type(session.record(), SessionRecord)
            assert_type(session.devices, tuple[DeviceRecord, ...])
            assert_type(session.extend(7200), SessionRecord)
            assert_type(session.restart(), SessionRecord)
            assert_type(session.log(tail=10), str)
            assert_type(session.stop(wait=False), SessionRecord)
            session.extend("2h")  # type: ignore[arg-type]

    async def used_in_a_program() -> None:
        async with await AsyncSession.launch(tier="gpu", product="H100", key="once") as session:
            assert_type(await session.record(), SessionRecord)
            assert_type(await session.attach(), KernelHandle)
            assert_type([chunk async for chunk in session.follow_log()], list[bytes])
