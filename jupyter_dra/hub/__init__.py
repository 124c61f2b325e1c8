"""JupyterHub: servers with the device their user chose."""

from .spawner import DRASpawner

__all__ = ["DRASpawner"]
