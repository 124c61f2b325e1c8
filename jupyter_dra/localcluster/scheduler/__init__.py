"""The local cluster's scheduler: one pod at a time, node by node, with the real texts."""

from jupyter_dra.localcluster.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
