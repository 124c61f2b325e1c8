"""A KubeSpawner that gives each server the device its user chose."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from kubernetes_asyncio import client as k8s
from kubespawner import KubeSpawner
from kubespawner.clients import shared_client
from tornado import web
from traitlets import Bool, Dict, Integer, List, Set, Unicode, default

from ..claims import Requirement, build_claim, hashed_slug, labels, pod_claims
from ..errors import DRAError, RefusedError, RequirementError
from . import words
from .form import render
from .options import NO_DEVICE, USER_FIELDS, Rules, TierOffer, options_from_form, read_choice, split_options
from .watching import GROUP, ClusterView

_LOOK_SECONDS = 1.0
_PROFILE_KEY = "dra"


class DRASpawner(KubeSpawner):
    """A KubeSpawner whose form offers tiers and device memory.

    Set ``c.JupyterHub.spawner_class = "dra"``. Everything KubeSpawner can be told still holds; profiles may carry a
    ``dra`` key (a requirement), choices of profile options too. The hub's service account needs ``jupyter dra rbac hub``.
    """

    tiers = List(
        None,
        allow_none=True,
        config=True,
        help="""What the form offers: DeviceClass names, or objects with name, device_class, display_name, description,
        requirement, counts, former, fields. None offers every visible class, an empty list none.""",
    )
    requirement = Dict(
        config=True,
        help="""Requirement fields every server gets (for instance {"tier": "gpu-small"}); a profile's kubespawner_override
        may set it too. What it says, users cannot change.""",
    )
    tier = Unicode("", config=True, help="Short for requirement['tier'], for profiles.")
    vram = Unicode("", config=True, help="Short for requirement['vram'], for profiles.")
    user_fields = Set(
        Unicode(),
        default_value=set(USER_FIELDS),
        config=True,
        help="Requirement fields that users may set; add 'where' to allow CEL of their own.",
    )
    allow_none = Bool(True, config=True, help="Whether a server without a device may be started.")
    max_devices = Integer(
        8,
        config=True,
        min=0,
        help="Devices one user may hold at a time in this hub, starting servers included.",
    )
    group_max_devices = Dict(
        value_trait=Integer(),
        key_trait=Unicode(),
        config=True,
        help="Higher limits by hub group; the highest counts.",
    )
    wait_timeout = Integer(7200, config=True, help="Seconds a server may wait for a free device.")
    launch_timeout = Integer(600, config=True, help="Seconds from the reserved device to the running server.")
    show_holders = Bool(False, config=True, help="Whether users read who holds the devices they wait for.")

    views: ClassVar[dict[str, ClusterView]] = {}
    #: Devices of servers that are starting, by user: counted before their claims exist (threat T33).
    starting: ClassVar[dict[str, dict[str, int]]] = {}

    _claim_name = ""
    _claim_uid = ""
    _requirement: Requirement | None = None
    _admin_created_hook: Any = None

    @default("start_timeout")
    def _start_timeout_default(self) -> int:
        return self.wait_timeout + self.launch_timeout

    # What the cluster offers

    @property
    def view(self) -> ClusterView:
        """The hub's shared picture of the cluster for this namespace."""
        key = self.namespace
        if key not in type(self).views:
            type(self).views[key] = ClusterView(
                shared_client("CoreV1Api").api_client, self.namespace, self.log
            )
        return type(self).views[key]

    @property
    def rules(self) -> Rules:
        """What this user may choose."""
        offers = None if self.tiers is None else tuple(TierOffer.from_config(one) for one in self.tiers)
        return Rules(offers, frozenset(self.user_fields), self.allow_none)

    # Form and options

    @default("options_form")
    def _options_form_default(self) -> Any:
        # A profile list that carries its own devices keeps KubeSpawner's form; ours comes below it.
        return self._device_form

    async def _device_form(self, spawner: KubeSpawner) -> str:
        profile_form = ""
        if self.profile_list:
            profiles = self._sorted_dict_values(self.profile_list)
            if callable(profiles):
                profile_form = await self._render_options_form_dynamically(spawner)
            else:
                profile_form = self._render_options_form(profiles)
            if self.tiers is None:
                return str(profile_form)
        tiers = await self.view.ask(lambda inventory: inventory.tiers())
        chosen = dict(self.user_options or {})
        gone = None
        wished = chosen.get("tier")
        if wished and wished != NO_DEVICE:
            offer = self.rules.find(str(wished))
            known = {tier["name"] for tier in tiers}
            if offer is None or str(offer.requirement.get("tier")) not in known:
                gone, chosen = str(wished), {}
            else:
                chosen["tier"] = offer.name
        return str(profile_form) + render(
            self.rules, tiers, chosen=chosen, gone=gone, holders_note=self._held_words()
        )

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return self._read_form

    def _read_form(self, form: Mapping[str, Any]) -> dict[str, Any]:
        ours = options_from_form(form)
        rest = {name: value for name, value in form.items() if not name.startswith("dra-")}
        return {**self._options_from_form(rest), **ours}

    async def load_user_options(self) -> None:
        """Called by KubeSpawner at the start of each spawn: settle profile and requirement, refuse what is not offered."""
        try:
            await super().load_user_options()
            profile = await self._profile_requirement()
            options = split_options(self.user_options or {}, self._profile_option_names)
            fixed = {**self.requirement, **profile}
            if self.tier:
                fixed["tier"] = self.tier
            if self.vram:
                fixed["vram"] = self.vram
            self._requirement = read_choice(options, self.rules, fixed=fixed)
        except (DRAError, ValueError) as error:
            raise _bad_request(error) from error
        if self._requirement is not None:
            await self._check_offered(self._requirement)

    async def _profile_requirement(self) -> dict[str, Any]:
        """The ``dra`` parts of the chosen profile and of its chosen options.

        Several choices may each name a device: the first is the main one, the others become its companions.
        """
        self._profile_option_names: set[str] = set()
        profiles = self._sorted_dict_values(self.profile_list)
        if callable(profiles):
            profiles = profiles(self)
            if asyncio.iscoroutine(profiles):
                profiles = await profiles
        if not profiles:
            return {}
        profile = self._get_profile(
            (self.user_options or {}).get("profile"), self._get_initialized_profile_list(profiles)
        )
        wishes = [profile[_PROFILE_KEY]] if profile.get(_PROFILE_KEY) else []
        for name, option in (profile.get("profile_options") or {}).items():
            self._profile_option_names |= {name, f"{name}--unlisted-choice"}
            choices = option.get("choices") or {}
            picked = (self.user_options or {}).get(name)
            choice = (
                choices.get(picked)
                if picked
                else next((one for one in choices.values() if one.get("default")), None)
            )
            if choice and choice.get(_PROFILE_KEY):
                wishes.append(choice[_PROFILE_KEY])
        if not wishes:
            return {}
        main, *others = [dict(one) for one in wishes]
        if others:
            main["near"] = [*(main.get("near") or ()), *others]
        return main

    async def _check_offered(self, requirement: Requirement) -> None:
        self._check_limit(requirement)
        plan = await self._plan(requirement)
        if plan["verdict"] == "invalid" or (plan["verdict"] == "impossible" and plan["certainty"]["sure"]):
            text = words.impossible(plan, requirement.tier or "GPU")
            raise _bad_request(RefusedError(text, code="impossible"))

    async def _plan(self, requirement: Requirement) -> dict[str, Any]:
        namespace = self.namespace
        answer: dict[str, Any] = await self.view.ask(
            lambda inventory: inventory.plan(requirement, namespace=namespace, detail="full").as_dict()
        )
        return answer

    # Limits

    @property
    def _limit(self) -> int:
        groups = [group.name for group in getattr(self.user, "groups", ()) or ()]
        return max([self.max_devices, *(self.group_max_devices.get(name, 0) for name in groups)])

    @property
    def _user_label(self) -> str:
        return hashed_slug(self.user.name)

    def _held(self) -> dict[str, int]:
        """Devices of this user by server, as the cluster's claims and the starting servers say."""
        held = dict(type(self).starting.get(self._user_label, {}))
        for claim in self.view.claims_of(
            {labels.USER: self._user_label, labels.MANAGED_BY: labels.MANAGED_BY_VALUE}
        ):
            server = (claim["metadata"].get("annotations") or {}).get(
                labels.SERVER, claim["metadata"]["name"]
            )
            held[server] = max(held.get(server, 0), _devices_of(claim))
        return held

    def _held_words(self) -> str | None:
        held = self._held()
        if not held:
            return None
        return f"You hold {sum(held.values())} of {self._limit} devices: {', '.join(sorted(held))}."

    def _check_limit(self, requirement: Requirement) -> None:
        wanted = _charge(requirement)
        held = {name: count for name, count in self._held().items() if name != self._server_words}
        if sum(held.values()) + wanted > self._limit:
            raise _bad_request(
                RefusedError(
                    f"Your limit is reached: you may hold {self._limit} devices and hold {sum(held.values())}"
                    f"{': ' + ', '.join(sorted(held)) if held else ''}. Stop one, or ask your admin for more.",
                    code="limit",
                ),
                status=403,
            )
        type(self).starting.setdefault(self._user_label, {})[self._server_words] = wanted

    @property
    def _server_words(self) -> str:
        return self.name or "the default server"

    # Pod and claim

    async def get_pod_manifest(self) -> Any:
        """The pod with its claim; cpu and memory limits stay, whatever ``extra_container_config`` says."""
        extra = dict(self.extra_container_config or {})
        resources = self._expand_all(extra.pop("resources", None) or {})
        original, self.extra_container_config = self.extra_container_config, extra
        try:
            pod = await super().get_pod_manifest()
        finally:
            self.extra_container_config = original
        container = pod.spec.containers[0]
        merged = _merge_resources(container.resources, resources)
        pod_spec_claims = list(pod.spec.resource_claims or [])
        if self._requirement is not None:
            ours = self._pod_claims()
            pod_spec_claims += ours["resourceClaims"]
            merged["claims"] = [*merged.get("claims", []), *ours["claims"]]
        _check_claims(pod_spec_claims, merged.get("claims", []))
        if pod_spec_claims:
            pod.spec.resource_claims = pod_spec_claims
        container.resources = merged
        return pod

    def _pod_claims(self) -> dict[str, Any]:
        assert self._requirement is not None
        given = self._requirement.claim
        if isinstance(given, str):
            template = given.startswith("template/")
            return pod_claims(given.removeprefix("template/"), template=template)
        if not self._claim_name:
            self._claim_name = f"{self.pod_name[:52].rstrip('-.')}-{secrets.token_hex(4)}"
        return pod_claims(self._claim_name)

    async def _pod_created(self, spawner: KubeSpawner, pod: Mapping[str, Any]) -> None:
        """Called by KubeSpawner once the pod has its uid: the admin's hook first, then the claim with the pod as owner."""
        if self._admin_created_hook is not None:
            result = self._admin_created_hook(spawner, pod)
            if asyncio.iscoroutine(result):
                await result
        requirement = self._requirement
        if requirement is None or isinstance(requirement.claim, str):
            return
        metadata = _plain(pod)["metadata"]
        facts = await self.view.ask(lambda inventory: inventory.class_facts())
        claim = build_claim(
            requirement,
            name=self._claim_name,
            namespace=self.namespace,
            classes=facts,
            extra_labels={
                labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
                labels.USER: self._user_label,
                labels.SERVER: hashed_slug(f"{self.user.name}/{self.name}"),
            },
            extra_annotations={labels.SERVER: self._server_words},
        )
        claim["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "uid": metadata["uid"],
                "controller": True,
            }
        ]
        created = await self._create_claim(claim)
        self._claim_uid = created["metadata"]["uid"]

    async def _create_claim(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        api = shared_client("CustomObjectsApi")
        try:
            created: dict[str, Any] = await asyncio.wait_for(
                api.create_namespaced_custom_object(
                    GROUP, "v1", self.namespace, "resourceclaims", claim, field_validation="Strict"
                ),
                self.k8s_api_request_timeout,
            )
        except k8s.ApiException as error:
            raise _failed(words.api_refusal(_message(error), error.status)) from error
        return created

    # Starting, progress, stopping

    def start(self) -> Any:
        """Called by JupyterHub; like KubeSpawner's, but ends early when the spawn is hopeless."""
        if self.after_pod_created_hook != self._pod_created:
            self._admin_created_hook = self.after_pod_created_hook
            self.after_pod_created_hook = self._pod_created
        self._claim_name = self._claim_uid = ""
        self._start_future = asyncio.ensure_future(self._start_watched())
        return self._start_future

    async def _start_watched(self) -> Any:
        spawn = asyncio.ensure_future(self._start())
        watch = asyncio.ensure_future(self._until_hopeless())
        try:
            await asyncio.wait({spawn, watch}, return_when=asyncio.FIRST_COMPLETED)
            if spawn.done():
                return spawn.result()
            raise _failed(watch.result())
        finally:
            for task in (spawn, watch):
                task.cancel()
            await asyncio.gather(spawn, watch, return_exceptions=True)
            type(self).starting.get(self._user_label, {}).pop(self._server_words, None)

    async def _until_hopeless(self) -> str:
        """Returns the reason once this spawn cannot succeed any more; looks at the shared reflectors only."""
        begun = time.monotonic()
        reserved_at: float | None = None
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            pod = self._current_pod()
            if pod is None:
                continue
            reason = words.hopeless(pod, self.events)
            if reason:
                return reason
            now = time.monotonic()
            if (pod.get("spec") or {}).get("nodeName"):
                reserved_at = reserved_at or now
                if now - reserved_at > self.launch_timeout:
                    return f"The server did not come up within {self.launch_timeout // 60} min of getting its device."
            elif now - begun > self.wait_timeout:
                return f"No device became free within {self.wait_timeout // 60} min. {await self._waiting_words()}"

    def _current_pod(self) -> dict[str, Any] | None:
        if not self.pod_reflector:
            return None
        found: dict[str, Any] | None = self.pod_reflector.pods.get(f"{self.namespace}/{self.pod_name}")
        return found

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Called by the progress page: KubeSpawner's events, the scheduler's in plain words."""
        async for event in super().progress():
            raw = event.get("raw_event") or {}
            if raw.get("reason") == "FailedScheduling" and self._requirement is not None:
                event["message"] = await self._waiting_words()
            else:
                event["message"] = words.scheduling(raw) or event.get("message", "")
            yield event

    async def _waiting_words(self) -> str:
        if self._requirement is None:
            return "Waiting for room on a node."
        plan = await self._plan(self._requirement)
        tier = self._requirement.tier or "GPU"
        if plan["verdict"] == "impossible":
            return words.impossible(plan, tier)
        ours = self.view.claims_of({labels.MANAGED_BY: labels.MANAGED_BY_VALUE})
        mine = sum(_devices_of(claim) for claim in ours if (claim.get("status") or {}).get("allocation"))
        return words.waiting(plan, tier, mine, self.wait_timeout)

    async def stop(self, now: bool = False) -> None:
        """Called by JupyterHub: the pod goes, and with it, by its owner reference and by uid, our claim."""
        try:
            await super().stop(now)
        finally:
            if self._claim_name and self._claim_uid:
                await self._delete_claim()

    async def _delete_claim(self) -> None:
        api = shared_client("CustomObjectsApi")
        body = {"preconditions": {"uid": self._claim_uid}, "propagationPolicy": "Background"}
        try:
            await api.delete_namespaced_custom_object(
                GROUP, "v1", self.namespace, "resourceclaims", self._claim_name, body=body
            )
        except k8s.ApiException as error:
            if error.status not in (404, 409):
                raise

    def get_state(self) -> dict[str, Any]:
        """What a restarted hub must know."""
        state: dict[str, Any] = super().get_state()
        if self._claim_name:
            state["dra_claim"] = {"name": self._claim_name, "uid": self._claim_uid}
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Called when a hub starts and finds this server running."""
        super().load_state(state)
        claim = state.get("dra_claim") or {}
        self._claim_name, self._claim_uid = claim.get("name", ""), claim.get("uid", "")

    def clear_state(self) -> None:
        """Called when the server has stopped."""
        super().clear_state()
        self._claim_name = self._claim_uid = ""


def _devices_of(claim: Mapping[str, Any]) -> int:
    """Devices a claim costs: what it holds, or else what quota would charge for it."""
    allocation = (claim.get("status") or {}).get("allocation")
    if allocation:
        return len((allocation.get("devices") or {}).get("results") or ())
    total = 0
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        options = [request["exactly"]] if "exactly" in request else request.get("firstAvailable") or ()
        total += max(
            (32 if one.get("allocationMode") == "All" else one.get("count", 1) for one in options), default=0
        )
    return total


def _charge(requirement: Requirement) -> int:
    """The most devices any alternative takes, as ResourceQuota charges it; all of a node counts 32."""
    wishes = [requirement, *(requirement.alternative(index) for index in range(len(requirement.or_else)))]
    return max(32 if one.count == "all" else int(one.count) for one in wishes)


def _merge_resources(built: Any, extra: Mapping[str, Any]) -> dict[str, Any]:
    """KubeSpawner's limits and requests with the admin's own resources on top, claims side by side."""
    plain = _plain(built) if built is not None else {}
    merged = {name: dict(plain.get(name) or {}) for name in ("limits", "requests")}
    for name in merged:
        merged[name].update(extra.get(name) or {})
    result: dict[str, Any] = {name: value for name, value in merged.items() if value}
    claims = [*(plain.get("claims") or []), *(extra.get("claims") or [])]
    return {**result, **({"claims": claims} if claims else {})}


def _check_claims(pod_claims_: list[Any], container_claims: list[Any]) -> None:
    names: set[str] = set()
    for claim in map(_plain, pod_claims_):
        for key, value in claim.items():
            if value and ("{" in str(value) or "}" in str(value)):
                raise _failed(f"resourceClaims: {key} {value!r} holds a placeholder that was not filled in.")
        if claim["name"] in names:
            raise _failed(
                f"Two claims of the pod are named {claim['name']!r}: one by extra_pod_config, one by the tier or a profile."
            )
        names.add(claim["name"])
    for claim in map(_plain, container_claims):
        if claim["name"] not in names:
            raise _failed(f"The container uses claim {claim['name']!r}, which the pod does not have.")


def _plain(value: Any) -> dict[str, Any]:
    """A model object or dictionary as the API's own dictionary."""
    if isinstance(value, Mapping):
        return dict(value)
    plain: dict[str, Any] = shared_client("CoreV1Api").api_client.sanitize_for_serialization(value)
    return plain


def _message(error: k8s.ApiException) -> str:
    import json

    try:
        return str(json.loads(error.body or "{}").get("message") or error.reason)
    except ValueError:
        return str(error.reason)


def _failed(text: str) -> Exception:
    """An error whose text JupyterHub shows to the user, as text."""
    error = RuntimeError(text)
    error.jupyterhub_message = text  # type: ignore[attr-defined]
    return error


def _bad_request(error: Exception, status: int = 400) -> web.HTTPError:
    path = getattr(error, "path", None)
    next_step = getattr(error, "next_step", None)
    text = " ".join(part for part in (str(error), next_step) if part)
    if isinstance(error, RefusedError) and status == 400:
        status = 403
    http = web.HTTPError(
        400 if isinstance(error, RequirementError) else status, log_message="%s", reason=None
    )
    http.args = (text,)
    http.log_message = text.replace("%", "%%")
    http.jupyterhub_message = text  # type: ignore[attr-defined]
    http.path = path  # type: ignore[attr-defined]
    return http
