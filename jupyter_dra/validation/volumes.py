"""Rules for volumes of a pod. Follows ``k8s.io/kubernetes/pkg/apis/core/validation/validation.go``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.model.names import dns_label_problems
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.paths import Path

Struct = Mapping[str, Any]
MODE = "must be a number between 0 and 0777 (octal), both inclusive"
BACKSTEP = "must not contain '..'"
HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
ORDER = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
]


def check_local_path(report: Report, path_text: str, path: Path) -> None:
    """A relative path that stays below its start."""
    if path_text.startswith("/"):
        report.invalid(path, path_text, "must be a relative path")
    if ".." in path_text.split("/"):
        report.invalid(path, path_text, BACKSTEP)


def validate_volumes(report: Report, volumes: Sequence[Struct], path: Path) -> set[str]:
    """Check volumes and return the names of the sound ones."""
    sound: set[str] = set()
    for index, volume in enumerate(volumes):
        where, before = path.index(index), len(report.errors)
        _validate_source(report, volume, where)
        name = volume.get("name") or ""
        if not name:
            report.required(where.child("name"))
        else:
            report.problems(where.child("name"), name, dns_label_problems(name))
        if name in sound:
            report.duplicate(where.child("name"), name)
        if len(report.errors) == before:
            sound.add(name)
    return sound


def _validate_source(report: Report, volume: Struct, path: Path) -> None:
    used = [name for name in ORDER if volume.get(name) is not None]
    if not used:
        report.required(path, "must specify a volume type")
        return
    for name in used[1:]:
        report.forbidden(path.child(name), "may not specify more than 1 volume type")
    check = _CHECKS.get(used[0])
    if check is not None:
        check(report, volume[used[0]], path.child(used[0]))


def _check_mode(report: Report, source: Struct, path: Path, name: str = "defaultMode") -> None:
    mode = source.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        report.invalid(path.child(name), mode, MODE)


def _check_items(report: Report, source: Struct, path: Path) -> None:
    for index, item in enumerate(source.get("items") or ()):
        where = path.child("items").index(index)
        if not item.get("key"):
            report.required(where.child("key"))
        if not item.get("path"):
            report.required(where.child("path"))
        check_local_file(report, item.get("path") or "", where.child("path"))
        _check_mode(report, item, where, "mode")


def check_local_file(report: Report, text: str, path: Path) -> None:
    check_local_path(report, text, path)
    if text.startswith("..") and not text.startswith("../"):
        report.invalid(path, text, "must not start with '..'")


def _secret(report: Report, source: Struct, path: Path) -> None:
    if not source.get("secretName"):
        report.required(path.child("secretName"))
    _check_mode(report, source, path)
    _check_items(report, source, path)


def _config_map(report: Report, source: Struct, path: Path) -> None:
    if not source.get("name"):
        report.required(path.child("name"))
    _check_mode(report, source, path)
    _check_items(report, source, path)


def _empty_dir(report: Report, source: Struct, path: Path) -> None:
    size = source.get("sizeLimit")
    if size is not None and Quantity.parse(size).nanos < 0:
        report.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")


def _host_path(report: Report, source: Struct, path: Path) -> None:
    text = source.get("path") or ""
    if not text:
        report.required(path.child("path"))
        return
    if ".." in text.split("/"):
        report.invalid(path.child("path"), text, BACKSTEP)
    kind = source.get("type")
    if kind is not None and kind not in HOST_PATH_TYPES:
        report.not_supported(path.child("type"), kind, HOST_PATH_TYPES)


def _persistent_claim(report: Report, source: Struct, path: Path) -> None:
    if not source.get("claimName"):
        report.required(path.child("claimName"))


def _projected(report: Report, source: Struct, path: Path) -> None:
    _check_mode(report, source, path)
    for index, entry in enumerate(source.get("sources") or ()):
        where = path.child("sources").index(index)
        for name in ("secret", "configMap"):
            if entry.get(name) is not None:
                if not entry[name].get("name"):
                    report.required(where.child(name, "name"))
                _check_items(report, entry[name], where.child(name))
        token = entry.get("serviceAccountToken")
        if token is not None:
            _token(report, token, where.child("serviceAccountToken"), path)
        if len([name for name, value in entry.items() if value is not None]) > 1:
            report.forbidden(where, "may not specify more than 1 volume type per source")


def _token(report: Report, token: Struct, path: Path, projection: Path) -> None:
    seconds = token.get("expirationSeconds")
    where = path.child("expirationSeconds")
    if seconds is None:
        report.required(where)
    elif seconds < 600:
        report.invalid(where, seconds, "may not specify a duration less than 10 minutes")
    elif seconds > 2**32:
        report.invalid(where, seconds, "may not specify a duration larger than 2^32 seconds")
    if not token.get("path"):
        report.required(projection.child("path"))
    else:
        check_local_file(report, token["path"], projection.child("path"))


_CHECKS = {
    "secret": _secret,
    "configMap": _config_map,
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "persistentVolumeClaim": _persistent_claim,
    "projected": _projected,
    "downwardAPI": _check_mode,
}
