"""Manifests people really write, and what they must be told. The data lies in data/cases."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from jupyter_dra.checker import CheckResult, check, documents
from jupyter_dra.planner import Inventory

from .conftest import DATA, found, only


def text(name: str) -> str:
    return (DATA / "cases" / f"{name}.yaml").read_text()


def case(name: str, **options: Any) -> CheckResult:
    return check(text(name), **options)


def mended(name: str, **options: Any) -> str:
    result = case(name, fix=True, **options)
    assert isinstance(result.fixed, str)
    return result.fixed


def test_a_flat_template_is_told_field_by_field_and_nested_in_place() -> None:
    moved = found(case("flat-request-in-a-template"), "field-moved")
    base = "spec.spec.devices.requests[0]"
    assert {finding.path for finding in moved} == {
        f"{base}.deviceClassName",
        f"{base}.count",
        f"{base}.selectors",
    }
    (template,) = documents(mended("flat-request-in-a-template"))
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    (flat,) = documents(text("flat-request-in-a-template"))
    (given,) = flat["spec"]["spec"]["devices"]["requests"]
    assert list(request) == ["name", "exactly"]
    assert request["exactly"] == {name: value for name, value in given.items() if name != "name"}
    assert check(mended("flat-request-in-a-template")).findings == ()


def test_the_same_template_is_right_in_v1beta1() -> None:
    beta = text("flat-request-in-a-template").replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta1\n")
    result = check(beta)
    assert [finding.code for finding in result.findings] == ["version-old"]
    assert result.clean


def test_memory_looked_for_among_attributes_is_pointed_to_capacity() -> None:
    finding = only(case("memory-read-as-attribute"), "cel-memory-attribute")
    assert finding.severity == "error"
    assert "published under capacity, not attributes" in finding.message
    assert "not compared with operators and texts" in finding.message
    assert finding.why is not None
    assert "no such key: memory, on node-a/gpu-0" in finding.why
    assert finding.fix is not None
    assert 'device.capacity["gpu.example.com"].memory.compareTo(quantity("16Gi")) >= 0' in finding.fix
    assert "whole device" in finding.fix
    objects = documents(mended("memory-read-as-attribute"))
    assert check(objects).clean
    plan = Inventory.from_objects(objects[:2]).plan(objects[2])
    assert plan.verdict == "fits"
    assert plan.as_dict()["nodes"][0]["devices"][0]["device"] == "gpu-1"


def test_request_fields_in_the_spec_become_one_request() -> None:
    result = case("request-fields-in-the-spec")
    assert {finding.path for finding in found(result, "field-moved")} == {
        "spec.resourceClassName",
        "spec.tolerations",
    }
    assert "asks for nothing" in only(result, "claim-empty").message
    (claim,) = documents(mended("request-fields-in-the-spec"))
    (given,) = documents(text("request-fields-in-the-spec"))
    assert claim["spec"] == {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {
                        "deviceClassName": given["spec"]["resourceClassName"],
                        "tolerations": given["spec"]["tolerations"],
                    },
                }
            ]
        }
    }


def test_the_old_wrapper_of_claim_sources_is_taken_off() -> None:
    result = case("old-claim-source")
    finding = only(result, "field-moved")
    assert finding.path == "spec.resourceClaims[0].source"
    assert "since Kubernetes 1.31" in finding.message
    assert "single-gpu" in only(result, "claim-found").message
    _, pod = documents(mended("old-claim-source"))
    assert pod["spec"]["resourceClaims"] == [{"name": "gpu", "resourceClaimName": "single-gpu"}]
    assert check(mended("old-claim-source")).findings == ()


def test_a_class_of_a_driver_part_that_is_off_is_told_with_its_kin() -> None:
    finding = only(case("class-of-a-missing-driver-part"), "class-unknown")
    assert finding.message.startswith("DeviceClass gpu.nvidia.com does not exist")
    assert finding.why is not None
    assert "compute-domain-daemon.nvidia.com" in finding.why
    assert "not switched on" in finding.why
    assert finding.fix is not None
    assert "for the admin" in finding.fix


def test_with_an_inventory_a_missing_class_is_an_error() -> None:
    objects = documents(text("class-of-a-missing-driver-part"))
    result = check([objects[2]], inventory=Inventory.from_objects(objects[:2]))
    assert only(result, "class-unknown").severity == "error"


def test_a_size_by_its_label_names_the_near_miss() -> None:
    finding = only(case("size-by-label"), "cel-no-match")
    assert finding.fix == "The nearest has 4864Mi, 256Mi short of 5Gi: ask for 4864Mi."


def test_more_than_is_not_at_least() -> None:
    finding = only(case("more-than-instead-of-at-least"), "strict-greater")
    assert "node-a/gpu-0 has exactly that" in finding.message
    assert finding.fix == 'For "at least" write compareTo(quantity("40Gi")) >= 0.'


def test_value_fields_of_attributes_get_their_right_names() -> None:
    result = case("value-fields-of-attributes")
    assert [(finding.code, finding.path) for finding in result.findings] == [
        ("field-moved", "spec.devices[0].attributes.model.stringValue"),
        ("field-moved", "spec.devices[0].attributes.index.intValue"),
    ]
    assert "exactly one of" in (result.findings[0].fix or "")
    (slice_,) = documents(mended("value-fields-of-attributes"))
    assert slice_["spec"]["devices"][0]["attributes"] == {"model": {"string": "M1"}, "index": {"int": 0}}


def test_an_amount_of_a_share_is_said_to_be_accounting() -> None:
    finding = only(case("share-of-three"), "share-accounting")
    assert finding.severity == "hint"


def test_a_shareable_device_without_an_amount_is_taken_whole() -> None:
    result = case("share-without-amount")
    first, second = found(result, "share-whole")
    assert "takes all of one (24Gi memory)" in first.message
    assert "leave nothing" not in str(first.why)
    assert "1 device of this kind; the claims before this one leave nothing" in str(second.why)
    assert result.clean
    assert result.count("warning") == 0


def test_devices_are_counted_by_claims_and_templates() -> None:
    assert case("own-and-common-claims").devices_needed == 6


def test_a_claim_without_a_container_is_an_error_and_given_to_the_kernel() -> None:
    finding = only(case("claim-without-container"), "claim-unused")
    assert finding.severity == "error"
    assert "container kernel" in (finding.fix or "")
    (pod,) = documents(mended("claim-without-container"))
    assert pod["spec"]["containers"][0]["resources"] == {
        "claims": [{"name": "gpu"}],
        "requests": {"cpu": "2", "memory": "8Gi"},
        "limits": {"memory": "8Gi"},
    }


def test_a_container_with_an_undeclared_claim_is_an_error_as_well() -> None:
    (pod,) = documents(text("claim-without-container"))
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "other"}]
    finding = only(check([pod]), "not-found")
    assert finding.path == "spec.containers[0].resources.claims[0]"
    assert finding.server is not None
    assert (
        'Not found: "other": must be one of the names in pod.spec.resourceClaims: gpu' in finding.server.text
    )


def test_resource_names_of_classes_depend_on_the_target() -> None:
    old = case("class-with-resource-name", target="1.35")
    assert only(old, "extended-resource-off").severity == "warning"
    assert only(old, "field-dropped").path == "spec.extendedResourceName"
    new = case("class-with-resource-name", target="1.36")
    assert [(finding.code, finding.severity) for finding in new.findings] == [("extended-resource", "hint")]
    assert "makes a claim of class gpu.nvidia.com" in new.findings[0].message
    assert new.devices_needed == 1


def test_devices_published_twice_on_a_node_are_warned_about() -> None:
    finding = only(case("plugin-and-driver"), "plugin-and-dra")
    assert "2 devices through DRA and 2 through nvidia.com/gpu" in finding.message
    assert finding.severity == "warning"


def test_the_case_of_sharing_strategies_counts_for_drivers_we_know() -> None:
    finding = only(case("sharing-strategies"), "config-value")
    assert finding.document == 0
    assert finding.path.endswith("opaque.parameters.sharing.strategy")
    assert "TimeSlicing, MPS" in finding.message
    unknown = text("sharing-strategies").replace(
        "gpu.nvidia.com\n          parameters", "gpu.other.com\n          parameters"
    )
    assert found(check(unknown), "config-value") == []


def test_sharers_through_mps_must_be_one_user() -> None:
    finding = only(case("sharers-of-two-users"), "mps-users")
    assert "users 0 and 1000" in finding.message
    assert "runAsUser" in (finding.fix or "")
    assert "time slicing" in (finding.fix or "")


def test_admin_access_needs_a_labeled_namespace() -> None:
    finding = only(case("admin-access-in-plain-namespace"), "admin-namespace")
    assert finding.server is not None
    assert finding.server.status == 422
    assert "`resource.kubernetes.io/admin-access: true` label" in finding.server.text
    assert "monitoring" in (finding.why or "")
    labeled = text("admin-access-in-plain-namespace").replace(
        "{name: team-a}", '{name: team-a, labels: {resource.kubernetes.io/admin-access: "true"}}', 1
    )
    assert check(labeled).clean


def test_who_may_label_namespaces_may_grant_himself_admin_access() -> None:
    finding = only(case("rights-on-namespaces"), "label-namespaces")
    assert finding.object is not None
    assert finding.object.name == "self-service-labels"
    assert finding.severity == "warning"


def test_a_constraint_rules_out_devices_without_its_attribute() -> None:
    finding = only(case("constraint-one-device-lacks"), "constraint-attribute")
    assert "node-a/gpu-1" in finding.message
    bare = text("constraint-one-device-lacks").replace(
        "matchAttribute: resource.kubernetes.io/pcieRoot", "matchAttribute: pcieRoot"
    )
    assert only(check(bare), "invalid").path == "spec.devices.constraints[0].matchAttribute"


def test_alpha_templates_are_refused_and_their_loose_ends_named() -> None:
    result = case("alpha-template", fix=True)
    assert result.fixed == text("alpha-template")
    assert not result.clean
    assert {finding.path for finding in result.undecided} == {
        "apiVersion",
        "spec.spec.resourceClassName",
        "spec.spec.allocationMode",
        "spec.spec.parametersRef",
        "spec.gpuClaimName",
    }
    draft = next(one.fix for one in result.undecided if one.path == "apiVersion")
    assert draft is not None
    assert """.profile == "1g.10gb\"""" in draft
    assert "# Guess: the selector stands for the profile of MigDeviceClaimParameters" in draft
    assert check(draft.partition("A draft:\n")[2]).count("error") == 0


