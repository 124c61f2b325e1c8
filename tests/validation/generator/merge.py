"""Merge the shapes of dump.go with list types, required fields and discovery facts into schemas.json.

Run by hand when Kubernetes moves on::

    go run . > shapes.json                     (once per release, with that release's k8s.io/api)
    python merge.py KUBERNETES_SOURCE TARGET shapes.json 1.36=shapes-1.36.json 1.35=… 1.34=…

KUBERNETES_SOURCE is a copy of k8s.io/kubernetes of the newest release; its api/openapi-spec and api/discovery are
read. The older shapes tell since when a field exists; kinds an older k8s.io/api lacks are deleted from dump.go there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Types = dict[str, Any]
Discovery = dict[tuple[str, str], dict[str, Any]]


def definition_name(go_type: str) -> str:
    """``resource/v1.DeviceRequest`` as the OpenAPI document spells it."""
    prefix = "io.k8s.apimachinery.pkg.apis." if go_type.startswith("meta/") else "io.k8s.api."
    return prefix + go_type.replace("/", ".")


def merge_types(types: Types, definitions: dict[str, Any]) -> None:
    for name, shape in types.items():
        definition = definitions.get(definition_name(name))
        if shape["kind"] != "struct" or definition is None:
            continue
        required = set(definition.get("required", ()))
        for field_name, field in shape.get("fields", {}).items():
            schema = definition.get("properties", {}).get(field_name, {})
            if field_name in required:
                field["required"] = True
            if list_type := schema.get("x-kubernetes-list-type") or schema.get("x-kubernetes-map-type"):
                field["list"] = list_type
            if keys := schema.get("x-kubernetes-list-map-keys"):
                field["keys"] = keys


def merge_history(types: Types, older: list[tuple[str, Types]]) -> None:
    """Mark each field with the release that brought it and add the fields that a newer release dropped.

    ``older`` runs from newest to oldest; a field in all of them gets no mark.
    """
    newest = "1.37"
    for version, shapes in older:
        for name, shape in types.items():
            then = shapes.get(name)
            if shape["kind"] != "struct" or then is None:
                continue
            for field_name, field in shape.get("fields", {}).items():
                if "since" not in field and "until" not in field and field_name not in then.get("fields", {}):
                    field["since"] = newest
            for field_name, field in then.get("fields", {}).items():
                if field_name not in shape["fields"]:
                    shape["fields"][field_name] = field | {"until": version}
        for name, then in shapes.items():
            types.setdefault(name, then)
        newest = version


def read_discovery(source: Path) -> Discovery:
    """Discovery facts by (group/version, resource name)."""
    table: Discovery = {}
    for path in sorted((source / "api" / "discovery").glob("api*__*.json")):
        document = json.loads(path.read_text())
        if document.get("kind") != "APIResourceList":
            continue
        group, _, version = document["groupVersion"].rpartition("/")
        for resource in document["resources"]:
            table[(f"{group}/{version}", resource["name"])] = resource
    return table


def kind_facts(kind: dict[str, Any], discovery: Discovery) -> dict[str, Any]:
    where = f"{kind['group']}/{kind['version']}"
    for (group_version, name), resource in discovery.items():
        if group_version == where and resource["kind"] == kind["kind"] and "/" not in name:
            subresources = [
                n.partition("/")[2] for (g, n) in discovery if g == where and n.startswith(name + "/")
            ]
            return {
                "plural": name,
                "singular": resource["singularName"],
                "namespaced": resource["namespaced"],
                "short_names": resource.get("shortNames", []),
                "categories": resource.get("categories", []),
                "verbs": resource["verbs"],
                "subresources": sorted(subresources),
            }
    in_pods = kind["kind"] in {"TokenRequest", "Binding"}
    return {
        "plural": kind["kind"].lower() + "s",
        "singular": kind["kind"].lower(),
        "namespaced": in_pods,
        "short_names": [],
        "categories": [],
        "verbs": ["create"] if in_pods else [],
        "subresources": [],
    }


def main() -> None:
    source, target, newest, *history = sys.argv[1:]
    dump = json.loads(Path(newest).read_text())
    openapi = json.loads((Path(source) / "api/openapi-spec/swagger.json").read_text())
    types = dump["types"]
    older = [entry.partition("=") for entry in history]
    merge_history(
        types, [(version, json.loads(Path(path).read_text())["types"]) for version, _, path in older]
    )
    merge_types(types, openapi["definitions"])
    discovery = read_discovery(Path(source))
    kinds = [kind | kind_facts(kind, discovery) for kind in dump["kinds"]]
    content = {"kubernetes": "1.37.2", "kinds": kinds, "types": types}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    Path(target).write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
