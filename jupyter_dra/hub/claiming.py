"""The claims of one server: planned before the pod, made after it with the pod as owner, deleted by uid."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
from kubernetes_asyncio.client import ApiException
from kubespawner.clients import shared_client

from ..claims import Requirement, build_claim, hashed_slug, labels
from ..errors import InputError, RequirementError, one_line
from . import words
from .charging import charge, devices_of
from .manifest import PodClaim
from .profiles import DeviceWish
from .refusing import said
from .watching import GROUP

if TYPE_CHECKING:
    from .spawner import DRASpawner

_NAME_ROOM = 50
_AGAIN_SECONDS = 0.2
_NO_ANSWER = (TimeoutError, aiohttp.ClientError)
_NO_ANSWER_WORDS = "The cluster did not answer in time. Try again in a moment."


class ServerClaims:
    """What one server asks for and holds.

    A claim or template that the admin or the user names is only referred to, never owned and never deleted.
    """

    def __init__(self, spawner: DRASpawner) -> None:
        self._spawner = spawner
        self.forget()

    def forget(self) -> None:
        """As before a start."""
        self._wishes: tuple[DeviceWish, ...] = ()
        self._manifests: dict[str, dict[str, Any]] = {}
        self._given: list[PodClaim] = []
        self._uids: dict[str, str] = {}
        self._asked: list[dict[str, Any]] = []
        #: What the user should know although the server starts.
        self.notices: list[str] = []

    @property
    def any(self) -> bool:
        """Whether this server needs a device."""
        return bool(self._manifests or self._given)

    @property
    def title(self) -> str:
        """The tiers in words, for messages."""
        return " with ".join(self._spawner.tier_title(one.get("tier")) for one in self._asked) or "device"

    # Before the pod

    async def prepare(self, wishes: tuple[DeviceWish, ...]) -> None:
        """Build the claims, hold them to limit and cluster.

        Raises:
            InputError, HTTPError: with the reason in words.
        """
        self.forget()
        self._wishes = wishes
        namespace = self._spawner.namespace
        facts = await self._spawner.view.ask(
            lambda inventory: inventory.class_facts(), namespace, key="class-facts"
        )
        cost = 0
        for wish in wishes:
            requirement = Requirement.from_dict(wish.fields)
            self._asked.append(requirement.as_dict())
            if isinstance(requirement.claim, str):
                cost += await self._refer(wish, requirement.claim)
                continue
            name = f"{self._spawner.pod_name[:_NAME_ROOM].rstrip('-.')}-{secrets.token_hex(4)}"
            claim = build_claim(requirement, name=name, namespace=namespace, classes=facts)
            self._label(claim)
            self._manifests[wish.name] = claim
            cost += devices_of({"spec": claim["spec"]})
        self._spawner.reserve(cost)
        if self._manifests:
            await self._check_possible()

    def _label(self, claim: dict[str, Any]) -> None:
        spawner = self._spawner
        metadata = claim["metadata"]
        metadata.pop("ownerReferences", None)
        metadata["labels"] = {
            **(metadata.get("labels") or {}),
            labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
            labels.USER: spawner.user_label,
            labels.SERVER: hashed_slug(f"{spawner.user.name}/{spawner.name}"),
        }
        metadata["annotations"] = {**(metadata.get("annotations") or {}), labels.SERVER: spawner.name}

    async def _refer(self, wish: DeviceWish, given: str) -> int:
        """Check that a named claim or template is in this namespace; return what it costs."""
        template = given.startswith("template/")
        name = given.removeprefix("template/")
        namespace = self._spawner.namespace
        plural = "resourceclaimtemplates" if template else "resourceclaims"
        found = await self._get(plural, namespace, name)
        kind = "template" if template else "claim"
        if found is None:
            home = self._spawner.home_namespace
            elsewhere = namespace != home and await self._seen_at_home(plural, name) is not None
            where = (
                f"exists in {home} but not in {namespace}" if elsewhere else f"does not exist in {namespace}"
            )
            raise InputError(
                f"The {kind} {name} {where}; a pod would wait for ever.",
                code="claim-missing",
                path="claim",
                next_step="Ask your admin.",
            )
        if template:
            await self._compare(name, found)
        self._given.append(PodClaim(wish.name, name, template, wish.source))
        spec = found["spec"]["spec"] if template else found["spec"]
        return charge(spec["devices"]) if template else devices_of(found)

    async def _compare(self, name: str, found: Mapping[str, Any]) -> None:
        """A template of the same name may say something else here; it is used as it is, and that is said."""
        home = self._spawner.home_namespace
        if home == self._spawner.namespace:
            return
        known = await self._seen_at_home("resourceclaimtemplates", name)
        if known is not None and known["spec"] != found["spec"]:
            notice = f"The template {name} of {self._spawner.namespace} is not the one of {home}; it is used as it is."
            self.notices.append(notice)
            self._spawner.log.warning("%s: %s", self._spawner._log_name, one_line(notice))

    async def _check_possible(self) -> None:
        plan = await self.plan()
        verdict = plan["verdict"]
        if verdict == "invalid" or (verdict == "impossible" and plan["certainty"]["sure"]):
            raise RequirementError(
                words.impossible(plan, self.title),
                code="impossible",
                path="tier",
                next_step="Ask for less, or choose another tier.",
            )

    async def plan(self) -> dict[str, Any]:
        """What the scheduler would say of our claims now; servers that ask for the same share one plan."""
        namespace = self._spawner.namespace
        claims = [
            {
                "apiVersion": one["apiVersion"],
                "kind": one["kind"],
                "metadata": {"name": wish, "namespace": namespace},
                "spec": one["spec"],
            }
            for wish, one in self._manifests.items()
        ]
        wanted = claims[0] if len(claims) == 1 else claims
        key = f"plan {namespace} {[one['spec'] for one in claims]}"
        answer: dict[str, Any] = await self._spawner.view.ask(
            lambda inventory: inventory.plan(wanted, namespace=namespace, detail="full").as_dict(),
            namespace,
            key=key,
        )
        return answer

    def pod_claims(self) -> list[PodClaim]:
        """The entries of the pod."""
        sources = {wish.name: wish.source for wish in self._wishes}
        ours = [
            PodClaim(wish, claim["metadata"]["name"], False, sources.get(wish, "the chosen tier"))
            for wish, claim in self._manifests.items()
        ]
        return [*ours, *self._given]

    # With the pod

    async def create(self, pod: Mapping[str, Any]) -> None:
        """Make the claims, owned by *pod*: whoever deletes it gives the devices back."""
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"],
        }
        for claim in self._manifests.values():
            body = {**claim, "metadata": {**claim["metadata"], "ownerReferences": [owner]}}
            made = await self._make(body, owner["uid"])
            self._uids[claim["metadata"]["name"]] = made["metadata"]["uid"]

    async def _make(self, body: dict[str, Any], owner: str) -> dict[str, Any]:
        """Create a claim; an answer that was lost is asked for again, and what is ours by its owner is taken."""
        end = time.monotonic() + self._spawner.k8s_api_request_retry_timeout
        while True:
            try:
                return await self._api(
                    "create_namespaced_custom_object", "resourceclaims", body, field_validation="Strict"
                )
            except _NO_ANSWER:
                if time.monotonic() > end:
                    raise said(_NO_ANSWER_WORDS) from None
                await asyncio.sleep(_AGAIN_SECONDS)
            except ApiException as error:
                name = body["metadata"]["name"]
                made = (
                    await self._get("resourceclaims", self._spawner.namespace, name)
                    if error.status == 409
                    else None
                )
                owners = (made or {}).get("metadata", {}).get("ownerReferences") or ()
                if made is None or owner not in [one["uid"] for one in owners]:
                    raise
                return made

    async def delete(self) -> None:
        """Delete our claims by uid: nobody's claim of the same name goes with them."""
        for name, uid in list(self._uids.items()):
            try:
                await self._api(
                    "delete_namespaced_custom_object",
                    "resourceclaims",
                    name,
                    body={"preconditions": {"uid": uid}, "propagationPolicy": "Background"},
                )
            except ApiException as error:
                if error.status not in (404, 409):
                    raise
            except _NO_ANSWER:
                # The pod owns it: it goes anyway.
                self._spawner.log.warning("No answer to the deletion of claim %s", name)
            self._uids.pop(name, None)

    def seen(self) -> list[dict[str, Any]]:
        """Our claims, as the cluster has them."""
        view, namespace = self._spawner.view, self._spawner.namespace
        names = [*self._uids, *(one.reference for one in self._given if not one.template)]
        return [claim for name in names if (claim := view.claim(namespace, name)) is not None]

    def given_words(self) -> str:
        """The devices we hold, in words."""
        return ", ".join(words.device_names(claim) for claim in self.seen() if words.device_names(claim))

    async def waiting_words(self) -> str:
        """Why the server waits; empty while devices are free and it is only the scheduler's turn."""
        spawner = self._spawner
        if not self._manifests:
            return "Waiting for the claim's device." if self._given else "Waiting for room on a node."
        plan = await self.plan()
        if plan["verdict"] == "impossible":
            return words.impossible(plan, self.title)
        if plan["verdict"] == "fits":
            return ""
        ours = [
            (one["metadata"]["namespace"], one["metadata"]["name"])
            for one in spawner.view.claims()
            if labels.SERVER in (one["metadata"].get("labels") or {})
        ]
        return words.waiting(plan, self.title, ours, spawner.wait_timeout, show_holders=spawner.show_holders)

    async def taken_since(self) -> str:
        """Since when nothing is free for this server, in words; empty where that is not known."""
        return words.taken_since(await self.plan()) if self._manifests else ""

    # State

    def as_state(self) -> dict[str, Any]:
        """What was asked, our claims by uid, and what was given; empty for a server without a device."""
        if not self._asked and not self._uids:
            return {}
        return {
            "asked": self._asked,
            "claims": [{"name": name, "uid": uid} for name, uid in self._uids.items()],
            "given": [
                {key: one[key] for key in ("driver", "pool", "device")}
                for claim in self.seen()
                for one in ((claim.get("status") or {}).get("allocation") or {})
                .get("devices", {})
                .get("results", ())
            ],
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """The claims of a server that an earlier hub started, under the names they have."""
        self._uids = {one["name"]: one["uid"] for one in state.get("claims") or ()}
        self._asked = list(state.get("asked") or ())

    # The API

    async def limit_ranges(self) -> list[dict[str, Any]]:
        """The namespace's LimitRanges, as far as they may be read."""
        core = shared_client("CoreV1Api")
        try:
            call = core.list_namespaced_limit_range(self._spawner.namespace)
            found = await asyncio.wait_for(call, self._spawner.k8s_api_request_timeout)
        except (ApiException, *_NO_ANSWER):
            return []
        return [{"metadata": {"name": one.metadata.name}} for one in found.items]

    async def _get(self, plural: str, namespace: str, name: str) -> dict[str, Any] | None:
        api = shared_client("CustomObjectsApi")
        call = api.get_namespaced_custom_object(GROUP, "v1", namespace, plural, name)
        try:
            found: dict[str, Any] = await asyncio.wait_for(call, self._spawner.k8s_api_request_timeout)
        except _NO_ANSWER:
            raise said(_NO_ANSWER_WORDS) from None
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        return found

    async def _seen_at_home(self, plural: str, name: str) -> dict[str, Any] | None:
        """The object of this name in the hub's own namespace; None also where the hub may not look."""
        try:
            return await self._get(plural, self._spawner.home_namespace, name)
        except ApiException as error:
            if error.status == 403:
                return None
            raise

    async def _api(self, method: str, plural: str, *args: Any, **more: Any) -> dict[str, Any]:
        api = shared_client("CustomObjectsApi")
        call = getattr(api, method)(GROUP, "v1", self._spawner.namespace, plural, *args, **more)
        answer: dict[str, Any] = await asyncio.wait_for(call, self._spawner.k8s_api_request_timeout)
        return answer
