"""What the administrator's policy refuses, from whichever way it comes, and what is counted against a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from jupyter_dra.claims import Requirement
from jupyter_dra.errors import RefusedError
from jupyter_dra.sessions import SessionPolicy
from jupyter_dra.sessions.charging import charge_of, charge_of_claim, held_by, payer_of
from jupyter_dra.sessions.limits import check_claim, check_limits, check_policy

OPEN = SessionPolicy()
CLOSED = SessionPolicy(allow_tolerate=False, allow_where=False, allow_config=False)
NVIDIA_MPS = {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"sharing": {"strategy": "MPS"}}}}


def claim(*bodies: dict[str, Any], config: Any = (), **fields: Any) -> dict[str, Any]:
    """A claim of one request: one body stands under exactly, several are alternatives."""
    request: dict[str, Any] = {"name": "g", "exactly": bodies[0]}
    if len(bodies) > 1:
        request = {"name": "g", "firstAvailable": list(bodies)}
    return {
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": [request], "config": list(config)}},
        **fields,
    }


def template(of: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "ResourceClaimTemplate", "spec": {"spec": of["spec"]}}


def refused(wish: dict[str, Any], policy: SessionPolicy) -> str | None:
    with pytest.raises(RefusedError) as caught:
        check_policy(Requirement.from_dict(wish), policy)
    assert caught.value.code == "policy"
    return caught.value.path


@pytest.mark.threat("T25")
@pytest.mark.parametrize(
    ("wish", "path"),
    [
        ({"where": ["true"]}, "where"),
        ({"or_else": [{}, {"where": ["true"]}]}, "or_else[1].where"),
        ({"near": [{"tier": "nic", "where": ["true"]}]}, "near[0].where"),
        ({"near": [{"tier": "nic", "tolerate": ["bad"]}]}, "near[0].tolerate"),
        ({"or_else": [{"tolerate": ["bad"]}]}, "or_else[0].tolerate"),
        ({"share": {"strategy": "mps"}}, "share.strategy"),
        ({"or_else": [{"share": {"strategy": "mps"}}]}, "or_else[0].share.strategy"),
    ],
    ids=str,
)
def test_what_is_not_allowed_is_refused_wherever_it_stands(wish: dict[str, Any], path: str) -> None:
    wish = {"tier": "t", **wish}
    assert refused(wish, CLOSED) == path
    check_policy(Requirement.from_dict(wish), OPEN)


BODY = {"deviceClassName": "c"}
ADMIN = {**BODY, "adminAccess": True}
TOLERANT = {**BODY, "tolerations": [{"operator": "Exists"}]}
SELECTIVE = {**BODY, "selectors": [{"cel": {"expression": "true"}}]}


@pytest.mark.threat("T25")
@pytest.mark.parametrize("wrap", [lambda one: one, template], ids=["claim", "template"])
@pytest.mark.parametrize(
    ("manifest", "policy", "end"),
    [
        (claim(ADMIN), OPEN, "exactly.adminAccess"),
        (claim(BODY, ADMIN), OPEN, "firstAvailable[1].adminAccess"),
        (claim(TOLERANT), CLOSED, "exactly.tolerations"),
        (claim(BODY, SELECTIVE), CLOSED, "firstAvailable[1].selectors"),
        (claim(BODY, config=[NVIDIA_MPS]), CLOSED, "config"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_claims_and_templates_of_others_are_judged_like_those_written_here(
    wrap: Any, manifest: dict[str, Any], policy: SessionPolicy, end: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        check_claim(wrap(manifest), policy)
    assert (caught.value.path or "").endswith(end)
    check_claim(wrap(claim(BODY)), CLOSED)


@pytest.mark.threat("T33")
def test_a_wish_is_charged_for_the_most_it_may_hold_as_the_quota_does() -> None:
    four = {**BODY, "count": 4}
    everything = {**BODY, "allocationMode": "All"}
    assert charge_of({"count": 2}) == 2
    assert charge_of({"count": "all"}) == 32
    assert charge_of({"count": 1, "or_else": [{"count": 4}, {"tier": "x"}]}) == 4
    assert charge_of({"near": [{"tier": "nic"}]}) == 2
    assert charge_of({"claim": claim(four)}) == 4
    assert charge_of_claim(claim(BODY, four)) == 4
    assert charge_of_claim(template(claim(everything))) == 32
    assert charge_of({"claim": "named"}) == 1


def obj(kind: str, session: str, user: str = "ada", **fields: Any) -> dict[str, Any]:
    tags = {"jupyter-dra.dev/session": session, "jupyter-dra.dev/user": user}
    meta = {"name": f"{session}-0" if kind == "Pod" else session, "namespace": "n", "labels": tags}
    return {**fields, "kind": kind, "metadata": meta}


@dataclass(frozen=True)
class Mine:
    id: str
    claim_name: str | None
    charge: int = 4
    namespace: str = "n"
    created_at: float = 100.0


@pytest.mark.threat("T33")
def test_a_claim_that_several_sessions_use_is_charged_once_as_the_quota_counts_it() -> None:
    shared = {**claim({**BODY, "count": 4}), "metadata": {"name": "mine", "namespace": "n"}}
    on_it: dict[str, Any] = {"spec": {"resourceClaims": [{"name": "d", "resourceClaimName": "mine"}]}}
    own = [Mine("first", "mine"), Mine("second", "mine"), Mine("other", "other"), Mine("starting", None)]
    held = held_by("ada", own, {one.id for one in own}, [obj("Pod", "shell", **on_it)], [shared])
    assert held.by_session == {"first": 4, "second": 0, "other": 4, "starting": 4, "shell": 0}
    assert held.further(shared) == 0
    assert held.further({**shared, "metadata": {"name": "mine", "namespace": "elsewhere"}}) == 4
    assert held.further({**template(shared), "metadata": {"name": "mine", "namespace": "n"}}) == 4
    alone = held_by("ada", [], set(), [obj("Pod", "shell", **on_it)], [shared])
    assert alone.by_session == {"shell": 4}


def user_of(claim_name: str, session: str, begun: int, **fields: Any) -> dict[str, Any]:
    pod = obj("Pod", session, spec={"resourceClaims": [{"resourceClaimName": claim_name}]}, **fields)
    pod["metadata"]["annotations"] = {"jupyter-dra.dev/created": str(begun)}
    return pod


def test_what_a_claim_of_several_sessions_costs_is_counted_with_one_of_them() -> None:
    pods = [user_of("mine", "second", 120), user_of("mine", "first", 100), user_of("other", "older", 1)]
    assert payer_of(Mine("first", "mine"), pods) is None
    assert payer_of(Mine("second", "mine", created_at=120), pods) == "first"
    assert payer_of(Mine("third", "mine", created_at=130), pods) == "first", "its own pod is still to come"
    over = [pods[0], user_of("mine", "first", 100, status={"phase": "Succeeded"})]
    assert payer_of(Mine("second", "mine", created_at=120), over) is None, "the first has let go of it"
    made = [user_of("maker-abcde", "maker-abcde", 200), user_of("maker-abcde", "guest", 100)]
    assert payer_of(Mine("guest", "maker-abcde"), made) == "maker-abcde", "the one it was made for"
    assert payer_of(Mine("alone", None), pods) is None
    forged = [user_of("mine", "forged", 0)]
    forged[0]["metadata"]["annotations"]["jupyter-dra.dev/created"] = "-inf"
    forged[0]["metadata"]["creationTimestamp"] = "2026-11-30T12:00:00Z"
    assert payer_of(Mine("first", "mine"), forged) is None, "nonsense counts as nothing"


@pytest.mark.threat("T33")
def test_sessions_of_other_processes_count_and_those_of_other_people_do_not() -> None:
    four = claim({**BODY, "count": 4})
    claims = [
        {**four, **obj("ResourceClaim", "a")},
        {**four, **obj("ResourceClaim", "eve", user="eve")},
        {**four, "metadata": {"name": "made", "namespace": "n"}},
        {**four, **obj("ResourceClaim", "here")},
    ]
    pods = [
        obj("Pod", "a"),
        obj("Pod", "t", status={"resourceClaimStatuses": [{"name": "d", "resourceClaimName": "made"}]}),
        obj("Pod", "over", status={"phase": "Failed"}),
        obj("Pod", "new", spec={"resourceClaims": [{"resourceClaimTemplateName": "t"}]}),
    ]
    held = held_by("ada", [], {"here"}, pods, claims).by_session
    assert held == {"a": 4, "t": 4, "new": 1}
    with pytest.raises(RefusedError) as caught:
        check_limits(1, SessionPolicy(max_devices=9), held)
    assert caught.value.params == {"limit": "devices", "most": 9, "used": 9, "sessions": ["a", "t", "new"]}
    check_limits(1, SessionPolicy(max_devices=10, max_sessions=4), held)
    with pytest.raises(RefusedError):
        check_limits(0, SessionPolicy(max_sessions=3), held)
