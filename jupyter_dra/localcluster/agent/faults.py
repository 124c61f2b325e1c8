"""Trouble on demand, for tests: annotations that make a node fall silent, or a pod hang or be evicted.

``jupyter-dra.dev/fault`` on a Node: ``silent`` stops its lease and status. On a Pod: ``freeze`` stops its processes as
a hung node does (removing it lets them go on), ``evict`` ends it as a node without memory would.
"""

from __future__ import annotations

from jupyter_dra.localcluster.agent.node import NodeKeeper
from jupyter_dra.localcluster.agent.worker import PodWorker
from jupyter_dra.localcluster.client import Object

ANNOTATION = "jupyter-dra.dev/fault"
EVICTED = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0Ki."


class Faults:
    """Applies the annotations of nodes and pods as they change."""

    def __init__(self, nodes: NodeKeeper) -> None:
        self._nodes = nodes
        self._frozen: set[str] = set()

    def node_changed(self, kind: str, node: Object, _before: Object | None) -> None:
        name = node["metadata"]["name"]
        if name in self._nodes.names:
            self._nodes.pause(name, paused=kind != "DELETED" and _wish(node) == "silent")

    def pod_changed(self, worker: PodWorker) -> None:
        wish = _wish(worker.pod)
        if (wish == "freeze") != (worker.uid in self._frozen):
            (self._frozen.add if wish == "freeze" else self._frozen.discard)(worker.uid)
            for container in worker.all_containers:
                container.freeze(stop=wish == "freeze")
        if wish == "evict":
            worker.evict("Evicted", EVICTED)


def _wish(item: Object) -> str:
    return str((item["metadata"].get("annotations") or {}).get(ANNOTATION, ""))
