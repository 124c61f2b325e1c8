"""What is known around the checked objects: devices, classes, claims, namespaces, of the text and an inventory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.cel import DeviceView, Selector, compile_selector
from jupyter_dra.cel.meter import Allowance
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.claims.catalog import SPECIMENS
from jupyter_dra.errors import CELCompileError, CELRuntimeError, DRAError
from jupyter_dra.model import Quantity
from jupyter_dra.model.limits import CEL_EXPRESSION_MAX, CEL_QUESTION_MAX
from jupyter_dra.planner import Inventory

MOST_SAMPLES = 400
# Nodes of expressions that all selectors of one check may evaluate on devices: some tenths of a second.
MOST_NODES = 2_000_000
# What each object adds to the length of selectors that are looked at.
TEXT_PER_OBJECT = 256


@dataclass(frozen=True, slots=True)
class Sample:
    """One kind of device: how selectors see it, how many there are, one of its names; ``kind`` from the catalog."""

    driver: str
    device: Mapping[str, Any]
    count: int
    name: str
    kind: str | None = None

    def attribute(self, name: str) -> Any:
        """The value of an attribute by its key, or None."""
        entry = (self.device.get("attributes") or {}).get(name)
        return next(iter(entry.values()), None) if isinstance(entry, Mapping) else None

    def quantity(self, key: str) -> Quantity | None:
        entry = (self.device.get("capacity") or {}).get(key)
        try:
            return Quantity.parse(entry["value"]) if isinstance(entry, Mapping) else None
        except (KeyError, DRAError):
            return None

    def keys(self, area: str) -> set[str]:
        """The names under ``attributes`` or ``capacity``, fully qualified."""
        return {name if "/" in name else f"{self.driver}/{name}" for name in self.device.get(area) or ()}


@dataclass(slots=True)
class World:
    """The surroundings of a check.

    ``real`` says that the devices are those of an inventory or of the text, not of the catalog of known drivers;
    ``complete`` that an inventory was given, so that what is missing in it is missing on the cluster.

    ``allowance`` bounds what all selectors together may take on the devices, ``texts`` is how long those that were
    looked at may be together; ``cut_short`` says that one of both was too little. ``taken_whole``
    counts the shareable devices that claims of a class take for themselves.
    """

    samples: list[Sample] = field(default_factory=list)
    classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    claims: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    templates: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    namespaces: dict[str, Mapping[str, str]] = field(default_factory=dict)
    quotas: set[str] = field(default_factory=set)
    plugins: dict[str, dict[str, int]] = field(default_factory=dict)
    real: bool = False
    complete: bool = False
    allowance: Allowance = field(default_factory=lambda: Allowance(MOST_NODES))
    texts: int = CEL_QUESTION_MAX
    cut_short: bool = False
    taken_whole: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)
    _covered: dict[str, list[Sample]] = field(default_factory=dict)
    _views: dict[int, DeviceView] = field(default_factory=dict)
    _outcomes: dict[tuple[str, int], bool | str] = field(default_factory=dict)

    def of_domain(self, domain: str) -> list[Sample]:
        """Devices whose driver is the domain."""
        return [sample for sample in self.samples if sample.driver == domain]

    def named_after(self, class_name: str) -> list[Sample]:
        """The devices a class that is not known probably covers: drivers name their first class after themselves."""
        if class_name == "mig.nvidia.com":
            return [sample for sample in self.of_domain("gpu.nvidia.com") if sample.kind in {None, "part"}]
        return [sample for sample in self.of_domain(class_name) if sample.kind not in {"part", "other"}]

    def in_class(self, name: str) -> list[Sample] | None:
        """The devices a class covers; None where the class is not known. Raises BudgetExceeded."""
        found = self.classes.get(name)
        if found is None:
            return None
        covered = self._covered.get(name)
        if covered is None:
            texts = expressions(dig(found, ("spec",)).get("selectors"))
            covered = self._covered[name] = [
                sample for sample in self.samples if all(self.outcome(text, sample) is True for text in texts)
            ]
        return covered

    def read(self, texts: Iterable[str]) -> bool:
        """Take selectors off what may be looked at; False where they are too long together.

        One that is too long by itself is refused by its length and costs nothing.
        """
        new = {text for text in texts if len(text) <= CEL_EXPRESSION_MAX} - self._seen
        self.texts -= sum(map(len, new))
        self._seen |= new
        return self.texts >= 0

    def outcome(self, text: str, sample: Sample) -> bool | str:
        """A selector on one of the samples: true, false, or the text of the error. Raises BudgetExceeded.

        Many objects ask for the same: each text is tried on each sample once.
        """
        key = text, id(sample)
        if key not in self._outcomes:
            self._outcomes[key] = self._tried(text, sample)
        return self._outcomes[key]

    def _tried(self, text: str, sample: Sample) -> bool | str:
        selector = compiled(text)
        if selector is None:
            return "does not compile"
        try:
            view = self._views.get(id(sample))
            if view is None:
                view = self._views[id(sample)] = DeviceView.of(sample.device, sample.driver)
            found = selector.outcome(view, self.allowance)
        except CELRuntimeError as error:
            return error.message
        return found.message if isinstance(found, CELRuntimeError) else found is True


def expressions(selectors: Any) -> list[str]:
    """The CEL texts of a selector list."""
    return [
        str(dig(entry, ("cel",)).get("expression") or "")
        for entry in selectors or ()
        if isinstance(entry, Mapping)
    ]


def compiled(text: str) -> Selector | None:
    try:
        return compile_selector(text)
    except CELCompileError:
        return None


def build_world(subjects: Iterable[Subject], inventory: Inventory | None) -> World:
    """Gather what the text itself defines and what an inventory adds."""
    world = World(complete=inventory is not None)
    if inventory is not None:
        _add_inventory(world, inventory)
    own = list(subjects)
    world.texts += TEXT_PER_OBJECT * len(own)
    _add_slices(world, own)
    for subject in own:
        _add_object(world, subject)
    world.real = bool(world.samples)
    if not world.samples:
        world.samples = [
            Sample(
                entry.driver,
                entry.as_device(),
                0,
                str(entry.attributes.get("productName") or entry.driver),
                entry.kind,
            )
            for entry in SPECIMENS
        ]
    return world


def _add_inventory(world: World, inventory: Inventory) -> None:
    state = inventory.state
    for number, count in state.population.items():
        if count > 0 and len(world.samples) < MOST_SAMPLES:
            entry = state.samples[number]
            name = f"{entry.id.pool}/{entry.id.device}"
            world.samples.append(Sample(entry.kind.driver, entry.as_cel(), count, name))
    world.classes.update(inventory.classes)
    world.claims.update(inventory.claims)
    world.templates.update(inventory.templates)
    for namespace, _ in inventory.quotas:
        world.quotas.add(namespace)
    for node, info in inventory.nodes.items():
        if info.plugin_resources:
            world.plugins[node] = dict(info.plugin_resources)


def _add_slices(world: World, subjects: Iterable[Subject]) -> None:
    for subject in subjects:
        if subject.kind != "ResourceSlice" or not subject.is_dra:
            continue
        driver = str(dig(subject.view, ("spec",)).get("driver") or "")
        pool = str(dig(subject.view, ("spec", "pool")).get("name") or "?")
        for device in listed(subject.view, ("spec", "devices")):
            if len(world.samples) >= MOST_SAMPLES:
                return
            seen = {
                "driver": driver,
                "attributes": _mappings(device.get("attributes")),
                "capacity": _mappings(device.get("capacity")),
                "allowMultipleAllocations": device.get("allowMultipleAllocations") is True,
            }
            world.samples.append(Sample(driver, seen, 1, f"{pool}/{device.get('name')}"))


def _mappings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    return {
        str(name): entry for name, entry in value.items() if isinstance(entry, Mapping) and len(entry) > 0
    }


def _add_object(world: World, subject: Subject) -> None:
    name = subject.name or ""
    if subject.is_dra and subject.kind == "DeviceClass":
        world.classes[name] = subject.view
    elif subject.is_dra and subject.kind == "ResourceClaim":
        world.claims[(subject.home, name)] = subject.view
    elif subject.is_dra and subject.kind == "ResourceClaimTemplate":
        world.templates[(subject.home, name)] = subject.view
    elif subject.kind == "Namespace" and not subject.group:
        labels = dig(subject.plain, ("metadata",)).get("labels")
        world.namespaces[name] = labels if isinstance(labels, Mapping) else {}
    elif subject.kind == "ResourceQuota" and not subject.group:
        world.quotas.add(subject.home)
    elif subject.kind == "Node" and not subject.group:
        amounts = dig(subject.plain, ("status", "allocatable"))
        plugins = {
            str(key): int(str(amount))
            for key, amount in amounts.items()
            if "/" in str(key) and str(amount).isdigit() and int(str(amount)) > 0
        }
        if plugins:
            world.plugins[name] = plugins
