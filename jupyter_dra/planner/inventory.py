"""The inventory: slices, classes, claims, rules, nodes and quotas seen at one moment, kept up change by change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jupyter_dra.allocator import ClusterState, NodeGroup
from jupyter_dra.claims import ClassFacts, Requirement, build_claim, build_template
from jupyter_dra.errors import InputError
from jupyter_dra.model import DeviceID, Node, ResourceQuota
from jupyter_dra.model.reading import mapping, text
from jupyter_dra.planner.facts import KindFacts, class_facts
from jupyter_dra.planner.visibility import Visibility

if TYPE_CHECKING:
    from jupyter_dra.planner.plans import Detail, Plan
    from jupyter_dra.planner.wish import Wanted

__all__ = ["Inventory", "NodeInfo"]

Json = Mapping[str, Any]
_SIMULATED = "jupyter-dra.dev/simulated"


class NodeInfo:
    """What planning knows of a node beside its devices."""

    __slots__ = ("name", "plugin_resources", "why_not")

    def __init__(self, node: Node) -> None:
        self.name = node.name
        # Why no pod of ours is placed there, or None.
        self.why_not: str | None = None
        if node.unschedulable:
            self.why_not = "unschedulable"
        elif node.ready is False:
            self.why_not = "not-ready"
        self.plugin_resources: dict[str, int] = {
            name: int(amount)
            for name, amount in node.allocatable.items()
            if "/" in name and not name.startswith("kubernetes.io/") and amount.isdigit() and int(amount) > 0
        }


class Inventory:
    """What one person sees of a cluster's devices; plans are asked of it.

    >>> Inventory.from_objects([]).plan({"tier": "gpu"}).verdict
    'unknown'
    """

    def __init__(self, visibility: Json | Visibility | None = None, *, features: Json | None = None) -> None:
        self.visibility = Visibility.read(visibility)
        if features is None and isinstance(visibility, Mapping) and visibility.get("version"):
            features = {"version": visibility["version"]}
        self.state = ClusterState(features)
        self.facts = KindFacts(self.state)
        self.classes: dict[str, Json] = {}
        self.claims: dict[tuple[str, str], Json] = {}
        self.templates: dict[tuple[str, str], Json] = {}
        self.quotas: dict[tuple[str, str], ResourceQuota] = {}
        self.nodes: dict[str, NodeInfo] = {}
        self.pods: dict[tuple[str, str], Json] = {}
        # Slices nobody could read, with the reason.
        self.unreadable: dict[str, str] = {}
        # Slices whose annotation says that nothing computes on their devices.
        self.simulated: set[str] = set()
        self.cache: dict[Any, Any] = {}
        self._cached_at = -1
        self._changes = 0

    @staticmethod
    def from_objects(
        objects: Iterable[Json] | Json,
        visibility: Json | Visibility | None = None,
        *,
        features: Json | None = None,
    ) -> Inventory:
        """Read objects of any kind, Lists flattened; kinds that planning does not need are passed over.

        Nodes are inferred from the slices when none are given. A ``version`` in the visibility is the cluster's, whose
        features apply unless ``features`` says otherwise; an empty one means that it is not known.
        """
        inventory = Inventory(visibility, features=features)
        for item in _flattened(objects):
            inventory._set(item)
        return inventory

    def apply(self, event: Json) -> None:
        """Take in one watch event ``{"type": "ADDED"|"MODIFIED"|"DELETED", "object": {…}}``."""
        item = event.get("object")
        if not isinstance(item, Mapping):
            return
        if event.get("type") == "DELETED":
            self._remove(item)
        elif event.get("type") in ("ADDED", "MODIFIED"):
            for one in _flattened(item):
                self._set(one)

    def plan(
        self,
        wanted: Wanted,
        namespace: str = "default",
        detail: Detail = "verdict",
        budget_ms: float | None = None,
        *,
        limits: Json | None = None,
        all_nodes: bool = False,
        tiers: Iterable[Json] = (),
    ) -> Plan:
        """What the scheduler would do with a requirement, a claim, or the claims of one pod.

        Args:
            wanted: a Requirement, a requirement's or a claim's mapping, or a list of claims.
            namespace: where the claim would be created.
            detail: ``verdict``, or ``full`` for reasons per device and verified changes.
            budget_ms: how long searching may take; more answers ``unknown``. None means the default budget.
            limits: what the admin allows this user; see :mod:`jupyter_dra.planner.permission`.
            all_nodes: list every node instead of the best 50.
            tiers: the admin's own tier entries, so that a requirement may name them.

        Raises:
            RequirementError: a mapping that is no requirement.
        """
        from jupyter_dra.planner.plans import make_plan

        return make_plan(
            self, wanted, namespace, detail, budget_ms, limits=limits, all_nodes=all_nodes, tiers=tuple(tiers)
        )

    def outlook(self, wanted: Wanted, namespace: str = "default") -> dict[str, Any]:
        """A plan without its reasons, in a fraction of the time: for whoever asks many questions at once.

        ``verdict``, ``counts``, ``nodes``, ``nodes_left_out`` as in the contract's Plan; ``sure`` as in its certainty.
        """
        from jupyter_dra.planner.plans import make_outlook

        return make_outlook(self, wanted, namespace)

    def tiers(self, admin_tiers: Iterable[Json] = (), *, namespace: str = "default") -> list[dict[str, Any]]:
        """The tiers, as elements of the contract's TierList."""
        from jupyter_dra.planner.tiers import list_tiers

        return list_tiers(self, tuple(admin_tiers), namespace)

    def tier_words(self, names: Iterable[str], admin_tiers: Iterable[Json] = ()) -> dict[str, dict[str, Any]]:
        """What the admin says about these tiers (price, defaults, limits…); names of no tier are left out."""
        from jupyter_dra.planner.tiers import tier_words

        entries = tuple(admin_tiers)
        found = {name: tier_words(self, name, entries) for name in names}
        return {name: words for name, words in found.items() if words is not None}

    def in_cluster_words(self, requirement: Requirement, admin_tiers: Iterable[Json] = ()) -> Requirement:
        """The requirement a claim is built from: usual numbers filled in, the admin's own tiers as their classes."""
        from jupyter_dra.planner.wish import in_cluster_words

        return in_cluster_words(self, requirement, tuple(admin_tiers))

    def claim_for(
        self,
        requirement: Requirement,
        *,
        name: str | None = None,
        namespace: str | None = None,
        template: bool = False,
        tiers: Iterable[Json] = (),
    ) -> dict[str, Any]:
        """The claim, or a template of it, as a launch of the requirement makes it; raises as `build_claim` does."""
        build = build_template if template else build_claim
        return build(
            self.in_cluster_words(requirement, tiers),
            name=name or requirement.name or "claim",
            namespace=namespace,
            classes=self.class_facts(namespace or requirement.namespace or "default"),
        )

    def with_usual_counts(self, requirement: Requirement, admin_tiers: Iterable[Json] = ()) -> Requirement:
        """The requirement with the usual number of its tier wherever nobody asked for one."""
        from jupyter_dra.planner.asked_counts import with_usual_counts

        return with_usual_counts(self, requirement, tuple(admin_tiers))

    def quota_use(self) -> list[dict[str, Any]]:
        """What visible quotas allow of claims and devices, and what is used; see :mod:`jupyter_dra.planner.quotas`."""
        from jupyter_dra.planner.quotas import quota_use

        return quota_use(self)

    def offer(self, admin_tiers: Iterable[Json] = (), *, namespace: str = "default") -> dict[str, Any]:
        """The tiers and what there is in all; the fields of the contract's TierList."""
        from jupyter_dra.planner.tiers import offer

        return offer(self, tuple(admin_tiers), namespace)

    def devices(
        self, *, tier: str | None = None, node: str | None = None, admin_tiers: Iterable[Json] = ()
    ) -> list[dict[str, Any]]:
        """The devices, as elements of the contract's DeviceList."""
        from jupyter_dra.planner.devices import list_devices

        return list_devices(self, tier=tier, node=node, admin_tiers=tuple(admin_tiers))

    def assist(self, text: str, *, tier: str | None = None) -> dict[str, Any]:
        """Error position and live count of matching devices for a partial selector; see ``assistant``."""
        from jupyter_dra.planner.assistant import assist

        return assist(self, text, tier=tier)

    @property
    def revision(self) -> int:
        """Counts every change."""
        return self._changes

    @property
    def total(self) -> int:
        """How many devices are published, as far as slices may be seen."""
        return self.state.published.total() if self.visibility.slices else 0

    @property
    def all_simulated(self) -> bool:
        """True where there are devices and nothing computes on any of them."""
        from jupyter_dra.planner.devices import is_simulated

        found: bool = self.cached(
            "all-simulated",
            lambda: (
                self.total > 0
                and all(
                    is_simulated(self, device) for slice in self.state.current() for device in slice.devices
                )
            ),
        )
        return found

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value that stays right until the next change."""
        if self._cached_at != self._changes:
            self.cache.clear()
            self._cached_at = self._changes
        if key not in self.cache:
            self.cache[key] = make()
        return self.cache[key]

    def class_facts(self, namespace: str = "default") -> tuple[ClassFacts, ...]:
        """The classes as the claim builder needs them, from the real devices.

        Those that the namespace's quota or the user's groups refuse say so.
        """
        key = ("class-facts", namespace)
        found: tuple[ClassFacts, ...] = self.cached(key, lambda: class_facts(self, namespace))
        return found

    def groups(self) -> list[NodeGroup]:
        """All nodes, those that offer the same together; the tag says why no pod may go there."""
        found: list[NodeGroup] = self.cached("groups", self.state.groups)
        return found

    def claim_of(self, key: str) -> Json | None:
        """A visible claim by ``namespace/name``."""
        namespace, _, name = key.rpartition("/")
        return self.claims.get((namespace or "default", name))

    def holds(self, id: DeviceID) -> tuple[Any, ...]:
        return self.state.holds.get(id, ())

    def _set(self, item: Json) -> None:
        if not _named(item):
            return
        self._changes += 1
        kind, key = item.get("kind"), _key(item)
        if kind == "ResourceSlice":
            self._set_slice(key[1], item)
        elif kind == "DeviceClass":
            self.classes[key[1]] = item
            self.state.set_class(item)
        elif kind == "ResourceClaim":
            self.claims[key] = _lean(item)
            self.state.set_claim(_with_namespace(item))
        elif kind == "ResourceClaimTemplate":
            self.templates[key] = _lean(item)
        elif kind == "DeviceTaintRule":
            self.state.set_rule(item)
        elif kind == "Node":
            node = Node.from_dict(item)
            info = self.nodes[node.name] = NodeInfo(node)
            self.state.set_node(node.name, node.labels, info.why_not)
        elif kind == "ResourceQuota":
            self.quotas[key] = ResourceQuota.from_dict(item)
        elif kind == "Pod":
            self._set_pod(key, item)

    def _set_slice(self, name: str, item: Json) -> None:
        """A slice that cannot be read (no API server would have taken it) counts as absent and is remembered."""
        notes = (item.get("metadata") or {}).get("annotations") or {}
        (self.simulated.add if notes.get(_SIMULATED) == "true" else self.simulated.discard)(name)
        try:
            self.state.set_slice(item)
            self.unreadable.pop(name, None)
        except (InputError, LookupError, TypeError, ValueError, AttributeError) as error:
            self.state.remove_slice(name)
            self.unreadable[name] = str(error)

    def _set_pod(self, key: tuple[str, str], item: Json) -> None:
        """Keep of a pod only what answers who uses a claim, and what it asks of device plugins."""
        from jupyter_dra.planner.pods import lean_pod

        self.pods[key] = lean_pod(item)

    def _remove(self, item: Json) -> None:
        self._changes += 1
        kind, key = item.get("kind"), _key(item)
        if kind == "ResourceSlice":
            self.state.remove_slice(key[1])
            self.simulated.discard(key[1])
        elif kind == "DeviceClass":
            self.classes.pop(key[1], None)
            self.state.remove_class(key[1])
        elif kind == "ResourceClaim":
            self.claims.pop(key, None)
            self.state.remove_claim(f"{key[0]}/{key[1]}")
        elif kind == "ResourceClaimTemplate":
            self.templates.pop(key, None)
        elif kind == "DeviceTaintRule":
            self.state.remove_rule(key[1])
        elif kind == "Node":
            self.nodes.pop(key[1], None)
            self.state.remove_node(key[1])
        elif kind == "ResourceQuota":
            self.quotas.pop(key, None)
        elif kind == "Pod":
            self.pods.pop(key, None)


def _named(item: Json) -> bool:
    """Whether the object has the metadata that every API server gives its objects; files hold anything."""
    metadata = item.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return False
    return isinstance(metadata.get("namespace") or "", str) and all(
        isinstance(metadata.get(name) or {}, Mapping) for name in ("labels", "annotations")
    )


def _key(item: Json) -> tuple[str, str]:
    metadata = mapping(item.get("metadata"))
    return text(metadata.get("namespace")) or "default", text(metadata.get("name"))


def _with_namespace(item: Json) -> Json:
    metadata = item.get("metadata") or {}
    if metadata.get("namespace"):
        return item
    return {**item, "metadata": {**metadata, "namespace": "default"}}


def _lean(item: Json) -> Json:
    metadata = item.get("metadata") or {}
    if "managedFields" not in metadata:
        return item
    return {**item, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _flattened(objects: Iterable[Json] | Json) -> Iterator[Json]:
    """Single objects out of any nesting of Lists."""
    if isinstance(objects, Mapping):
        if str(objects.get("kind", "")).endswith("List") and isinstance(objects.get("items"), list):
            kind = str(objects["kind"]).removesuffix("List")
            for item in objects["items"]:
                if isinstance(item, Mapping):
                    # Items of a typed list come without their own kind.
                    yield from _flattened(item if item.get("kind") or not kind else {**item, "kind": kind})
            return
        yield objects
        return
    for item in objects:
        if isinstance(item, Mapping):
            yield from _flattened(item)
