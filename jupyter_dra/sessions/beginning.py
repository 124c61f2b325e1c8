"""The first step of a session: build it, and judge whether it may and can start."""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..claims import Requirement, build_claim
from ..errors import ConflictError, DRAError, InputError, RefusedError
from ..planner.asked_counts import count_refusal
from ..planner.permission import refusal_words
from .limits import admitted
from .live import LiveKernel, LiveSession, Made
from .making import Context, new_id
from .ports import KernelChoice, SessionEvent
from .prices import Prices, classes_of
from .record import Lease
from .terms import TierTerms

if TYPE_CHECKING:
    from ..planner import Wanted


async def terms_of(ctx: Context, wish: Requirement) -> TierTerms:
    """What the administrator set on the requirement's tier."""
    words = await ctx.inventory.tier_words([wish.tier])
    return TierTerms.of(words.get(wish.tier or ""))


async def refusal_of(ctx: Context, wanted: Wanted) -> dict[str, Any] | None:
    """What the administrator does not allow of a wish, as the planner takes it; None where nothing is refused.

    A wish that cannot be read is no question of permission: the planner tells what is wrong with it.
    """
    try:
        wish = _as_requirement(wanted)
        admitted(wish, ctx.policy, await terms_of(ctx, wish), now=ctx.clock())
    except RefusedError as error:
        params = {**error.params, "path": error.path, "next": error.next_step}
        return {"allowed": False, "code": error.code, "message": error.message, "params": params}
    except DRAError:
        pass
    return None


def _as_requirement(wanted: Wanted) -> Requirement:
    if isinstance(wanted, Requirement):
        return wanted
    if not isinstance(wanted, Mapping):
        raise InputError(
            "The claims of a pod are no wish of one session.", next_step="Ask for one claim at a time."
        )
    is_claim = "spec" in wanted or "apiVersion" in wanted
    return Requirement(claim=wanted) if is_claim else Requirement.from_dict(wanted)


def new_session(
    ctx: Context, wish: Requirement, lease: Lease, *, name: str | None, notebook: str | None
) -> LiveSession:
    """A session with its times set, nothing made yet and nobody told."""
    title = (name or wish.name or _stem(notebook) or wish.tier or "session")[:100]
    return LiveSession(
        id=new_id(title),
        name=title,
        namespace=wish.namespace or ctx.client.namespace,
        user=ctx.identity.user,
        server=ctx.identity.server,
        requirement=wish,
        created_at=ctx.clock(),
        lease=lease,
        emit=_quiet,
        clock=ctx.clock,
    )


def new_kernel(
    session: LiveSession,
    choice: KernelChoice | None,
    *,
    kernel_id: str | None,
    notebook: str | None,
    image: str,
    cwd: str | None,
) -> LiveKernel:
    """Add a kernel to the session, with the requirement's environment beneath the kernel's own."""
    chosen = choice or KernelChoice()
    wished = {key: value for key, value in session.requirement.env.items() if value != "***"}
    if wished:
        chosen = replace(chosen, env={**wished, **chosen.env})
    made = LiveKernel(
        id=kernel_id or str(uuid.uuid4()),
        choice=chosen,
        pod_name=next_pod_name(session),
        notebook=notebook,
        image=image,
        cwd=cwd,
    )
    session.kernels.append(made)
    session.image = session.image or image
    return made


def next_pod(
    session: LiveSession,
    kernel: LiveKernel,
    *,
    image: str | None = None,
    cpu: str | None = None,
    host_memory: str | None = None,
) -> LiveKernel:
    """The same kernel in a pod that is still to be made; None keeps what the present pod has."""
    return LiveKernel(
        id=kernel.id,
        choice=kernel.choice,
        pod_name=next_pod_name(session),
        notebook=kernel.notebook,
        image=image or kernel.image,
        cwd=kernel.cwd,
        cpu=cpu or kernel.cpu,
        host_memory=host_memory or kernel.host_memory,
        replaces=kernel.pod_name,
    )


def next_pod_name(session: LiveSession) -> str:
    """A pod name that no pod of the session has or had."""
    numbers = [kernel.pod_name.rpartition("-")[2] for kernel in session.placed]
    taken = max((int(number) + 1 for number in numbers if number.isdigit()), default=0)
    index = max(session.next_index, taken)
    session.next_index = index + 1
    return f"{session.id}-{index}"


async def named_claim(ctx: Context, wish: Requirement) -> Mapping[str, Any] | None:
    """The claim or template a requirement names, as the cluster has it; None when it names none.

    Raises NotFoundError for a template that is not there; a claim that is not there is the planner's to tell.
    """
    if not isinstance(wish.claim, str):
        return None
    namespace = wish.namespace or ctx.client.namespace
    if wish.claim.startswith("template/"):
        return await ctx.inventory.learn_template(wish.claim.removeprefix("template/"), namespace)
    claims = await ctx.caches.claims(namespace).ready()
    return claims.get(wish.claim, namespace)


