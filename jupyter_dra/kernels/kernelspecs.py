"""Kernelspecs per tier: static cards that every front end shows, without any code of ours in it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

from ..claims import Requirement
from ..claims.names import hashed_slug, slug
from ..errors import ConflictError, NotFoundError

PROVISIONER = "dra-provisioner"
SESSION_SPEC = "dra"
NAME_LENGTH = 50
PYTHON = ("python", "-m", "ipykernel_launcher", "-f", "{connection_file}")


@dataclass(frozen=True, slots=True)
class TierKernelspec:
    """One installed kernelspec of ours; ``config`` is what the provisioner gets."""

    name: str
    display_name: str
    folder: str
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tier(self) -> str | None:
        return self.config.get("tier")

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "display_name": self.display_name,
            "tier": self.tier,
            "config": dict(self.config),
            "folder": self.folder,
        }


def kernel_json(
    display_name: str,
    config: Mapping[str, Any],
    *,
    argv: Sequence[str] = PYTHON,
    language: str = "python",
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The content of a kernel.json for our provisioner; interrupt is a message, since a pod gets no signals."""
    return {
        "argv": list(argv),
        "display_name": display_name,
        "language": language,
        "interrupt_mode": "message",
        "env": dict(env or {}),
        "metadata": {
            "debugger": True,
            "kernel_provisioner": {"provisioner_name": PROVISIONER, "config": dict(config)},
        },
    }


def spec_name(tier: str | None) -> str:
    """``dra-<tier>``: a folder name that is safe whatever the tier is called, and never two tiers' (threat T27)."""
    if tier is None:
        return SESSION_SPEC
    safe = slug(tier, NAME_LENGTH)
    return f"dra-{safe if safe == tier else hashed_slug(tier, NAME_LENGTH)}"


def install(
    requirement: Requirement | Mapping[str, Any],
    *,
    display_name: str | None = None,
    name: str | None = None,
    context: str | None = None,
    wait_for_device: str | None = None,
    argv: Sequence[str] = PYTHON,
    language: str = "python",
    user: bool = True,
    prefix: str | None = None,
    replace: bool = True,
    manager: KernelSpecManager | None = None,
) -> TierKernelspec:
    """Write a kernelspec for a requirement (usually just a tier) and return it.

    Args:
        name: folder name; default ``dra-<tier>``. Only lower-case letters, digits, dots, dashes, underscores.
        user: into the user's data folder; False with ``prefix`` into that installation (``sys.prefix``).
        replace: overwrite one of ours; one that is not ours is never overwritten.

    Raises:
        RequirementError: the requirement cannot be used. ConflictError: ``in-use``, the name is taken by another
        kernel.
    """
    wish = requirement if isinstance(requirement, Requirement) else Requirement.from_dict(requirement)
    config: dict[str, Any] = wish.as_dict()
    if context:
        config["context"] = context
    if wait_for_device:
        config["wait_for_device"] = wait_for_device
    manager = manager or KernelSpecManager()
    folder_name = slug(name, NAME_LENGTH) if name else spec_name(wish.tier)
    shown = display_name or f"Python ({wish.tier or 'GPU session'})"
    existing = _ours(manager, folder_name)
    if existing is None and _exists(manager, folder_name):
        raise ConflictError(
            f"There is another kernel named {folder_name!r}.",
            code="in-use",
            next_step="Choose a name with --name.",
        )
    if existing is not None and not replace:
        raise ConflictError(f"The kernel {folder_name!r} exists.", code="in-use", next_step="Use --replace.")
    with tempfile.TemporaryDirectory() as source:
        content = kernel_json(shown, config, argv=argv, language=language)
        Path(source, "kernel.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
        os.chmod(source, 0o755)
        folder = manager.install_kernel_spec(
            source,
            folder_name,
            user=user and prefix is None,
            prefix=None if user and prefix is None else prefix,
        )
    return TierKernelspec(folder_name, shown, str(folder), config)


def installed(manager: KernelSpecManager | None = None) -> list[TierKernelspec]:
    """The kernelspecs whose provisioner is ours, by name."""
    manager = manager or KernelSpecManager()
    found = (_ours(manager, name) for name in sorted(manager.find_kernel_specs()))
    return [spec for spec in found if spec is not None]


def remove(name: str, manager: KernelSpecManager | None = None) -> TierKernelspec:
    """Remove a kernelspec of ours, by its name or its tier; raises NotFoundError for all others."""
    manager = manager or KernelSpecManager()
    spec = _ours(manager, name) or _ours(manager, spec_name(name))
    if spec is None:
        raise NotFoundError(
            f"There is no kernel {name!r} of jupyter-dra.", next_step="See: jupyter dra kernelspec list"
        )
    manager.remove_kernel_spec(spec.name)
    return spec


def packaged_folder() -> str:
    """Folder of the kernelspec ``dra`` that ships in the package; a server adds it to its search path.

    Notebooks attached to a session show this kernel; it holds no requirement of its own.
    """
    return str(Path(__file__).parent / "specs")


def _exists(manager: KernelSpecManager, name: str) -> bool:
    return name in manager.find_kernel_specs()


def _ours(manager: KernelSpecManager, name: str) -> TierKernelspec | None:
    try:
        spec = manager.get_kernel_spec(name)
    except (NoSuchKernel, ValueError, OSError):
        return None
    stanza = spec.metadata.get("kernel_provisioner")
    if not isinstance(stanza, dict) or stanza.get("provisioner_name") != PROVISIONER:
        return None
    return TierKernelspec(name, spec.display_name, spec.resource_dir, stanza.get("config") or {})
