"""Prints the card of each kernel whose session.json stands in the list on stdin, as `%dra` would display it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jupyter_dra.magics.cards import request_card, sessions_card
from jupyter_dra.magics.magic import NO_LOGIN
from jupyter_dra.widgets.card import device_card
from jupyter_dra.widgets.held import collect


def bundle(told: dict[str, Any]) -> dict[str, Any]:
    """One output: `as_of` is when it was made; `sessions` asks for their list instead, `asks` for a request."""
    if "sessions" in told:
        card = sessions_card(told)
    elif "asks" in told:
        card = request_card(told["asks"], NO_LOGIN, told["shell"], requirement=told["requirement"])
    else:
        with TemporaryDirectory() as folder:
            (Path(folder) / "session.json").write_text(json.dumps(told.get("facts")))
            held = {**collect(folder, folder), "as_of": told["as_of"]}
        card = device_card(held)
    data, _metadata = card._repr_mimebundle_()
    return data


print(json.dumps([bundle(told) for told in json.load(sys.stdin)]))
