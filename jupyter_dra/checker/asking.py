"""What a server says to the documents of a text, each created as a dry run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from jupyter_dra.checker.findings import ServerAnswer
from jupyter_dra.checker.run import documents
from jupyter_dra.errors import DRAError

__all__ = ["ask_server"]


async def ask_server(text: str, create: Callable[[dict[str, Any]], Awaitable[object]]) -> list[ServerAnswer]:
    """The answers to every document that names a kind, in their order.

    Args:
        create: creates one manifest as a dry run; raises DRAError with the HTTP status in ``params["status"]`` where
            the server refuses it. An error without a status (no connection) is raised on.
    """
    answers = []
    for number, manifest in enumerate(documents(text)):
        if not isinstance(manifest, dict) or not manifest.get("kind"):
            continue
        try:
            await create(manifest)
            answers.append(ServerAnswer(number, True, 201))
        except DRAError as error:
            status = error.params.get("status")
            if not isinstance(status, int):
                raise
            answers.append(ServerAnswer(number, False, status, error.message))
    return answers
