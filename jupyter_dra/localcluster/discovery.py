"""What is served, in the forms that clients ask for: legacy lists and the aggregated document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jupyter_dra.localcluster.resources import (
    RESOURCES,
    REVIEWS,
    Resource,
    Review,
    Subresource,
    group_versions,
)

Object = dict[str, Any]
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def api_versions(server: str) -> Object:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    }


def _group(group: str, version: str) -> Object:
    entry = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [entry], "preferredVersion": entry}


def api_groups() -> Object:
    groups = [_group(group, version) for group, version in group_versions() if group]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(name: str) -> Object | None:
    for group, version in group_versions():
        if group and group == name:
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, version)}
    return None


def resource_list(group: str, version: str) -> Object | None:
    """APIResourceList of one group version, or None if it is not served."""
    if (group, version) not in group_versions():
        return None
    entries: list[Object] = []
    for resource in _resources(group, version):
        entries.append(_entry(resource))
        entries.extend(_sub_entry(resource, sub) for sub in resource.all_subresources())
    entries.extend(_review_entry(review) for review in _reviews(group, version))
    entries.sort(key=lambda entry: str(entry["name"]))
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": entries}


def _resources(group: str, version: str) -> Iterable[Resource]:
    return (r for r in RESOURCES if (r.group, r.version) == (group, version))


def _reviews(group: str, version: str) -> Iterable[Review]:
    return (r for r in REVIEWS if (r.group, r.version) == (group, version))


def _entry(resource: Resource) -> Object:
    entry: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _sub_entry(resource: Resource, sub: Subresource) -> Object:
    entry: Object = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": list(sub.verbs),
    }
    if sub.group:
        entry["group"], entry["version"] = sub.group, sub.version
    return entry


def _review_entry(review: Review) -> Object:
    return {
        "name": review.plural,
        "singularName": review.kind.lower(),
        "namespaced": False,
        "kind": review.kind,
        "verbs": ["create"],
    }


def aggregated(*, core: bool) -> Object:
    """APIGroupDiscoveryList v2 for ``/api`` (core) or ``/apis``."""
    groups: dict[str, list[Object]] = {}
    for group, version in group_versions():
        if (not group) == core:
            groups.setdefault(group, []).append(_discovered_version(group, version))
    items = [
        {"metadata": {"name": group} if group else {}, "versions": versions}
        for group, versions in groups.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _discovered_version(group: str, version: str) -> Object:
    resources = [_discovered(resource) for resource in _resources(group, version)]
    resources += [
        {
            "resource": review.plural,
            "responseKind": {"group": group, "version": version, "kind": review.kind},
            "scope": "Cluster",
            "singularResource": review.kind.lower(),
            "verbs": ["create"],
        }
        for review in _reviews(group, version)
    ]
    return {"version": version, "resources": resources, "freshness": "Current"}


def _discovered(resource: Resource) -> Object:
    entry: Object = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    subresources = [
        {
            "subresource": sub.name,
            "responseKind": {
                "group": sub.group or ("" if sub.version else resource.group),
                "version": sub.version or resource.version,
                "kind": sub.kind,
            },
            "verbs": list(sub.verbs),
        }
        for sub in resource.all_subresources()
    ]
    if subresources:
        entry["subresources"] = subresources
    return entry
