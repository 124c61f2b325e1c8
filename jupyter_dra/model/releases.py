"""Kubernetes releases as a server reports them."""

from __future__ import annotations

import re


def minor_release(git_version: str) -> str:
    """The minor release of a ``gitVersion``; empty when the text is no version.

    >>> minor_release("v1.37.2-gke.5")
    '1.37'
    """
    found = re.match(r"v?(\d+)\.(\d+)", git_version)
    return f"{found[1]}.{found[2]}" if found else ""
