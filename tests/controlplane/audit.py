"""Requests by user, as the API server's audit log has them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path


class Audit:
    """Reads the log from now on; each request counts once, also a watch, which is logged twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[str] = set()
        self._offset = path.stat().st_size

    def since(self, user: str) -> Counter[tuple[str, str]]:
        """Verb and resource of a user's requests since the last call."""
        found: Counter[tuple[str, str]] = Counter()
        with self._path.open("rb") as log:
            log.seek(self._offset)
            lines = log.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._offset += len(line)
            event = json.loads(line)
            if event["auditID"] in self._seen or event["user"]["username"] != user:
                continue
            self._seen.add(event["auditID"])
            what = event.get("objectRef") or {}
            resource = "/".join(filter(None, (what.get("resource"), what.get("subresource"))))
            found[event["verb"], resource or event["requestURI"].split("?")[0]] += 1
        return found


def told(found: Counter[tuple[str, str]]) -> str:
    """``3 create, 1 get pods/log …`` in a line, watches apart."""
    return ", ".join(f"{count} {verb} {resource}" for (verb, resource), count in sorted(found.items()))
