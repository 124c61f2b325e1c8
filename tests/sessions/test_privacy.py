"""What a session leaves lying about: nobody's name where others look, and no secret anywhere."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.claims.names import hashed_slug
from jupyter_dra.sessions import SessionEvent
from tests.sessions.place import Place
from tests.sessions.test_launch import H100, launched

USER = "Ada Lovelace <ada@sentinel.example>"
NOTEBOOK = "sentinel-plans/Was Anna nicht wissen darf.ipynb"
SECRET = "s3cr3t-sentinel-value"
LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")


def everything(place: Place, session_id: str) -> dict[str, dict[str, Any]]:
    return {
        "pod": place.object("pods", f"{session_id}-0"),
        "claim": place.object("resourceclaims", session_id),
        "secret": place.object("secrets", f"{session_id}-0-keys"),
    }


@pytest.mark.threat("T50")
def test_labels_carry_slugs_and_no_paths_and_events_carry_no_names(place: Place) -> None:
    service = place.service(user=USER)
    told: list[SessionEvent] = []
    service.subscribe(told.append, every=True)
    session_id = launched(service, H100, notebook=NOTEBOOK, name="work")
    for obj in everything(place, session_id).values():
        tags = obj["metadata"]["labels"]
        assert all(LABEL.fullmatch(value) for value in tags.values()), tags
        assert tags["jupyter-dra.dev/user"] == hashed_slug(USER), "a slug, and a hash that tells twins apart"
        assert not {"notebook", "name"} & {key.rpartition("/")[2] for key in tags}
        assert "plans" not in json.dumps([tags, obj["metadata"]["name"]])
    assert told and "sentinel" not in json.dumps([event.as_dict() for event in told])
    notes = place.object("pods", f"{session_id}-0")["metadata"]["annotations"]
    assert notes["jupyter-dra.dev/user"] == USER, (
        "whole names stand where only rights on the object show them"
    )


@pytest.mark.threat("T18")
def test_a_password_in_the_environment_and_the_login_stand_in_the_secret_alone(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    config = json.loads(Path(place.cluster.kubeconfig).read_text())
    token = config["users"][0]["user"].get("token") or "no token in this kubeconfig"
    caplog.set_level(logging.DEBUG)
    service = place.service()
    session_id = launched(service, {**H100, "env": {"PASSWORD": SECRET}}, notebook="a.ipynb")
    found = everything(place, session_id)
    shown = json.dumps(
        [
            found["pod"],
            found["claim"],
            found["secret"]["metadata"],
            service.loop.call(service.get(session_id)).as_dict(),
            [path.read_text() for path in place.folder.rglob("sessions/*.json")],
            repr(service),
        ]
    )
    command_lines = b"".join(
        path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
    ).decode("utf-8", "replace")
    for text in (shown, command_lines, caplog.text):
        assert SECRET not in text
        assert token not in text
    assert "private.client.key" in found["secret"]["data"] or found["secret"]["data"]
