"""What is in a server's pod and what is refused before there is one."""

from __future__ import annotations

from typing import Any

import pytest
from tornado import web

from jupyter_dra.errors import InputError
from jupyter_dra.hub import check_profiles
from tests.hub.spawners import Stories, choose, make_spawner
from tests.localcluster_fixture import LocalCluster

TIERS = [
    {"name": "small", "device_class": "small-gpu", "counts": [1, 2], "former": ["gpu-old"]},
    {"name": "large", "device_class": "high-memory-gpu", "counts": [1]},
]


def pod_of(stories: Stories, options: dict[str, Any], **settings: Any) -> dict[str, Any]:
    async def story() -> Any:
        return await choose(make_spawner(**{"tiers": TIERS, **settings}), options)

    found: dict[str, Any] = stories.run(story)["spec"]
    return found


def refusal(stories: Stories, options: dict[str, Any], **settings: Any) -> tuple[int, str]:
    with pytest.raises(web.HTTPError) as caught:
        pod_of(stories, options, **settings)
    return caught.value.status_code, caught.value.jupyterhub_message  # type: ignore[attr-defined]


def test_claims_stand_beside_limits_and_beside_claims_written_by_hand(stories: Stories) -> None:
    spec = pod_of(
        stories,
        {"tier": "small"},
        cpu_limit=4,
        cpu_guarantee=1,
        mem_limit="16G",
        extra_pod_config={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-{username}"}]},
        extra_container_config={"resources": {"claims": [{"name": "gpu"}], "limits": {"example.com/x": "1"}}},
    )
    resources = spec["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": 4.0, "memory": 16 * 2**30, "example.com/x": "1"}
    assert resources["requests"]["cpu"] == 1.0
    assert resources["claims"] == [{"name": "gpu"}, {"name": "device"}]
    assert [one["name"] for one in spec["resourceClaims"]] == ["gpu", "device"]
    assert spec["resourceClaims"][0]["resourceClaimName"] == "gpu-ada"


def test_limits_stay_with_claims_of_the_configuration_alone(stories: Stories) -> None:
    spec = pod_of(
        stories,
        {},
        cpu_limit=4,
        mem_limit="16G",
        extra_pod_config={"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-{username}"}]},
        extra_container_config={"resources": {"claims": [{"name": "gpu"}]}},
    )
    assert spec["containers"][0]["resources"]["limits"] == {"cpu": 4.0, "memory": 16 * 2**30}
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "gpu"}]


def test_one_name_for_two_claims_is_refused_with_both_places(stories: Stories) -> None:
    status, text = refusal(
        stories,
        {"tier": "small"},
        extra_pod_config={"resourceClaims": [{"name": "device", "resourceClaimName": "other"}]},
    )
    assert status == 400
    assert "extra_pod_config.resourceClaims" in text and "the chosen tier" in text


@pytest.mark.parametrize("name", ["gpu-{nobody}", "gpu-{{username}}"])
def test_a_placeholder_nobody_fills_in_never_reaches_the_cluster(stories: Stories, name: str) -> None:
    extra = {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}
    status, text = refusal(stories, {}, extra_pod_config=extra)
    assert status == 400 and "placeholder" in text


