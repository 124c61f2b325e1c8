"""The real kubectl against the local cluster."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.localcluster_fixture import kubectl_program

Maker = Callable[..., dict[str, Any]]


class Kubectl:
    """Runs kubectl in one namespace; ``ok`` expects success, ``fails`` the opposite."""

    def __init__(self, service: Any, namespace: str, home: Path) -> None:
        self.namespace = namespace
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "KUBECONFIG": str(service.kubeconfig),
        }

    def run(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        command = [kubectl_program(), "--namespace", self.namespace, *arguments]
        documents = given if isinstance(given, list) else [given]
        text = None if given is None else "\n---\n".join(json.dumps(value) for value in documents)
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=30,
            env=self._environment,
            check=False,
        )

    def ok(self, *arguments: str, given: Any = None) -> str:
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, *arguments: str, given: Any = None) -> str:
        done = self.run(*arguments, given=given)
        assert done.returncode != 0, done.stdout
        return done.stderr


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kubectl keeps its discovery cache."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(service: Any, namespace: str, home: Path) -> Kubectl:
    return Kubectl(service, namespace, home)


def test_version_and_health(kubectl: Kubectl) -> None:
    assert "Server Version: v1.37." in kubectl.ok("version")
    assert kubectl.ok("get", "--raw", "/readyz") == "ok"
    names = kubectl.ok("api-resources", "-o", "name").split()
    assert {"pods", "resourceclaims.resource.k8s.io", "deviceclasses.resource.k8s.io"} <= set(names)


def test_apply_twice_changes_nothing_the_second_time(kubectl: Kubectl, pod: Maker, claim: Maker) -> None:
    made = [pod("p"), claim("c")]
    first = kubectl.ok("apply", "-f", "-", given=made)
    assert "pod/p created" in first
    assert "resourceclaim.resource.k8s.io/c created" in first
    revision = kubectl.ok("get", "resourceclaim", "c", "-o", "jsonpath={.metadata.resourceVersion}")
    assert "pod/p unchanged" in kubectl.ok("apply", "-f", "-", given=made)
    # The requests of a claim are replaced whole, so kubectl sends them again; the server sees no change.
    assert revision == kubectl.ok("get", "resourceclaim", "c", "-o", "jsonpath={.metadata.resourceVersion}")
    made[0]["metadata"]["labels"] = {"app": "x"}
    assert "pod/p configured" in kubectl.ok("apply", "-f", "-", given=made)


def test_a_list_of_objects_is_applied_like_its_items(
    kubectl: Kubectl, config_map: Maker, claim: Maker
) -> None:
    def listed(*items: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "List", "items": list(items)}

    good = listed(config_map("a", key="value"), claim("c"))
    assert "configmap/a created" in kubectl.ok("apply", "-f", "-", given=good)
    assert "configmap/a unchanged" in kubectl.ok("apply", "-f", "-", given=good)
    assert "configmap/a" in kubectl.ok("get", "-f", "-", "-o", "name", given=good)
    bad = listed(config_map("b") | {"dta": {}})
    assert "dta" in kubectl.fails("apply", "-f", "-", given=bad)
    kubectl.ok("delete", "-f", "-", given=good)


def test_create_refuses_what_a_real_server_refuses(kubectl: Kubectl, claim: Maker) -> None:
    flat = claim("c")
    flat["spec"]["devices"]["requests"] = [{"name": "gpu", "deviceClassName": "gpu"}]
    text = kubectl.fails("create", "-f", "-", given=flat)
    assert 'strict decoding error: unknown field "spec.devices.requests[0].deviceClassName"' in text
    kubectl.ok("create", "-f", "-", given=claim("c"))
    assert "field is immutable" in kubectl.fails("replace", "-f", "-", given=claim("c", count=2))


def test_dry_run_and_diff_store_nothing(kubectl: Kubectl, config_map: Maker) -> None:
    text = kubectl.ok("apply", "--dry-run=server", "-f", "-", given=config_map("dry"))
    assert "configmap/dry created (server dry run)" in text
    assert "NotFound" in kubectl.fails("get", "cm", "dry")
    kubectl.ok("apply", "-f", "-", given=config_map("m", a="1"))
    changed = kubectl.run("diff", "-f", "-", given=config_map("m", a="2"))
    assert changed.returncode == 1
    assert '+  a: "2"' in changed.stdout


def test_get_in_every_form(kubectl: Kubectl, pod: Maker) -> None:
    body = pod("p", nodeName="n")
    body["metadata"]["labels"] = {"app": "x"}
    kubectl.ok("create", "-f", "-", given=body)
    assert kubectl.ok("get", "pods").split("\n")[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    wide = kubectl.ok("get", "pods", "-o", "wide")
    assert wide.split("\n")[1].split()[:3] == ["p", "0/1", "Pending"]
    assert " n " in wide
    assert json.loads(kubectl.ok("get", "pod", "p", "-o", "json"))["kind"] == "Pod"
    assert yaml.safe_load(kubectl.ok("get", "pods", "-o", "yaml"))["items"][0]["metadata"]["name"] == "p"
    assert kubectl.ok("get", "pods", "-o", "name", "-l", "app=x") == "pod/p\n"
    assert kubectl.ok("get", "pods", "-l", "app=y") == ""
    assert "p " in kubectl.ok("get", "pods", "-A", "--field-selector", "spec.nodeName=n")
    assert kubectl.ok("get", "pods", "-o", "custom-columns=N:.metadata.name", "--no-headers") == "p\n"
    assert "p " in kubectl.ok("get", "po", "--sort-by", "metadata.name")
    assert "pod/p" in kubectl.ok("get", "all")


def test_get_with_watch_shows_changes(kubectl: Kubectl, service: Any, namespace: str, pod: Maker) -> None:
    kubectl.ok("create", "-f", "-", given=pod("p"))
    command = [kubectl_program(), "-n", namespace, "get", "pods", "-w", "--output-watch-events"]
    environment = {**os.environ, "KUBECONFIG": str(service.kubeconfig)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[:2] == ["EVENT", "NAME"]
        assert process.stdout.readline().split()[:2] == ["ADDED", "p"]
        service.admin.patch(f"/api/v1/namespaces/{namespace}/pods/p/status", {"status": {"phase": "Running"}})
        lines = (line.split() for line in process.stdout)
        assert any(line[:4] == ["MODIFIED", "p", "0/1", "Running"] for line in lines)
        service.admin.delete(f"/api/v1/namespaces/{namespace}/pods/p")
        assert any(line[:2] == ["DELETED", "p"] for line in lines)
        process.terminate()


def test_describe_pods_claims_nodes_and_more(
    kubectl: Kubectl, service: Any, pod: Maker, claim: Maker
) -> None:
    kubectl.ok("create", "-f", "-", given=[pod("p"), claim("c")])
    value = service.admin.get(f"/api/v1/namespaces/{kubectl.namespace}/pods/p").json()
    uid = value["metadata"]["uid"]
    event = {
        "metadata": {"name": "p.1"},
        "involvedObject": {"kind": "Pod", "namespace": kubectl.namespace, "name": "p", "uid": uid},
        "reason": "FailedScheduling",
        "message": "0/1 nodes are available",
        "type": "Warning",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    assert service.admin.post(f"/api/v1/namespaces/{kubectl.namespace}/events", event).status_code == 201
    text = kubectl.ok("describe", "pod", "p")
    assert "0/1 nodes are available" in text
    assert "Device Class Name:  gpu" in kubectl.ok("describe", "resourceclaim", "c")
    assert "FailedScheduling" in kubectl.ok("get", "events")
    assert "FailedScheduling" in kubectl.ok("events")
    service.admin.post("/api/v1/nodes", {"metadata": {"name": "n-kubectl"}})
    assert "n-kubectl" in kubectl.ok("describe", "node", "n-kubectl")
    assert "No resource quota" in kubectl.ok("describe", "ns", kubectl.namespace)
    service.admin.delete("/api/v1/nodes/n-kubectl")


def test_label_annotate_and_patch(kubectl: Kubectl, pod: Maker) -> None:
    kubectl.ok("create", "-f", "-", given=pod("p"))
    assert "labeled" in kubectl.ok("label", "pod", "p", "app=x")
    assert "annotated" in kubectl.ok("annotate", "pod", "p", "note=hello")
    kubectl.ok("patch", "pod", "p", "-p", '{"metadata":{"labels":{"b":"c"}}}')
    kubectl.ok("patch", "pod", "p", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels/app"}]')
    kubectl.ok(
        "patch", "pod", "p", "--type=merge", "--subresource=status", "-p", '{"status":{"phase":"Running"}}'
    )
    value = json.loads(kubectl.ok("get", "pod", "p", "-o", "json"))
    assert value["metadata"]["labels"] == {"b": "c"}
    assert value["metadata"]["annotations"] == {"note": "hello"}
    assert value["status"]["phase"] == "Running"


def test_wait_sees_a_condition_and_a_deletion(kubectl: Kubectl, service: Any, pod: Maker) -> None:
    kubectl.ok("create", "-f", "-", given=pod("p"))
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/p"
    condition = {"type": "Ready", "status": "True"}
    service.admin.patch(f"{path}/status", {"status": {"conditions": [condition]}})
    assert "condition met" in kubectl.ok("wait", "pod/p", "--for=condition=Ready", "--timeout=10s")
    assert "timed out" in kubectl.fails("wait", "pod/p", "--for=delete", "--timeout=1s")
    service.admin.delete(path)
    kubectl.ok("wait", "pod/p", "--for=delete", "--timeout=10s")


def test_delete_waits_until_the_object_is_gone(
    kubectl: Kubectl, service: Any, claim: Maker, pod: Maker
) -> None:
    kubectl.ok("create", "-f", "-", given=[claim("c"), pod("p", nodeName="n")])
    assert "deleted" in kubectl.ok("delete", "resourceclaim", "c", "--wait")
    assert "timed out" in kubectl.fails("delete", "pod", "p", "--timeout=1s")
    assert "Terminating" in kubectl.ok("get", "pod", "p")
    assert "deleted" in kubectl.ok("delete", "pod", "p", "--force", "--grace-period=0")
    assert "NotFound" in kubectl.fails("get", "pod", "p")
    assert "deleted" in kubectl.ok("delete", "cm", "--all")


def test_create_by_command_sends_protobuf_and_is_understood(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl.ok("create", "secret", "generic", "s", "--from-literal=password=höchst geheim")
    kubectl.ok("create", "configmap", "m", "--from-literal=a=b")
    kubectl.ok("create", "serviceaccount", "robot")
    kubectl.ok("create", "quota", "q", "--hard=pods=5,requests.memory=1Gi")
    kubectl.ok("create", "namespace", f"{kubectl.namespace}-more")
    secret = json.loads(kubectl.ok("get", "secret", "s", "-o", "json"))
    assert secret["type"] == "Opaque"
    assert secret["data"] == {"password": "aMO2Y2hzdCBnZWhlaW0="}
    assert "pods: 0/5" in kubectl.ok("get", "quota", "q")
    assert "robot" in kubectl.ok("get", "sa")
    kubectl.ok("delete", "namespace", f"{kubectl.namespace}-more")


def test_auth_answers_for_oneself_and_for_others(kubectl: Kubectl, service: Any) -> None:
    assert kubectl.ok("auth", "can-i", "create", "resourceclaims") == "yes\n"
    assert "admin" in kubectl.ok("auth", "whoami")
    as_ada = kubectl.run("auth", "can-i", "list", "nodes", f"--token={service.tokens['ada']}")
    assert (as_ada.returncode, as_ada.stdout) == (1, "no\n")
    assert "*.*" in kubectl.ok("auth", "can-i", "--list")


def test_a_role_made_by_kubectl_counts(kubectl: Kubectl, service: Any) -> None:
    kubectl.ok(
        "create",
        "-f",
        "-",
        given=[
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "reader"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "reader"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
                "subjects": [{"kind": "User", "name": "bob"}],
            },
        ],
    )
    assert (
        service.user(service.tokens["bob"]).get(f"/api/v1/namespaces/{kubectl.namespace}/pods").status_code
        == 200
    )


def test_explain_knows_the_fields(kubectl: Kubectl) -> None:
    assert "deviceClassName" in kubectl.ok("explain", "resourceclaim.spec.devices.requests.exactly")


@pytest.mark.local_only("the real one does it")
def test_what_is_left_out_fails_with_a_plain_word(kubectl: Kubectl, pod: Maker, config_map: Maker) -> None:
    kubectl.ok("create", "-f", "-", given=pod("p", nodeName="n"))
    applied = kubectl.fails("apply", "--server-side", "-f", "-", given=config_map("m"))
    assert "does not implement server-side apply" in applied
    assert kubectl.fails("exec", "p", "--", "true")
