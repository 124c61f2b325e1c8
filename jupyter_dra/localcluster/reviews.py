"""Questions about identity and rights: answered from the request, never stored.

Follows k8s.io/kubernetes ``pkg/registry/authorization`` and ``pkg/registry/authentication``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_dra.localcluster.clock import stamp
from jupyter_dra.localcluster.cluster import Cluster
from jupyter_dra.localcluster.identity import AUTHENTICATED, User
from jupyter_dra.localcluster.rbac import Decision
from jupyter_dra.localcluster.requests import Target
from jupyter_dra.localcluster.resources import Review
from jupyter_dra.localcluster.status import bad_request, invalid

Object = dict[str, Any]


def answer_review(cluster: Cluster, user: User, review: Review, body: Mapping[str, Any]) -> Object:
    """The review with its status filled in; raises 400 or 422 for a question that is none."""
    kind = body.get("kind")
    if kind and kind != review.kind:
        raise bad_request(f'the object provided is unrecognized: got kind "{kind}", expected {review.kind}')
    spec = body.get("spec") or {}
    match review.kind:
        case "SelfSubjectReview":
            answer: Object = {"status": {"userInfo": user.as_dict()}}
        case "TokenReview":
            answer = {"spec": spec, "status": _token_status(cluster, spec)}
        case "SelfSubjectRulesReview":
            answer = {"spec": spec, "status": _rules_status(cluster, user, spec)}
        case "SubjectAccessReview":
            asked = User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))
            if not asked.name and not asked.groups:
                text = "Invalid value: at least one of user or group must be specified"
                raise invalid(review.group, review.kind, "", [("FieldValueInvalid", "spec.user", text)])
            answer = {"spec": spec, "status": _access_status(cluster, asked, review, spec)}
        case _:
            answer = {"spec": spec, "status": _access_status(cluster, user, review, spec)}
    metadata: Object = {
        "creationTimestamp": cluster.clock.stamp() if review.kind == "SelfSubjectReview" else None
    }
    return {"kind": review.kind, "apiVersion": review.api_version, "metadata": metadata, **answer}


def _access_status(cluster: Cluster, user: User, review: Review, spec: Mapping[str, Any]) -> Object:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        text = "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise invalid(review.group, review.kind, "", [("FieldValueInvalid", "spec.resourceAttributes", text)])
    decision: Decision
    if path is not None:
        decision = cluster.authorizer.decide(user, Target(path.get("verb", ""), path.get("path", "")))
    else:
        decision = cluster.authorizer.decide(user, _asked(resource or {}))
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _asked(attributes: Mapping[str, Any]) -> Target:
    return Target(
        verb=attributes.get("verb", ""),
        path="",
        group=attributes.get("group", ""),
        version=attributes.get("version", ""),
        plural=attributes.get("resource", ""),
        subresource=attributes.get("subresource", ""),
        namespace=attributes.get("namespace", ""),
        name=attributes.get("name", ""),
    )


def _rules_status(cluster: Cluster, user: User, spec: Mapping[str, Any]) -> Object:
    namespace = spec.get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    resource_rules: list[Object] = []
    path_rules: list[Object] = []
    for rule in cluster.authorizer.rules_of(user, namespace):
        if rule.get("resources"):
            kept = ("verbs", "apiGroups", "resources", "resourceNames")
            resource_rules.append({name: list(rule[name]) for name in kept if rule.get(name)})
        if rule.get("nonResourceURLs"):
            path_rules.append(
                {"verbs": list(rule["verbs"]), "nonResourceURLs": list(rule["nonResourceURLs"])}
            )
    return {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}


def _token_status(cluster: Cluster, spec: Mapping[str, Any]) -> Object:
    user = cluster.authenticator.authenticate(str(spec.get("token", "")), cluster.clock.seconds())
    if user is None:
        return {"user": {}, "error": "[invalid bearer token, token lookup failed]"}
    groups = tuple(group for group in user.groups if group != AUTHENTICATED)
    shown = User(user.name, user.uid, (*groups, AUTHENTICATED), user.extra)
    status: Object = {"authenticated": True, "user": shown.as_dict()}
    if spec.get("audiences"):
        status["audiences"] = list(spec["audiences"])
    return status


def token_request(cluster: Cluster, account: Mapping[str, Any], body: Mapping[str, Any]) -> Object:
    """A TokenRequest answered with a token for this service account (least 10 minutes, default an hour)."""
    spec = body.get("spec") or {}
    seconds = int(spec.get("expirationSeconds") or 3600)
    if seconds < 600:
        text = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
        raise invalid(
            "authentication.k8s.io",
            "TokenRequest",
            "",
            [("FieldValueInvalid", "spec.expirationSeconds", text)],
        )
    audiences = list(spec.get("audiences") or ["https://kubernetes.default.svc"])
    metadata = account["metadata"]
    now = cluster.clock.seconds()
    who = {"namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]}
    token = cluster.authenticator.issue(who, audiences, now, seconds)
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "creationTimestamp": cluster.clock.stamp(),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {"token": token, "expirationTimestamp": stamp(now + seconds)},
    }
