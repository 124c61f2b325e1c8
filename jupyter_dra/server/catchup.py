"""An open page goes on after its server was replaced: what its kernel published meanwhile is replayed to it.

The pod kept it (kernels/podkeep.py) until this server was connected; from then on jupyter_server's own buffer for
pages that are away keeps it (offline.py). The page is recognized by the session of its web socket, which it uses again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..kernels.kept import Kept, fetch_kept
from ..model.reading import json_object
from .offline import Lost, OfflineBuffer, parent_of

if TYPE_CHECKING:
    from ..sessions.ports import KernelHandle

PAUSE, HEARD_SECONDS = 0.05, 3.0
_CHANNELS = ("iopub", "shell", "control", "stdin")


def open_pages(manager: Any, handlers: Any) -> dict[str, str]:
    """The newest web socket's session of each kernel that has an open page."""
    keys = (str(key).partition(":") for key in getattr(handlers, "_open_sessions", {}))
    return {kernel: client for kernel, _, client in keys if kernel in manager}


async def catch_up(manager: Any, handle: KernelHandle, client: str, wrap: Callable[[Any], Any]) -> Kept:
    """Buffer for the page of ``client`` from now on, and put before it what the pod kept.

    Args:
        manager: jupyter_server's kernel manager, which holds the kernel already.
        wrap: awaits something on the session service's loop.

    Raises ClusterError where the pod does not answer; the page is buffered for all the same.
    """
    kernel = manager.get_kernel(handle.kernel_id)
    channels = {}
    for name in _CHANNELS:
        # The page's own identity: a reply to a cell that still runs finds its way.
        channels[name] = stream = getattr(kernel, f"connect_{name}")(identity=client.encode())
        stream.channel = name
    manager.start_buffering(handle.kernel_id, f"{handle.kernel_id}:{client}", channels)
    info = manager._kernel_buffers.get(handle.kernel_id)
    if info is not None:
        await _until_heard(kernel.session, channels["control"], info["buffer"])
    kept: Kept = await wrap(fetch_kept(handle))
    if info is not None and isinstance(info["buffer"], OfflineBuffer):
        lost = Lost(kept.dropped_bytes, kept.dropped_lines, kept.dropped_since, kept.dropped_until)
        info["buffer"].put_first(kept.messages, lost)
        info["buffer"].missing = partial(lost_replies, kernel.session)
    return kept


async def _until_heard(session: Any, control: Any, buffer: Any) -> None:
    """Until our subscription has come through: before the pod lets go of its own, so that nothing falls between.

    A question on the control channel makes the kernel publish its state also while it runs a cell.
    """
    for _ in range(int(HEARD_SECONDS / PAUSE)):
        if any(channel == "iopub" for channel, _ in buffer):
            return
        session.send(control, "kernel_info_request")
        await asyncio.sleep(PAUSE)


def lost_replies(
    session: Any, messages: Sequence[list[Any]], answered: Container[bytes]
) -> Iterator[list[bytes]]:
    """Replies to cells that ended while nobody could take them: the kernel cannot route those, and drops them."""
    counts: dict[bytes, int] = {}
    failed: dict[bytes, dict[str, Any]] = {}
    for parts in messages:
        parent = parent_of(parts)
        try:
            _idents, fed = session.feed_identities(list(parts))
            message = session.deserialize(fed, content=True)
        except (ValueError, TypeError, IndexError, RecursionError):
            continue
        kind, content = message["msg_type"], message["content"]
        if kind in ("execute_input", "execute_result"):
            counts[parent] = content.get("execution_count")
        elif kind == "error":
            failed[parent] = {key: content.get(key) for key in ("ename", "evalue", "traceback")}
        elif kind == "status" and content.get("execution_state") == "idle":
            header = json_object(parent)
            if header.get("msg_type") == "execute_request" and parent not in answered:
                answer: dict[str, Any] = {"status": "ok", "payload": [], "user_expressions": {}}
                answer = {"status": "error", **failed[parent]} if parent in failed else answer
                answer["execution_count"] = counts.get(parent)
                reply = session.msg("execute_reply", content=answer, parent={"header": header})
                yield session.serialize(reply, ident=b"reply")