PROFILES: list[dict[str, Any]] = [
    {"slug": "cpu", "display_name": "No GPU", "default": True},
    {
        "slug": "gpu-new",
        "display_name": "One GPU",
        "former": ["gpu-before"],
        "dra": {"tier": "small"},
        "kubespawner_override": {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    },
    {"slug": "short", "display_name": "By override", "kubespawner_override": {"tier": "large"}},
    {
        "slug": "lab",
        "display_name": "Lab",
        "profile_options": {
            "gpu": {
                "display_name": "GPU",
                "choices": {
                    "none": {"display_name": "none", "default": True},
                    "one": {"display_name": "one", "dra": {"tier": "high-memory-gpu"}},
                },
            },
            "scratch": {
                "display_name": "Network card",
                "choices": {
                    "none": {"display_name": "none", "default": True},
                    "fast": {"display_name": "fast", "dra": {"tier": "rdma-nic"}},
                },
                "unlisted_choice": {
                    "enabled": True,
                    "display_name": "Other",
                    "validation_regex": "[a-z]+",
                    "kubespawner_override": {"environment": {"SCRATCH": "{value}"}},
                },
            },
        },
    },
]


def test_two_choices_put_two_claims_side_by_side(stories: Stories) -> None:
    both = pod_of(stories, {"profile": "lab", "gpu": "one", "scratch": "fast"}, profile_list=PROFILES)
    assert [one["name"] for one in both["resourceClaims"]] == ["gpu", "scratch"]
    assert both["containers"][0]["resources"]["claims"] == [{"name": "gpu"}, {"name": "scratch"}]
    assert len({one["resourceClaimName"] for one in both["resourceClaims"]}) == 2
    second = pod_of(stories, {"profile": "lab", "gpu": "none", "scratch": "fast"}, profile_list=PROFILES)
    assert [one["name"] for one in second["resourceClaims"]] == ["scratch"]


def test_a_profile_or_its_override_brings_a_device(stories: Stories) -> None:
    for slug in ("gpu-new", "gpu-before", "short"):
        spec = pod_of(stories, {"profile": slug}, profile_list=PROFILES)
        assert [one["name"] for one in spec["resourceClaims"]] == ["device"], slug
    assert "resourceClaims" not in pod_of(stories, {"profile": "cpu"}, profile_list=PROFILES)
    # KubeSpawner's dictionaries merge, the claims of an earlier choice do not come along.
    assert "tolerations" not in pod_of(stories, {"profile": "cpu"}, profile_list=PROFILES)


@pytest.mark.threat("T46")
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"profile": "gpu-old"}, "gpu-old"),
        ({"profile": ["cpu"]}, "profile"),
        ({"profile": "lab", "gpu": "two"}, "gpu"),
        ({"profile": "lab", "gpu": ["one"]}, "gpu"),
        ({"profile": "lab", "gpu--unlisted-choice": "x"}, "gpu--unlisted-choice"),
        ({"profile": "lab", "scratch--unlisted-choice": "fast; rm"}, "scratch--unlisted-choice"),
        ({"profile": "lab", "scratch--unlisted-choice": "fast\n"}, "scratch--unlisted-choice"),
        ({"profile": "lab", "scratch--unlisted-choice": "{unescaped_username}"}, "scratch--unlisted-choice"),
        ({"profile": "gpu-new", "tier": "large"}, "tier"),
        ({"profile": "cpu", "gpu": "one"}, "gpu"),
    ],
)
def test_profile_choices_that_are_not_offered_are_refused(
    stories: Stories, options: dict[str, Any], field: str
) -> None:
    status, text = refusal(stories, options, profile_list=PROFILES)
    assert status in (400, 403) and field in text


@pytest.mark.threat("T46")
@pytest.mark.parametrize(
    ("options", "status", "field"),
    [
        ({"tier": "small", "count": 16}, 403, "count"),
        ({"tier": "small", "count": True}, 400, "count"),
        ({"tier": "high-memory-gpu"}, 400, "tier"),
        ({"tier": "small", "deviceClassName": "high-memory-gpu"}, 400, "deviceClassName"),
        ({"tier": "small", "where": ["true"]}, 403, "where"),
        ({"tier": "small", "selectors": ["true"]}, 400, "selectors"),
        ({"tier": "small", "product": 'X" || true || "'}, 403, "product"),
        ({"tier": "small", "adminAccess": True}, 400, "adminAccess"),
        ({"tier": "small", "tolerate": [{"operator": "Exists"}]}, 403, "tolerate"),
        ({"tier": "small", "tolerations": [{"operator": "Exists"}]}, 400, "tolerations"),
        ({"tier": "small", "config": {}}, 400, "config"),
        ({"tier": "small", "claim": "team-gpu"}, 400, "claim"),
        ({"tier": "small", "near": [{"tier": "rdma-nic"}]}, 400, "near"),
        ({"tier": "small", "share": {"strategy": "mps"}}, 403, "share"),
        ({"tier": "small", "vram": "80GB\n"}, 400, "vram"),
        ({"tier": "small", "vram": "{unescaped_username}"}, 400, "vram"),
        ({"tier": "small", "vram": "much"}, 400, "vram"),
        ({"tier": ["small"]}, 400, "tier"),
        ({"tier": "none", "vram": "80GB"}, 400, "vram"),
        ({"vram": "80GB"}, 400, "vram"),
        ({"profile": "small"}, 400, "profile"),
        ({"tier": "small", "vram": "80GB"}, 400, "80 GB"),
    ],
)
def test_an_api_start_is_held_to_what_the_form_offers(
    stories: Stories, options: dict[str, Any], status: int, field: str
) -> None:
    found, text = refusal(stories, options)
    assert (found, field in text) == (status, True), text


