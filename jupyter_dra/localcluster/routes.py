"""Which function answers a request: by path, verb and subresource. What is left out on purpose says so."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from tornado.web import Application

from jupyter_dra.localcluster import discovery, faults, openapi, pod_streams, reading, reviews, writing
from jupyter_dra.localcluster.binding import answer_binding, answer_finalize
from jupyter_dra.localcluster.cluster import Cluster
from jupyter_dra.localcluster.handlers import Exchange
from jupyter_dra.localcluster.media import DISCOVERY, JSON, OPENAPI_V2_PROTOBUF, read_body
from jupyter_dra.localcluster.requests import Target
from jupyter_dra.localcluster.resources import Resource, find_resource, find_review
from jupyter_dra.localcluster.status import (
    bad_request,
    method_not_allowed,
    not_implemented,
    page_not_found,
)
from jupyter_dra.localcluster.store import encode
from jupyter_dra.validation import schemas

_VERBS = {
    "create": writing.answer_create,
    "delete": writing.answer_delete,
    "deletecollection": writing.answer_delete_collection,
    "get": reading.answer_get,
    "list": reading.answer_list,
    "patch": writing.answer_patch,
    "update": writing.answer_replace,
    "watch": reading.answer_watch,
}
_STATUS_VERBS = {verb: _VERBS[verb] for verb in ("get", "patch", "update")}
_LEFT_OUT = {
    "attach": ("attach", "use kubectl logs -f"),
    "ephemeralcontainers": ("ephemeral containers", ""),
    "eviction": ("eviction", "delete the pod instead"),
    "exec": ("exec", "pods here are processes of your own account"),
    "proxy": ("the pod proxy", "use port-forward from a v4.channel.k8s.io client"),
    "resize": ("resizing pods", ""),
    "scale": ("scale", ""),
}


def application(cluster: Cluster) -> Application:
    return Application(
        [(r".*", Exchange, {"cluster": cluster, "answer": answer})], log_function=lambda handler: None
    )


async def answer(exchange: Exchange) -> None:
    """Answer one authenticated request; raises APIError."""
    target = exchange.target
    if target.is_resource:
        await _answer_resource(exchange, target)
    else:
        exchange.authorize()
        await _answer_path(exchange, [part for part in target.path.split("/") if part])


async def _answer_resource(exchange: Exchange, target: Target) -> None:
    review = find_review(target.group, target.version, target.plural)
    if review is not None:
        if target.verb != "create":
            raise method_not_allowed(exchange.request.method or "")
        exchange.authorize()
        body = read_body(exchange.request.body, exchange.request.headers.get("Content-Type", ""))
        exchange.json(reviews.answer_review(exchange.cluster, exchange.user, review, body), 201)
        return
    resource = find_resource(target.group, target.version, target.plural)
    if resource is None and target.group and discovery.api_group(target.group) is None:
        _answer_nothing(exchange)
        return
    if resource is None or not _in_scope(resource, target):
        raise page_not_found()
    if target.subresource:
        await _answer_subresource(exchange, resource, target)
        return
    exchange.authorize()
    if target.verb not in resource.verbs or exchange.request.method == "HEAD":
        raise method_not_allowed(exchange.request.method or "")
    await _VERBS[target.verb](exchange, resource)


def _in_scope(resource: Resource, target: Target) -> bool:
    """Whether a path with a namespace is meant for a kind that has one."""
    return resource.namespaced or not target.namespace or resource.plural == "namespaces"


async def _answer_subresource(exchange: Exchange, resource: Resource, target: Target) -> None:
    name = target.subresource
    exchange.authorize()
    left_out = _LEFT_OUT.get(name.partition("/")[0])
    if left_out is not None:
        raise not_implemented(*left_out)
    match (resource.plural, name, target.verb):
        case (_, "status", verb) if resource.has_status and verb in _STATUS_VERBS:
            await _STATUS_VERBS[verb](exchange, resource)
        case ("pods", "log", "get"):
            await pod_streams.answer_log(exchange, resource)
        case ("pods", "portforward", "get" | "create"):
            await pod_streams.answer_port_forward(exchange, resource)
        case ("pods", "binding", "create"):
            await answer_binding(exchange, resource)
        case ("namespaces", "finalize", "update"):
            await answer_finalize(exchange, resource)
        case ("serviceaccounts", "token", "create"):
            await _answer_token(exchange, resource)
        case _:
            raise page_not_found()


async def _answer_token(exchange: Exchange, resource: Resource) -> None:
    body = read_body(exchange.request.body, exchange.request.headers.get("Content-Type", ""))
    account = reading.find(exchange, resource)
    exchange.json(reviews.token_request(exchange.cluster, account.value, body), 201)


async def _answer_path(exchange: Exchange, parts: list[str]) -> None:
    if exchange.request.path == faults.PATH:
        await _answer_faults(exchange)
        return
    if exchange.request.method not in ("GET", "HEAD"):
        raise method_not_allowed(exchange.request.method or "")
    match parts:
        case ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", *_]:
            exchange.reply(b"ok", content_type="text/plain; charset=utf-8")
        case ["version"]:
            exchange.json(version())
        case ["openapi", "v2"]:
            _answer_openapi_v2(exchange)
        case ["openapi", "v3"]:
            _keep(exchange, encode(openapi.index()), JSON)
        case ["openapi", "v3", *rest]:
            _answer_openapi(exchange, rest)
        case ["api" | "apis", *_] | []:
            _answer_discovery(exchange, parts)
        case _:
            _answer_nothing(exchange)


def _answer_nothing(exchange: Exchange) -> None:
    """What stands outside the API is answered by Go's own HTTP server."""
    exchange.reply(b"404 page not found\n", 404, "text/plain; charset=utf-8")


