"""The defaults clients see after a write."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.validation import apply_defaults, normalize
from jupyter_dra.validation.poddefaults import image_tag


def pod(**spec: Any) -> dict[str, Any]:
    containers = spec.pop("containers", [{"name": "c", "image": "python:3.12"}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": containers, **spec},
    }


def test_a_claim_asks_for_one_device_unless_it_says_otherwise() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {
            "devices": {
                "requests": [
                    {"name": "one", "exactly": {"deviceClassName": "x", "tolerations": [{"key": "k"}]}},
                    {"name": "all", "exactly": {"deviceClassName": "x", "allocationMode": "All"}},
                    {"name": "some", "firstAvailable": [{"name": "a", "deviceClassName": "x", "count": 3}]},
                ]
            }
        },
    }
    one, every, some = apply_defaults(claim)["spec"]["devices"]["requests"]
    assert one["exactly"]["allocationMode"] == "ExactCount"
    assert one["exactly"]["count"] == 1
    assert one["exactly"]["tolerations"] == [{"key": "k", "operator": "Equal"}]
    assert "count" not in every["exactly"]
    assert some["firstAvailable"][0] == {
        "name": "a",
        "deviceClassName": "x",
        "count": 3,
        "allocationMode": "ExactCount",
    }


def test_a_pod_comes_back_with_the_servers_defaults() -> None:
    spec = apply_defaults(pod())["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["securityContext"] == {}
    assert spec["enableServiceLinks"] is True
    container = spec["containers"][0]
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["resources"] == {}
    assert container["terminationMessagePath"] == "/dev/termination-log"


def test_limits_become_requests_in_pods_but_not_in_templates() -> None:
    limited = {"name": "c", "image": "x", "resources": {"limits": {"cpu": "2"}}}
    spec = apply_defaults(pod(containers=[limited]))["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    template = {"metadata": {}, "spec": {"containers": [limited]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": template},
    }
    inner = apply_defaults(deployment)["spec"]["template"]["spec"]["containers"][0]
    assert "requests" not in inner["resources"]


def test_a_volume_without_a_source_is_an_empty_directory() -> None:
    volumes = apply_defaults(pod(volumes=[{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}]))[
        "spec"
    ]["volumes"]
    assert volumes == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
    ]


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("python", "latest"),
        ("python:3.12", "3.12"),
        ("registry:5000/python", "latest"),
        ("python@sha256:0123", ""),
        ("python:3@sha256:0123", "3"),
    ],
)
def test_image_tags_are_found_behind_ports_and_digests(image: str, tag: str) -> None:
    assert image_tag(image) == tag


def test_defaults_never_change_what_was_given_them() -> None:
    given = pod()
    apply_defaults(given)
    assert given == pod()


def test_a_taint_gets_its_time_only_from_the_caller() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {"taint": {"key": "k", "effect": "NoSchedule"}},
    }
    assert "timeAdded" not in apply_defaults(rule)["spec"]["taint"]
    stamped = apply_defaults(rule, now="2026-11-30T12:00:00Z")
    assert stamped["spec"]["taint"]["timeAdded"] == "2026-11-30T12:00:00Z"


def test_quantities_come_back_canonical_and_empty_values_vanish() -> None:
    given = pod(
        containers=[{"name": "c", "image": "x", "env": [], "resources": {"limits": {"memory": "1024Mi"}}}],
        nodeName="",
    )
    spec = normalize(given)["spec"]
    assert spec["containers"][0] == {"name": "c", "image": "x", "resources": {"limits": {"memory": "1Gi"}}}
    assert "nodeName" not in spec
