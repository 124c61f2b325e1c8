"""Pure allocation: which devices would the scheduler give these claims on this node."""

from jupyter_dra.allocator.allocate import allocate
from jupyter_dra.allocator.attempt import DEFAULT_BUDGET, Attempt, NodeView, Outcome
from jupyter_dra.allocator.features import Features
from jupyter_dra.allocator.groups import NodeGroup
from jupyter_dra.allocator.kinds import DeviceEntry, DeviceKind
from jupyter_dra.allocator.occupancy import Hold, PoolState
from jupyter_dra.allocator.pools import PoolView
from jupyter_dra.allocator.repairs import FIRST_RELEASE, PULL_REQUEST, Repairs
from jupyter_dra.allocator.requests import WantedClaim
from jupyter_dra.allocator.state import ClusterState
from jupyter_dra.allocator.tokens import IRRELEVANT, Token

__all__ = [
    "DEFAULT_BUDGET",
    "FIRST_RELEASE",
    "IRRELEVANT",
    "PULL_REQUEST",
    "Attempt",
    "ClusterState",
    "DeviceEntry",
    "DeviceKind",
    "Features",
    "Hold",
    "NodeGroup",
    "NodeView",
    "Outcome",
    "PoolState",
    "PoolView",
    "Repairs",
    "Token",
    "WantedClaim",
    "allocate",
]
