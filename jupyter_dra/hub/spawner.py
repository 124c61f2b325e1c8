"""A KubeSpawner that gives each server the device its user chose."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

from kubernetes_asyncio.client import ApiException
from kubespawner import KubeSpawner
from kubespawner.clients import shared_client
from sqlalchemy.orm import object_session
from traitlets import Bool, Dict, Integer, List, Set, Unicode, default

from ..claims import hashed_slug
from ..errors import DRAError, one_line
from . import words
from .charging import Reservations, held_by
from .claiming import ServerClaims
from .form import notes_only, render
from .manifest import PodClaim, add_claims
from .options import (
    NO_DEVICE,
    USER_FIELDS,
    Rules,
    TierOffer,
    offers,
    options_from_form,
    read_choice,
    read_image,
    split_options,
)
from .profiles import MAIN_CLAIM, DeviceWish, current_name, select
from .prospects import Prospect, prospects
from .refusing import refused, said, server_text
from .starting import Start
from .watching import ClusterView

#: Beyond what a server may wait and start, JupyterHub's own clock gives this much for our words to come first.
_SLACK = 60
_STOP_SECONDS = 300


class DRASpawner(KubeSpawner):  # type: ignore[misc]  # KubeSpawner publishes no types
    """A KubeSpawner whose form offers tiers and device memory.

    Set ``c.JupyterHub.spawner_class = "dra"``. Everything KubeSpawner can be told still holds; profiles and choices of
    profile options may carry a ``dra`` key (a requirement). The hub's service account needs ``jupyter dra rbac hub``.
    """

    # Of KubeSpawner and JupyterHub.
    user_options: Any
    extra_container_config: Any
    after_pod_created_hook: Any

    tiers: Any = List(
        None,
        allow_none=True,
        config=True,
        help="""What the form offers: DeviceClass names, or objects with name, device_class, display_name, description,
        requirement, counts, former, fields, groups, price_per_hour. None offers every class that is not hidden, an
        empty list none.""",
    )
    requirement = Dict(
        config=True,
        help="""Requirement fields every server gets (for instance {"tier": "gpu-small"}); a profile's
        kubespawner_override may set it too. What it says, users cannot change.""",
    )
    tier = Unicode(
        "",
        config=True,
        help="Short for requirement['tier'], for profiles; a name from tiers or a DeviceClass.",
    )
    vram = Unicode("", config=True, help="Short for requirement['vram'], for profiles.")
    user_fields = Set(
        Unicode(),
        default_value=set(USER_FIELDS),
        config=True,
        help="Requirement fields that users may set; add 'where' to allow CEL of their own.",
    )
    images = List(
        Unicode(),
        config=True,
        help="""Images users may choose from, the first one preselected. With none every server gets the configured one;
        a profile list says itself which images there are.""",
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
    launch_timeout = Integer(
        config=True,
        help="""Seconds from the reserved device to the running server, and for a server without one from its start. The
        configured start_timeout, else 600.""",
    )
    show_holders = Bool(
        False, config=True, help="Whether users read which claims outside this hub they wait for."
    )

    views: ClassVar[dict[asyncio.AbstractEventLoop, ClusterView]] = {}
    reservations: ClassVar[Reservations] = Reservations()
    #: Why a server ended, by user and server, until its user sees the form.
    ends: ClassVar[dict[tuple[str, str], str]] = {}

    _wishes: tuple[DeviceWish, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_claims = ServerClaims(self)
        self._start_now: Start | None = None
        self._admin_created_hook: Any = None
        self._profile_keys: frozenset[str] = frozenset()

    @default("launch_timeout")
    def _launch_timeout_default(self) -> int:
        for section in reversed(type(self).section_names()):
            configured = self.config[section].get("start_timeout") if section in self.config else None
            if isinstance(configured, int):
                return configured
        return 600

    @default("apply_user_options")
    def _apply_user_options_default(self) -> Any:
        # Options are applied in load_user_options; JupyterHub would warn that nobody handles them.
        return lambda spawner, options: None

    # What the cluster offers

    @property
    def view(self) -> ClusterView:
        """The hub's one picture of the cluster."""
        loop = asyncio.get_running_loop()
        if loop not in type(self).views:
            type(self).views[loop] = ClusterView(shared_client("CoreV1Api").api_client, self.log)
        return type(self).views[loop]

    async def rules(self) -> Rules:
        """What this user may choose now."""
        own = self._own_tiers
        entries = [one.entry for one in own if one.entry is not None]
        namespace = self.namespace
        elements = await self.view.ask(
            lambda inventory: inventory.tiers(entries, namespace=namespace),
            namespace,
            key=f"tiers {namespace}",
        )
        offered = offers(None if self.tiers is None else own, elements, self._groups)
        images = () if self.profile_list else tuple(self.images)
        return Rules(offered, frozenset(self.user_fields), self.allow_none, images)

    @property
    def _own_tiers(self) -> tuple[TierOffer, ...]:
        return tuple(TierOffer.from_config(one) for one in self.tiers or ())

    def tier_title(self, tier: str | None) -> str:
        """A tier's or DeviceClass's name for people."""
        if not tier:
            return "GPU"
        own = next((one for one in self._own_tiers if one.device_class == tier), None)
        return (own and own.display_name) or self.view.class_title(tier) or tier

    @property
    def home_namespace(self) -> str:
        """The hub's own namespace."""
        return str(self._namespace_default())

    @property
    def _groups(self) -> list[str]:
        return [group.name for group in getattr(self.user, "groups", None) or ()]

    async def _profiles(self) -> list[dict[str, Any]]:
        """The profile list as KubeSpawner initializes it."""
        profiles = self._sorted_dict_values(self.profile_list)
        if callable(profiles):
            profiles = profiles(self)
            if inspect.isawaitable(profiles):
                profiles = await profiles
        return list(self._get_initialized_profile_list(profiles or []))

    # Form and options

    @default("options_form")
    def _options_form_default(self) -> Any:
        return self._device_form

    async def _device_form(self, spawner: KubeSpawner) -> str:
        """Called by JupyterHub for the spawn page; a profile list that is all there is keeps KubeSpawner's form."""
        profiles = await self._profiles()
        chosen = dict(self.user_options or {})
        notes: list[tuple[str, str, str]] = []
        end = type(self).ends.pop((self.user.name, self.name), None)
        if end:
            notes.append((f"Your last server ended. {end}", "", ""))
        parts = []
        if profiles:
            chosen["profile"] = current_name(profiles, chosen.get("profile"))
            if chosen["profile"] and chosen["profile"] not in {one["slug"] for one in profiles}:
                notes.append(_gone(chosen["profile"]))
                chosen = {}
            parts.append(self._profile_form(profiles, chosen))
        if not profiles or self.tiers is not None:
            parts.append(await self._tier_form(chosen, notes))
        elif notes:
            parts.insert(0, notes_only(notes))
        return "".join(parts)

    def _profile_form(self, profiles: list[dict[str, Any]], chosen: Mapping[str, Any]) -> str:
        """KubeSpawner's form, with only such remembered choices as still hold."""
        remembered, self.user_options = self.user_options, {}
        try:
            select(profiles, chosen)
            self.user_options = {key: one for key, one in chosen.items() if isinstance(one, str)}
        except DRAError:
            self.log.info("Remembered options of %s hold no longer.", self._log_name)
        try:
            return str(self._render_options_form(profiles))
        finally:
            self.user_options = remembered

    async def _tier_form(self, chosen: dict[str, Any], notes: list[tuple[str, str, str]]) -> str:
        rules = await self.rules()
        wished = chosen.get("tier")
        if wished and wished != NO_DEVICE:
            offer = rules.find(str(wished))
            if offer is None:
                notes.append(_gone(wished))
                chosen = {}
            else:
                chosen["tier"] = offer.name
        if self.view.trouble:
            notes.append(("The cluster does not tell all now: ", ", ".join(sorted(self.view.trouble)), "."))
        held = self.held()
        if held:
            names = ", ".join(_server_words(name) for name in sorted(held))
            notes.append((f"You hold {sum(held.values())} of {self._limit} devices: ", names, "."))
        return render(rules, prospects=await self._prospects(rules), chosen=chosen, notes=notes)

    async def _prospects(self, rules: Rules) -> dict[str, dict[str, Prospect]]:
        """What the offered tiers have now; people who are offered the same share one answer."""
        namespace, offered = self.namespace, rules.tiers
        return dict(
            await self.view.ask(
                lambda inventory: prospects(inventory, offered, namespace),
                namespace,
                key=f"prospects {namespace} {[(one.name, one.counts, one.requirement) for one in offered]}",
            )
        )

    @default("options_from_form")
    def _options_from_form_default(self) -> Any:
        return self._read_form

    def _read_form(self, form: Mapping[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in form.items() if not name.startswith("dra-")}
        rest.pop("_xsrf", None)
        return {**self._options_from_form(rest), **options_from_form(form)}

    async def load_user_options(self) -> None:
        """Called by KubeSpawner at the start of each spawn: settle profile and devices, refuse what is not offered."""
        try:
            profiles = await self._profiles()
            if profiles and self.user_options.get("profile"):
                current = current_name(profiles, self.user_options["profile"])
                self.user_options = {**self.user_options, "profile": current}
            selection = select(profiles, self.user_options)
            image, options = read_image(self.user_options, () if profiles else self.images)
            device_options = split_options(options, selection.keys)
            await super().load_user_options()
            if not profiles and self.images:
                self.image = image or self.images[0]
            # For the count of what the user holds; only now is the namespace settled.
            await self._start_watching_pods()
            self._wishes = await self._settle(selection.wishes, device_options)
            await self.server_claims.prepare(self._wishes)
        except (DRAError, ValueError) as error:
            raise refused(error) from error

    async def _settle(
        self, from_profile: tuple[DeviceWish, ...], options: Mapping[str, Any]
    ) -> tuple[DeviceWish, ...]:
        """The claims' wishes: those of profile and options as written, the person's choice held to the rules."""
        rules = await self.rules()
        wishes = [self._named(one) for one in from_profile]
        main = next((one for one in wishes if one.name == MAIN_CLAIM), None)
        others = tuple(one for one in wishes if one is not main)
        admins = {**self.requirement, **({"tier": self.tier} if self.tier else {})}
        if self.vram:
            admins["vram"] = self.vram
        fixed = {**self._named(DeviceWish(MAIN_CLAIM, admins, "")).fields, **(main.fields if main else {})}
        if others and not fixed and not options:
            return others
        choice = read_choice(options, rules, fixed=fixed)
        if choice is None:
            return others
        source = main.source if main else "the chosen tier"
        return (DeviceWish(MAIN_CLAIM, choice.as_dict(), source), *others)

    def _named(self, wish: DeviceWish) -> DeviceWish:
        """A wish of the admin's with a tier of the setting replaced by its class and what it adds."""
        name = wish.fields.get("tier")
        offer = Rules(self._own_tiers).find(str(name)) if name else None
        if offer is None:
            return wish
        rest = {key: value for key, value in wish.fields.items() if key != "tier"}
        return DeviceWish(wish.name, {**offer.requirement, **rest}, wish.source)

    # Limits

    @property
    def _limit(self) -> int:
        limits: list[int] = [self.group_max_devices.get(name, 0) for name in self._groups]
        return max([int(self.max_devices), *limits])

    @property
    def user_label(self) -> str:
        """The user as a label value: nobody else has it."""
        return hashed_slug(self.user.name)

    def held(self) -> dict[str, int]:
        """Devices of this user by server, as the cluster's claims and the starting servers say."""
        reflectors = [one for key, one in type(self).reflectors.items() if key[0] == "pods"]
        pods = [pod for one in reflectors for pod in one.pods.values()]
        seen = held_by(self.user.name, self.user_label, pods, self.view.claims())
        return type(self).reservations.over(self.user.name, seen)

    def reserve(self, wanted: int) -> None:
        """Count *wanted* devices for this server, or refuse it; nothing else runs in between.

        Raises:
            HTTPError: 403 with what the user holds.
        """
        held = {name: count for name, count in self.held().items() if name != self.name and count}
        if wanted and sum(held.values()) + wanted > self._limit:
            names = ", ".join(_server_words(name) for name in sorted(held))
            raise said(
                f"Your limit is reached: you may hold {self._limit} devices and hold {sum(held.values())}"
                f"{': ' + names if names else ''}; this start asks for {wanted}. Stop one, or ask your admin for more.",
                403,
            )
        type(self).reservations.take(self.user.name, self.name, wanted)

    # Pod and claims

    async def get_pod_manifest(self) -> Any:
        """The pod with its claims; cpu and memory limits stay, whatever ``extra_container_config`` says."""
        original = dict(self.extra_container_config or {})
        try:
            extra = self._expand_all(original.get("resources") or {})
            self.extra_container_config = {key: one for key, one in original.items() if key != "resources"}
            pod = await super().get_pod_manifest()
            claims: list[PodClaim] = self.server_claims.pod_claims()
            add_claims(pod, claims, extra)
        except (KeyError, IndexError) as error:
            raise said(
                f"A placeholder of the hub's configuration cannot be filled in: {error}.", 400
            ) from error
        except DRAError as error:
            raise refused(error) from error
        finally:
            self.extra_container_config = original
        return pod

    async def _pod_created(self, spawner: KubeSpawner, pod: Mapping[str, Any]) -> None:
        """Called by KubeSpawner once the pod has its uid: the admin's hook, then the claims with the pod as owner."""
        self.save_state()
        if self._start_now is not None:
            self._start_now.pod_uid = pod["metadata"]["uid"]
        if self._admin_created_hook is not None:
            result = self._admin_created_hook(spawner, pod)
            if inspect.isawaitable(result):
                await result
        await self.server_claims.create(pod)
        self.save_state()

    # Starting, progress, stopping

    def start(self) -> Any:
        """Called by JupyterHub; like KubeSpawner's, but ends early when the spawn is hopeless, and always in words."""
        if self.after_pod_created_hook != self._pod_created:
            self._admin_created_hook = self.after_pod_created_hook
            self.after_pod_created_hook = self._pod_created
        # JupyterHub's and KubeSpawner's clocks do not know that waiting for a device is no fault.
        self.start_timeout = self.wait_timeout + self.launch_timeout + _SLACK
        type(self).ends.pop((self.user.name, self.name), None)
        self.server_claims.forget()
        self._start_now = Start(self)
        self._start_future = asyncio.ensure_future(self._start_watched(self._start_now))
        return self._start_future

    async def _start_watched(self, start: Start) -> Any:
        spawn = asyncio.ensure_future(self._start())
        watch = asyncio.ensure_future(start.until_hopeless())
        try:
            await asyncio.wait({spawn, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not spawn.done():
                raise said(watch.result())
            url = spawn.result()
            self.log.info(
                "%s holds %s", self._log_name, one_line(self.server_claims.given_words() or "no device")
            )
            return url
        except ApiException as error:
            raise said(await self._refusal(error), 403 if error.status == 403 else 400) from error
        finally:
            for task in (spawn, watch):
                task.cancel()
            await asyncio.gather(spawn, watch, return_exceptions=True)
            type(self).reservations.give_back(self.user.name, self.name)

    async def _refusal(self, error: ApiException) -> str:
        text = server_text(error)
        ranges = await self.server_claims.limit_ranges() if error.status == 403 else []
        return words.refusal(text, error.status, ranges)

    def current_pod(self) -> dict[str, Any] | None:
        """The pod as KubeSpawner's shared watch has it."""
        if not self.pod_reflector:
            return None
        found: dict[str, Any] | None = self.pod_reflector.pods.get(f"{self.namespace}/{self.pod_name}")
        return found

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Called for the progress page: steps, and why it waits, in plain words; text only, never HTML."""
        while self._start_now is None:
            await asyncio.sleep(0.1)
        async for message in self._start_now.messages():
            yield message

    async def poll(self) -> int | None:
        """Called by JupyterHub again and again; a pod that has ended is remembered with its reason, and removed."""
        pod = self.current_pod()
        if pod is not None and (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            reason = words.ended(pod)
            type(self).ends[(self.user.name, self.name)] = reason
            self.log.warning("%s: %s", self._log_name, one_line(reason))
            if self.delete_stopped_pods:
                await self.stop(now=True)
            return words.exit_code(pod)
        status: int | None = await super().poll()
        return status

    async def stop(self, now: bool = False) -> None:
        """Called by JupyterHub: the pod goes, and with it, by owner reference and by uid, our claims."""
        patience, self.start_timeout = self.start_timeout, min(self.start_timeout, _STOP_SECONDS)
        try:
            await super().stop(now)
        finally:
            self.start_timeout = patience
            await self.server_claims.delete()

    # State

    def save_state(self) -> None:
        """Write the state now: a hub that dies during a start must find pod and claims again."""
        orm_spawner = getattr(self, "orm_spawner", None)
        session = object_session(orm_spawner) if orm_spawner is not None else None
        if orm_spawner is not None and session is not None:
            orm_spawner.state = self.get_state()
            session.commit()

    def get_state(self) -> dict[str, Any]:
        """What a restarted hub must know; admins read it in the API, so it holds no secret."""
        state: dict[str, Any] = super().get_state()
        ours = self.server_claims.as_state()
        return {**state, "dra": ours} if ours else state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Called when a hub starts and finds this server in its database."""
        super().load_state(state)
        self.server_claims.load_state(state.get("dra") or {})

    def clear_state(self) -> None:
        """Called when the server has stopped, and before each start."""
        super().clear_state()
        self.server_claims.forget()


def _gone(name: object) -> tuple[str, str, str]:
    return ("Your last choice, ", str(name), ", is no longer offered. Choose again.")


def _server_words(name: str) -> str:
    return name or "your default server"
