"""Rules for a claim's status and a taint rule's status. Follows ``validation.go`` of resource.k8s.io."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.model import limits
from jupyter_dra.model.names import dns_label_problems, label_key_problems
from jupyter_dra.validation.draclaim import (
    RequestNames,
    check_list,
    check_raw_object,
    check_set,
    validate_claim_config,
    validate_reference,
    validate_toleration,
)
from jupyter_dra.validation.dranames import check_driver_name, check_pool_name
from jupyter_dra.validation.draslice import validate_binding, validate_skipped
from jupyter_dra.validation.fielderrors import Report
from jupyter_dra.validation.nodeselector import validate_node_selector
from jupyter_dra.validation.paths import Path, root

Struct = Mapping[str, Any]
SOURCES = ("FromClaim", "FromClass")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
STATUSES = ("False", "True", "Unknown")


def validate_claim_status(report: Report, obj: Struct, old: Struct) -> None:
    """A new claim status against the one before."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    path = root("status")
    names = RequestNames(((obj.get("spec") or {}).get("devices") or {}).get("requests") or [])
    reserved, allocation = status.get("reservedFor") or [], status.get("allocation")
    check_set(
        report,
        reserved,
        limits.RESERVED_FOR_MAX,
        path.child("reservedFor"),
        lambda entry, at: _validate_consumer(report, entry, at),
        key=lambda entry: entry.get("uid") or "",
        bad_value=lambda _, entry: dict(entry) if report.minor >= 37 else entry.get("uid") or "",
    )
    allocated = {
        _device_key(result) for result in ((allocation or {}).get("devices") or {}).get("results") or ()
    }
    for index, device in enumerate(status.get("devices") or ()):
        _validate_device_status(report, device, path.child("devices").index(index), allocated)
    _validate_reserved(report, reserved, before.get("reservedFor") or [], obj, allocation, path)
    old_allocation = before.get("allocation")
    if old_allocation is not None and allocation is not None:
        if allocation != old_allocation and report.minor >= 37:
            text = "field cannot be modified once set"
            report.invalid(path.child("allocation"), None, text, declarative=True)
        elif allocation != old_allocation:
            report.immutable(path.child("allocation"), allocation, old_allocation)
    elif allocation is not None:
        _validate_allocation(report, allocation, path.child("allocation"), names)


def _validate_reserved(
    report: Report,
    reserved: Sequence[Struct],
    before: Sequence[Struct],
    obj: Struct,
    allocation: Any,
    path: Path,
) -> None:
    if not reserved:
        return
    if allocation is None:
        text = "may not be specified when `allocated` is not set"
        report.forbidden(path.child("reservedFor"), text)
    elif (obj.get("metadata") or {}).get("deletionTimestamp") and any(e not in before for e in reserved):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        report.forbidden(path.child("reservedFor"), text)


def _validate_consumer(report: Report, entry: Struct, path: Path) -> None:
    for name in ("resource", "name", "uid"):
        if not entry.get(name):
            report.required(path.child(name))


def _device_key(entry: Struct) -> tuple[Any, ...]:
    return tuple(entry.get(name) or None for name in ("driver", "pool", "device", "shareID"))


def _validate_allocation(report: Report, allocation: Struct, path: Path, names: RequestNames) -> None:
    devices, where = allocation.get("devices") or {}, path.child("devices")
    check_list(
        report,
        devices.get("results") or [],
        limits.ALLOCATION_RESULTS_MAX,
        where.child("results"),
        lambda entry, at: _validate_result(report, entry, at, names),
    )
    check_list(
        report,
        devices.get("config") or [],
        limits.ALLOCATION_CONFIG_MAX,
        where.child("config"),
        lambda entry, at: _validate_source(report, entry, at, names),
    )
    if allocation.get("nodeSelector") is not None:
        validate_node_selector(report, allocation["nodeSelector"], path.child("nodeSelector"))