@pytest.mark.threat("T46")
def test_allowed_text_reaches_a_selector_only_as_a_literal(stories: Stories) -> None:
    hostile = 'X" || true || "'
    tiers = [{"name": "small", "device_class": "small-gpu", "fields": ["product"]}]
    status, text = refusal(stories, {"tier": "small", "product": hostile}, tiers=tiers)
    assert status == 400 and text.startswith("Not possible here")


def test_names_of_last_term_go_on_to_work(stories: Stories) -> None:
    assert "resourceClaims" in pod_of(stories, {"tier": "gpu-old"})
    status, text = refusal(stories, {"tier": "gpu-older"})
    assert status == 400 and "Offered: small, large" in text


def test_groups_see_their_tiers_and_nobody_else_gets_them(stories: Stories) -> None:
    tiers = [{"name": "ours", "device_class": "small-gpu", "groups": ["research"]}]
    assert refusal(stories, {"tier": "ours"}, tiers=tiers)[0] == 400
    assert "resourceClaims" in pod_of(stories, {"tier": "ours"}, tiers=tiers, groups=("research",))


def test_without_a_setting_the_classes_are_offered_but_not_hidden_ones(stories: Stories) -> None:
    assert "resourceClaims" in pod_of(stories, {"tier": "medium-gpu"}, tiers=None)
    assert refusal(stories, {"tier": "no-such-class"}, tiers=None)[0] == 400


def test_a_template_must_be_in_the_servers_namespace(stories: Stories, cluster: LocalCluster) -> None:
    def template(namespace: str, device_class: str) -> dict[str, Any]:
        request = {"name": "gpu", "exactly": {"deviceClassName": device_class}}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one-gpu", "namespace": namespace},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }

    cluster.apply(template("default", "small-gpu"), template("team-c", "high-memory-gpu"))
    tiers = [{"name": "one", "requirement": {"claim": "template/one-gpu"}}]
    spec = pod_of(stories, {"tier": "one"}, tiers=tiers)
    assert spec["resourceClaims"] == [{"name": "device", "resourceClaimTemplateName": "one-gpu"}]
    status, text = refusal(stories, {"tier": "one"}, tiers=tiers, namespace="team-b")
    assert status == 400 and "exists in default but not in team-b" in text
    assert refusal(stories, {"tier": "one", "vram": "80GB"}, tiers=tiers)[0] == 403

    async def elsewhere() -> list[str]:
        spawner = make_spawner(tiers=tiers, namespace="team-c")
        await choose(spawner, {"tier": "one"})
        return spawner.server_claims.notices

    (notice,) = stories.run(elsewhere)
    assert "is not the one of default" in notice


def test_a_claim_written_out_by_the_admin_is_made_for_the_user(stories: Stories) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "small-gpu"}}
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": [request]}},
    }
    tiers = [{"name": "written", "requirement": {"claim": manifest}}]
    spec = pod_of(stories, {"tier": "written"}, tiers=tiers, namespace="team-b")
    assert spec["resourceClaims"][0]["resourceClaimName"].startswith("jupyter-ada-")


def test_a_profile_list_that_contradicts_itself_is_told_with_both_places() -> None:
    def option(image: str) -> dict[str, Any]:
        choices = {
            "plain": {"display_name": "-"},
            "own": {"display_name": "+", "kubespawner_override": {"image": image}},
        }
        return {"display_name": "x", "choices": choices}

    with pytest.raises(InputError, match="image is set by lab/first/own and by lab/second/own"):
        check_profiles(
            [
                {
                    "slug": "lab",
                    "display_name": "Lab",
                    "profile_options": {"first": option("a"), "second": option("b")},
                }
            ]
        )
    with pytest.raises(InputError, match="profile bad"):
        check_profiles([{"slug": "bad", "display_name": "Bad", "dra": {"teir": "x"}}])
    check_profiles(PROFILES)


def test_a_configured_start_timeout_counts_from_the_device(stories: Stories) -> None:
    async def story() -> tuple[int, int]:
        plain = make_spawner()
        plain.config.KubeSpawner.start_timeout = 300
        return plain.launch_timeout, make_spawner().launch_timeout

    assert stories.run(story) == (300, 600)
