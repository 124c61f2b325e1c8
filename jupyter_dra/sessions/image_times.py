"""How long each image took to get the last time: our own history, for the next launch to tell."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

_KEPT = 50
_LIMIT = 64 * 1024


class ImageTimes:
    """Seconds by image in one small file of the user's data folder; with ``folder`` None in memory only.

    A file that cannot be read or written costs the history, never a launch.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "image-times.json" if folder is not None else None
        self._memory: dict[str, float] = {}

    def last(self, image: str) -> float | None:
        """Seconds of the last time; None where it was never seen."""
        return self._read().get(image)

    def note(self, image: str, seconds: float) -> None:
        """Remember that the image took so long just now; the fifty latest are kept."""
        times = {name: past for name, past in self._read().items() if name != image}
        times = dict([*times.items(), (image, round(seconds, 1))][-_KEPT:])
        self._memory = times
        if self._path is not None:
            self._write(self._path, times)

    def _read(self) -> dict[str, float]:
        if self._path is None:
            return self._memory
        try:
            if self._path.stat().st_size > _LIMIT:
                return {}
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {name: float(past) for name, past in found.items() if isinstance(past, (int, float))}

    @staticmethod
    def _write(path: Path, times: dict[str, float]) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(times, file)
            os.replace(temporary, path)
        except OSError:
            return
