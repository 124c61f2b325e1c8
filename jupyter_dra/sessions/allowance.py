"""What a user may still launch, told before anything is launched."""

from __future__ import annotations

from typing import Any

from ..claims import Requirement
from ..errors import RefusedError
from .limits import check_policy
from .making import Context, default_image
from .registry import Registry


async def limits_of(ctx: Context, registry: Registry, wish: Requirement | None) -> dict[str, Any]:
    """What policy and limits say of a wish: the ``limits`` of a plan.

    Only what the administrator restricts is there. None, for a claim as such, asks for the limits alone.
    """
    found: dict[str, Any] = {}
    if wish is not None:
        try:
            check_policy(wish, ctx.policy, wish.image or default_image(ctx))
        except RefusedError as error:
            found["policy"] = {"allowed": False, "message": error.message}
    if ctx.policy.max_devices is not None:
        elsewhere = await registry.held_elsewhere(ctx)
        living = list(registry.living)
        found["devices"] = {
            "limit": ctx.policy.max_devices,
            "held": sum(elsewhere.values()) + sum(one.charge for one in living),
            "names": [*(one.name for one in living), *elsewhere],
        }
    return found
