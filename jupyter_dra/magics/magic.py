"""``%dra``: one line magic with the words of the command line, answering in cards."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from ..errors import ClusterError, DRAError
from ..widgets import held
from ..widgets.plain import visible
from .commands import Call, HelpShown, help_text, parse

if TYPE_CHECKING:
    from ..widgets.card import Card
    from ..widgets.measured import CellFigures
    from .cell import CellRunner
    from .cluster_side import ClusterSide

NO_LOGIN = (
    "This kernel runs on the device, in a pod without a cluster login. "
    "The panel GPU sessions can do it, after asking you."
)


@magics_class
class DRAMagics(Magics):
    """``%dra`` in one shell; what needs the cluster is made on first use."""

    def __init__(self, shell: Any, cluster: ClusterSide | None = None) -> None:
        super().__init__(shell)
        self._cluster = cluster
        self._runner: CellRunner | None = None
        self._figures: CellFigures | None = None

    @property
    def cluster(self) -> ClusterSide:
        if self._cluster is None:
            from .cluster_side import ClusterSide

            self._cluster = ClusterSide()
        return self._cluster

    # Without @no_var_expand IPython would evaluate {…} and $… in the line as Python: a product name copied from the
    # cluster could then run code (threat T03).
    @no_var_expand
    @line_magic
    def dra(self, line: str = "") -> Any:
        """Show the device this kernel holds, or ask for one: see ``%dra help``."""
        try:
            call = parse(shlex.split(line))
            return self._answer(call)
        except HelpShown:
            return None
        except DRAError as error:
            text = error.message if error.next_step is None else f"{error.message} {error.next_step}"
            raise UsageError(visible(text, 2000)) from error
        except ValueError as error:
            raise UsageError(f"%dra: {visible(error)}") from error

    @no_var_expand
    @cell_magic("dra")  # type: ignore[arg-type]
    def dra_cell(self, line: str, cell: str) -> Any:
        """Run this cell on a device that is held only while it runs: see ``%%dra --help``."""
        from .celloptions import parse_cell

        try:
            options = parse_cell(shlex.split(line))
            if held.read_session(held.run_folder()) is not None:
                print("The cell was not run.")
                return self._request(Call("launch", options.arguments))
            if self._runner is None:
                from .cell import CellRunner

                self._runner = CellRunner(self.shell, self.cluster)
            return self._runner.run(options, cell)
        except HelpShown:
            return None
        except DRAError as error:
            text = error.message if error.next_step is None else f"{error.message} {error.next_step}"
            raise UsageError(visible(text, 2000)) from error
        except ValueError as error:
            raise UsageError(f"%%dra: {visible(error)}") from error

    def _answer(self, call: Call) -> Any:
        if call.word == "help":
            print(help_text())
            return None
        answer: Callable[[Any], Any] = getattr(self, f"_{call.word}")
        if call.word in _NEED_CLUSTER and held.read_session(held.run_folder()) is not None:
            return self._request(call)
        return answer(call.arguments)

    # --- without the cluster --------------------------------------------------------------------------------

    def _card(self, arguments: Any) -> Card:
        from ..widgets.card import device_card

        return device_card(held.collect())

    def _measure(self, arguments: Any) -> None:
        from ..widgets.measured import CellFigures

        if self._figures is None:
            self._figures = CellFigures(self.shell)
        print(self._figures.switch(arguments.switch))

    def _claim(self, arguments: Any) -> Card:
        from ..claims import build_claim, to_yaml
        from ..claims.arguments import requirement_from_arguments
        from .cards import claim_card

        wish, name = requirement_from_arguments(arguments), arguments.claim_name
        manifest = None
        if held.read_session(held.run_folder()) is None:
            with suppress(ClusterError):
                manifest = self.cluster.claim_for(wish, name)
        manifest = manifest or build_claim(wish, name=name)
        return claim_card(manifest, to_yaml(manifest))

    def _check(self, arguments: Any) -> Card:
        from ..checker import check
        from .cards import check_card
        from .cluster_side import read_manifest

        result = check(read_manifest(arguments.file), fix=arguments.fix, target=arguments.target)
        return check_card(result.as_dict())

    def _ui(self, arguments: Any) -> Any:
        try:
            from ..widgets import DRAPicker
        except ImportError:
            return self._request(Call("launch", arguments))
        inside = held.read_session(held.run_folder()) is not None
        return DRAPicker(sessions=None if inside else self.cluster.sessions)

    # --- with the cluster -----------------------------------------------------------------------------------

    def _request(self, call: Call) -> Card:
        """A card that asks the front end to do it: requirement fields and ids only."""
        from ..claims import WISH_FIELDS
        from ..claims.arguments import requirement_values
        from .cards import request_card

        own = (held.read_session(held.run_folder()) or {}).get("session")
        session = getattr(call.arguments, "session", None) or (own if call.word in _OWN_SESSION else None)
        given = requirement_values(call.arguments) if call.word in ("launch", "plan") else {}
        wish = {name: value for name, value in given.items() if name in WISH_FIELDS}
        words = ["jupyter", "dra", call.word, *([str(session)] if session else [])]
        for name, value in wish.items():
            words += [f"--{name.replace('_', '-')}", value if isinstance(value, str) else str(value)]
        return request_card(call.word, NO_LOGIN, shlex.join(words), session=session, requirement=wish)

    def _tiers(self, arguments: Any) -> Card:
        from .cards import tiers_card

        return tiers_card(self.cluster.tiers())

    def _devices(self, arguments: Any) -> Card:
        from .cards import devices_card

        return devices_card(self.cluster.devices(tier=arguments.tier, node=arguments.node))

    def _plan(self, arguments: Any) -> Card:
        from ..claims.arguments import requirement_from_arguments
        from .cards import plan_card
        from .cluster_side import load_claim

        wanted = load_claim(arguments.file) if arguments.file else requirement_from_arguments(arguments)
        return plan_card(self.cluster.plan(wanted))

    def _launch(self, arguments: Any) -> Card:
        from ..claims import parse_duration
        from ..claims.arguments import requirement_from_arguments
        from .cards import session_card

        wait = None if arguments.wait is None else float(parse_duration(arguments.wait, "--wait"))
        wish = requirement_from_arguments(arguments)
        return session_card(self.cluster.launch(wish, wait=wait, say=lambda text: print(visible(text))))

    def _sessions(self, arguments: Any) -> Card:
        from .cards import own_session_card, sessions_card

        if held.read_session(held.run_folder()) is not None:
            return own_session_card(held.collect())
        return sessions_card(self.cluster.list())

    def _attach(self, arguments: Any) -> Card:
        from .cards import session_card

        return session_card(self.cluster.attach(_named(arguments)))

    def _extend(self, arguments: Any) -> Card:
        from ..claims import parse_duration
        from .cards import session_card

        return session_card(self.cluster.extend(_named(arguments), parse_duration(arguments.by, "--by")))

    def _stop(self, arguments: Any) -> Card:
        from .cards import session_card

        return session_card(self.cluster.stop(_named(arguments)))


_NEED_CLUSTER = frozenset({"tiers", "devices", "plan", "launch", "attach", "extend", "stop"})
_OWN_SESSION = frozenset({"attach", "extend", "stop"})


def _named(arguments: Any) -> str:
    if not arguments.session:
        raise UsageError("Name a session: %dra sessions lists them.")
    return str(arguments.session)
