"""The printed roles: complete enough for the product, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_dra.cluster import AUDIENCES, KubeClient, rbac
from jupyter_dra.errors import InputError


def rules(audience: str) -> list[dict[str, Any]]:
    return [rule for item in rbac(audience)["items"] for rule in item.get("rules") or []]


@pytest.mark.threat("T13")
@pytest.mark.threat("T48")
@pytest.mark.parametrize("audience", AUDIENCES)
def test_no_role_lists_secrets_uses_wildcards_or_changes_namespaces(audience: str) -> None:
    for rule in rules(audience):
        assert "*" not in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]
        if "secrets" in rule["resources"]:
            assert not {"list", "watch", "deletecollection"} & set(rule["verbs"])
        if "namespaces" in rule["resources"]:
            assert set(rule["verbs"]) <= {"get", "list", "watch"}


def test_the_user_role_allows_port_forward_with_get_and_create() -> None:
    verbs = [set(rule["verbs"]) for rule in rules("user") if "pods/portforward" in rule["resources"]]
    assert verbs == [{"get", "create"}]


def test_occupancy_is_a_right_of_its_own() -> None:
    assert [rule["resources"] for rule in rules("occupancy")] == [["resourceclaims"]]
    assert all("resourceclaims" not in rule["resources"] for rule in rules("viewer"))


def test_the_subject_can_be_a_user_or_group() -> None:
    bindings = [
        item
        for item in rbac("viewer", subject={"kind": "Group", "name": "team"})["items"]
        if "roleRef" in item
    ]
    assert bindings[0]["subjects"] == [
        {"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}
    ]


def test_an_unknown_audience_is_refused() -> None:
    with pytest.raises(InputError):
        rbac("root")


@pytest.mark.parametrize("audience", AUDIENCES)
def test_the_api_server_accepts_every_printed_object(run: Any, audience: str) -> None:
    async def test(client: KubeClient) -> None:
        for item in rbac(audience)["items"]:
            await client.create(item, dry_run=True)

    run(test)