def test_classes_a_queue_does_not_know_are_named() -> None:
    finding = only(case("queue-with-one-class"), "queue-class")
    assert "big.example.com" in finding.message


def test_names_that_cannot_exist_are_found_without_a_cluster() -> None:
    impossible = found(case("names-that-cannot-exist"), "cel-name-impossible")
    assert [finding.path.partition("selectors")[2] for finding in impossible] == [
        "[0].cel.expression",
        "[1].cel.expression",
        "[2].cel.expression",
    ]
    assert "gpu-model" in impossible[0].message
    assert "the domain is gpu.example.com and the name model" in impossible[1].message
    assert "at most 32" in impossible[2].message


def test_a_product_by_its_short_name_is_answered_with_the_names_that_exist() -> None:
    finding = only(case("product-by-short-name"), "cel-no-match")
    assert finding.object is not None
    assert finding.object.name == "c"
    assert finding.path == "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert finding.message == "0 of 2 devices satisfy this selector."
    assert finding.why == "productName is NVIDIA A100-SXM4-40GB (1), NVIDIA L4 (1)."


@pytest.mark.parametrize("target", ["1.35", "1.36", "1.37"])
def test_counters_beside_devices_are_split_off(target: str) -> None:
    assert only(case("counters-beside-devices", target=target), "counters-apart").severity == "error"
    counters, devices = documents(mended("counters-beside-devices", target=target))
    assert "devices" not in counters["spec"]
    assert "sharedCounters" not in devices["spec"]
    for slice_ in (counters, devices):
        assert slice_["spec"]["pool"] == {"name": "node-a", "generation": 1, "resourceSliceCount": 2}
    assert counters["metadata"]["name"] != devices["metadata"]["name"]
    result = check([counters, devices], target=target)
    assert {finding.code for finding in result.findings} <= {"field-dropped"}
    assert result.clean


def test_counters_beside_devices_were_right_once() -> None:
    result = case("counters-beside-devices", target="1.34")
    assert result.clean
    assert only(result, "counters-apart").severity == "hint"


def test_counters_that_no_slice_of_the_pool_has_are_named() -> None:
    counters, devices = documents(mended("counters-beside-devices"))
    counters["spec"]["sharedCounters"][0]["name"] = "other"
    assert {finding.code for finding in check([counters, devices]).findings} == {"counter-unknown"}


def test_a_card_by_its_uuid_is_a_hint() -> None:
    assert only(case("card-by-uuid"), "pinned-device").severity == "hint"


def test_a_template_of_another_namespace_is_out_of_reach() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "server", "namespace": "team-b"},
        "spec": {
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "containers": [{"name": "c", "image": "img", "resources": {"claims": [{"name": "gpu"}]}}],
        },
    }
    templates = list(yaml.safe_load_all(text("template-of-another-namespace")))
    finding = only(check([*templates, pod]), "template-missing")
    assert "is in namespace hub, not in team-b" in finding.message
    given = check([pod], inventory=Inventory.from_objects(templates))
    assert only(given, "template-missing").severity == "error"
