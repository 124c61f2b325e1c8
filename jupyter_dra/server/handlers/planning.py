"""Would it fit, and why not; the claim of a requirement; manifests checked."""

from __future__ import annotations

from typing import Any

from ...errors import ClusterError, RequirementError
from .base import DRAHandler, route


class PlanHandler(DRAHandler):
    """POST plan."""

    @route
    async def post(self) -> None:
        from ...claims import Requirement
        from ...sessions.usage import with_idle

        body = self.body("PlanRequest")
        context = await self.board.sessions.context()
        namespace = body.get("namespace") or context["namespace"]
        wanted: Any = body["claim"] if "claim" in body else Requirement.from_dict(body["requirement"])
        detail, everything = body.get("detail", "full"), bool(body.get("all_nodes"))
        admin, budget = self.board.admin_tiers, self.board.plan_budget_ms

        limits, idle = await self.board.sessions.limits(wanted), await self.board.sessions.idle()

        def plan(inventory: Any) -> Any:
            made = inventory.plan(
                wanted, namespace, detail, budget, limits=limits, all_nodes=everything, tiers=admin
            )
            return made.as_dict()

        document = await self.while_connected(self.board.ask(plan))
        document["holders"] = [with_idle(holder, idle) for holder in document["holders"]]
        self.send({**document, "context": {**context, "namespace": namespace}})


class PreviewHandler(DRAHandler):
    """POST claims/preview."""

    @route
    async def post(self) -> None:
        from ...claims import Requirement, build_claim

        body = self.body("PreviewRequest")
        wish = {"claim": _written(body["text"])} if "text" in body else body["requirement"]
        requirement = Requirement.from_dict(wish)
        admin, namespace = self.board.admin_tiers, body.get("namespace")
        try:
            namespace = namespace or (await self.board.sessions.context())["namespace"]
            claim = await self.board.ask(
                lambda inventory: inventory.claim_for(requirement, namespace=namespace, tiers=admin)
            )
        except ClusterError:
            # Without a cluster a requirement that names its tier can still be shown.
            claim = build_claim(requirement, namespace=namespace)
        self.send(_preview(requirement, claim))


def _written(text: str) -> dict[str, Any]:
    """The claim somebody wrote; refused where it is none, or more than one."""
    from ...checker import documents

    found = [document for document in documents(text) if document is not None]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise RequirementError(
            "This must be one ResourceClaim.", path="text", next_step="Leave other documents out."
        )
    return found[0]


def _preview(requirement: Any, claim: dict[str, Any]) -> dict[str, Any]:
    """The claim, the request in each face's words, and the claim read back: as fields, and what has none."""
    from ...checker import check
    from ...claims import read_claim, to_magic, to_python, to_shell, to_yaml

    text = to_yaml(claim)
    reading = read_claim(claim)
    findings = check(text).as_dict()["findings"]
    return {
        "claim": claim,
        "yaml": text,
        "python": to_python(requirement),
        "magic": to_magic(requirement),
        "shell": to_shell(requirement),
        "lines": len(text.splitlines()),
        "findings": [finding for finding in findings if finding["severity"] != "hint"],
        "form": reading.requirement.as_dict() if reading.requirement else None,
        "kept": [{"path": part.path, "code": part.code, "what": part.what} for part in reading.kept],
    }


class CheckHandler(DRAHandler):
    """POST check."""

    @route
    async def post(self) -> None:
        from ...checker import check

        body = self.body("CheckRequest")
        text, target, fix = body["text"], body.get("target"), bool(body.get("fix"))
        answers = await self._ask_server(text) if body.get("server") else None

        def judge(inventory: Any) -> dict[str, Any]:
            named = {"target": target} if target else {}
            result: dict[str, Any] = check(
                text, fix=fix, inventory=inventory, server=answers, **named
            ).as_dict()
            return result

        try:
            document = await self.board.ask(judge)
        except ClusterError:
            document = judge(None)
        self.send(document)

    async def _ask_server(self, text: str) -> list[Any]:
        """What the API server says to a dry-run create of each document."""
        from ...checker import ask_server

        sessions = self.board.sessions
        client = await sessions.open()
        return await ask_server(
            text, lambda manifest: sessions.loop.wrap(client.create(manifest, dry_run=True))
        )
