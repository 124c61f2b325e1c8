"""Inventories: what nodes and devices a local cluster has, packaged or from files."""

from jupyter_dra.localcluster.inventories.catalog import PACKAGED, Inventory, load

__all__ = ["PACKAGED", "Inventory", "load"]
