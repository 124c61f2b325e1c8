"""Who may do what: tokens, roles, reviews."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import eventually

Maker = Callable[..., dict[str, Any]]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
AUTH = "/apis/authorization.k8s.io/v1"


@pytest.fixture
def ada(service: Any) -> Any:
    return service.user(service.tokens["ada"])


def grant(api: Any, namespace: str, name: str, rules: list[dict[str, Any]], user: str = "ada") -> None:
    """A role of these rules, bound to a user."""
    group = "rbac.authorization.k8s.io"
    role = {"metadata": {"name": name}, "rules": rules}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }
    for plural, body in (("roles", role), ("rolebindings", binding)):
        answer = api.post(f"{RBAC}/namespaces/{namespace}/{plural}", body)
        assert answer.status_code == 201, answer.text


def rule(groups: str, resources: str, verbs: str, **more: Any) -> dict[str, Any]:
    return {
        "apiGroups": groups.split(","),
        "resources": resources.split(","),
        "verbs": verbs.split(","),
        **more,
    }


@pytest.mark.threat("T39")
@pytest.mark.parametrize("token", [None, "wrong", "", "a.b.c"])
def test_without_a_good_token_nothing_is_told(service: Any, token: str | None) -> None:
    user = service.user(token)
    for path in ("/api/v1/pods", "/version", "/readyz", "/anything"):
        answer = user.get(path)
        assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


@pytest.mark.threat("T39")
def test_a_token_in_the_query_or_in_another_scheme_counts_for_nothing(service: Any) -> None:
    user = service.user(None)
    token = service.admin_token
    assert user.get("/version", params={"token": token, "access_token": token}).status_code == 401
    assert user.get("/version", headers={"Authorization": f"Basic {token}"}).status_code == 401
    protocol = {"Sec-WebSocket-Protocol": f"base64url.bearer.authorization.k8s.io.{token}"}
    assert user.get("/version", headers=protocol).status_code == 401


@pytest.mark.local_only("the real one expects no browsers of its own machine")
@pytest.mark.threat("T39")
def test_a_foreign_host_or_origin_is_refused(api: Any) -> None:
    assert api.get("/version", headers={"Host": "evil.example.com"}).status_code == 403
    assert api.get("/version", headers={"Origin": "https://evil.example.com"}).status_code == 403
    port = api.http.base_url.port
    assert api.get("/version", headers={"Host": f"localhost:{port}"}).status_code == 200
    assert api.get("/version", headers={"Origin": f"https://127.0.0.1:{port}"}).status_code == 200


def test_a_refusal_says_who_may_not_do_what_and_where(ada: Any, namespace: str, pod: Maker) -> None:
    answer = ada.post(f"/api/v1/namespaces/{namespace}/pods", pod("p"))
    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
    assert answer.json()["message"] == (
        f'pods is forbidden: User "ada" cannot create resource "pods" in API group "" in the namespace "{namespace}"'
    )
    claim = ada.get(f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/c")
    assert claim.json()["message"] == (
        f'resourceclaims.resource.k8s.io "c" is forbidden: User "ada" cannot get resource "resourceclaims" '
        f'in API group "resource.k8s.io" in the namespace "{namespace}"'
    )
    nodes = ada.get("/api/v1/nodes")
    assert nodes.json()["message"].endswith(
        'cannot list resource "nodes" in API group "" at the cluster scope'
    )


def test_roles_are_evaluated_verb_by_verb_and_name_by_name(
    api: Any, ada: Any, namespace: str, config_map: Maker
) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in ("mine", "other"):
        api.post(maps, config_map(name))
    grant(api, namespace, "some", [rule("", "configmaps", "get,patch", resourceNames=["mine"])])
    assert ada.get(f"{maps}/mine").status_code == 200
    assert ada.get(f"{maps}/other").status_code == 403
    assert ada.get(maps).status_code == 403
    assert ada.patch(f"{maps}/mine", {"data": {"a": "b"}}).status_code == 200
    assert ada.delete(f"{maps}/mine").status_code == 403


def test_a_watch_needs_its_own_verb_and_a_status_its_own_resource(
    api: Any, ada: Any, namespace: str, pod: Maker
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.post(pods, pod("p"))
    grant(api, namespace, "some", [rule("", "pods", "get,list,patch")])
    assert ada.get(pods).status_code == 200
    assert ada.get(pods, params={"watch": "true"}).status_code == 403
    refused = ada.patch(f"{pods}/p/status", {"status": {"phase": "Running"}})
    assert refused.status_code == 403
    assert 'cannot patch resource "pods/status"' in refused.json()["message"]


def test_group_and_service_account_subjects_count(api: Any, ada: Any, namespace: str) -> None:
    body = {
        "metadata": {"name": "team"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [
            {"kind": "Group", "name": "team-a", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": "default", "namespace": namespace},
        ],
    }
    assert api.post(f"{RBAC}/namespaces/{namespace}/rolebindings", body).status_code == 201
    eventually(lambda: ada.get(f"/api/v1/namespaces/{namespace}/pods").status_code == 200)
    assert ada.get(f"/api/v1/namespaces/{namespace}/secrets").status_code == 403


def test_a_service_account_token_is_its_account_until_that_is_gone(
    api: Any, service: Any, namespace: str
) -> None:
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.post(accounts, {"metadata": {"name": "robot"}})
    answer = api.post(f"{accounts}/robot/token", {"spec": {"expirationSeconds": 600}})
    assert answer.status_code == 201
    token = answer.json()["status"]["token"]
    robot = service.user(token)
    review = robot.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}).json()
    info = review["status"]["userInfo"]
    assert info["username"] == f"system:serviceaccount:{namespace}:robot"
    assert f"system:serviceaccounts:{namespace}" in info["groups"]
    seen = api.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}}).json()
    assert seen["status"]["authenticated"] is True
    forged = token[:-4] + ("AAAA" if not token.endswith("AAAA") else "BBBB")
    assert service.user(forged).get("/version").status_code == 401
    api.delete(f"{accounts}/robot")
    eventually(lambda: robot.get("/version").status_code == 401, 20)  # the real one believes it for 10 s more
    assert api.post(f"{accounts}/default/token", {"spec": {"expirationSeconds": 5}}).status_code == 422


def test_access_reviews_answer_for_oneself_and_for_others(api: Any, ada: Any, namespace: str) -> None:
    grant(api, namespace, "some", [rule("resource.k8s.io", "resourceclaims", "create")])

    def asks(asker: Any, plural: str, **spec: Any) -> dict[str, Any]:
        attributes = {
            "namespace": namespace,
            "verb": "create",
            "group": "resource.k8s.io",
            "resource": "resourceclaims",
        }
        answer = asker.post(f"{AUTH}/{plural}", {"spec": {"resourceAttributes": attributes, **spec}})
        assert answer.status_code == 201, answer.text
        return dict(answer.json()["status"])

    own = asks(ada, "selfsubjectaccessreviews")
    assert own["allowed"] is True
    assert "RoleBinding" in own["reason"]
    assert asks(api, "subjectaccessreviews", user="bob") == {"allowed": False}
    assert asks(api, "subjectaccessreviews", user="ada")["allowed"] is True
    assert ada.post(f"{AUTH}/subjectaccessreviews", {"spec": {}}).status_code == 403
    rules = ada.post(f"{AUTH}/selfsubjectrulesreviews", {"spec": {"namespace": namespace}}).json()["status"]
    wanted = {"verbs": ["create"], "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"]}
    assert wanted in rules["resourceRules"]
    assert rules["incomplete"] is False


def test_nobody_grants_more_than_he_has(api: Any, ada: Any, namespace: str) -> None:
    rules = [
        rule("rbac.authorization.k8s.io", "roles,rolebindings", "create,update,patch,get"),
        rule("", "pods", "get,list"),
    ]
    grant(api, namespace, "manager", rules)
    roles = f"{RBAC}/namespaces/{namespace}/roles"
    small = {"metadata": {"name": "small"}, "rules": [rule("", "pods", "get")]}
    assert ada.post(roles, small).status_code == 201
    large = {"metadata": {"name": "large"}, "rules": [rule("", "pods,secrets", "get")]}
    refused = ada.post(roles, large)
    assert refused.status_code == 403
    assert "is attempting to grant RBAC permissions not currently held" in refused.json()["message"]
    assert "secrets" in refused.json()["message"]
    binding = {
        "metadata": {"name": "up"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
        "subjects": [{"kind": "User", "name": "ada", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    assert ada.post(f"{RBAC}/namespaces/{namespace}/rolebindings", binding).status_code == 403


@pytest.mark.local_only("its own agent and control plane")
def test_agent_and_control_plane_have_their_own_users_and_rights(service: Any, api: Any, pod: Maker) -> None:
    tokens = {}
    for name in ("agent", "control"):
        config = json.loads((service.folder / f"{name}.kubeconfig").read_text())
        tokens[name] = config["users"][0]["user"]["token"]
    agent, control = service.user(tokens["agent"]), service.user(tokens["control"])
    assert agent.post("/api/v1/nodes", {"metadata": {"name": "n-rights"}}).status_code == 201
    assert agent.post("/api/v1/namespaces", {"metadata": {"name": "no"}}).status_code == 403
    assert control.get("/apis/resource.k8s.io/v1/resourceslices").status_code == 200
    assert control.get("/api/v1/secrets").status_code == 403
    api.delete("/api/v1/nodes/n-rights")


def test_an_administrator_can_act_as_somebody_else_and_others_cannot(
    api: Any, ada: Any, namespace: str
) -> None:
    grant(api, namespace, "some", [rule("", "pods", "list")], user="carl")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert api.get(pods, headers={"Impersonate-User": "carl"}).status_code == 200
    assert api.get("/api/v1/nodes", headers={"Impersonate-User": "carl"}).status_code == 403
    refused = ada.get(pods, headers={"Impersonate-User": "carl"})
    assert refused.status_code == 403
    assert 'User "ada" cannot impersonate-on:user-info:list resource "pods"' in refused.json()["message"]
    as_team = {"Impersonate-User": "x", "Impersonate-Group": "system:masters"}
    assert api.get("/api/v1/nodes", headers=as_team).status_code == 200
    account = {"Impersonate-User": f"system:serviceaccount:{namespace}:default"}
    info = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=account).json()
    assert f"system:serviceaccounts:{namespace}" in info["status"]["userInfo"]["groups"]
    assert api.get(pods, headers={"Impersonate-Group": "x"}).status_code == 400
