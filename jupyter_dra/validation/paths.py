"""Field paths as the API server writes them: ``spec.devices.requests[0].name``, ``metadata.labels[x]``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """A field path; ``steps`` holds the keys and indices, ``text`` the server's spelling."""

    text: str = ""
    steps: tuple[str | int, ...] = ()

    def child(self, *names: str) -> Path:
        """The path of a field below this one."""
        text = self.text
        for name in names:
            text = f"{text}.{name}" if text else name
        return Path(text, (*self.steps, *names))

    def index(self, number: int) -> Path:
        return Path(f"{self.text}[{number}]", (*self.steps, number))

    def key(self, key: str) -> Path:
        """The path of a map entry, written in brackets as validation does."""
        return Path(f"{self.text}[{key}]", (*self.steps, key))

    def key_as_field(self, key: str) -> Path:
        """The path of a map entry, written with a dot as strict decoding does."""
        return self.child(key)

    def __str__(self) -> str:
        return self.text


def root(*names: str) -> Path:
    """A path from its field names."""
    return Path().child(*names) if names else Path()
