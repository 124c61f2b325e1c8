"""What a cell on another kernel publishes, shown as if it had run here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ..widgets.plain import visible, visible_lines

DROPPED = frozenset(["application/vnd.jupyter.widget-view+json", "application/vnd.jupyter-dra.data"])
"""Views of widgets whose comms stay on the other side, and our own transport."""
LINES = 400


class CellError(Exception):
    """The cell raised on the session's kernel; shown with that kernel's own traceback."""

    def __init__(self, name: str, value: str, traceback: list[str]) -> None:
        super().__init__(value)
        self.name = name
        self._traceback = traceback

    def _render_traceback_(self) -> list[str]:
        """Called by IPython instead of formatting where the error came through."""
        return self._traceback or [f"{self.name}: {self}"]


def cell_error(content: Mapping[str, Any]) -> CellError:
    """The error of an ``error`` message, under the name it had there."""
    name = str(content.get("ename") or "Error")
    name = name if name.isidentifier() and len(name) <= 80 else "Error"
    traceback = [str(line) for line in content.get("traceback") or []][:LINES]
    kind = type(name, (CellError,), {"__module__": "builtins"})
    error: CellError = kind(name, visible_lines(str(content.get("evalue") or "")), traceback)
    return error


class Outputs:
    """Shows streams, displays, results and errors of one cell; everything else stays on the other side (T45).

    An update reaches only displays of this very cell.
    """

    def __init__(self, shell: Any, session: str) -> None:
        self._shell, self._session = shell, session
        self._displays: dict[str, str] = {}
        self.error: CellError | None = None

    def told(self, message: Mapping[str, Any]) -> None:
        show = {
            "stream": self._stream,
            "display_data": self._display,
            "execute_result": self._display,
            "update_display_data": self._update,
            "clear_output": self._clear,
            "error": self._error,
        }.get(str(message["type"]))
        if show is not None:
            show(message["content"])

    def _stream(self, content: Mapping[str, Any]) -> None:
        stream = sys.stderr if content.get("name") == "stderr" else sys.stdout
        stream.write(str(content.get("text") or ""))
        stream.flush()

    def _display(self, content: Mapping[str, Any], *, update: bool = False) -> None:
        data = {
            str(kind): value for kind, value in dict(content.get("data") or {}).items() if kind not in DROPPED
        }
        if not data:
            return
        theirs = (content.get("transient") or {}).get("display_id")
        transient = {}
        if theirs is not None:
            transient["display_id"] = self._displays.setdefault(
                str(theirs), f"{self._session}-{id(self)}-{len(self._displays)}"
            )
        metadata = dict(content.get("metadata") or {})
        sys.stdout.flush()
        self._shell.display_pub.publish(data=data, metadata=metadata, transient=transient, update=update)

    def _update(self, content: Mapping[str, Any]) -> None:
        if str((content.get("transient") or {}).get("display_id")) in self._displays:
            self._display(content, update=True)

    def _clear(self, content: Mapping[str, Any]) -> None:
        self._shell.display_pub.clear_output(wait=bool(content.get("wait")))

    def _error(self, content: Mapping[str, Any]) -> None:
        self.error = cell_error(content)

    def ask(self, prompt: str, password: bool) -> str:
        """Answer the cell's ``input()``; the prompt says who asks."""
        shown = f"[{visible(self._session, 60)}] {visible(prompt)}"
        if password:
            from getpass import getpass

            return getpass(shown)
        return input(shown)


class Status:
    """One line that changes while a session is made and goes on being true."""

    def __init__(self, shell: Any, key: str) -> None:
        self._shell, self._key = shell, f"jupyter-dra-{key}"
        self._shown = False

    def say(self, text: str) -> None:
        data = {"text/plain": visible(text)}
        self._shell.display_pub.publish(
            data=data, metadata={}, transient={"display_id": self._key}, update=self._shown
        )
        self._shown = True
