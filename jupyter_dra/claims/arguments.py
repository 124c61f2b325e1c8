"""The requirement as command-line words: one definition for ``jupyter dra``, ``%dra`` and ``%%dra``.

``--vram 80GB --architecture Hopper --near rdma-nic --align pcieRoot`` and the JSON form mean the same.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import Any

from ..errors import RequirementError
from .requirement import Requirement
from .vocabulary import DEVICE_FIELDS, SESSION_FIELDS, TOGETHER_FIELDS

_HELP: dict[str, tuple[str, str]] = {
    "tier": ("NAME", "a tier the admin offers (a DeviceClass); without one: any GPU, smallest first"),
    "vram": ("SIZE", "device memory at least: 80GB as on the card, 80Gi exactly"),
    "max_vram": ("SIZE", "device memory at most"),
    "count": ("N", 'how many devices, or "all" of a node'),
    "product": ("NAME", "product, whole words: A100 (may be repeated; any of them)"),
    "architecture": ("NAME", "architecture: Hopper (may be repeated; any of them)"),
    "compute_capability": ("COND", "for instance '>=8.0'"),
    "driver_version": ("COND", "for instance '>=550,<600'"),
    "where": ("CEL", "a further CEL selector (may be repeated; all must hold)"),
    "share": ("WAY", "profile=1g.10gb, memory=10G, strategy=time-slicing or strategy=mps"),
    "tolerate": ("TAINT", "accept devices marked key, key=value or key=value:NoSchedule (may be repeated)"),
    "near": ("TIER", "a companion device: a tier, or a requirement as JSON (may be repeated)"),
    "align": ("ATTR", "pcieRoot, numaNode or a qualified attribute that all devices share"),
    "spread": ("ATTR", "a qualified attribute that differs between the devices"),
    "or_else": ("TIER", "an alternative in order: a tier, or overriding fields as JSON (may be repeated)"),
    "claim": ("NAME", "use an existing claim, or template/NAME"),
    "kernel": ("NAME", "the kernel to start: python3"),
    "image": ("IMAGE", "container image of the kernel"),
    "cpu": ("N", "CPUs of the node"),
    "host_memory": ("SIZE", "memory of the node, not of the device"),
    "env": ("NAME=TEXT", "environment of the kernel (may be repeated); kept in the pod's Secret"),
    "lease": ("TIME", "give the device back after: 4h"),
    "idle_timeout": ("TIME", "give it back when unused for: 30m"),
    "name": ("NAME", "the session's name"),
    "volumes": ("NAME", "a volume your admin offers, such as home (may be repeated)"),
}
_MANY = ("product", "architecture", "where", "tolerate", "near", "or_else", "env", "volumes")


def add_requirement_arguments(parser: argparse.ArgumentParser, *, session: bool = False) -> None:
    """Add ``--vram`` and the other fields to *parser*; with ``session`` also image, lease and the like."""
    groups: list[tuple[str, tuple[str, ...]]] = [
        ("what you need", (*DEVICE_FIELDS, *TOGETHER_FIELDS, "claim"))
    ]
    if session:
        groups.append(("the session around it", tuple(one for one in SESSION_FIELDS if one != "namespace")))
    for title, names in groups:
        group = parser.add_argument_group(title)
        for name in names:
            metavar, text = _HELP[name]
            group.add_argument(
                f"--{name.replace('_', '-')}",
                dest=f"req_{name}",
                metavar=metavar,
                help=text.replace("%", "%%"),
                action="append" if name in _MANY else "store",
            )
    parser.add_argument(
        "--requirement",
        dest="req_json",
        metavar="JSON",
        help="the whole requirement as JSON; other options override it",
    )


def requirement_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields given on the command line, as JSON values.

    Raises:
        RequirementError: JSON or a pair that cannot be read; ``path`` names the option's field.
    """
    values: dict[str, Any] = {}
    if getattr(arguments, "req_json", None):
        loaded = _json(arguments.req_json, "requirement")
        if not isinstance(loaded, dict):
            raise RequirementError(
                "--requirement is not a JSON object.",
                code="requirement",
                path="requirement",
                next_step='Write it as {"tier": "high-memory-gpu", "vram": "80GB"}.',
            )
        values.update(loaded)
    for name in _HELP:
        given = getattr(arguments, f"req_{name}", None)
        if given is not None:
            values[name] = _value(name, given)
    return values


def requirement_from_arguments(arguments: argparse.Namespace, **more: Any) -> Requirement:
    """The requirement of a command line; *more* are fields that come from elsewhere, such as ``namespace``."""
    return Requirement.from_dict({**requirement_values(arguments), **more})


def _value(name: str, given: Any) -> Any:
    if name == "env":
        return dict(_pair(one, "env") for one in given)
    if name in ("near", "or_else"):
        return [_json(one, name) if one.lstrip().startswith("{") else {"tier": one} for one in given]
    if name == "tolerate":
        return [_json(one, name) if one.lstrip().startswith("{") else one for one in given]
    if name == "share":
        return (
            _json(given, name) if given.lstrip().startswith("{") else dict(_pairs(given.split(","), "share"))
        )
    if name == "claim" and given.lstrip().startswith("{"):
        return _json(given, name)
    return given


def _pairs(words: Iterable[str], path: str) -> Iterable[tuple[str, str]]:
    return (_pair(word, path) for word in words)


def _pair(word: str, path: str) -> tuple[str, str]:
    name, separator, text = word.partition("=")
    if not separator:
        raise RequirementError(
            f"{path}: {word[:40]!r} is not name=value.",
            code="wrong-type",
            path=path,
            next_step="Write name=value.",
        )
    return name.strip(), text


def _json(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequirementError(
            f"{path}: this is not JSON.",
            code="wrong-type",
            path=path,
            next_step='Write for instance {"tier": "rdma-nic"}.',
        ) from error
