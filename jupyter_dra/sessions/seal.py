"""The seal: a keyed signature on our objects that labels, which anybody may copy, cannot replace (threat T29)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from ..claims import labels

LAUNCH = labels.PREFIX + "launch"
"""Annotation: random text of one creation, by which an answer lost on the way is recognized."""
LEASE = labels.PREFIX + "lease"
"""Annotation on pods: when the session ends, sealed as well."""
DIGEST = labels.PREFIX + "secret-digest"
"""Annotation on pods: digest of the pod's Secret data."""

_SEALED_LABELS = (labels.SESSION, labels.USER, labels.SERVER, labels.KERNEL_ID)
_SEALED_ANNOTATIONS = (LAUNCH, DIGEST, labels.PREFIX + "made-claim", labels.REPLACES)


def _mac(key: bytes, value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _facts(obj: Mapping[str, Any]) -> dict[str, Any]:
    meta = obj["metadata"]
    have, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    return {
        "v": 1,
        "kind": obj["kind"],
        "namespace": meta.get("namespace"),
        "name": meta["name"],
        "labels": {key: have.get(key) for key in _SEALED_LABELS},
        "annotations": {key: notes.get(key) for key in _SEALED_ANNOTATIONS},
    }


def seal(obj: dict[str, Any], key: bytes) -> dict[str, Any]:
    """Put the seal on ``obj`` (in place) and return it; its labels, names and digests are covered."""
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations[labels.SEAL] = _mac(key, _facts(obj))
    return obj


def is_sealed(obj: Mapping[str, Any], key: bytes) -> bool:
    """Whether this key sealed this very object."""
    given = (obj["metadata"].get("annotations") or {}).get(labels.SEAL)
    return isinstance(given, str) and hmac.compare_digest(given, _mac(key, _facts(obj)))


def lease_text(key: bytes, session: str, *, ends_at: float, idle_seconds: float | None) -> str:
    """The value of the `LEASE` annotation."""
    value = {"ends_at": int(ends_at), "idle": None if idle_seconds is None else int(idle_seconds)}
    return json.dumps({**value, "mac": _mac(key, ["lease", session, value])})


def read_lease(key: bytes, session: str, text: str | None) -> tuple[float, float | None] | None:
    """``(ends_at, idle_seconds)`` of a `LEASE` annotation; None when it is missing or not sealed by us."""
    try:
        value = json.loads(text or "")
        mac = value.pop("mac")
        if not hmac.compare_digest(str(mac), _mac(key, ["lease", session, value])):
            return None
        return float(value["ends_at"]), None if value["idle"] is None else float(value["idle"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def digest_of(data: Mapping[str, bytes]) -> str:
    """One digest over all entries of a Secret."""
    total = hashlib.sha256()
    for name in sorted(data):
        total.update(f"{name}\0{len(data[name])}\0".encode() + data[name])
    return total.hexdigest()
