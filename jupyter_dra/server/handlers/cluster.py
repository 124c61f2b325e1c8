"""Which cluster, and what is seen of it."""

from __future__ import annotations

from typing import Any

from ..compact import compact_devices
from ..waiting import waiting_rows
from .base import DRAHandler, route

_MOST = 100_000


class StatusHandler(DRAHandler):
    """GET status."""

    @route
    async def get(self) -> None:
        self.send(await self.board.status())


class TiersHandler(DRAHandler):
    """GET tiers."""

    @route
    async def get(self) -> None:
        context = await self.board.sessions.context()
        namespace = self.query("namespace") or context["namespace"]
        admin = self.board.admin_tiers
        tiers = await self.board.ask(lambda inventory: inventory.tiers(admin, namespace=namespace))
        _, visible = await self.board.revision()
        self.send(
            {"kind": "TierList", "version": 1, "context": context, "visible": _seen(visible), "tiers": tiers}
        )


class DevicesHandler(DRAHandler):
    """GET devices: whole, filtered, columnar, or only what changed."""

    @route
    async def get(self) -> None:
        tier, node = self.query("tier"), self.query("node")
        since = self.query_number("since", most=2**53)
        limit = self.query_number("limit", least=1, most=_MOST)
        compact = self.query("compact") == "1"
        admin = self.board.admin_tiers
        context = await self.board.sessions.context()

        def look(inventory: Any) -> tuple[int, list[dict[str, Any]]]:
            return inventory.revision, inventory.devices(tier=tier, node=node, admin_tiers=admin)

        revision, devices = await self.board.ask(look)
        _, visible = await self.board.revision()
        total = len(devices)
        if compact:
            document = compact_devices(devices)
        else:
            document = {"kind": "DeviceList", "version": 1, "devices": devices[:limit] if limit else devices}
        if since is not None and since == revision:
            document = {**document, **({"rows": []} if compact else {"devices": []}), "unchanged": True}
        self.send(
            {**document, "context": context, "revision": revision, "visible": _seen(visible), "total": total}
        )


class WaitingHandler(DRAHandler):
    """GET waiting."""

    @route
    async def get(self) -> None:
        context = await self.board.sessions.context()
        rows = await self.board.ask(waiting_rows)
        _, visible = await self.board.revision()
        self.send(
            {
                "kind": "WaitingList",
                "version": 1,
                "context": context,
                "visible": _seen(visible),
                "waiting": rows,
            }
        )


class DoctorHandler(DRAHandler):
    """GET doctor."""

    @route
    async def get(self) -> None:
        from ...doctor import examine

        sessions = self.board.sessions
        client = await sessions.open()
        report = await sessions.loop.wrap(examine(client))
        self.send(report.as_dict())


class ContextsHandler(DRAHandler):
    """GET contexts."""

    @route
    async def get(self) -> None:
        self.send(await self.board.contexts())


class CurrentContextHandler(DRAHandler):
    """PUT contexts/current."""

    @route
    async def put(self) -> None:
        body = self.body("ContextChoice")
        self.board.require_idle()
        self.send(await self.board.use_context(body["name"]))


class LocalHandler(DRAHandler):
    """POST local."""

    @route
    async def post(self) -> None:
        body = self.body("LocalStart")
        self.board.require_idle()
        self.send(await self.board.start_local(list(body.get("devices", ()))))


def _seen(visible: dict[str, Any]) -> dict[str, Any]:
    return {"slices": visible["slices"], "claims": visible["claims"]}
