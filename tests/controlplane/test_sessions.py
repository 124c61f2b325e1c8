"""What sessions promise on the local cluster they keep on the real one, as a user with exactly the rights we print."""

from __future__ import annotations

import pytest

__all__ = [name for name in dir() if name.startswith("test_")]
pytestmark = pytest.mark.controlplane
