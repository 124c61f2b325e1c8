"""Where a kernel is being started: inside a Jupyter server with our extension, in one without, or alone."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..config import DRASettings
from ..sessions.opening import Where
from ..sessions.policy import SessionPolicy, VolumeOffer
from ..sessions.service import Sessions

Follow = Callable[[Sessions, str], Awaitable[None]]
"""Accompanies the launch of a session, given its id, to its end; raises as `Sessions.ready` does."""
FOLLOW = "dra_follow"  # attribute of a kernel manager whose program says what happens while its kernel starts
BOARD = "jupyter_dra_board"  # key in the server's settings; its ``sessions`` is the server's session service


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The program around a kernel manager.

    ``server`` is the jupyter_server application, or None for jupyter execute, console, nbclient and scripts.
    ``follow`` is None where nobody watches the start.
    """

    server: Any = None
    follow: Follow | None = None

    @property
    def sessions(self) -> Any:
        """The server's own session service, or None where there is none."""
        settings = getattr(getattr(self.server, "web_app", None), "settings", None)
        board = settings.get(BOARD) if isinstance(settings, dict) else None
        return None if board is None else board.sessions

    def relative(self, path: str | None) -> str | None:
        """A notebook's path as the server's pages name it; None for a file outside its root."""
        root = getattr(self.server, "root_dir", None)
        if not path or not root:
            return None if not path else os.path.basename(path)
        shown = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
        return None if shown.startswith("..") else shown.replace(os.sep, "/")


def look_around(manager: Any) -> Surroundings:
    """Follow the parents of a kernel manager up to the server application, if there is one."""
    node = manager
    for _ in range(8):
        if node is None:
            break
        if getattr(node, "web_app", None) is not None:
            return Surroundings(node)
        node = getattr(node, "parent", None)
    return Surroundings(follow=getattr(manager, FOLLOW, None))


def own_sessions(config: Any, context: str | None, kubeconfig: str | None) -> Sessions:
    """A session service for one kernel outside our server extension, configured by ``c.DRASettings``.

    A lost pod is the end there: a program such as ``jupyter execute`` would go on without the variables it made.

    Args:
        context, kubeconfig: of the kernelspec; they win over the settings.
    """
    settings = DRASettings(config=config)
    volumes: Mapping[str, VolumeOffer] = {
        name: VolumeOffer(**offer) for name, offer in settings.volumes.items()
    }
    where = Where(
        context=context,
        kubeconfig=kubeconfig or settings.kubeconfig or None,
        namespace=settings.namespace or None,
        setting=settings.context or None,
    )
    values = {
        **settings.policy_values(),
        "tiers": tuple(settings.tiers),
        "volumes": volumes,
        "replace_lost": False,
    }
    return Sessions(where, policy=SessionPolicy(**values))