def version() -> dict[str, Any]:
    """What ``/version`` says: the Kubernetes release whose behavior is followed."""
    release = schemas.kubernetes_version().removeprefix("v")
    major, minor = release.split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{release}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "",
        "goVersion": "",
        "compiler": "",
        "platform": "jupyter-dra/local",
    }


def _answer_openapi_v2(exchange: Exchange) -> None:
    # client-go still asks for the name with an @, which it cannot read in an answer.
    accepted = exchange.request.headers.get("Accept", "").replace("v2@v1", "v2.v1")
    protobuf = OPENAPI_V2_PROTOBUF in accepted
    _keep(exchange, openapi.legacy_bytes(protobuf=protobuf), OPENAPI_V2_PROTOBUF if protobuf else JSON)


def _answer_openapi(exchange: Exchange, rest: list[str]) -> None:
    match rest:
        case ["api", version]:
            group = ""
        case ["apis", group, version]:
            pass
        case _:
            raise page_not_found()
    if discovery.resource_list(group, version) is None:
        raise page_not_found()
    _keep(exchange, openapi.document_bytes(group, version), JSON)


def _answer_discovery(exchange: Exchange, parts: list[str]) -> None:
    if exchange.wanted.form == DISCOVERY and parts in (["api"], ["apis"]):
        value: dict[str, Any] | None = discovery.aggregated(core=parts == ["api"])
        _keep(exchange, encode(value), discovery.AGGREGATED_TYPE)
        return
    match parts:
        case []:
            value = {
                "paths": [
                    "/api",
                    "/apis",
                    "/healthz",
                    "/livez",
                    "/openapi/v2",
                    "/openapi/v3",
                    "/readyz",
                    "/version",
                ]
            }
        case ["api"]:
            value = discovery.api_versions(exchange.request.host)
        case ["apis"]:
            value = discovery.api_groups()
        case ["api", version]:
            value = discovery.resource_list("", version)
        case ["apis", group]:
            value = discovery.api_group(group)
        case ["apis", group, version]:
            value = discovery.resource_list(group, version)
        case _:
            value = None
    if value is None:
        raise page_not_found()
    exchange.json(value)


def _keep(exchange: Exchange, body: bytes, content_type: str) -> None:
    """Answer with an ETag, or 304 where the client has this content already."""
    tag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    exchange.set_header("ETag", tag)
    exchange.set_header("Vary", "Accept")
    if exchange.request.headers.get("If-None-Match") == tag:
        exchange.set_status(304)
        exchange.finish()
        return
    exchange.reply(body, content_type=content_type)


async def _answer_faults(exchange: Exchange) -> None:
    """GET shows the faults, DELETE clears them, POST sets some or acts at once on watches."""
    cluster = exchange.cluster
    match exchange.request.method:
        case "DELETE":
            cluster.faults.clear()
        case "POST":
            try:
                wish = json.loads(exchange.request.body or b"{}")
            except ValueError as error:
                raise bad_request(str(error)) from None
            if not isinstance(wish, dict):
                raise bad_request("the body must be an object")
            cluster.faults.add(wish)
            if wish.get("expire_history"):
                cluster.store.forget_history()
            if wish.get("drop_watches"):
                cluster.drop_watches()
                await asyncio.sleep(0)
        case "GET":
            pass
        case _:
            raise method_not_allowed(exchange.request.method or "")
    exchange.json(cluster.faults.as_dict())
