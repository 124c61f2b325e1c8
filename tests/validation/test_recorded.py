"""Our answers beside those recorded from the API server's own code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jupyter_dra.validation import decode, parse_json

# Where we differ on purpose. Each is a piece of the entry's id and the reason.
DIFFERENT = {
    "'projected': {'sources': [{'serv": "the account that admission fills in comes after validation here",
    "kubernetes.io/config.mirror": "mirror pods are made by kubelets only",
    "'privileged': True, 'all": "depends on the server's flag --allow-privileged",
    "UPDATE  ResourceClaimTemplate spec.spec": "the server dumps an internal struct; path and reason are equal",
    "UPDATE  Pod spec.containers[0].image=''": "a side effect of the changed default of the pull policy",
    "UPDATE  Pod spec.resourceClaims=[]": "the server's diff of internal structs is not rebuilt",
}


def reason_to_differ(entry_id: str) -> str | None:
    return next((reason for piece, reason in DIFFERENT.items() if piece in entry_id), None)


def ask(entry: dict[str, Any], server_says: Callable[..., str | None]) -> str | None:
    if "raw" in entry:
        return decode(parse_json(entry["raw"])).message()
    return server_says(
        entry["object"], old=entry.get("old"), labels=entry.get("labels"), sub=entry.get("sub")
    )


def test_every_refusal_reads_like_the_servers(
    recorded: list[tuple[dict[str, Any], str | None]], server_says: Callable[..., str | None]
) -> None:
    wrong = {
        entry["id"]: (text, ours)
        for entry, text in recorded
        if (ours := ask(entry, server_says)) != text and reason_to_differ(entry["id"]) is None
    }
    assert wrong == {}


def test_where_we_word_it_differently_path_and_verdict_agree(
    recorded: list[tuple[dict[str, Any], str | None]], server_says: Callable[..., str | None]
) -> None:
    for entry, text in recorded:
        if reason_to_differ(entry["id"]) is None:
            continue
        ours = ask(entry, server_says)
        assert (ours is None) == (text is None), entry["id"]
        assert set(paths(ours)) <= set(paths(text)), entry["id"]


def paths(message: str | None) -> list[str]:
    """The field paths a message names."""
    return re.findall(r"(?:^|is invalid: \[?|, )([a-z][\w.\[\]]*): [A-Z]", message or "")
