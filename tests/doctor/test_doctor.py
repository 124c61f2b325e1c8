"""The doctor's findings: what is wrong, how to mend it, and when nothing is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from jupyter_dra.cluster import ServerVersion, connect
from jupyter_dra.cluster.rights import needed
from jupyter_dra.doctor import Chart, Report, diagnose, examine
from tests.localcluster_fixture import LocalCluster, start_local_cluster

RIGHTS = dict.fromkeys(needed("default"), True)
KINDS = frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", "capacity": {"memory": {"value": "80Gi"}}}],
    },
}
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}
WELL = Chart(
    namespace="team-a",
    in_cluster=True,
    local=False,
    version=ServerVersion("v1.37.2", "1.37", ("v1",)),
    kinds=KINDS,
    rights=RIGHTS,
    slices=[SLICE],
    classes=[CLASS],
    claims=[],
    pods=[],
    quotas=[{"metadata": {"name": "q"}, "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "9"}}}],
    ranges=[],
    events=[],
    dropped=(),
)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def test_a_healthy_cluster_has_nothing_to_mend_and_conforms() -> None:
    report = diagnose(WELL)
    assert report.as_dict()["findings"] == []
    assert report.good
    assert report.as_dict()["conformance"] == {"met": True, "missing": []}


def annotated(**values: str) -> Chart:
    notes = {f"jupyter-dra.dev/{key.replace('_', '-')}": value for key, value in values.items()}
    return replace(WELL, classes=[{**CLASS, "metadata": {"name": "gpu", "annotations": notes}}])


def used_up() -> Chart:
    key = "gpu.deviceclass.resource.k8s.io/devices"
    quota = {
        "metadata": {"name": "q"},
        "spec": {"hard": {key: "2"}},
        "status": {"hard": {key: "2"}, "used": {key: "2"}},
    }
    return replace(WELL, quotas=[quota])


def kernel_pods(*users: str) -> Chart:
    labels = {"app.kubernetes.io/component": "kernel"}
    pods = [{"metadata": {"name": u, "labels": {**labels, "jupyter-dra.dev/user": u}}} for u in users]
    return replace(WELL, pods=pods)


@pytest.mark.parametrize(
    ("chart", "code", "words"),
    [
        (replace(WELL, version=ServerVersion("v1.33.1", "1.33", ("v1beta1",))), "no-v1", "1.34"),
        (replace(WELL, slices=[]), "no-slices", "driver"),
        (replace(WELL, classes=[]), "no-classes", "DeviceClass"),
        (replace(WELL, rights={**RIGHTS, "read_slices": False}), "right-missing", "rbac viewer"),
        (replace(WELL, rights={**RIGHTS, "create_pods": False}), "right-missing", "rbac user"),
        (replace(WELL, rights={**RIGHTS, "read_all_claims": False}), "occupancy-unknown", "occupancy"),
        (
            replace(WELL, in_cluster=False, rights={**RIGHTS, "port_forward": False}),
            "right-missing",
            "rbac user",
        ),
        (replace(WELL, quotas=[]), "no-quota", "count/resourceclaims"),
        (replace(WELL, probe_error="webhook says no"), "claims-refused", "webhook"),
        (
            replace(WELL, dropped=("spec.devices.requests[0].exactly.capacity",)),
            "feature-off",
            "DRAConsumableCapacity",
        ),
        (used_up(), "quota-used-up", "Stop"),
        (
            replace(
                WELL,
                ranges=[
                    {
                        "metadata": {"name": "r"},
                        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]},
                    }
                ],
            ),
            "limit-range",
            "smaller",
        ),
        (annotated(price_per_hour="cheap"), "annotation-unreadable", "annotate"),
        (annotated(defaults="{"), "annotation-unreadable", "annotate"),
        (annotated(limits='{"leas": "4h"}'), "annotation-unreadable", "annotate"),
        (annotated(limits='{"lease": "soon"}'), "annotation-unreadable", "annotate"),
        (annotated(hidden="yes"), "annotation-unreadable", "annotate"),
        (annotated(displayname="x"), "annotation-unreadable", "annotate"),
        (kernel_pods("ada", "eve"), "shared-namespace", "namespace"),
    ],
)
def test_what_is_wrong_is_found_with_its_fix(chart: Chart, code: str, words: str) -> None:
    found = [finding for finding in diagnose(chart).findings if finding.code == code]
    assert found, codes(diagnose(chart))
    assert words in found[0].fix
    assert found[0].message


def test_an_incomplete_pool_is_named() -> None:
    slice_ = {
        **SLICE,
        "spec": {**SLICE["spec"], "pool": {"name": "n", "generation": 1, "resourceSliceCount": 3}},
    }
    assert "1 of 3" in next(
        f.message for f in diagnose(replace(WELL, slices=[slice_])).findings if f.code == "pool-incomplete"
    )


def test_hints_do_not_make_a_report_bad_and_errors_come_first() -> None:
    assert diagnose(replace(WELL, quotas=[])).good
    report = diagnose(replace(WELL, quotas=[], slices=[]))
    assert not report.good
    assert report.findings[0].severity == "error"


def test_good_annotations_are_no_finding() -> None:
    chart = annotated(
        display_name="Big",
        price_per_hour="2.90 EUR",
        defaults='{"lease": "4h"}',
        limits='{"lease": "12h", "counts": [1, 2]}',
        hidden="false",
    )
    assert codes(diagnose(chart)) == []


def test_conformance_names_the_missing_kinds() -> None:
    report = diagnose(replace(WELL, kinds=KINDS - {"ResourceClaimTemplate"}))
    assert report.as_dict()["conformance"] == {"met": False, "missing": ["ResourceClaimTemplate"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = start_local_cluster(None, ["l4"])
    yield made
    made.stop()


def test_the_local_cluster_is_in_good_health(cluster: LocalCluster) -> None:
    async def main() -> Report:
        async with await connect(kubeconfig=str(cluster.kubeconfig)) as client:
            return await examine(client)

    report = asyncio.run(main())
    assert report.good, report.as_dict()
    assert report.as_dict()["conformance"]["met"] is True
    assert [item for item in cluster.list("resourceclaims") if "doctor" in item["metadata"]["name"]] == []


def _ours(kind: str, name: str, session: str, **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "team-a", "labels": {"jupyter-dra.dev/session": session}}
    return {"kind": kind, "metadata": meta, **more}


def test_sessions_that_nobody_keeps_any_more_are_found() -> None:
    held: dict[str, Any] = {"status": {"allocation": {"devices": {}}}}
    pods = [
        _ours("Pod", "lives-0", "lives", status={"phase": "Running"}),
        _ours("Pod", "shared-0", "shared", status={"phase": "Failed"}),
        _ours("Pod", "shared-1", "shared", status={"phase": "Running"}),
        _ours("Pod", "over-0", "over", status={"phase": "Succeeded"}),
    ]
    claims = [
        _ours("ResourceClaim", "lives", "lives", **held),
        _ours("ResourceClaim", "alone", "alone", **held),
        {
            **_ours("ResourceClaim", "elsewhere", "elsewhere"),
            "metadata": {"name": "x", "namespace": "team-b"},
        },
    ]
    [finding] = diagnose(replace(WELL, pods=pods, claims=claims)).findings
    assert (finding.code, finding.severity, finding.who) == ("left-behind", "warning", "you")
    assert (
        "2 sessions in team-a were left behind: alone, over. 1 of them still hold devices." in finding.message
    )
    assert codes(diagnose(replace(WELL, pods=pods[:3], claims=claims[:1]))) == []
    assert codes(diagnose(replace(WELL, pods=None, claims=claims))) == [], "without a view nothing is said"
