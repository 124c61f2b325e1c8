"""Errors as JupyterHub shows them: our own words as text, with a status that says whose turn it is."""

from __future__ import annotations

import json

from kubernetes_asyncio.client import ApiException
from tornado import web

from ..errors import DRAError, RefusedError


def refused(error: DRAError | ValueError) -> web.HTTPError:
    """An answer for a choice that is not accepted: 403 for what is not allowed, else 400; the text names the field."""
    next_step = getattr(error, "next_step", None)
    words = " ".join(part for part in (str(error), next_step) if part)
    return said(words, 403 if isinstance(error, RefusedError) else 400)


def said(words: str, status: int = 409) -> web.HTTPError:
    """An end of a spawn that is nobody's fault in the hub.

    JupyterHub counts answers from 500 on as its own failures and gives up after some of them, so these stay below.
    """
    http = web.HTTPError(status, "%s", words)
    http.jupyterhub_message = words  # type: ignore[attr-defined]
    return http


def server_text(error: ApiException) -> str:
    """The API server's own message."""
    try:
        return str(json.loads(error.body or "{}").get("message") or error.reason)
    except (ValueError, AttributeError):
        return str(error.reason)
