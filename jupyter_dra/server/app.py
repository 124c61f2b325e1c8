"""The extension application: settings, routes, events, and what happens at start and stop."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Instance, Unicode, default

from ..config import DRASettings

if TYPE_CHECKING:
    from .board import Board

EVENT_SCHEMAS = ("session-v1.yaml", "inventory-v1.yaml", "status-v1.yaml")


class DRAExtension(ExtensionApp, DRASettings):
    """Accelerators for this server's notebooks."""

    name = "jupyter_dra"
    extension_url = "/jupyter-dra"
    load_other_extensions = True
    description = "Accelerators in Jupyter through Kubernetes Dynamic Resource Allocation."

    user = Unicode("", help="The user's name on labels; default: JUPYTERHUB_USER, then the account's.").tag(
        config=True
    )
    board = Instance("jupyter_dra.server.board.Board", allow_none=True)

    @default("user")
    def _user_default(self) -> str:
        import os

        return os.environ.get("JUPYTERHUB_USER", "")

    def initialize_settings(self) -> None:
        """Called by jupyter_server before the handlers: the board and the event schemas; nothing is connected."""
        from .board import Board

        assert self.serverapp is not None
        # The kernelspec that notebooks on a session show; found here, so that nothing must be installed for it.
        specs = str(files("jupyter_dra") / "kernels" / "specs")
        assert self.serverapp.kernel_spec_manager is not None
        assert self.serverapp.event_logger is not None
        dirs = kernel_dirs(self.serverapp.kernel_spec_manager)
        if specs not in dirs:
            dirs.append(specs)
        folder = files(__package__) / "event_schemas"
        for name in EVENT_SCHEMAS:
            self.serverapp.event_logger.register_event_schema((folder / name).read_text(encoding="utf-8"))
        self.board = Board(self, self.serverapp)
        self.settings["jupyter_dra_board"] = self.board
        self.serverapp.web_app.settings["jupyter_dra_board"] = self.board

    def initialize_handlers(self) -> None:
        """Called by jupyter_server: the routes."""
        from .routes import ROUTES

        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, serverapp: Any) -> None:
        """Called by jupyter_server when its loop runs: kernels of an earlier server begin to come back."""
        board: Board | None = self.board
        if board is not None:
            board.start()

    async def stop_extension(self) -> None:
        """Called by jupyter_server before kernels are shut down: launches are cancelled, sessions end or are kept."""
        board: Board | None = self.board
        if board is not None:
            await board.close()


def kernel_dirs(manager: Any) -> list[str]:
    """The manager's list of folders, to be added to.

    Its default (jupyter_client/kernelspec.py, ``_kernel_dirs_default``) imports IPython for the last folder, which
    is most of what we would add to the server's start; the same list is made here without.
    """
    if not manager.trait_has_value("kernel_dirs"):
        import os

        from jupyter_core.paths import jupyter_path

        home = os.environ.get("IPYTHONDIR") or os.path.join(os.path.expanduser("~"), ".ipython")
        manager.kernel_dirs = [*jupyter_path("kernels"), os.path.join(home, "kernels")]
    found: list[str] = manager.kernel_dirs
    return found


def main(argv: Any = None) -> None:
    """Run a server with this extension on its own."""
    DRAExtension.launch_instance(argv)  # type: ignore[no-untyped-call]
