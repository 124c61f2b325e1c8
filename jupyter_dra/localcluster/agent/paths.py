"""Paths inside a pod, and where they are on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

METADATA_ROOT = "/var/run/kubernetes.io/dra-device-attributes"
TERMINATION_LOG = "/dev/termination-log"
PRIVATE_ROOTS = ("/jupyter-dra", "/run/jupyter-dra", METADATA_ROOT)


class PathMap:
    """Rewrites the mount points of one container to this machine's folders.

    A mount point is replaced wherever it stands at path boundaries: ``--file=/jupyter-dra/x`` changes,
    ``/jupyter-drafts`` and ``/opt/jupyter-dra`` do not. The longest mount point wins.
    """

    def __init__(self, mounts: Mapping[str, Path]) -> None:
        self._mounts = {path.rstrip("/"): str(target) for path, target in mounts.items() if path.rstrip("/")}
        longest_first = sorted(self._mounts, key=len, reverse=True)
        alternatives = "|".join(re.escape(path) for path in longest_first)
        self._pattern = (
            re.compile(rf"(?<![\w./~-])(?:{alternatives})(?=/|$|[^\w.-])") if alternatives else None
        )

    def rewrite(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._mounts[match.group()], text)
