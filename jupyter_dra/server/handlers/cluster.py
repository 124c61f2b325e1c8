"""Which cluster, and what is seen of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from tornado import web

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
        offer = await self.board.ask(lambda inventory: inventory.offer(admin, namespace=namespace))
        _, visible = await self.board.revision()
        self.send({"kind": "TierList", "version": 1, "context": context, "visible": _seen(visible), **offer})


class DevicesHandler(DRAHandler):
    """GET devices: whole, filtered, columnar, or only what changed."""

    @route
    async def get(self) -> None:
        tier, node = self.query("tier"), self.query("node")
        since = self.query_number("since", most=2**53)
        limit = self.query_number("limit", least=1, most=_MOST)
        compact = self.query("compact") == "1"
        if compact and (tier or node or limit):
            raise web.HTTPError(HTTPStatus.BAD_REQUEST, reason="compact is of all devices")
        context, idle = await self.board.sessions.context(), await self.board.sessions.idle()
        if compact:
            document = await self.board.ask(lambda inventory: self._columns(inventory, since, idle))
        else:
            document = await self.board.ask(lambda inventory: self._list(inventory, tier, node, since, limit))
            if idle:
                document["devices"] = [_with_idle(device, idle) for device in document["devices"]]
        _, visible = await self.board.revision()
        self.send({**document, "context": context, "visible": _seen(visible)})

    def _columns(self, inventory: Any, since: int | None, idle: dict[str, int]) -> dict[str, Any]:
        from ..compact import compact_devices

        return compact_devices(self.board.picture_of(inventory), since, idle)

    def _list(
        self, inventory: Any, tier: str | None, node: str | None, since: int | None, limit: int | None
    ) -> dict[str, Any]:
        from ..compact import OWN_STATES

        picture = self.board.picture_of(inventory)
        devices = inventory.devices(tier=tier, node=node, admin_tiers=self.board.admin_tiers)
        document = {"kind": "DeviceList", "version": 1, "revision": picture.revision, "total": len(devices)}
        change = None if since is None else picture.since(since)
        if change is not None:
            changed = {(row.driver, row.pool, row.name) for row in change.rows}
            # How long the user's own have been idle changes without any change of the inventory.
            devices = [
                one
                for one in devices
                if one["state"] in OWN_STATES or (one["driver"], one["pool"], one["name"]) in changed
            ]
            document["since"] = since
            document["removed"] = [[id.driver, id.pool, id.device] for id in change.removed]
        return {**document, "devices": devices[:limit]}


def _with_idle(device: dict[str, Any], idle: dict[str, int]) -> dict[str, Any]:
    from ...sessions.usage import with_idle

    return {**device, "holders": [with_idle(holder, idle) for holder in device["holders"]]}


class WaitingHandler(DRAHandler):
    """GET waiting."""

    @route
    async def get(self) -> None:
        context = await self.board.sessions.context()
        queues = {
            (record.namespace, record.claim_name): str(record.wait.queue["name"])
            for record in await self.board.sessions.list()
            if record.wait is not None and record.wait.queue and record.claim_name
        }
        rows, quotas = await self.board.ask(
            lambda inventory: (waiting_rows(inventory, queues), inventory.quota_use())
        )
        _, visible = await self.board.revision()
        self.send(
            {
                "kind": "WaitingList",
                "version": 1,
                "context": context,
                "visible": _seen(visible),
                "waiting": rows,
                "quotas": quotas,
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
