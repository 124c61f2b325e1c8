"""A clock that runs faster than the day, for services and the pods they start.

Simulated seconds are real ones times `Clock.speed`. What podside counts are real seconds: durations are divided on
their way to it, and moments it tells are left out, so that the service notes its own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jupyter_dra.kernels import KernelPods
from jupyter_dra.kernels.control import PodControl
from jupyter_dra.kernels.credentials import PodCredentials
from jupyter_dra.kernels.tls import Dialer
from jupyter_dra.sessions.ports import KernelChoice, KernelEvent, PodMaterials, Target


@dataclass(frozen=True, slots=True)
class Clock:
    """Called, it gives simulated epoch seconds; it began at the real time of its making."""

    speed: float
    began: float = field(default_factory=time.time)

    def __call__(self) -> float:
        return self.began + self.since()

    def since(self) -> float:
        """Simulated seconds since the beginning."""
        return (time.time() - self.began) * self.speed

    def real(self, seconds: float) -> float:
        """Real seconds of a simulated duration."""
        return seconds / self.speed


class FastPods(KernelPods):
    """Pods whose leases run on a fast clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(usage_seconds=1.0)
        self.clock = clock

    def materials(
        self,
        *,
        session_id: str,
        pod_name: str,
        facts: Mapping[str, Any],
        kernel: KernelChoice,
        hold: bool = False,
        lease: Mapping[str, Any] | None = None,
        measure_cells: bool = False,
        autorestart: bool = True,
    ) -> PodMaterials:
        fast = {
            name: self.clock.real(value) if isinstance(value, int | float) else value
            for name, value in (lease or {}).items()
        }
        return super().materials(
            session_id=session_id,
            pod_name=pod_name,
            facts=facts,
            kernel=kernel,
            hold=hold,
            lease=fast,
            measure_cells=measure_cells,
            autorestart=autorestart,
        )

    async def connect(self, target: Target, credentials: object, *, silence: float) -> PodControl:
        assert isinstance(credentials, PodCredentials)
        control = await FastControl.connect(Dialer(target, credentials), silence=silence)
        assert isinstance(control, FastControl)
        control.clock = self.clock
        return control


class FastControl(PodControl):
    """A control connection to such a pod."""

    clock: Clock

    async def lease(self, *, ends_at: float | None = None, idle_seconds: float | None = None) -> None:
        real = None if ends_at is None else time.time() + self.clock.real(ends_at - self.clock())
        idle = None if idle_seconds is None else self.clock.real(idle_seconds)
        await super().lease(ends_at=real, idle_seconds=idle)

    @property
    def events(self) -> AsyncIterator[KernelEvent]:
        return self._timeless(super().events)

    @staticmethod
    async def _timeless(events: AsyncIterator[KernelEvent]) -> AsyncIterator[KernelEvent]:
        async for event in events:
            kept = {key: value for key, value in event.params.items() if key not in ("at", "idle_since")}
            yield replace(event, params=kept)
