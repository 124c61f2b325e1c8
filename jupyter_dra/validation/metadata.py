"""Rules for ``metadata``, common to all kinds. Follows ``k8s.io/apimachinery/pkg/api/validation/objectmeta.go``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import (
    dns_label_problems,
    dns_subdomain_problems,
    label_key_problems,
    label_value_problems,
)
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path, root

Struct = Mapping[str, Any]
NameRule = Callable[[str], list[str]]
STANDARD_FINALIZERS = {"kubernetes", "orphan", "foregroundDeletion"}
NEVER_OWNERS = {("v1", "Event")}


def path_segment_problems(name: str) -> list[str]:
    """What keeps a name out of a URL path; the only rule for RBAC objects."""
    problems = []
    if name in {".", ".."}:
        problems.append(f"may not be '{name}'")
    return problems + [f"may not contain '{sign}'" for sign in "/%" if sign in name]


def validate_metadata(
    report: Report,
    meta: Struct,
    *,
    namespaced: bool,
    name_rule: NameRule = dns_subdomain_problems,
    path: Path | None = None,
    declarative_name: bool = False,
) -> None:
    """Check the metadata of an object about to be created (its name is generated already)."""
    where = path or root("metadata")
    name, prefix = meta.get("name") or "", meta.get("generateName") or ""
    if prefix and not declarative_name:
        # The server replaces the last two characters, not one (NameIsDNSSubdomain's maskTrailingDash).
        probe = prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        report.problems(where.child("generateName"), prefix, name_rule(probe))
    if not name:
        report.required(where.child("name"), "name or generateName is required")
    else:
        report.problems(where.child("name"), name, name_rule(name), declarative=declarative_name)
    _validate_namespace(report, meta.get("namespace") or "", namespaced, where.child("namespace"))
    _validate_common(report, meta, where)
    _validate_finalizers(report, meta.get("finalizers") or [], where.child("finalizers"))


def _validate_namespace(report: Report, namespace: str, namespaced: bool, path: Path) -> None:
    if namespaced:
        if namespace:
            report.problems(path, namespace, dns_label_problems(namespace))
        else:
            report.required(path)
    # A namespace on a cluster-scoped kind is dropped before validation.


def _validate_common(report: Report, meta: Struct, path: Path) -> None:
    generation = meta.get("generation") or 0
    if generation < 0:
        report.invalid(path.child("generation"), generation, "must be greater than or equal to 0")
    validate_labels(report, meta.get("labels") or {}, path.child("labels"))
    validate_annotations(report, meta.get("annotations") or {}, path.child("annotations"))
    validate_owners(report, meta.get("ownerReferences") or [], path.child("ownerReferences"))


def validate_labels(report: Report, labels: Mapping[str, str], path: Path) -> None:
    """Keys and values of labels, node selectors and the like."""
    for key, value in sorted(labels.items()):
        validate_label_key(report, key, path)
        report.problems(path, value, label_value_problems(value), rule="label-value")


def validate_label_key(report: Report, key: str, path: Path, **more: Any) -> None:
    report.problems(path, key, label_key_problems(key), rule="label-key", **more)


def validate_annotations(report: Report, annotations: Mapping[str, str], path: Path) -> None:
    for key in sorted(annotations):
        report.problems(path, key, label_key_problems(key.lower()))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > limits.ANNOTATIONS_MAX_BYTES:
        report.too_long(path, limits.ANNOTATIONS_MAX_BYTES)


def validate_owners(report: Report, owners: Sequence[Struct], path: Path) -> None:
    controller = ""
    for index, owner in enumerate(owners):
        where = path.index(index)
        version = owner.get("apiVersion") or ""
        if not version:
            report.required(where.child("apiVersion"), "must not be empty")
        elif version.count("/") > 1 or version.endswith("/"):
            report.invalid(where.child("apiVersion"), version, "must be <group>/<version> or <version>")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                report.required(where.child(name), "must not be empty")
        if (version, owner.get("kind")) in NEVER_OWNERS:
            text = f"/{version}, Kind={owner.get('kind')} is disallowed from being an owner"
            report.invalid(where, dict(owner), text)
        if owner.get("controller"):
            current = f"{owner.get('kind') or ''}/{owner.get('name') or ''}"
            if controller:
                text = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{controller} and {current}"
                )
                report.invalid(path, [dict(entry) for entry in owners], text)
            else:
                controller = current


def _validate_finalizers(report: Report, finalizers: Sequence[str], path: Path) -> None:
    for name in finalizers:
        report.problems(path, name, label_key_problems(name))
    for index, name in enumerate(finalizers):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            report.invalid(path.index(index), name, text)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        report.invalid(path, list(finalizers), text)


def validate_metadata_update(report: Report, new: Struct, old: Struct, path: Path | None = None) -> None:
    """Check what an update may not change in metadata."""
    where = path or root("metadata")
    if old.get("deletionTimestamp"):
        extra = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if extra:
            listed = ", ".join(f'"{name}"' for name in extra)
            report.forbidden(
                where.child("finalizers"),
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}",
            )
    if not new.get("resourceVersion"):
        text = "must be specified for an update"
        report.invalid(where.child("resourceVersion"), new.get("resourceVersion") or "", text)
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        report.invalid(where.child("generation"), new.get("generation") or 0, "must not be decremented")
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        report.immutable(where.child(name), new.get(name), old.get(name))
    grace = "deletionGracePeriodSeconds"
    report.immutable(where.child(grace), new.get(grace), old.get(grace))
    _validate_common(report, new, where)


def validate_template_metadata(report: Report, meta: Struct, path: Path) -> None:
    """Metadata of a claim template's claims: labels and annotations, nothing else."""
    validate_annotations(report, meta.get("annotations") or {}, path.child("annotations"))
    validate_labels(report, meta.get("labels") or {}, path.child("labels"))
    for name in meta:
        if name not in {"labels", "annotations"}:
            report.forbidden(path.child(name), "cannot be set")


def validate_label_selector(report: Report, selector: Struct | None, path: Path) -> None:
    """``matchLabels`` and ``matchExpressions``."""
    if selector is None:
        return
    validate_labels(report, selector.get("matchLabels") or {}, path.child("matchLabels"))
    for index, entry in enumerate(selector.get("matchExpressions") or ()):
        where = path.child("matchExpressions").index(index)
        operator, values = entry.get("operator") or "", entry.get("values") or []
        if operator in {"In", "NotIn"}:
            if not values:
                report.required(where.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in {"Exists", "DoesNotExist"}:
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                report.forbidden(where.child("values"), text)
        else:
            report.invalid(where.child("operator"), operator, "not a valid selector operator")
        validate_label_key(report, entry.get("key") or "", where.child("key"))
        for number, value in enumerate(values):
            report.problems(where.child("values").index(number), value, label_value_problems(value))
