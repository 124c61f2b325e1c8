"""``jupyter dra run``: a notebook or script on a session, outputs written, everything released."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...claims.arguments import add_requirement_arguments, requirement_values
from ...errors import DRAError, InputError
from .. import exits
from ..options import add_cluster
from ..output import clean, write
from .launch import add_wait, follow, wait_seconds

# Runs a script as a program and leaves its exit status in `status`; the text and name come in as one JSON literal.
_PROGRAM = """\
def _run(source, name):
    import sys, traceback
    module = type(sys)("__main__")
    module.__file__ = name
    try:
        exec(compile(source, name, "exec"), module.__dict__)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="NOTEBOOK|SCRIPT", help="an .ipynb or .py file")
    parser.add_argument(
        "--output-file", metavar="FILE", help="write the executed notebook here (default: in place)"
    )
    parser.add_argument("--report", metavar="FILE", help="write a JSON report of the session and the outcome")
    parser.add_argument(
        "--cell-timeout", type=float, metavar="SECONDS", help="longest time of one cell (default: none)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing of the session's steps")
    parser.add_argument("--allow-errors", action="store_true", help="go on after a cell that fails")
    add_requirement_arguments(parser, session=True)
    add_wait(parser)
    add_cluster(parser)


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.file)
    if path.suffix not in (".ipynb", ".py"):
        raise InputError(
            f"{path.name} is neither .ipynb nor .py.",
            code="file",
            path=arguments.file,
            next_step="Give a notebook or a Python script.",
        )
    if not path.is_file():
        raise InputError(
            f"There is no file {path}.", code="file", path=arguments.file, next_step="Check the name."
        )
    report: dict[str, Any] = {
        "kind": "RunReport",
        "version": 1,
        "file": str(path),
        "session": None,
        "code": None,
    }
    status = exits.NOT_STARTED
    try:
        status = (
            _run_notebook(arguments, path, report)
            if path.suffix == ".ipynb"
            else _run_script(arguments, path, report)
        )
    except DRAError as error:
        report.update(code=error.code, message=error.message)
        early = exits.status_of(error)
        wait_given = arguments.wait is not None
        status = exits.BUSY if early == exits.BUSY and not wait_given else exits.NOT_STARTED
        if early in (exits.USAGE,):
            status = early
        write(f"jupyter dra: {clean(error.message)} ({error.code})", sys.stderr)
        if error.next_step:
            write(f"  → {clean(error.next_step)}", sys.stderr)
    finally:
        report["status"] = status
        if arguments.report:
            Path(arguments.report).write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return status


def _launch_arguments(arguments: argparse.Namespace, path: Path) -> dict[str, Any]:
    """The kernelspec's config: the requirement, and which cluster."""
    config = dict(requirement_values(arguments))
    if not config and path.suffix == ".ipynb":
        config.update(_wish(path))
    config.setdefault("name", path.stem)
    if arguments.namespace:
        config["namespace"] = arguments.namespace
    if arguments.context:
        config["context"] = arguments.context
    if arguments.kubeconfig:
        config["kubeconfig"] = arguments.kubeconfig
    seconds = wait_seconds(arguments)
    if seconds is not None:
        config["wait_for_device"] = f"{int(seconds)}s"
    return config


def _wish(path: Path) -> dict[str, Any]:
    """What the notebook itself asks for; a command line that says nothing takes it."""
    from ...kernels.consent import read_notebook

    facts = read_notebook(str(path))
    return dict(facts.wish) if facts is not None else {}