def _validate_result(report: Report, result: Struct, path: Path, names: RequestNames) -> None:
    validate_reference(report, result.get("request") or "", path.child("request"), names)
    check_driver_name(report, result.get("driver") or "", path.child("driver"), declarative=True)
    check_pool_name(report, result.get("pool") or "", path.child("pool"), declarative=True)
    device = result.get("device") or ""
    report.problems(path.child("device"), device, dns_label_problems(device))
    validate_binding(report, result, path)
    for index, entry in enumerate(result.get("tolerations") or ()):
        validate_toleration(report, entry, path.child("tolerations").index(index))
    if result.get("shareID") is not None:
        _check_uid(report, result["shareID"], path.child("shareID"))
    validate_skipped(report, result.get("skipNodeOperations") or [], path.child("skipNodeOperations"))


def _check_uid(report: Report, uid: str, path: Path) -> None:
    if not _UUID.fullmatch(uid):
        text = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase"
            " hexadecimal characters"
        )
        if report.minor >= 37:
            text = "must be a lowercase UUID in 8-4-4-4-12 format"
        report.invalid(path, uid, text, declarative=True)


def _validate_source(report: Report, config: Struct, path: Path, names: RequestNames) -> None:
    source = config.get("source") or ""
    if not source:
        report.required(path.child("source"), declarative=True)
    elif source not in SOURCES:
        report.not_supported(path.child("source"), source, SOURCES, declarative=True)
    validate_claim_config(report, config, path, names)


def _validate_device_status(
    report: Report, device: Struct, path: Path, allocated: set[tuple[Any, ...]]
) -> None:
    check_driver_name(report, device.get("driver") or "", path.child("driver"))
    check_pool_name(report, device.get("pool") or "", path.child("pool"))
    name = device.get("device") or ""
    report.problems(path.child("device"), name, dns_label_problems(name))
    if _device_key(device) not in allocated:
        shown = {"Driver": device.get("driver") or "", "Pool": device.get("pool") or "", "Device": name}
        shown["ShareID"] = device.get("shareID") or ""
        report.invalid(path, shown, "must be an allocated device in the claim")
    conditions = device.get("conditions") or []
    if len(conditions) > limits.STATUS_CONDITIONS_MAX:
        report.too_many(path.child("conditions"), len(conditions), limits.STATUS_CONDITIONS_MAX)
    validate_conditions(report, conditions, path.child("conditions"))
    if device.get("data") is not None:
        check_raw_object(report, device["data"], path.child("data"), limits.STATUS_DATA_MAX)
    _validate_network(report, device.get("networkData") or {}, path.child("networkData"))


def _validate_network(report: Report, data: Struct, path: Path) -> None:
    for name, limit in (
        ("interfaceName", limits.INTERFACE_NAME_MAX),
        ("hardwareAddress", limits.HARDWARE_ADDRESS_MAX),
    ):
        if len((data.get(name) or "").encode()) > limit:
            report.too_long(path.child(name), limit, declarative=True)
    check_set(
        report,
        data.get("ips") or [],
        limits.STATUS_IPS_MAX,
        path.child("ips"),
        lambda address, at: _check_address(report, address, at),
    )


def _check_address(report: Report, address: str, path: Path) -> None:
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError:
        interface = None
    if interface is None or "/" not in address:
        text = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        report.invalid(path, address, text)
    elif str(interface) != address:
        report.invalid(path, address, f"must be in canonical form ({interface})")


def validate_conditions(report: Report, conditions: Sequence[Struct], path: Path) -> None:
    """metav1 conditions: types once, a known status, time, reason and message."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where, kind = path.index(index), condition.get("type") or ""
        if kind in seen:
            report.duplicate(where, kind)
        seen.add(kind)
        if not kind:
            report.required(where.child("type"), "is required")
        else:
            report.problems(where.child("type"), kind, label_key_problems(kind))
        state, reason = condition.get("status") or "", condition.get("reason") or ""
        if not state:
            report.required(where.child("status"))
        elif state not in STATUSES:
            report.not_supported(where.child("status"), state, STATUSES)
        if not condition.get("lastTransitionTime"):
            report.required(where.child("lastTransitionTime"))
        if not reason:
            report.required(where.child("reason"))
        elif not re.fullmatch(_REASON, reason, re.ASCII):
            text = (
                "a condition reason must start with alphabetic character, optionally followed by a string of "
                "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
                f"'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used "
                f"for validation is '{_REASON}')"
            )
            report.invalid(where.child("reason"), reason, text)
        if len((condition.get("message") or "").encode()) > 32768:
            report.too_long(where.child("message"), 32768)
