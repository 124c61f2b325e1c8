"""One start of a server as its user sees it: steps, waiting, and an early end when nothing can come of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from ..errors import one_line
from . import words

if TYPE_CHECKING:
    from .spawner import DRASpawner

_LOOK_SECONDS = 0.5
#: Events whose own text says less than our steps.
_QUIET = frozenset(
    {"FailedScheduling", "TriggeredScaleUp", "NotTriggerScaleUp", "FailedScaleUp", "Scheduled", "Pulled"}
)
_MOST_PROGRESS = 90
_NO_ROOM = "Waiting for room on a node."


class Start:
    """Watches one start through the hub's shared watches; makes no request of its own.

    Attributes:
        pod_uid: the pod of this start, once it exists; an older pod of the same name is never looked at.
    """

    def __init__(self, spawner: DRASpawner) -> None:
        self._spawner = spawner
        self.pod_uid: str | None = None
        self.begun = time.monotonic()

    @property
    def pod(self) -> dict[str, Any] | None:
        pod = self._spawner.current_pod()
        return pod if pod is not None and pod["metadata"]["uid"] == self.pod_uid else None

    async def until_hopeless(self) -> str:
        """Return the reason once this start cannot succeed any more."""
        spawner = self._spawner
        reserved_at: float | None = None
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            pod = self.pod
            if pod is None:
                if self.pod_uid is not None:
                    return "Somebody deleted the server's pod while it was starting."
                continue
            reason = words.hopeless(pod, spawner.events)
            if reason:
                return reason
            now = time.monotonic()
            if (pod.get("spec") or {}).get("nodeName") or not spawner.server_claims.any:
                reserved_at = reserved_at or (now if spawner.server_claims.any else self.begun)
                if now - reserved_at > spawner.launch_timeout:
                    return await self._late(spawner.launch_timeout)
            elif now - self.begun > spawner.wait_timeout:
                return await self._waited(spawner.wait_timeout)

    async def _late(self, seconds: int) -> str:
        spawner = self._spawner
        scaling = words.scaling(spawner.events, time.monotonic() - self.begun)
        if scaling:
            return scaling
        after = " of getting its device" if spawner.server_claims.any else ""
        warning = words.last_warning(spawner.events)
        return f"The server did not come up within {words.duration(seconds)}{after}.{warning}"

    async def _waited(self, seconds: int) -> str:
        spawner = self._spawner
        scaling = words.scaling(spawner.events, time.monotonic() - self.begun)
        if scaling:
            spawner.log.warning("%s: %s", spawner._log_name, one_line(scaling))
            return f"No device became free within {words.duration(seconds)}. {scaling}"
        why = await self._waiting()
        if why == _NO_ROOM:
            warning = words.last_warning(spawner.events)
            return f"No node had room for the server within {words.duration(seconds)}.{warning}"
        kept = why.partition(" It goes on by itself")[0].removeprefix("Waiting: ")
        since = await spawner.server_claims.taken_since()
        return f"No device became free within {words.duration(seconds)}. {kept} {since}".strip()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """What the progress page shows, as it happens; the same words are not said twice in a row."""
        spawner = self._spawner
        future = spawner._start_future
        progress, told, said, steps = 0.0, 0, "", set[str]()
        while True:
            last = future is not None and future.done()
            for event in spawner.events[told:] if self.pod_uid else ():
                told += 1
                if event.get("reason") not in _QUIET:
                    progress += (_MOST_PROGRESS - progress) / 3
                    yield {"progress": int(progress), "raw_event": event, "message": str(event["message"])}
            for code, text in self._steps():
                if code not in steps:
                    steps.add(code)
                    progress += (_MOST_PROGRESS - progress) / 3
                    said = text
                    yield {"progress": int(progress), "message": text}
            if last:
                return
            text = await self._waiting()
            if text and text != said:
                said = text
                yield {"progress": int(progress), "message": text}
            await spawner.view.change(_LOOK_SECONDS)

    def _steps(self) -> list[tuple[str, str]]:
        """What has been reached: codes with words."""
        claims = self._spawner.server_claims
        found = [(notice, notice) for notice in claims.notices]
        pod = self.pod
        if pod is None:
            return found
        if claims.any:
            found.append(("claim-created", f"Asked for {claims.title}."))
        devices = claims.given_words()
        if devices:
            found.append(("allocated", f"Device reserved: {devices}."))
        node = (pod.get("spec") or {}).get("nodeName")
        if node:
            found.append(("scheduled", f"The server starts on {node}."))
        return found

    async def _waiting(self) -> str:
        pod = self.pod
        if pod is None or (pod.get("spec") or {}).get("nodeName"):
            return ""
        spawner = self._spawner
        unscheduled = [one for one in spawner.events if one.get("reason") == "FailedScheduling"]
        scaling = words.scaling(spawner.events, time.monotonic() - self.begun)
        if scaling:
            return scaling
        said = str(unscheduled[-1].get("message")) if unscheduled else ""
        if "cannot allocate all claims" in said:
            return await spawner.server_claims.waiting_words()
        # Between the pod and its claim the scheduler misses the claim for a moment.
        return _NO_ROOM if said and "claim" not in said else ""
