"""The Jupyter server extension."""

from .app import DRAExtension

__all__ = ["DRAExtension"]
