"""What happened to one kernel, for the clients that wait for its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sessions.endings import reason_of_note
from .relay import Relay
from .unanswered import Obituary

Entry = Mapping[str, Any]

MOVED = Obituary(
    "stopped",
    "The kernel was moved to another pod; its variables are gone.",
    "Run the cells you need again.",
)
RESTARTED = Obituary(
    "stopped", "The kernel was restarted; its variables are gone.", "Run the cells you need again."
)
_LOST = frozenset({"died", "pod-lost", "restarted"})
_SILENT = {
    "connection-lost": "The connection to the kernel is lost. This cell may still run; what it prints meanwhile may be "
    "missing. The kernel is looked for as long as its pod lives.",
    "node-not-ready": "The kernel's node does not answer. This cell may still run; nobody can tell yet.",
}


class News:
    """Follows a session's history about one kernel and tells through its relay what is new."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._known: Entry | None = None
        self._over = False

    def begin(self, record: Any) -> None:
        """What has happened so far is no news."""
        self._known = next(iter(reversed(self._about(record))), None)

    def tell(self, record: Any) -> bool:
        """Tell what is new; whether somebody waited for an answer that will not come.

        Args:
            record: the session's `SessionRecord`.
        """
        entries, told = self._about(record), False
        for place in range(len(entries), 0, -1):
            if entries[place - 1] == self._known:
                entries = entries[place:]
                break
        for entry in entries:
            self._known = entry
            told |= self._entry(entry)
        if record.ended is not None and not self._over:
            self._over = True
            ended = record.ended
            told |= self._relay.end(Obituary(ended.code, ended.message, ended.next_step))
        return told

    def _about(self, record: Any) -> list[Entry]:
        wanted = {*_LOST, *_SILENT}
        return [
            one
            for one in record.history
            if one.get("kernel") == self._relay.kernel_id and one.get("event") in wanted
        ]

    def _entry(self, entry: Entry) -> bool:
        event = str(entry["event"])
        if event in _SILENT:
            self._relay.words.remark(_SILENT[event])
            return False
        if event == "restarted":
            return self._relay.words.died(RESTARTED)
        why = reason_of_note(entry)
        if event == "died":
            return self._relay.words.died(Obituary(why.code, why.message, why.next_step))
        words = f"{why.message} The kernel starts anew in another pod; its variables are gone."
        return self._relay.detach(Obituary(why.code, words, "Run the cells you need again."))
