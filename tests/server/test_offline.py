"""What a kernel says while its page is away."""

from __future__ import annotations

import asyncio
import tracemalloc
from functools import cache
from typing import Any

import pytest
from jupyter_client.session import Session

from jupyter_dra.server.offline import MOST_CELLS, Lost, OfflineBuffer, _notice, bound_buffers, gap_bundle

SESSION = Session(key=b"k")


@cache
def parent(cell: str) -> dict[str, Any]:
    """One request, whose header stands in everything it causes."""
    return SESSION.msg("execute_request", header={**SESSION.msg_header("execute_request"), "msg_id": cell})


def printed(cell: str, text: str) -> tuple[str, list[bytes]]:
    message = SESSION.msg("stream", content={"name": "stdout", "text": text}, parent=parent(cell))
    return "iopub", SESSION.serialize(message, ident=b"kernel.k.stream")


def read(item: tuple[str, list[Any]]) -> tuple[str, str]:
    """The cell and the text of a replayed message, its signature checked."""
    _, parts = SESSION.feed_identities(item[1])
    message = SESSION.deserialize(parts)
    content = message["content"]
    shown = content.get("data", {}).get("text/plain") or content.get("text", message["msg_type"])
    return message["parent_header"]["msg_id"], shown


def buffer(most: int = 10_000) -> OfflineBuffer:
    return OfflineBuffer(lambda header, lost: _notice(SESSION, header, lost), most)


def test_output_within_the_bound_is_replayed_as_it_came() -> None:
    kept = buffer()
    for number in range(5):
        kept.append(printed("a", f"{number}\n"))
    assert len(kept) == 5
    assert [read(item) for item in kept] == [("a", f"{number}\n") for number in range(5)]


@pytest.mark.threat("T38")
def test_of_a_flood_the_newest_is_kept_and_each_cell_is_told_what_it_lost() -> None:
    kept = buffer()
    kept.append(printed("a", "x" * 4000))
    for number in range(50):
        kept.append(printed("b", f"{number}" + "y" * 1000))
    kept.append(("shell", SESSION.serialize(SESSION.msg("execute_reply", content={}, parent=parent("b")))))
    told = [read(item) for item in kept]
    assert [cell for cell, text in told if "not kept" in text] == ["a", "b"]
    assert told[-2] == ("b", "49" + "y" * 1000), "the newest output"
    assert told[-1] == ("b", "execute_reply"), "replies are never dropped"
    assert sum(len(part) for item in kept for part in item[1]) < 12_000


def test_what_was_not_kept_is_told_in_lines_and_with_its_time() -> None:
    lost = Lost(4096, 1204, "2026-11-30T12:02:10.5Z", "2026-11-30T12:18:00Z")
    bundle = gap_bundle(lost)
    assert bundle["text/plain"] == "1,204 lines of output from 12:02–12:18 UTC were not kept."
    card = bundle["application/vnd.jupyter-dra.card+json"]
    assert card["gap"] == {"lines": 1204, "bytes": 4096, "since": lost.since, "until": lost.until}
    assert gap_bundle(Lost(3 * 2**20))["text/plain"] == "3.0 MiB of output was not kept."
    assert gap_bundle(Lost(5, 1, lost.since, lost.since))["text/plain"] == (
        "1 line of output from 12:02 UTC was not kept."
    )


def test_lines_and_times_are_read_from_the_messages_themselves() -> None:
    kept = buffer(1)
    for number in range(3):
        kept.append(printed("a", f"{number}\nand more\n"))
    [lost] = kept.dropped.values()
    assert lost.lines == 6
    assert lost.since is not None and lost.until is not None and lost.since <= lost.until


@pytest.mark.threat("T38")
def test_a_gibibyte_printed_to_nobody_costs_no_more_than_the_bound() -> None:
    kept = buffer(2**20)
    chunk = printed("a", "z" * 2**16)[1]
    tracemalloc.start()
    for _ in range(2**14):  # 1 GiB
        kept.append(("iopub", [bytes(part) for part in chunk[:-1]] + [chunk[-1] + b""]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20
    assert kept.dropped[next(iter(kept.dropped))].size > 2**29


@pytest.mark.threat("T38")
def test_nonsense_on_the_wire_and_endless_cells_are_bounded_too() -> None:
    kept = buffer(100)
    for number in range(3 * MOST_CELLS):
        kept.append(("iopub", [b"no", b"message"]))
        kept.append(printed(f"cell-{number}", "x" * 200))
    assert len(kept.dropped) == MOST_CELLS
    assert {read(item)[0] for item in kept} < {f"cell-{number}" for number in range(3 * MOST_CELLS)}


class Manager:
    """As much of jupyter_server's kernel manager as buffering needs."""

    def __init__(self) -> None:
        self._kernel_buffers: dict[str, dict[str, Any]] = {}

    def get_kernel(self, kernel_id: str) -> Any:
        return type("Kernel", (), {"session": SESSION})

    def start_buffering(self, kernel_id: str, session_key: str, channels: Any) -> None:
        self._kernel_buffers[kernel_id] = {"session_key": session_key, "buffer": [], "channels": channels}


def test_only_our_kernels_are_bounded_and_only_once() -> None:
    manager = Manager()
    bound_buffers(manager, lambda kernel_id: kernel_id == "ours")
    once = manager.start_buffering
    bound_buffers(manager, lambda kernel_id: True)
    assert manager.start_buffering is once
    for kernel_id in ("ours", "local"):
        manager.start_buffering(kernel_id, f"{kernel_id}:page", {})
    assert isinstance(manager._kernel_buffers["ours"]["buffer"], OfflineBuffer)
    assert manager._kernel_buffers["local"]["buffer"] == []


async def test_jupyter_server_fills_and_replays_the_bounded_buffer(jp_serverapp: Any) -> None:
    manager: Any = jp_serverapp.kernel_manager
    bound_buffers(manager, lambda kernel_id: True)
    kernel_id = await manager.start_kernel()
    kernel = manager.get_kernel(kernel_id)
    client = kernel.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=60)
        stream = kernel.connect_iopub()
        manager.start_buffering(kernel_id, f"{kernel_id}:page", {"iopub": stream})
        found = manager._kernel_buffers[kernel_id]["buffer"]
        async with asyncio.timeout(30):
            while not any(b"while nobody looked" in part for _, parts in found for part in parts):
                # Again and again: until its subscription has come through, a stream hears nothing.
                await client.execute("print('while nobody looked')", reply=True, timeout=60)
        assert isinstance(manager.get_buffer(kernel_id, f"{kernel_id}:page")["buffer"], OfflineBuffer)
        stream.close()
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(kernel_id, now=True)