class _Kernel:
    """A kernel manager on a session, with a kernelspec that exists for this run only."""

    def __init__(self, arguments: argparse.Namespace, path: Path) -> None:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager

        from ...kernels.folders import PrivateFolder
        from ...kernels.kernelspecs import kernel_json
        from ...kernels.surroundings import FOLLOW

        self._folder = PrivateFolder()
        spec = Path(self._folder.path) / "dra"
        spec.mkdir()
        content = kernel_json("Python (session)", _launch_arguments(arguments, path))
        (spec / "kernel.json").write_text(json.dumps(content), encoding="utf-8")
        specs = KernelSpecManager(kernel_dirs=[self._folder.path], ensure_native_kernel=False)
        self.manager = AsyncKernelManager(kernel_name="dra", kernel_spec_manager=specs)
        if not arguments.quiet:
            setattr(self.manager, FOLLOW, follow)

    @property
    def session(self) -> str | None:
        """The id of the session that holds the device; None before the start and after the end."""
        return getattr(self.manager.provisioner, "session_id", None)

    def release(self) -> None:
        """End the kernel, give the device back, remove the kernelspec; the blocking form of `arelease`."""
        import asyncio

        asyncio.run(self.arelease())

    async def arelease(self) -> None:
        """End the kernel, give the device back, remove the kernelspec."""
        if self.manager.has_kernel:
            await self.manager.shutdown_kernel(now=True)
        self._folder.close()


def _run_notebook(arguments: argparse.Namespace, path: Path, report: dict[str, Any]) -> int:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.read(path, as_version=4)
    kernel = _Kernel(arguments, path)
    client = NotebookClient(
        notebook,
        km=kernel.manager,
        timeout=arguments.cell_timeout,
        startup_timeout=24 * 3600,
        allow_errors=arguments.allow_errors,
        resources={"metadata": {"path": str(path.parent.resolve())}},
    )
    status = exits.DONE
    try:
        client.on_notebook_start = _mark_started(kernel, report)
        client.execute()
    except CellExecutionError as error:
        status = 1
        write(clean(f"{error.ename}: {error.evalue}"), sys.stderr)
    except (CellTimeoutError, DeadKernelError) as error:
        status = 1
        write(clean(str(error)), sys.stderr)
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        kernel.release()
        if report.get("started"):
            target = Path(arguments.output_file or path)
            _write_notebook(notebook, target)
            if not arguments.quiet:
                write(f"  Written to {clean(str(target))}; the device is given back.", sys.stderr)
    return status


def _mark_started(kernel: _Kernel, report: dict[str, Any]) -> Any:
    def started(**_: Any) -> None:
        report["started"] = True
        report["session"] = kernel.session

    return started


def _write_notebook(notebook: Any, target: Path) -> None:
    """Replace the file in one step; a link is followed to its file, as an editor would."""
    import nbformat

    target = target.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            nbformat.write(notebook, file)
        with suppress(OSError):
            os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o644)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _run_script(arguments: argparse.Namespace, path: Path, report: dict[str, Any]) -> int:
    import asyncio

    return asyncio.run(_script(arguments, path, report))


async def _script(arguments: argparse.Namespace, path: Path, report: dict[str, Any]) -> int:
    kernel = _Kernel(arguments, path)
    try:
        await kernel.manager.start_kernel(cwd=str(path.parent.resolve()))
        report["started"] = True
        report["session"] = kernel.session
        client = kernel.manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=60)
            literal = json.dumps([path.read_text(encoding="utf-8"), path.name])
            reply = await client.execute_interactive(
                f"{_PROGRAM}\nimport json as _json\n_status = _run(*_json.loads({literal!r}))",
                user_expressions={"status": "_status"},
                allow_stdin=False,
                output_hook=_print_output,
            )
        finally:
            client.stop_channels()
        told = reply["content"].get("user_expressions", {}).get("status", {})
        text = (told.get("data") or {}).get("text/plain", "1")
        return int(text) & 0xFF if text.lstrip("-").isdigit() else 1
    finally:
        await kernel.arelease()


def _print_output(message: dict[str, Any]) -> None:
    """Streams of the remote program, as they come."""
    content = message["content"]
    if message["header"]["msg_type"] == "stream":
        stream = sys.stderr if content["name"] == "stderr" else sys.stdout
        stream.write(content["text"])
        stream.flush()
    elif message["header"]["msg_type"] == "error":
        write("\n".join(content["traceback"]), sys.stderr)
    elif message["header"]["msg_type"] in ("display_data", "execute_result"):
        write(content["data"].get("text/plain", ""))
