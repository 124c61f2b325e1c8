"""Whether a notebook file may start a device by itself: only after a person allowed it once (threat T04).

The record is ours, kept in the data folder; neither the file nor Jupyter's signature counts as consent, because one
autosave signs any file.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..claims import DEVICE_FIELDS, WISH_FIELDS
from ..errors import RefusedError

FILE = "consents.json"
NOTEBOOK_LIMIT = 64 * 2**20
ENTRIES = 5000


@dataclass(frozen=True, slots=True)
class NotebookFacts:
    """What a notebook file on disk says about its kernel; ``kernel_name`` None where it names none.

    ``wish`` holds what ``metadata["jupyter-dra"]`` asks for: device fields only, never image, env, volumes or
    namespace. What is preferred comes first, what is required is its alternative. ``optional``: a device is
    preferred, none is required.
    """

    path: str
    kernel_name: str | None = None
    wish: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False


def read_notebook(path: str) -> NotebookFacts | None:
    """Facts of an existing ``.ipynb`` file; None for everything else (a new notebook, a console's made-up path)."""
    if not path.endswith(".ipynb") or not os.path.isfile(path):
        return None
    try:
        if os.path.getsize(path) > NOTEBOOK_LIMIT:
            return NotebookFacts(path)
        metadata = json.loads(Path(path).read_bytes() or b"{}").get("metadata") or {}
        spec = metadata.get("kernelspec") or {}
        wish = metadata.get("jupyter-dra") or {}
        known = wish.get("version") == 1
        required, preferred = (_fields(wish.get(part)) if known else {} for part in ("required", "preferred"))
        name = spec.get("name")
    except (OSError, ValueError, AttributeError, RecursionError):
        return NotebookFacts(path)
    return NotebookFacts(
        path,
        name if isinstance(name, str) else None,
        _with_preference(required, preferred),
        optional=bool(preferred) and not required,
    )


def _fields(given: Any) -> dict[str, Any]:
    return {key: given[key] for key in WISH_FIELDS if key in given} if isinstance(given, dict) else {}


def _with_preference(required: Mapping[str, Any], preferred: Mapping[str, Any]) -> dict[str, Any]:
    """One requirement: the preferred device first, then what is required, and no alternative nobody asked for."""
    first = {key: value for key, value in preferred.items() if key in DEVICE_FIELDS}
    if not first or not required:
        return {**required, **preferred}
    back = {key: required.get(key) for key in first}
    given = required.get("or_else")
    others = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return {
        **required,
        **{key: value for key, value in preferred.items() if key != "or_else"},
        "or_else": [back, *({**back, **one} for one in others)],
    }


class Consents:
    """The record of what a user allowed: (notebook, kernelspec, wish), in one 0600 file.

    Args:
        folder: the data folder of `sessions.identity`.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def _entries(self) -> list[dict[str, Any]]:
        try:
            entries = json.loads(self._path.read_text())["entries"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    def allowed(self, path: str, kernel_name: str, wish: Mapping[str, Any] | None = None) -> bool:
        key = _key(path, kernel_name, wish)
        return any(entry.get("key") == key for entry in self._entries())

    def allow(self, path: str, kernel_name: str, wish: Mapping[str, Any] | None = None) -> None:
        """Remember a person's yes for this notebook, kernelspec and wish."""
        key = _key(path, kernel_name, wish)
        entries = [entry for entry in self._entries() if entry.get("key") != key]
        entries.append({"key": key, "path": os.path.realpath(path), "kernel": kernel_name})
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=FILE)  # 0600
        with os.fdopen(handle, "w") as file:
            json.dump({"version": 1, "entries": entries[-ENTRIES:]}, file)
        os.replace(temporary, self._path)

    def check(self, notebook: NotebookFacts, kernel_name: str) -> None:
        """Raise RefusedError ``consent`` if this file names the kernelspec itself and nobody allowed it yet.

        A file that does not name it (a new notebook, or a kernel chosen by hand) is a person's choice: remembered.
        """
        if notebook.kernel_name == kernel_name and not self.allowed(
            notebook.path, kernel_name, notebook.wish
        ):
            raise consent_needed(notebook.path, kernel_name)
        self.allow(notebook.path, kernel_name, notebook.wish)


def consent_needed(path: str, kernel_name: str) -> RefusedError:
    return RefusedError(
        f"This notebook asks for a device (kernel {kernel_name!r}) and was not allowed to take one yet; "
        "nothing was started.",
        code="consent",
        next_step="Press Launch in the panel GPU sessions, or run: jupyter dra allow NOTEBOOK",
        params={"path": path, "kernel": kernel_name},
    )


def _key(path: str, kernel_name: str, wish: Mapping[str, Any] | None) -> str:
    parts = [os.path.realpath(path), kernel_name, json.dumps(wish or {}, sort_keys=True)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
