"""``%%dra``: one cell on a device that is held only while it runs, or on a session kept warm."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConflictError, DRAError, InputError, SessionEnded
from . import celldata
from .celldata import CannotTravel
from .celloptions import BRIEF, CellOptions
from .cellshow import Outputs, Status

if TYPE_CHECKING:
    from ..sessions.ports import KernelChannel
    from .cluster_side import ClusterSide

KERNEL = "dra-cell"
"""Name of the kernels that cells run on; a cell never uses a kernel of a notebook."""
DEFAULT_NAME = "cell"
_HOME = "__import__('sys').modules['_jupyter_dra_cell']"
_SPACE = "get_ipython().user_ns"
_GIVE_BACK_SECONDS = 60.0


@dataclass(slots=True)
class Place:
    """A session cells run on, as this kernel holds it."""

    session: str
    label: str
    wish: Mapping[str, Any]
    since: float  # when its device was reserved, as far as this kernel saw it
    channel: KernelChannel
    prepared: bool = False


class CellRunner:
    """Runs cells on sessions of their own; kept ones by name."""

    def __init__(self, shell: Any, cluster: ClusterSide) -> None:
        self._shell, self._cluster = shell, cluster
        self._kept: dict[str, Place] = {}

    def run(self, options: CellOptions, code: str) -> None:
        """Run one cell.

        Raises:
            InputError: ``travel``: a named variable is missing or no data; nothing was launched.
            CellError: the cell raised there. DRAError: the session could not be had, or ended.
        """
        text, sizes = self._pack(options)
        status = Status(self._shell, uuid.uuid4().hex)
        if sizes:
            listed = ", ".join(f"{name} ({_size(size)})" for name, size in sizes.items())
            status.say(f"%%dra sends {listed}")
        if options.pickle:
            print("Warning: --pickle loads what the session's kernel sends; a pickle can run any code here.")
        began = time.monotonic()
        place, fresh = self._place(options, status)
        keep = options.keep is not None or not fresh
        outputs = Outputs(self._shell, place.session)
        spent, missing, figures = 0.0, {}, ""
        try:
            status.say(f"Runs on {place.label} · session {place.session}")
            self._prepare(place, text if sizes else None, options.pickle)
            started = time.monotonic()
            place.channel.execute(code, told=outputs.told, ask=outputs.ask)
            spent = time.monotonic() - started
            figures = self._figures(place)
            if outputs.error is None and options.bring:
                missing = self._bring(place, options)
        except BaseException as error:
            keep = keep and not isinstance(error, SessionEnded) and self._alive(place)
            raise
        finally:
            self._leave(options, place, keep=keep)
            held = time.monotonic() - (place.since if fresh or not keep else began)
            told = [f"cell {spent:.1f} s", figures, f"device held {held:.1f} s"]
            status.say(_summary(place, told, options.keep if keep else None, keep))
        if outputs.error is not None:
            raise outputs.error
        if missing:
            raise InputError(
                "Not brought back: " + " ".join(missing.values()),
                code="travel",
                next_step="Assign them in the cell as data: a list, a number, an array, a table.",
            )

    def _figures(self, place: Place) -> str:
        """What the cell took of the device; empty where nothing was measured."""
        from ..widgets.measured import line_of

        usage = self._cluster.cell_figures(place.session)
        return "" if usage is None else line_of(usage)

    def _pack(self, options: CellOptions) -> tuple[str, dict[str, int]]:
        """What is sent, before anything is launched."""
        space = self._shell.user_ns
        for name in options.send:
            if name not in space:
                raise InputError(
                    f"%%dra --in {name}: there is no such variable.",
                    code="travel",
                    next_step="Assign it in this notebook first.",
                )
        try:
            return celldata.to_text({name: space[name] for name in options.send}, pickle=options.pickle)
        except CannotTravel as why:
            raise InputError(
                f"%%dra --in: {why}",
                code="travel",
                next_step="Send numbers, texts, lists, dicts, numpy arrays or Arrow tables; or read it there.",
            ) from why

    # --- the session ----------------------------------------------------------------------------------------

    def _place(self, options: CellOptions, status: Status) -> tuple[Place, bool]:
        """A kept session of this name (and False), or a new one (and True)."""
        name = options.name or (DEFAULT_NAME if options.keep is not None else None)
        if name is not None:
            kept = self._find(name)
            if kept is not None:
                if options.wish and dict(kept.wish) != options.wish:
                    raise ConflictError(
                        f"The session {name} was made for something else.",
                        code="in-use",
                        next_step=f"Choose another --name, or end it: %dra stop {kept.session}",
                    )
                if options.keep is not None:
                    self._cluster.idle_limit(kept.session, options.keep)
                return kept, False
        return self._launch(options, name or DEFAULT_NAME, status), True

    def _find(self, name: str) -> Place | None:
        """The kept session of this name: of this kernel, or of an earlier one of the same user."""
        place = self._kept.get(name)
        if place is not None:
            if self._alive(place):
                return place
            del self._kept[name]
            place.channel.close()
        for record in self._cluster.list()["sessions"]:
            kernels = record["kernels"]
            if record["mine"] and record["state"] == "running" and record["name"] == name:
                if [kernel["name"] for kernel in kernels] != [KERNEL]:
                    continue
                with suppress(DRAError):
                    place = self._open(record, {})
                    self._kept[name] = place
                    return place
        return None

    def _launch(self, options: CellOptions, name: str, status: Status) -> Place:
        from ..claims import Requirement, format_duration
        from ..sessions.ports import KernelChoice
        from .cluster_side import STEP_WORDS

        idle = BRIEF if options.keep is None else format_duration(options.keep)
        wish = Requirement.from_dict({"idle_timeout": idle, **options.wish, "name": name})
        kernel = KernelChoice(name=KERNEL, display_name="%%dra")
        since: list[float] = []

        def say(text: str) -> None:
            if text == STEP_WORDS["allocated"]:
                since.append(time.monotonic())
            status.say(f"%%dra · {text}")

        record = self._cluster.launch(
            wish,
            wait=options.wait,
            say=say,
            kernel=kernel,
            cwd=os.getcwd(),
            idle_by="kernel",
            measure_cells=True,
        )
        try:
            place = self._open(record, options.wish)
        except BaseException:
            self._cluster.give_back(record["id"], _GIVE_BACK_SECONDS)
            raise
        place.since = since[0] if since else place.since
        return place

    def _open(self, record: Mapping[str, Any], wish: Mapping[str, Any]) -> Place:
        channel = self._cluster.sessions.channel(record["id"])
        labels = [str(device["label"] or device["device"]) for device in record["devices"]]
        label = f"{len(labels)} × {labels[0]}" if len(labels) > 1 else "".join(labels) or "its device"
        return Place(str(record["id"]), label, dict(wish), time.monotonic(), channel)

    def _alive(self, place: Place) -> bool:
        try:
            return bool(self._cluster.get(place.session)["state"] == "running")
        except DRAError:
            return False

    def _leave(self, options: CellOptions, place: Place, *, keep: bool) -> None:
        name = options.name or DEFAULT_NAME
        if keep:
            self._kept[name] = place
            return
        if self._kept.get(name) is place:
            del self._kept[name]
        place.channel.close()
        self._cluster.give_back(place.session, _GIVE_BACK_SECONDS)

    # --- the variables --------------------------------------------------------------------------------------

    def _prepare(self, place: Place, text: str | None, pickle: bool) -> None:
        """Lay out the data module there (once), and the variables."""
        if not place.prepared:
            source = Path(celldata.__file__).read_text(encoding="utf-8")
            self._there(
                place,
                "(lambda m: (m.__dict__.update(inbox=[]), __import__('sys').modules.update(_jupyter_dra_cell=m), "
                f"exec({source!r}, m.__dict__)))(__import__('types').ModuleType('_jupyter_dra_cell'))",
            )
            place.prepared = True
        if text is None:
            return
        for start in range(0, len(text), celldata.CHUNK):
            self._there(place, f"{_HOME}.inbox.append({text[start : start + celldata.CHUNK]!r})")
        self._there(place, f"{_HOME}.place({_SPACE}, {_HOME}.inbox, {pickle!r})")

    def _bring(self, place: Place, options: CellOptions) -> dict[str, str]:
        """Put the named results into the notebook; returns why others did not come."""
        chunks: list[str] = []
        failed: list[Any] = []
        arrived, most = 0, celldata.LIMIT * 2

        def told(message: Mapping[str, Any]) -> None:
            nonlocal arrived
            if message["type"] == "error":
                failed.append(message["content"].get("evalue"))
            if message["type"] != "display_data":
                return
            chunk = (message["content"].get("data") or {}).get(celldata.MIME)
            if isinstance(chunk, str):
                arrived += len(chunk)
                if arrived <= most:
                    chunks.append(chunk)

        names = list(options.bring)
        code = f"{_HOME}.publish({_SPACE}, {names!r}, {celldata.LIMIT}, {options.pickle!r})"
        place.channel.execute(code, told=told, silent=True)
        _refuse(next(iter(failed), None))
        if arrived > most:
            raise InputError(
                "The results are too large to bring back.",
                code="travel",
                next_step="Bring less back, or write them to a file on a volume.",
            )
        try:
            values, missing = celldata.from_text("".join(chunks), options.pickle)
        except CannotTravel as why:
            raise InputError(
                f"%%dra --out: {why}",
                code="travel",
                next_step="Turn it into data, such as a list, a number, an array or a table.",
            ) from why
        # Only what the cell's own words named enters the notebook, whatever else was sent.
        self._shell.user_ns.update({name: values[name] for name in names if name in values})
        return {name: missing.get(name, f"{name} did not come.") for name in names if name not in values}

    def _there(self, place: Place, expression: str) -> None:
        """Evaluate our own words there; nothing is shown, a failure is ours to tell."""
        _refuse(place.channel.evaluate(expression))


def _refuse(problem: Any) -> None:
    if problem is not None:
        from ..widgets.plain import visible

        raise InputError(
            f"The session's kernel could not do it: {visible(problem, 300)}",
            code="travel",
            next_step="See what its image lacks, or choose another with --image.",
        )


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{max(1, count >> 10)} KiB"


def _summary(place: Place, told: list[str], seconds: int | None, kept: bool) -> str:
    from ..claims import format_duration

    end = "given back"
    if kept:
        end = f"kept until it idled {format_duration(seconds)}" if seconds else "still kept"
    return " · ".join([place.label, f"session {place.session}", *filter(None, told), end])
