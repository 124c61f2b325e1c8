"""Would it fit, and why not; the claim of a requirement; manifests checked."""

from __future__ import annotations

from typing import Any

from ...errors import ClusterError, DRAError, RequirementError
from .base import DRAHandler, route


class PlanHandler(DRAHandler):
    """POST plan."""

    @route
    async def post(self) -> None:
        from ...claims import Requirement

        body = self.body("PlanRequest")
        context = await self.board.sessions.context()
        namespace = body.get("namespace") or context["namespace"]
        wanted: Any = body["claim"] if "claim" in body else Requirement.from_dict(body["requirement"])
        detail, everything = body.get("detail", "full"), bool(body.get("all_nodes"))
        admin = self.board.admin_tiers
        document = await self.board.ask(
            lambda inventory: inventory.plan(
                wanted, namespace=namespace, detail=detail, all_nodes=everything, tiers=admin
            ).as_dict()
        )
        self.send({**document, "context": {**context, "namespace": namespace}})


class PreviewHandler(DRAHandler):
    """POST claims/preview."""

    @route
    async def post(self) -> None:
        from ...claims import Requirement, to_magic, to_python, to_shell, to_yaml

        body = self.body("PreviewRequest")
        requirement = Requirement.from_dict(body["requirement"])
        classes, namespace = None, body.get("namespace")
        try:
            classes = await self.board.ask(lambda inventory: inventory.class_facts())
            namespace = namespace or (await self.board.sessions.context())["namespace"]
        except ClusterError:
            pass  # without a cluster a requirement that names its tier can still be shown
        claim, findings = _previewed(requirement, namespace, classes)
        text = to_yaml(claim)
        self.send(
            {
                "claim": claim,
                "yaml": text,
                "python": to_python(requirement),
                "magic": to_magic(requirement),
                "shell": to_shell(requirement),
                "lines": len(text.splitlines()),
                "findings": findings,
            }
        )


def _previewed(requirement: Any, namespace: str | None, classes: Any) -> tuple[dict[str, Any], list[Any]]:
    from ...checker import check
    from ...claims import build_claim, requirement_from_claim, to_yaml

    claim = build_claim(requirement, name=requirement.name or "claim", namespace=namespace, classes=classes)
    result = check(to_yaml(claim)).as_dict()
    findings = [finding for finding in result["findings"] if finding["severity"] != "hint"]
    try:
        requirement_from_claim(claim)
    except RequirementError as error:
        findings.append(
            {"code": error.code, "severity": "hint", "path": error.path, "message": error.message}
        )
    return claim, findings


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
        from ...checker import ServerAnswer, documents

        answers = []
        sessions = self.board.sessions
        client = await sessions.open()
        for number, manifest in enumerate(documents(text)):
            if not isinstance(manifest, dict) or not manifest.get("kind"):
                continue
            try:
                await sessions.loop.wrap(client.create(manifest, dry_run=True))
                answers.append(ServerAnswer(number, True, 201))
            except DRAError as error:
                status = error.params.get("status")
                if not isinstance(status, int):
                    raise
                answers.append(ServerAnswer(number, False, status, error.message))
        return answers