async def check(ctx: Context, session: LiveSession, *, wait: float | None) -> None:
    """Build the claim and ask the planner; raises what makes the launch refused."""
    session.begin("checked")
    wish, plan = session.requirement, None
    if isinstance(wish.claim, str) and wish.claim.startswith("template/"):
        session.template = wish.claim.removeprefix("template/")
    if ctx.inventory.rights.get("read_slices"):
        plan = await ctx.inventory.plan(wish, session.namespace)
        judge(plan, wait=wait, force=session.force)
        best: Mapping[str, Any] = next(iter(plan.get("nodes") or []), {})
        places = best.get("devices") or []
        session.predicted = frozenset((d["driver"], d["pool"], d["device"]) for d in places)
        if plan["verdict"] == "busy":
            session.set_state("waiting")
    else:
        await _check_count(ctx, wish)
    session.prices = await _prices(ctx, wish, plan)
    if isinstance(wish.claim, str):
        if session.template is None:
            session.claim_name = wish.claim
    else:
        # The plan's claim is the one that was judged: tiers resolved, the administrator's entries applied.
        judged = plan.get("claim") if plan else None
        manifest = judged or await _unjudged_claim(ctx, session)
        session.manifest = json.loads(json.dumps(manifest))
        session.claim_name = session.id
        session.claim = Made("ResourceClaim", session.id, secrets.token_hex(16))
    session.done("checked", verdict=plan["verdict"] if plan else None)


async def _unjudged_claim(ctx: Context, session: LiveSession) -> dict[str, Any]:
    """The claim where no devices may be seen to plan it on."""
    meant = await ctx.inventory.in_cluster_words(session.requirement)
    return build_claim(meant, name=session.id, namespace=session.namespace)


async def _check_count(ctx: Context, wish: Requirement) -> None:
    """What the plan says of the number of devices, for those who may not look at devices."""
    if not ctx.inventory.rights.get("read_classes"):
        return
    tiers = ctx.inventory.tiers
    given = await ctx.inventory.ask(lambda inventory: count_refusal(inventory, wish, tiers))
    if given is not None:
        raise RefusedError(
            given["message"], code="policy", path=given["path"], next_step=given["next"], params=given
        )


async def _prices(ctx: Context, wish: Requirement, plan: Mapping[str, Any] | None) -> Prices:
    """The administrator's prices of everything the claim may get."""
    classes = classes_of(((plan or {}).get("claim") or {}).get("spec") or {})
    words = await ctx.inventory.tier_words([wish.tier, *classes.values()])
    own = any(tier.get("name") == wish.tier for tier in ctx.policy.tiers)
    return Prices(
        classes=classes,
        by_class={name: found["price"] for name, found in words.items() if found["price"]},
        main=words[wish.tier]["price"] if own and wish.tier in words else None,
    )


def judge(plan: Mapping[str, Any], *, wait: float | None, force: bool) -> None:
    """Raise what the contract says for this verdict; *fits* and *unknown* go on."""
    verdict, launch = plan["verdict"], plan.get("launch") or {}
    params = {"plan": dict(plan)}
    if verdict == "invalid":
        first: Mapping[str, Any] = next(iter(plan.get("findings") or []), {})
        raise InputError(
            first.get("message") or "The claim is invalid.",
            path=first.get("path"),
            next_step=first.get("fix"),
            params=params,
        )
    refused = refusal_words(launch)
    if refused is not None:
        given = launch.get("params") or {}
        head, sentence = refused
        raise RefusedError(
            given.get("message") or f"{head}. {sentence}",
            code=launch["code"],
            path=given.get("path"),
            next_step=given.get("next") or "Ask for less.",
            params={**given, **params},
        )
    if force:
        return
    if verdict == "impossible":
        error = next((one for one in plan.get("findings") or [] if one["severity"] == "error"), None)
        if error is not None:
            raise ConflictError(
                error["message"], code="impossible", next_step=error.get("fix"), params=params
            )
        raise ConflictError(
            _sentence("Not possible here: no node has this, even with everything free", plan),
            code="impossible",
            next_step=_change(plan) or "Ask for less; the plan of the same request says what would help.",
            params=params,
        )
    if verdict == "busy" and wait is None:
        raise ConflictError(
            _sentence("All matching devices are taken", plan),
            code="busy",
            next_step=_change(plan) or "Wait for one (wait, --wait).",
            params=params,
        )


def _sentence(head: str, plan: Mapping[str, Any]) -> str:
    """The verdict with the plan's reasons, at most five."""
    reasons = "; ".join(str(reason["message"]) for reason in (plan.get("reasons") or [])[:5])
    return f"{head}. {reasons}." if reasons else f"{head}."


def _change(plan: Mapping[str, Any]) -> str | None:
    """The first change that helps, as the next step."""
    first = next(iter(plan.get("relaxations") or []), None)
    return f"{first['message']}." if first else None


def _quiet(event: SessionEvent) -> None:
    """Before a session is accepted there is nothing to tell."""


def _stem(notebook: str | None) -> str | None:
    if not notebook:
        return None
    return notebook.rpartition("/")[2].rpartition(".")[0] or None
