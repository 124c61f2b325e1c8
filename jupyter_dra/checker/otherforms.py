"""Documents beside Kubernetes objects of ours: kernelspecs, profile lists, RBAC and queue configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_dra.checker.findings import ERROR, WARNING, Finding
from jupyter_dra.checker.subjects import Subject, dig, listed
from jupyter_dra.checker.tree import Document, Steps
from jupyter_dra.checker.world import World
from jupyter_dra.claims import Requirement
from jupyter_dra.errors import RequirementError

PROVISIONER = "dra-provisioner"
PROFILE_KEYS = {"profile_list", "profileList"}
POWERS = {"patch", "update", "*"}


def is_kernelspec(value: Any) -> bool:
    return isinstance(value, Mapping) and "argv" in value and "display_name" in value


def profile_lists(value: Any, steps: Steps = (), depth: int = 0) -> Iterator[tuple[Steps, list[Any]]]:
    """Lists of KubeSpawner profiles: the whole document, or under profile_list/profileList anywhere in values."""
    if isinstance(value, list) and not steps:
        if value and all(isinstance(entry, Mapping) and _is_profile(entry) for entry in value):
            yield steps, value
    elif isinstance(value, Mapping) and depth < 6:
        for key, entry in value.items():
            if key in PROFILE_KEYS and isinstance(entry, list):
                yield (*steps, key), entry
            elif isinstance(entry, Mapping):
                yield from profile_lists(entry, (*steps, str(key)), depth + 1)


def _is_profile(entry: Mapping[str, Any]) -> bool:
    return "display_name" in entry or "kubespawner_override" in entry


def check_kernelspec(subject: Subject) -> Iterator[Finding]:
    """A kernel.json: our provisioner's config must be a requirement."""
    base: Steps = ("metadata", "kernel_provisioner")
    provisioner = dig(subject.value, base)
    name = provisioner.get("provisioner_name")
    if not provisioner:
        return
    if name != PROVISIONER:
        if "dra" in str(name or "").lower():
            text = f"There is no provisioner {name}; ours is {PROVISIONER}."
            where = (*base, "provisioner_name")
            yield subject.finding("provisioner", ERROR, text, where, repair=("set", where, PROVISIONER))
        return
    config = provisioner.get("config")
    if isinstance(config, Mapping):
        yield from check_requirement(subject, (*base, "config"), config)


def check_requirement(subject: Subject, steps: Steps, values: Mapping[str, Any]) -> Iterator[Finding]:
    """A requirement written down in a kernelspec or profile."""
    try:
        Requirement.from_dict(values)
    except RequirementError as error:
        inner: Steps = tuple(part for part in (error.path or "").split(".") if part)
        yield subject.finding(
            "requirement",
            ERROR,
            error.message,
            (*steps, *inner),
            fix=error.next_step,
            why="No claim can be made of it.",
        )


def check_profiles(document: Document, value: Any) -> Iterator[Finding]:
    """Profiles of a KubeSpawner: claims declared and used, plugin resources beside them."""
    for where, entries in profile_lists(value):
        for index, entry in enumerate(entries):
            if isinstance(entry, Mapping):
                subject = Subject(document, _named(entry), (), index, {})
                yield from _check_profile(subject, entry, (*where, index))


def _named(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    name = entry.get("slug") or entry.get("display_name")
    return {"kind": "Profile", "metadata": {"name": name}}


def _check_profile(subject: Subject, entry: Mapping[str, Any], steps: Steps) -> Iterator[Finding]:
    override = dig(entry, ("kubespawner_override",))
    base = (*steps, "kubespawner_override")
    pod, container = dig(override, ("extra_pod_config",)), dig(override, ("extra_container_config",))
    declared = [str(one.get("name")) for one in listed(pod, ("resourceClaims",)) if one.get("name")]
    used = [str(one.get("name")) for one in listed(container, ("resources", "claims")) if one.get("name")]
    for name in declared:
        if name not in used:
            yield subject.finding(
                "claim-unused",
                ERROR,
                f"Claim {name} is declared for the pod, but the server's container does not use it.",
                (*base, "extra_pod_config", "resourceClaims"),
                why="A device would be allocated and held, and the notebook server would see none.",
                fix=f"Add extra_container_config: {{resources: {{claims: [{{name: {name}}}]}}}}.",
            )
    for name in used:
        if name not in declared:
            yield subject.finding(
                "not-found",
                ERROR,
                f"The container uses claim {name}, which extra_pod_config.resourceClaims does not declare.",
                (*base, "extra_container_config", "resources", "claims"),
                why="The API server refuses the pod: must be one of the names in pod.spec.resourceClaims.",
                fix=f"Declare {name} under extra_pod_config.resourceClaims.",
            )
    yield from _sources(subject, pod, (*base, "extra_pod_config", "resourceClaims"))
    yield from _profile_resources(subject, override, base, bool(declared))


def _sources(subject: Subject, pod: Mapping[str, Any], where: Steps) -> Iterator[Finding]:
    for index, entry in enumerate(listed(pod, ("resourceClaims",))):
        if "source" in entry:
            yield subject.finding(
                "field-moved",
                ERROR,
                "The wrapper source is gone since Kubernetes 1.31.",
                (*where, index, "source"),
                fix="Write resourceClaimName or resourceClaimTemplateName directly beside name.",
                repair=("unwrap", (*where, index, "source")),
            )
            continue
        sources = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if entry.get(name)]
        if len(sources) != 1:
            text = "An entry of resourceClaims needs exactly one of resourceClaimName and resourceClaimTemplateName."
            yield subject.finding("invalid", ERROR, text, (*where, index))


