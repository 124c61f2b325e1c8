"""The routes, below the extension's ``/jupyter-dra``; ``openapi.yaml`` describes each."""

from __future__ import annotations

from typing import Any

from .handlers import cluster, planning, sessions

PREFIX = "/jupyter-dra"
_ID = r"(?P<session_id>[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)"
_KERNEL = r"(?P<kernel_id>[A-Za-z0-9-]{1,64})"

ROUTES: list[tuple[str, type[Any]]] = [
    (PREFIX + pattern, handler)
    for pattern, handler in (
        ("/status", cluster.StatusHandler),
        ("/tiers", cluster.TiersHandler),
        ("/devices", cluster.DevicesHandler),
        ("/waiting", cluster.WaitingHandler),
        ("/doctor", cluster.DoctorHandler),
        ("/contexts", cluster.ContextsHandler),
        ("/contexts/current", cluster.CurrentContextHandler),
        ("/local", cluster.LocalHandler),
        ("/plan", planning.PlanHandler),
        ("/claims/preview", planning.PreviewHandler),
        ("/check", planning.CheckHandler),
        ("/sessions", sessions.SessionsHandler),
        ("/sessions/adopt", sessions.AdoptHandler),
        (f"/sessions/{_ID}", sessions.SessionHandler),
        (f"/sessions/{_ID}/detach", sessions.DetachHandler),
        (f"/sessions/{_ID}/kernels", sessions.KernelsHandler),
        (f"/sessions/{_ID}/kernels/{_KERNEL}", sessions.KernelHandler),
        (f"/sessions/{_ID}/kernels/{_KERNEL}/restart", sessions.RestartHandler),
        (f"/sessions/{_ID}/logs", sessions.LogsHandler),
    )
]
