"""Create, replace, patch and delete over HTTP."""

from __future__ import annotations

from typing import Any

from jupyter_dra.localcluster import deletion, media, reading, rules
from jupyter_dra.localcluster.handlers import Exchange
from jupyter_dra.localcluster.merge_keys import rules_for
from jupyter_dra.localcluster.patch import json_patch, merge_patch
from jupyter_dra.localcluster.requests import Query
from jupyter_dra.localcluster.resources import Resource
from jupyter_dra.localcluster.status import about, bad_request, invalid, method_not_allowed, success
from jupyter_dra.localcluster.store import encode
from jupyter_dra.localcluster.strategic import strategic_patch
from jupyter_dra.localcluster.writes import Change, WriteOptions, Written


def _dry_run(query: Query) -> bool:
    wishes = query.all("dryRun")
    if any(wish != "All" for wish in wishes):
        text = f'Unsupported value: {wishes!r}: supported values: "All"'
        raise invalid("meta.k8s.io", "CreateOptions", "", [("FieldValueNotSupported", "dryRun", text)])
    return bool(wishes)


def options(exchange: Exchange) -> WriteOptions:
    query = exchange.query
    mode = rules.field_validation(query.text("fieldValidation"))
    return WriteOptions(exchange.user, mode, _dry_run(query))


def _body(exchange: Exchange) -> dict[str, Any]:
    return media.read_body(exchange.request.body, exchange.request.headers.get("Content-Type", ""))


def _answer(exchange: Exchange, written: Written) -> None:
    exchange.warn(written.warnings)
    reading.answer_object(exchange, written.stored, 201 if written.created else 200)


async def answer_create(exchange: Exchange, resource: Resource) -> None:
    target = exchange.target
    if target.name:
        raise method_not_allowed("POST")
    wanted = options(exchange)
    written = exchange.cluster.writer.create(
        resource, _namespace(exchange, resource), _body(exchange), wanted
    )
    _answer(exchange, written)


def _namespace(exchange: Exchange, resource: Resource) -> str:
    if not resource.namespaced:
        return ""
    if not exchange.target.namespace:
        # Without a namespace in the path the server has nowhere to put the object.
        raise method_not_allowed("POST")
    return exchange.target.namespace


def _key(exchange: Exchange) -> tuple[str, str, str]:
    target = exchange.target
    return (target.namespace, target.name, target.subresource)


async def answer_replace(exchange: Exchange, resource: Resource) -> None:
    wanted = options(exchange)
    _answer(exchange, exchange.cluster.writer.replace(resource, _key(exchange), _body(exchange), wanted))


async def answer_patch(exchange: Exchange, resource: Resource) -> None:
    wanted = options(exchange)
    kind, patch = media.read_patch(exchange.request.body, exchange.request.headers.get("Content-Type", ""))
    change = _change(kind, patch, resource)
    _answer(exchange, exchange.cluster.writer.patch(resource, _key(exchange), change, wanted))


def _change(kind: str, patch: Any, resource: Resource) -> Change:
    if kind == media.JSON_PATCH:
        return lambda value: _object(json_patch(value, patch))
    if kind == media.MERGE_PATCH:
        return lambda value: _object(merge_patch(value, patch))
    return lambda value: strategic_patch(value, patch, rules_for(resource))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        raise bad_request("the patched value is no object with metadata")
    return value


async def answer_delete(exchange: Exchange, resource: Resource) -> None:
    wanted = deletion.read_options(_body(exchange), exchange.query)
    stored = reading.find(exchange, resource)
    deleted = exchange.cluster.deleter.delete(stored, wanted)
    if deleted.gone and not resource.answers_deleted:
        details = about(stored.key.name, resource.group, resource.plural, uid=stored.uid)
        exchange.json(success(details))
        return
    reading.answer_object(exchange, deleted.stored)


async def answer_delete_collection(exchange: Exchange, resource: Resource) -> None:
    wanted = deletion.read_options(_body(exchange), exchange.query)
    found = reading.matching(exchange, resource, reading.selection(exchange, resource))
    last = [exchange.cluster.deleter.delete(stored, wanted).stored for stored in found]
    revision = exchange.cluster.store.revision
    value = {
        "kind": resource.list_kind,
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": str(revision)},
        "items": [
            {k: v for k, v in stored.value.items() if k not in ("kind", "apiVersion")} for stored in last
        ],
    }
    exchange.reply(encode(value))
