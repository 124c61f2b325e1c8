"""`DRAPicker`: builds a requirement by hand, shows its plan while it changes, and launches it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import ipywidgets
from traitlets import Any as AnyTrait
from traitlets import Dict, Int, List, TraitError, Unicode, Union, validate

from ..claims import WISH_FIELDS, Requirement, build_claim, to_magic, to_python, to_yaml
from ..errors import DRAError
from .pickerchips import chips
from .pickerform import PickerForm
from .pickertiers import Limits, any_option, memory_columns, offered, price_of, signs, tier_option
from .plain import visible, visible_lines
from .verdicts import head_of, sentence_of

if TYPE_CHECKING:
    from .ports import Launcher

FIELDS = ("tier", "vram", "max_vram", "count", "product", "architecture")
# Seconds a launch waits where all fitting devices are taken.
WAIT = 7200.0
# Asked for by code only; the line with the %dra words shows them.
MORE = (
    "compute_capability", "driver_version", "where", "share", "tolerate", "near", "align", "spread", "or_else",
    "kernel", "image", "cpu", "host_memory", "env", "namespace", "lease", "idle_timeout", "volumes",
)  # fmt: skip


class DRAPicker(ipywidgets.VBox):  # type: ignore[misc]
    """A form for a device; its traits have the names of the requirement's fields.

    Args:
        sessions: a session service; None (a kernel without a cluster login) still builds the claim and the words
            to type, and plans nothing.

    Attributes:
        tier, vram, max_vram, product, architecture: as in `Requirement`; empty means not asked.
        count: as in `Requirement`; until somebody sets it, it shows what the tier gives.
        compute_capability, where, near, share, image, … (`MORE`): the other fields, without a control in the form.
        plan: the live plan, as the contract's object; empty before the first answer.
        session: the launched session, as the contract's object; empty before.
        message: what went wrong last, in one sentence.
    """

    tier = Unicode("")
    vram = Unicode("")
    max_vram = Unicode("")
    count = Union([Int(1, min=1), Unicode()], default_value=1)
    product = List(Unicode())
    architecture = List(Unicode())
    compute_capability = AnyTrait(None)
    driver_version = AnyTrait(None)
    where = AnyTrait(None)
    share = AnyTrait(None)
    tolerate = AnyTrait(None)
    near = AnyTrait(None)
    align = AnyTrait(None)
    spread = AnyTrait(None)
    or_else = AnyTrait(None)
    kernel = AnyTrait(None)
    image = AnyTrait(None)
    cpu = AnyTrait(None)
    host_memory = AnyTrait(None)
    env = AnyTrait(None)
    namespace = AnyTrait(None)
    lease = AnyTrait(None)
    idle_timeout = AnyTrait(None)
    volumes = AnyTrait(None)
    plan = Dict(read_only=True)
    session = Dict(read_only=True)
    message = Unicode("", read_only=True)

    def __init__(self, sessions: Launcher | None = None, **wish: Any) -> None:
        self._sessions = sessions
        self._asked = 0
        self._count_said = "count" in wish
        self._showing = False
        self._tiers: list[dict[str, Any]] = []
        self._any: dict[str, Any] | None = None
        self._filling: Future[Any] | None = None
        self._planning: Future[Any] | None = None
        super().__init__(**wish)
        self._build()
        self.observe(self._changed, names=[*FIELDS, *MORE])
        self._changed()

    @validate("product", "architecture")
    def _names(self, proposal: Any) -> list[str]:
        return [name.strip() for name in proposal["value"] if name.strip()]

    @property
    def requirement(self) -> Requirement:
        """What the form asks for; raises RequirementError for a value that cannot be used."""
        values = {name: getattr(self, name) for name in (*FIELDS, *MORE)}
        if not self._count_said:
            del values["count"]
        return Requirement.from_dict(
            {name: value for name, value in values.items() if value not in ("", [], None)}
        )

    # --- widgets --------------------------------------------------------------------------------------------

    def _build(self) -> None:
        form = self._form = PickerForm()
        form.launch.on_click(lambda _button: self.launch())
        self._fill()
        self._link()
        self.add_class("dra-picker")
        self.children = [form.root()]
        if self._sessions is None:
            form.launch.disabled = True
            form.state.add_class("dra-picker-plain")
            form.state.value = "This kernel has no cluster login: use the panel GPU sessions."

    def _fill(self) -> None:
        """Ask for the tiers once, in the background."""
        if self._sessions is None:
            return
        sessions = self._sessions

        async def look() -> dict[str, Any]:
            feed = await sessions.inventory()
            context = await sessions.context()
            namespace = context["namespace"] or "default"
            return await feed.ask(lambda inventory: inventory.offer(namespace=namespace))

        def show(done: Future[dict[str, Any]]) -> None:
            if done.cancelled() or done.exception() is not None:
                return
            self._any = done.result()["any_gpu"]
            self._tiers = [dict(tier) for tier in offered(done.result()["tiers"])]
            self._show_tier()
            self._show_count()
            self._show_memory()
            self._form.price.value = price_of(self.plan, self._tiers)

        self._filling = sessions.loop.run(look())
        self._filling.add_done_callback(show)

    def _link(self) -> None:
        def join(names: list[str]) -> str:
            return ", ".join(names)

        def split(text: str) -> list[str]:
            return [name.strip() for name in text.split(",") if name.strip()]

        form = self._form
        form.tier.observe(self._tier_chosen, names="value")
        self.observe(self._show_tier, names="tier")
        self._show_tier()
        form.count.observe(self._count_typed, names="value")
        self.observe(self._count_set, names="count")
        self.observe(self._show_count, names=["tier", "count"])
        self._show_count()
        for name, widget in (("vram", form.vram), ("max_vram", form.most)):
            ipywidgets.link((self, name), (widget, "value"))
        form.size.observe(self._size_chosen, names="value")
        self.observe(self._show_limits, names=["tier", "vram", "max_vram"])
        for name, widget in (("product", form.product), ("architecture", form.family)):
            ipywidgets.link((self, name), (widget, "value"), transform=(join, split))

    def _show_tier(self, _change: Any = None) -> None:
        """Offer the known tiers and the one that is set; new options alone choose nothing."""
        limits = Limits.of(self.vram, self.max_vram)
        options = [(any_option(self._any), "")]
        options += [(tier_option(tier, limits), tier["name"]) for tier in self._tiers]
        self._form.show_signs([signs(tier, limits) for tier in (self._any or {}, *self._tiers)])
        if self.tier not in [name for _label, name in options]:
            options.append((visible(self.tier, 60), self.tier))
        self._showing = True
        try:
            if list(self._form.tier.options) != options:
                self._form.tier.options = options
            self._form.tier.value = self.tier
        finally:
            self._showing = False

    def _show_count(self, _change: Any = None) -> None:
        """Show the number that is asked for, or what the chosen tier gives where nobody said one."""
        shown, self._showing = self._showing, True
        try:
            if not self._count_said:
                found = (one["usual_count"] for one in self._tiers if one["name"] == self.tier)
                self.count = next(found, 1)
            box = self._form.count
            box.disabled = not isinstance(self.count, int)
            if not box.disabled:
                box.value = self.count
        finally:
            self._showing = shown

    def _count_typed(self, change: Any) -> None:
        if not self._showing:
            self._count_said, self.count = True, change["new"]

    def _count_set(self, _change: Any) -> None:
        if not self._showing:
            self._count_said = True

    def _show_limits(self, _change: Any = None) -> None:
        """What the asked memory rules out, in rows and columns."""
        if self._tiers:
            self._show_tier()
            self._show_memory()
        self._show_size()

    def _show_memory(self) -> None:
        self._showing = True
        try:
            limits = Limits.of(self.vram, self.max_vram)
            self._form.show_columns(memory_columns(self._tiers, limits, self.tier))
        finally:
            self._showing = False
        self._show_size()

    def _tier_chosen(self, change: Any) -> None:
        if not self._showing:
            self.tier = change["new"] or ""

    def _show_size(self, _change: Any = None) -> None:
        """Put the thumb on the asked size; between the sizes that exist it stays where it is."""
        asked = self.vram.replace(" ", "")
        if asked in [value for _label, value in self._form.size.options]:
            self._showing = True
            try:
                self._form.size.value = asked
            finally:
                self._showing = False

    def _size_chosen(self, change: Any) -> None:
        if not self._showing:
            self.vram = change["new"] or ""

    # --- the plan -------------------------------------------------------------------------------------------

    def _changed(self, _change: Any = None) -> None:
        """Something was typed: preview at once, plan in the background; only the newest plan is shown."""
        self._asked += 1
        form = self._form
        self.set_trait("message", "")
        try:
            wish = self.requirement
            form.magic.value = visible(to_magic(wish), 2000)
            form.code.value = visible_lines(to_python(wish))
            form.claim.value = self._preview(wish)
            form.show_chips(chips(wish), self._remove)
            form.show_request(_device_fields(wish), None)
        except (DRAError, TraitError) as error:
            text = error.message if isinstance(error, DRAError) else str(error)
            self.set_trait("message", visible(text))
            form.show_face("invalid")
            form.price.value, form.why.children = "", []
            form.verdict.value, form.body.value = "Needs a correction", self.message
            form.launch.disabled = True
            form.show_request({}, "invalid")
            return
        form.launch.disabled = self._sessions is None
        if self._sessions is None:
            return
        number, sessions = self._asked, self._sessions

        def show(done: Future[dict[str, Any]]) -> None:
            if number == self._asked and not done.cancelled():
                error = done.exception()
                if error is None:
                    self._show_plan(done.result())
                else:
                    text = error.message if isinstance(error, DRAError) else str(error)
                    self.set_trait("message", visible(text))
                    form.show_face("unknown")
                    form.verdict.value, form.body.value = "Cannot be sure", self.message

        if self._planning is not None:
            self._planning.cancel()
        self._planning = sessions.loop.run(sessions.plan(wish, detail="full"))
        self._planning.add_done_callback(show)

    def _remove(self, field: str) -> None:
        """Take a condition out of the request; a companion goes with what it must share."""
        if field == "count":
            self._count_said = False
            self._show_count()
            self._changed()
            return
        for name in ("near", "align") if field == "near" else (field,):
            setattr(self, name, {"product": [], "architecture": []}.get(name))

    def _preview(self, wish: Requirement) -> str:
        if not wish.tier and wish.claim is None:
            return "The tiers that fit are filled in at launch."
        meant = wish if self.count == 1 else wish.changed(count=self.count)
        return visible_lines(to_yaml(build_claim(meant, name="claim")))

    def _show_plan(self, plan: dict[str, Any]) -> None:
        self.set_trait("plan", plan)
        form = self._form
        form.verdict.value, form.body.value = head_of(plan), sentence_of(plan)
        form.price.value = price_of(plan, self._tiers)
        form.show_face(plan["verdict"])
        told = (
            []
            if plan["verdict"] == "fits"
            else [*(plan.get("reasons") or []), *(plan.get("relaxations") or [])]
        )
        form.why.children = [ipywidgets.Label(visible(entry["message"], 300)) for entry in told[:12]]
        refused = (plan.get("launch") or {}).get("can") == "no"
        form.launch.disabled = refused or plan["verdict"] in ("impossible", "invalid")
        form.show_request(_device_fields(self.requirement), plan["verdict"])
        form.launch.description = "Wait for a device" if plan["verdict"] == "busy" else "Launch"

    # --- launching ------------------------------------------------------------------------------------------

    def launch(self) -> Future[Any] | None:
        """Begin a session for what the form asks; ``session`` follows its state. None where there is no cluster."""
        if self._sessions is None:
            return None
        sessions, wish = self._sessions, self.requirement
        wait = WAIT if self.plan.get("verdict") == "busy" else None
        self._form.launch.disabled = True
        self._form.state.value = "Starting …"

        async def begin() -> dict[str, Any]:
            record = await sessions.launch(wish, wait=wait)
            self._show_session(record.as_dict())
            await sessions.ready(record.id)
            return dict((await sessions.get(record.id)).as_dict())

        def done(future: Future[dict[str, Any]]) -> None:
            self._form.launch.disabled = False
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                self._show_session(future.result())
            else:
                text = error.message if isinstance(error, DRAError) else str(error)
                self.set_trait("message", visible(text))
                self._form.state.value = self.message

        future = sessions.loop.run(begin())
        future.add_done_callback(done)
        return future

    def _show_session(self, session: dict[str, Any]) -> None:
        self.set_trait("session", session)
        devices = ", ".join(visible(entry["label"] or entry["device"], 60) for entry in session["devices"])
        self._form.state.value = f"{visible(session['id'], 60)}: {session['state']}" + (
            f" · {devices}" if devices else ""
        )


def _device_fields(wish: Requirement) -> dict[str, Any]:
    """What a page takes from an output: fields that say which device, never image, environment or volumes."""
    return {name: value for name, value in wish.as_dict().items() if name in WISH_FIELDS}
