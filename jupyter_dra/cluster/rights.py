"""What the user may do in this cluster, asked once with SelfSubjectAccessReviews."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import DRAError
from .client import KubeClient
from .resources import ALL_NAMESPACES, DRA_GROUP
from .transport import REQUEST_TIMEOUT

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Access:
    """One question: may I do ``verb`` with ``resource``? ``namespace`` is "" for all, or cluster-wide."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ALL_NAMESPACES
    subresource: str = ""

    def attributes(self) -> dict[str, str]:
        fields = {
            "verb": self.verb,
            "group": self.group,
            "resource": self.resource,
            "namespace": self.namespace,
            "subresource": self.subresource,
        }
        return {key: value for key, value in fields.items() if value}


def needed(namespace: str) -> dict[str, Access]:
    """The rights the product uses in ``namespace``, by the names ``status`` shows them under."""

    def claims(verb: str, where: str = namespace) -> Access:
        return Access(verb, "resourceclaims", DRA_GROUP, where)

    return {
        "read_slices": Access("list", "resourceslices", DRA_GROUP),
        "read_classes": Access("list", "deviceclasses", DRA_GROUP),
        "read_nodes": Access("list", "nodes"),
        "read_rules": Access("list", "devicetaintrules", DRA_GROUP),
        "read_claims": claims("list"),
        "read_all_claims": claims("list", ALL_NAMESPACES),
        "create_claims": claims("create"),
        "delete_claims": claims("delete"),
        "create_pods": Access("create", "pods", namespace=namespace),
        "delete_pods": Access("delete", "pods", namespace=namespace),
        "watch_pods": Access("watch", "pods", namespace=namespace),
        "create_secrets": Access("create", "secrets", namespace=namespace),
        "port_forward": Access("create", "pods", namespace=namespace, subresource="portforward"),
        "read_logs": Access("get", "pods", namespace=namespace, subresource="log"),
        "read_events": Access("list", "events", namespace=namespace),
        "read_quota": Access("list", "resourcequotas", namespace=namespace),
    }


async def may(client: KubeClient, access: Access, *, timeout: float = REQUEST_TIMEOUT) -> bool:
    """Whether the API server would allow it; False also when it cannot be asked."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": access.attributes()},
    }
    try:
        answer = await client.request("POST", _REVIEWS, body=review, timeout=timeout, retry=True)
    except DRAError as error:
        if error.code in ("unreachable", "unauthorized"):
            raise
        return False
    status: dict[str, Any] = (answer or {}).get("status") or {}
    return bool(status.get("allowed"))


async def rights(
    client: KubeClient,
    namespace: str | None = None,
    names: Iterable[str] | None = None,
    *,
    timeout: float = REQUEST_TIMEOUT,
) -> dict[str, bool]:
    """All of `needed` (or only ``names``), asked at the same time; raises ClusterError when nobody answers."""
    questions = needed(namespace or client.namespace)
    wanted = list(questions) if names is None else list(names)
    answers = await asyncio.gather(*(may(client, questions[name], timeout=timeout) for name in wanted))
    return dict(zip(wanted, answers, strict=True))
