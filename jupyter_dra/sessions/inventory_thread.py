"""The thread that owns the planner's inventory: changes and questions in their order, one at a time."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ClusterError

if TYPE_CHECKING:
    from ..planner import Inventory

log = logging.getLogger(__name__)

T = TypeVar("T")
Json = Mapping[str, Any]
Job = Callable[[], None]

# Seconds for which a plan may keep the interpreter from the threads that pass kernel messages on. Each of the
# dozen system calls of a message may wait that long; Python's default of 5 ms makes a message take 50 ms. What is left
# is what any other process costs that wants a core. Less priority for the thread is no help: while kernels compute, it
# would hold the interpreter without running, and messages wait for a tenth of a second.
SWITCH = 0.00005


class InventoryThread:
    """Plans beside the event loops: kernel messages, watches and leases go on while a plan runs.

    Nobody else touches the inventory. What is asked sees every change applied before it, and no later one.
    """

    def __init__(self, name: str = "jupyter-dra-inventory") -> None:
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._inventory: Inventory | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def here(self) -> bool:
        """True when called on the thread itself."""
        return threading.current_thread() is self._thread

    async def load(self, objects: Iterable[Json], visibility: Json) -> None:
        """Begin anew from these objects."""

        def build() -> None:
            from ..planner import Inventory

            with _set_aside():
                self._inventory = Inventory.from_objects(objects, visibility=visibility)

        await self._do(build)

    def apply(self, type: str, obj: Json) -> None:
        """Take in a change, soon; must not be changed by the caller afterwards."""

        def change() -> None:
            if self._inventory is not None:
                self._inventory.apply({"type": type, "object": obj})

        self._put(change)

    async def ask(self, question: Callable[[Inventory], T]) -> T:
        """The answer of ``question``, which must not keep the inventory. Cancelled before its turn, it is dropped.

        Raises:
            ClusterError: ``closed``: the cluster is left.
        """

        def look() -> T:
            if self._inventory is None:
                raise _left()
            return question(self._inventory)

        return await self._do(look)

    async def _do(self, work: Callable[[], T]) -> T:
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        if self._closed:
            raise _left()
        self._put(job)
        return await asyncio.wrap_future(future)

    def _put(self, job: Job) -> None:
        if self._closed:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _main(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                self._forget()
                return
            with _attentive():
                while job is not None:
                    self._run(job)
                    if self._jobs.empty():
                        break
                    job = self._jobs.get()
                else:
                    self._forget()
                    return

    def _forget(self) -> None:
        self._inventory = None
        gc.unfreeze()

    @staticmethod
    def _run(job: Job) -> None:
        try:
            job()
        except Exception:
            log.exception("A change of the inventory could not be taken in")

    def close(self) -> None:
        """End the thread after what it was asked so far; does not wait for it."""
        if not self._closed:
            self._closed = True
            if self._thread is not None:
                self._jobs.put(None)


@contextmanager
def _attentive() -> Iterator[None]:
    """Let the other threads of this process have their turn sooner; where somebody did so already, it is theirs."""
    usual = sys.getswitchinterval()
    ours = usual > SWITCH
    if ours:
        sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        if ours:
            sys.setswitchinterval(usual)


@contextmanager
def _set_aside() -> Iterator[None]:
    """Keep what is made inside, and all that is there, out of Python's search for garbage.

    It stands still for a fifth of a second over the objects of 40,000 devices, and kernel messages with it.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was:
            gc.enable()


def _left() -> ClusterError:
    return ClusterError("The connection to this cluster is closed.", code="closed", next_step="Try again.")
