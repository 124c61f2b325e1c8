"""Merge the shapes of dump.go with list types, required fields and discovery facts into schemas.json.

Run by hand when Kubernetes moves on::

    go run . > shapes.json
    python merge.py shapes.json KUBERNETES_SOURCE ../../../jupyter_dra/validation/data/schemas.json

KUBERNETES_SOURCE is a checkout or module copy of k8s.io/kubernetes (its api/openapi-spec and api/discovery are read).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def definition_name(go_type: str) -> str:
    """``resource/v1.DeviceRequest`` as the OpenAPI document spells it."""
    prefix = "io.k8s.apimachinery.pkg.apis." if go_type.startswith("meta/") else "io.k8s.api."
    return prefix + go_type.replace("/", ".")


def merge_types(shapes: dict[str, Any], definitions: dict[str, Any]) -> None:
    for name, shape in shapes.items():
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


def short_name_table(source: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Discovery facts by (group, plural) out of the per-version documents."""
    table: dict[tuple[str, str], dict[str, Any]] = {}
    for path in sorted((source / "api" / "discovery").glob("api*__*.json")):
        document = json.loads(path.read_text())
        if document.get("kind") != "APIResourceList":
            continue
        group, _, version = document["groupVersion"].rpartition("/")
        for resource in document["resources"]:
            table[(f"{group}/{version}", resource["name"])] = resource
    return table


def merge_kinds(kinds: list[dict[str, Any]], table: dict[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    merged = []
    for kind in kinds:
        group_version = f"{kind['group']}/{kind['version']}"
        main = [
            resource
            for (where, name), resource in table.items()
            if where == group_version and resource["kind"] == kind["kind"] and "/" not in name
        ]
        facts = dict(kind)
        if main:
            resource = main[0]
            plural = resource["name"]
            facts |= {
                "plural": plural,
                "singular": resource["singularName"],
                "namespaced": resource["namespaced"],
                "short_names": resource.get("shortNames", []),
                "categories": resource.get("categories", []),
                "verbs": resource["verbs"],
                "subresources": sorted(
                    name.partition("/")[2] for (where, name) in table if where == group_version and name.startswith(plural + "/")
                ),
            }
        else:
            facts |= {
                "plural": kind["kind"].lower() + "s",
                "singular": kind["kind"].lower(),
                "namespaced": kind["kind"] in {"TokenRequest", "Binding"},
                "short_names": [],
                "categories": [],
                "verbs": ["create"] if kind["kind"] in {"TokenRequest", "Binding"} else [],
                "subresources": [],
            }
        merged.append(facts)
    return merged


def main() -> None:
    shapes_file, source, target = sys.argv[1:]
    dump = json.loads(Path(shapes_file).read_text())
    openapi = json.loads((Path(source) / "api/openapi-spec/swagger.json").read_text())
    merge_types(dump["types"], openapi["definitions"])
    kinds = merge_kinds(dump["kinds"], short_name_table(Path(source)))
    text = json.dumps(
        {"kubernetes": "1.37.2", "kinds": kinds, "types": dump["types"]}, sort_keys=True, separators=(",", ":")
    )
    Path(target).write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
