"""What the admin lets people choose beside devices, as the form needs it."""

from __future__ import annotations

from typing import Any

from ..config import DRASettings

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def offers_of(settings: DRASettings) -> dict[str, Any]:
    """Images and volumes to choose from, what applies where nothing is chosen, and how far a lease can go.

    Of image patterns only those that name one image are a choice; ``any_image`` says that others may be typed.
    """
    named = [image for image in settings.images or () if "*" not in image]
    defaults = {
        "cpu": settings.cpu,
        "host_memory": settings.host_memory,
        "lease": _duration(min(settings.lease, settings.longest_lease)),
        "idle_timeout": _duration(settings.idle_timeout),
        "image": settings.image or None,
    }
    return {
        "images": list(dict.fromkeys([*([settings.image] if settings.image else []), *named])),
        "any_image": settings.images is None or len(named) < len(settings.images),
        "volumes": list(settings.volumes),
        "defaults": {name: value for name, value in defaults.items() if value},
        "longest_lease_seconds": settings.longest_lease,
    }


def _duration(seconds: int) -> str | None:
    """As a requirement writes it; None for no limit.

    >>> _duration(14400), _duration(5400), _duration(0)
    ('4h', '90m', None)
    """
    if not seconds:
        return None
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if seconds % unit == 0), (1, "s"))
    return f"{seconds // unit}{letter}"
