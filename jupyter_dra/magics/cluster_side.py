"""What ``%dra`` does where the kernel runs beside Jupyter, with the user's own cluster login."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DRAError, InputError, NotFoundError

if TYPE_CHECKING:
    from ..claims import Requirement
    from ..sessions.ports import SessionEvent
    from ..sessions.service import Sessions

MANIFEST_LIMIT = 4 * 2**20
_FIGURES_PATIENCE = 1.0
STEP_WORDS = {
    "checked": "Checked",
    "claim-created": "Claim created",
    "allocated": "Device reserved",
    "scheduled": "Placed on a node",
    "image-pulled": "Image there",
    "kernel-starting": "Kernel starting",
    "connected": "Connected",
}


class ClusterSide:
    """Blocking questions and orders to one session service, made on first use.

    Args:
        make: makes the service; default: the cluster of the contract's rule (kubeconfig, local cluster).
    """

    def __init__(self, make: Callable[[], Sessions] | None = None) -> None:
        self._make = make
        self._sessions: Sessions | None = None

    @property
    def sessions(self) -> Sessions:
        if self._sessions is None:
            if self._make is not None:
                self._sessions = self._make()
            else:
                from ..sessions.service import Sessions

                self._sessions = Sessions()
        return self._sessions

    def _call(self, work: Any) -> Any:
        return self.sessions.loop.call(work)

    def close(self) -> None:
        """Close watches and connections; sessions go on."""
        if self._sessions is not None:
            self._sessions.close(keep=True)
            self._sessions = None

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        async def look() -> Any:
            feed = await self.sessions.inventory()
            return await feed.ask(question)

        return self._call(look())

    def tiers(self) -> dict[str, Any]:
        context = self._call(self.sessions.context())
        offer = self._ask(lambda inventory: inventory.offer(namespace=context["namespace"] or "default"))
        return {"kind": "TierList", "version": 1, "context": context, **offer}

    def devices(self, *, tier: str | None, node: str | None) -> dict[str, Any]:
        context = self._call(self.sessions.context())
        devices = self._ask(lambda inventory: inventory.devices(tier=tier, node=node))
        return {"kind": "DeviceList", "version": 1, "context": context, "devices": devices}

    def plan(self, wanted: Any) -> dict[str, Any]:
        plan: dict[str, Any] = self._call(self.sessions.plan(wanted, detail="full"))
        return plan

    def claim_for(self, wish: Requirement, name: str) -> dict[str, Any]:
        """The claim a launch would make; raises ClusterError where no cluster answers."""
        claim: dict[str, Any] = self._ask(lambda inventory: inventory.claim_for(wish, name=name))
        return claim

    def list(self) -> dict[str, Any]:
        context = self._call(self.sessions.context())
        records = self._call(self.sessions.list())
        sessions = [record.as_dict() for record in records]
        return {"kind": "SessionList", "version": 1, "context": context, "sessions": sessions}

    def launch(
        self, requirement: Requirement, *, wait: float | None, say: Callable[[str], None], **options: Any
    ) -> dict[str, Any]:
        """Start a session and wait until it runs, saying each step; interrupting gives everything back.

        ``options`` are further ones of `SessionService.launch`.
        """
        begun = self._call(self.sessions.launch(requirement, name=requirement.name, wait=wait, **options))

        def told(event: SessionEvent) -> None:
            if event.id == begun.id and event.step and event.step.get("state") == "done":
                say(STEP_WORDS.get(event.step["code"], event.step["code"]))

        stop_telling = self.sessions.subscribe(told)
        try:
            self._call(self.sessions.ready(begun.id))
        except BaseException as error:
            if not isinstance(error, DRAError):
                say("Giving back …")
                self._call(self.sessions.stop(begun.id))
                self._call(self.sessions.ended(begun.id))
            raise
        finally:
            stop_telling()
        return self.get(begun.id)

    def get(self, session_id: str) -> dict[str, Any]:
        record: dict[str, Any] = self._call(self.sessions.get(session_id)).as_dict()
        return record

    def attach(self, session: str) -> dict[str, Any]:
        record: dict[str, Any] = self._call(self.sessions.attach(self._id_of(session))).as_dict()
        return record

    def extend(self, session: str, seconds: float) -> dict[str, Any]:
        session_id = self._id_of(session)
        record: dict[str, Any] = self._call(
            self.sessions.extend(session_id, extend_seconds=seconds)
        ).as_dict()
        return record

    def cell_figures(self, session_id: str) -> Mapping[str, Any] | None:
        """The figures of the cell that ended last, once podside has them; None where it has none in a second."""
        deadline = time.monotonic() + _FIGURES_PATIENCE
        while time.monotonic() < deadline:
            with suppress(DRAError):
                usage = self._call(self.sessions.usage(session_id))
                cell = (usage or {}).get("cell")
                if cell and not cell["running"]:
                    return dict(usage)
            time.sleep(0.05)
        return None

    def idle_limit(self, session_id: str, seconds: float) -> None:
        """How long the session may idle from now on."""
        self._call(self.sessions.extend(session_id, idle_seconds=seconds))

    def give_back(self, session_id: str, seconds: float) -> None:
        """End a session and wait until its device is back; one that is gone already is no error."""
        with suppress(NotFoundError):
            self._call(self.sessions.stop(session_id))
            self.sessions.loop.call(self.sessions.ended(session_id), seconds)

    def stop(self, session: str) -> dict[str, Any]:
        record: dict[str, Any] = self._call(self.sessions.stop(self._id_of(session))).as_dict()
        return record

    def _id_of(self, session: str) -> str:
        from ..sessions.naming import session_id_of

        return str(self._call(session_id_of(self.sessions, session)))


def read_manifest(path: str) -> str:
    """A small text file a person named; raises InputError when it cannot be read."""
    try:
        with open(Path(path).expanduser(), encoding="utf-8") as file:
            text = file.read(MANIFEST_LIMIT + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path[:200]} cannot be read.", code="file", next_step="Check the path.") from error
    if len(text) > MANIFEST_LIMIT:
        raise InputError(
            f"{path[:200]} is larger than 4 MiB.",
            code="file",
            next_step="Give a file with one ResourceClaim.",
        )
    return text


def load_claim(path: str) -> dict[str, Any]:
    """The one claim of a manifest file, YAML or JSON."""
    text = read_manifest(path)
    try:
        loaded = json.loads(text)
    except ValueError:
        import yaml

        try:
            loaded = yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError) as error:
            raise InputError(
                f"{path[:200]} is no YAML.",
                code="file",
                next_step="See what is wrong with it: %dra check FILE.",
            ) from error
    except RecursionError as error:
        raise InputError(
            f"{path[:200]} is nested too deep.", code="file", next_step="Give a file with one ResourceClaim."
        ) from error
    if not isinstance(loaded, dict):
        raise InputError(
            f"{path[:200]} holds no claim.", code="file", next_step="Give a file with one ResourceClaim."
        )
    return loaded