def _profile_resources(
    subject: Subject, override: Mapping[str, Any], base: Steps, has_claims: bool
) -> Iterator[Finding]:
    for field in ("extra_resource_limits", "extra_resource_guarantees"):
        for name in dig(override, (field,)):
            if "/" not in str(name):
                continue
            where = (*base, field, str(name))
            if has_claims:
                text = f"{name} stands beside a claim: the pod would get two kinds of devices."
                yield subject.finding("plugin-beside-claim", WARNING, text, where, fix=f"Remove {name}.")
            else:
                text = f"{name} asks a device plugin for a device; it cannot say which kind."
                fix = "Declare a claim under extra_pod_config.resourceClaims and use it in extra_container_config."
                yield subject.finding("extended-resource", WARNING, text, where, fix=fix)


def check_rights(subjects: list[Subject]) -> Iterator[Finding]:
    """Rights on namespaces that let their holder grant himself admin access."""
    roles = [
        subject
        for subject in subjects
        if subject.kind in {"Role", "ClusterRole"} and subject.api_version == "rbac.authorization.k8s.io/v1"
    ]
    claims = any(
        "resourceclaims" in (rule.get("resources") or ())
        and POWERS | {"create"} & set(rule.get("verbs") or ())
        for role in roles
        for rule in listed(role.plain, ("rules",))
    )
    for role in roles:
        for index, rule in enumerate(listed(role.plain, ("rules",))):
            resources, verbs = set(rule.get("resources") or ()), set(rule.get("verbs") or ())
            if resources & {"namespaces", "*"} and verbs & POWERS and "" in (rule.get("apiGroups") or ("",)):
                yield role.finding(
                    "label-namespaces",
                    WARNING,
                    "Who has this right can label the namespace and then use admin access"
                    + (" in the claims the text also allows." if claims else "."),
                    ("rules", index, "verbs"),
                    why="The label resource.kubernetes.io/admin-access opens other people's devices.",
                    fix="Leave patch and update on namespaces to admins.",
                )


def check_parameters(subjects: list[Subject]) -> Iterator[Finding]:
    """References of old driver parameters to claims that no document defines."""
    names = {(subject.home, subject.name) for subject in subjects if subject.is_claim}
    names |= {
        (subject.home, str(entry.get("name")))
        for subject in subjects
        if subject.pod_steps is not None
        for entry in listed(subject.plain, (*subject.pod_spec_steps, "resourceClaims"))
    }
    for subject in subjects:
        if not subject.api_version.startswith("gpu.resource.nvidia.com/"):
            continue
        wanted = dig(subject.value, ("spec",)).get("gpuClaimName")
        if isinstance(wanted, str) and (subject.home, wanted) not in names:
            text = f"gpuClaimName refers to {wanted}, which no document defines."
            yield subject.finding("claim-missing", ERROR, text, ("spec", "gpuClaimName"))


def _texts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def check_queues(subjects: list[Subject], world: World, tiers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Classes that tiers or claims use and a Kueue configuration does not map."""
    for subject in subjects:
        if not subject.api_version.startswith("config.kueue.x-k8s.io/"):
            continue
        mapped = {
            str(name)
            for entry in listed(subject.value, ("resources", "deviceClassMappings"))
            for name in _texts(entry.get("deviceClassNames"))
        }
        wanted = [str(tier.get("deviceClass") or tier.get("device_class") or "") for tier in tiers]
        wanted += [
            str(wish.get("deviceClassName") or "")
            for other in subjects
            if other.is_claim
            for _, wish in other.wishes()
        ]
        for name in dict.fromkeys(wanted):
            if name and name not in mapped:
                yield subject.finding(
                    "queue-class",
                    WARNING,
                    f"Class {name} is used but has no entry in deviceClassMappings.",
                    ("resources", "deviceClassMappings"),
                    why="The queue does not count such pods, or refuses them, depending on its version.",
                    fix=f"Add an entry with deviceClassNames: [{name}].",
                )
