"""Fixtures of the real control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .build import CannotBuild, program
from .plane import ControlPlane

USERS = {"scientist": (), "viewer": (), "hub": (), "agent": ("system:masters",)}


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """Kubernetes 1.37.2: API server, scheduler, controllers; users admin, scientist, viewer, hub."""
    try:
        program()
    except CannotBuild as reason:
        pytest.fail(str(reason))
    with ControlPlane(users=USERS) as plane:
        yield plane
