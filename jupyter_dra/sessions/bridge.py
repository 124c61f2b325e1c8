"""Sessions as objects for programs: `AsyncSession`, and `Session`, its blocking form."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from ..claims import LaunchFields, Requirement
from ..errors import InputError
from .ports import KernelChoice, KernelHandle
from .record import DeviceRecord, SessionRecord
from .service import Sessions

P = ParamSpec("P")
T = TypeVar("T")


class LaunchOptions(LaunchFields, total=False):
    """How to launch: the keyword arguments of `AsyncSession.launch` besides ``service``."""

    wait: float | None
    kernel: KernelChoice | None
    notebook: str | None
    key: str | None
    force: bool
    ready: bool
    cwd: str | None


class AsyncSession:
    """One session; every method may be awaited on any event loop.

    Made by `launch` or `find`. As an async context manager it stops the session at the end::

        async with await AsyncSession.launch(tier="high-memory-gpu") as session:
            print((await session.record()).devices)
    """

    def __init__(self, service: Sessions, session_id: str, *, owns_service: bool = False) -> None:
        self.service = service
        self.id = session_id
        self._owns = owns_service

    @classmethod
    async def launch(
        cls,
        requirement: Requirement | Mapping[str, Any] | None = None,
        *,
        service: Sessions | None = None,
        wait: float | None = None,
        kernel: KernelChoice | None = None,
        notebook: str | None = None,
        key: str | None = None,
        force: bool = False,
        ready: bool = True,
        cwd: str | None = None,
        **fields: Unpack[LaunchFields],
    ) -> AsyncSession:
        """Launch a session and wait until its kernel is connected.

        Args:
            requirement: a Requirement or its dictionary; or give its ``fields`` as keywords.
            service: whom to ask; None makes a service that is closed with the session.
            kernel: what runs in the pod; a name alone goes into the requirement's ``kernel``.
            ready: False returns while the steps go on.

        Raises:
            SessionEnded: it ended before it was ready; ``code`` says how. See `ports.SessionService.launch`
                for what is raised before anything is made.
        """
        if requirement is not None and fields:
            raise InputError(
                "A requirement was given, and fields beside it.",
                path=next(iter(fields)),
                next_step="Give either a requirement or its fields.",
            )
        wish = Requirement.from_dict(fields) if requirement is None else requirement
        used = service or Sessions()
        try:
            record = await used.launch(
                wish, wait=wait, kernel=kernel, notebook=notebook, key=key, force=force, cwd=cwd
            )
            made = cls(used, record.id, owns_service=service is None)
            if ready:
                await made.ready()
        except BaseException:
            if service is None:
                await used.aclose()
            raise
        return made

    @classmethod
    async def find(cls, session_id: str, *, service: Sessions | None = None) -> AsyncSession:
        """A session that exists already, by id; raises NotFoundError."""
        used = service or Sessions()
        await used.get(session_id)
        return cls(used, session_id, owns_service=service is None)

    async def record(self) -> SessionRecord:
        """The session as it stands now."""
        return await self.service.get(self.id)

    async def ready(self, kernel_id: str | None = None) -> KernelHandle:
        return await self.service.ready(self.id, kernel_id)

    async def attach(
        self, *, kernel: KernelChoice | None = None, notebook: str | None = None
    ) -> KernelHandle:
        """Add a kernel on the same device and wait until it is connected."""
        record = await self.service.attach(self.id, kernel=kernel, notebook=notebook)
        return await self.service.ready(self.id, record.kernels[-1].id)

    async def extend(self, seconds: float) -> SessionRecord:
        return await self.service.extend(self.id, extend_seconds=seconds)

    async def restart(self, kernel_id: str | None = None) -> SessionRecord:
        return await self.service.restart_kernel(self.id, kernel_id)

    async def stop(self, *, wait: bool = True) -> SessionRecord:
        """Stop; waits until the device is given back unless ``wait`` is False."""
        record = await self.service.stop(self.id)
        if wait:
            record = await self.service.ended(self.id)
            await self.close()
        return record

    async def log(self, *, kernel_id: str | None = None, tail: int | None = None) -> str:
        """The kernel's log so far."""
        parts = [chunk async for chunk in self.service.logs(self.id, kernel_id=kernel_id, tail=tail)]
        return b"".join(parts).decode("utf-8", "replace")

    def follow_log(self, *, kernel_id: str | None = None) -> AsyncGenerator[bytes]:
        """The kernel's log as it is written; close it to stop reading earlier."""
        return self.service.logs(self.id, kernel_id=kernel_id, follow=True)

    async def close(self) -> None:
        """Let go of the session without ending it."""
        if self._owns:
            await self.service.aclose(keep=True)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *exc: object) -> None:
        record = await self.record()
        if record.ended is None:
            await self.stop()


def _blocking(
    method: Callable[Concatenate[AsyncSession, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Session, P], T]:
    """The blocking form of an `AsyncSession` method."""

    @functools.wraps(method)
    def call(self: Session, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self.aio, *args, **kwargs))

    return call


async def _next(stream: AsyncGenerator[bytes]) -> bytes:
    return await anext(stream)


class Session:
    """The blocking form of `AsyncSession`; also usable where an event loop runs, as in a notebook.

    ::

        with Session.launch(tier="high-memory-gpu") as session:
            print(session.devices[0].label)
    """

    def __init__(self, aio: AsyncSession) -> None:
        self.aio = aio

    @classmethod
    def launch(
        cls,
        requirement: Requirement | Mapping[str, Any] | None = None,
        *,
        service: Sessions | None = None,
        **options: Unpack[LaunchOptions],
    ) -> Session:
        """See `AsyncSession.launch`."""
        used = service or Sessions()
        try:
            aio = used.loop.call(AsyncSession.launch(requirement, service=used, **options))
        except BaseException:
            if service is None:
                used.close()
            raise
        aio._owns = service is None
        return cls(aio)

    @classmethod
    def find(cls, session_id: str, *, service: Sessions | None = None) -> Session:
        """See `AsyncSession.find`."""
        used = service or Sessions()
        aio = used.loop.call(AsyncSession.find(session_id, service=used))
        aio._owns = service is None
        return cls(aio)

    def _run(self, coro: Coroutine[Any, Any, T]) -> T:
        return self.aio.service.loop.call(coro)

    @property
    def id(self) -> str:
        return self.aio.id

    record = _blocking(AsyncSession.record)
    ready = _blocking(AsyncSession.ready)
    attach = _blocking(AsyncSession.attach)
    extend = _blocking(AsyncSession.extend)
    restart = _blocking(AsyncSession.restart)
    log = _blocking(AsyncSession.log)

    @property
    def state(self) -> str:
        return self.record().state

    @property
    def devices(self) -> tuple[DeviceRecord, ...]:
        """The allocated devices."""
        return self.record().devices

    def stop(self, *, wait: bool = True) -> SessionRecord:
        """See `AsyncSession.stop`."""
        service = self.aio.service
        record = self._run(service.stop(self.id))
        if wait:
            record = self._run(service.ended(self.id))
            self.close()
        return record

    def follow_log(self, *, kernel_id: str | None = None) -> Generator[bytes]:
        """See `AsyncSession.follow_log`."""
        stream = self.aio.follow_log(kernel_id=kernel_id)
        try:
            while True:
                yield self._run(_next(stream))
        except StopAsyncIteration:
            return
        finally:
            self._run(stream.aclose())

    def close(self) -> None:
        """Let go of the session without ending it."""
        if self.aio._owns:
            self.aio.service.close(keep=True)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.record().ended is None:
            self.stop()
