"""One condition of a pod, written beside the others."""

from __future__ import annotations

from typing import Any

from jupyter_dra.localcluster.client import STRATEGIC_PATCH, Client, Object
from jupyter_dra.localcluster.kinds import PODS
from jupyter_dra.localcluster.recorder import now_text


async def set_pod_condition(client: Client, pod: Object, type: str, status: str, **more: Any) -> None:
    """Merge the condition of this type into the status of the very pod that was seen (its uid is checked).

    Args:
        more: ``reason``, ``message`` and times; ``lastTransitionTime`` is now unless given.
    """
    meta = pod["metadata"]
    condition = {"type": type, "status": status, "lastTransitionTime": now_text(), **more}
    await client.patch(
        PODS,
        meta["name"],
        {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}},
        namespace=meta["namespace"],
        subresource="status",
        content_type=STRATEGIC_PATCH,
    )
