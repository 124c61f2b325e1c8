"""What the picker asks of a session service, as `jupyter_dra.sessions.Sessions` offers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from ..claims import Requirement
    from ..planner import Detail, Inventory
    from ..sessions.loop import BackgroundLoop
    from ..sessions.ports import Record

T = TypeVar("T")


class Feed(Protocol):
    """Answers questions about the cluster's devices."""

    async def ask(self, question: Callable[[Inventory], T], /) -> T: ...


class Launcher(Protocol):
    """Plans and launches; its coroutines run on its own ``loop``."""

    @property
    def loop(self) -> BackgroundLoop: ...

    async def inventory(self) -> Feed: ...

    async def context(self) -> dict[str, Any]: ...

    async def plan(self, wish: Requirement, /, *, detail: Detail) -> dict[str, Any]: ...

    async def launch(self, wish: Requirement, /, *, wait: float | None = None) -> Record: ...

    async def ready(self, session_id: str, /) -> object: ...

    async def get(self, session_id: str, /) -> Record: ...
