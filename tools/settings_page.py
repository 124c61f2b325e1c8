"""Write ``docs/settings.md`` from the help texts of the settings; ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from generated import write_or_check
from traitlets import TraitType
from traitlets.config import Configurable

from jupyter_dra.config import DRASettings
from jupyter_dra.hub.spawner import DRASpawner
from jupyter_dra.server.app import DRAExtension

TARGET = Path(__file__).parent.parent / "docs" / "settings.md"

_HEAD = """\
# Settings

Made from the help texts in the code by `tools/settings_page.py`. Which setting wins: this start's choice, then the
notebook's metadata, the kernelspec, the tier's defaults, these settings, and what is built in.
"""
_SECTIONS: tuple[tuple[str, str, type[Configurable]], ...] = (
    (
        "Sessions",
        "In `jupyter_server_config.py` (`c.DRASettings.lease = 7200`), or in `jupyter_config.py` for every program\n"
        "that starts kernels, such as `jupyter execute`.",
        DRAExtension,
    ),
    (
        "JupyterHub",
        "In `jupyterhub_config.py`, with `c.JupyterHub.spawner_class = 'dra'`. What KubeSpawner can be told holds too.",
        DRASpawner,
    ),
)


def text() -> str:
    """The page."""
    parts = [_HEAD]
    for title, where, cls in _SECTIONS:
        lines = [f"## {title}", "", where, "", "| setting | default | meaning |", "|---|---|---|"]
        for owner, name, trait in _own(cls):
            lines.append(f"| `{owner.__name__}.{name}` | {_default(cls, trait)} | {_cell(trait.help)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _own(cls: type[Configurable]) -> list[tuple[type, str, TraitType[Any, Any]]]:
    """The settings we define, in the order of the code; what a base of others defines is documented there."""
    ours = [one for one in reversed(cls.__mro__) if one in (DRASettings, cls)]
    traits = cls.class_traits(config=True)
    return [(one, name, traits[name]) for one in ours for name in vars(one) if name in traits]


def _default(cls: type[Configurable], trait: TraitType[Any, Any]) -> str:
    if trait.name in cls._trait_default_generators:
        return "–"  # made at run time; the help says from what
    value = trait.default()
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    return "–" if value in ("", [], {}, None) else f"`{value}`"


def _cell(words: str | None) -> str:
    return " ".join((words or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(write_or_check(TARGET, text(), "tools/settings_page.py"))
