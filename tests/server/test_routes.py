"""Every route is described, needs a login and the right, takes JSON only, and answers in one form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.auth import Authorizer, User

from jupyter_dra import server
from jupyter_dra.model import codes
from jupyter_dra.server.bodies import document, validated
from jupyter_dra.server.routes import PREFIX, ROUTES

from .conftest import Fetch

VERBS = ("get", "post", "put", "patch", "delete")


def described() -> set[tuple[str, str]]:
    return {(path, verb) for path, item in document()["paths"].items() for verb in item if verb in VERBS}


def served() -> set[tuple[str, str]]:
    found = set()
    for pattern, handler in ROUTES:
        path = re.sub(r"\(\?P<session_id>.*?\)(?=/|$)", "{id}", pattern.removeprefix(PREFIX))
        path = re.sub(r"\(\?P<kernel_id>[^)]*\)", "{kernelId}", path)
        found |= {(path, verb) for verb in VERBS if verb in handler.__dict__}
    return found


def concrete(path: str) -> str:
    return path.replace("{id}", "nobody-22222").replace("{kernelId}", "k1").lstrip("/")


def test_openapi_and_the_live_handlers_name_the_same_routes() -> None:
    assert described() == served()


def test_the_description_is_valid_openapi() -> None:
    from openapi_spec_validator import validate

    validate(document(), base_uri=(Path(server.__file__).parent / "openapi.yaml").as_uri())


def test_codes_of_the_description_are_those_of_the_one_list() -> None:
    schemas = document()["components"]["schemas"]
    assert tuple(schemas["Verdict"]["enum"]) == codes.VERDICTS
    assert tuple(schemas["StatusState"]["enum"]) == codes.STATUS_STATES
    assert tuple(schemas["SessionState"]["enum"]) == tuple(codes.STATES)
    assert tuple(schemas["DeviceKind"]["enum"]) == codes.DEVICE_KINDS
    assert tuple(schemas["DeviceState"]["enum"]) == codes.DEVICE_STATES


@pytest.mark.threat("T08")
async def test_no_route_answers_without_a_login(
    jp_serverapp: Any, fetch: Fetch, http_server_client: Any, jp_base_url: str
) -> None:
    for path, verb in sorted(described()):
        body = None if verb in ("get", "delete") else "{}"
        answer = await http_server_client.fetch(
            f"{jp_base_url}jupyter-dra/{concrete(path)}",
            method=verb.upper(),
            body=body,
            raise_error=False,
            follow_redirects=False,
        )
        assert answer.code in (401, 403), (path, verb, answer.code)


class NobodyMay(Authorizer):
    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return False


class Untouchable:
    """A board that fails the test when anything is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"board.{name} was touched although the authorizer said no")


@pytest.mark.threat("T08")
async def test_no_route_works_when_the_authorizer_says_no(jp_serverapp: Any, fetch: Fetch) -> None:
    jp_serverapp.web_app.settings["authorizer"] = NobodyMay(parent=jp_serverapp)
    board = jp_serverapp.web_app.settings["jupyter_dra_board"]
    jp_serverapp.web_app.settings["jupyter_dra_board"] = Untouchable()
    try:
        for path, verb in sorted(described()):
            answer = await fetch(verb.upper(), concrete(path))
            assert answer.status == 403, (path, verb)
            assert answer.headers["Content-Type"].startswith("application/problem+json")
    finally:
        jp_serverapp.web_app.settings["jupyter_dra_board"] = board


@pytest.mark.threat("T07")
async def test_unsafe_methods_take_json_only(fetch: Fetch) -> None:
    for path, verb in sorted(described()):
        if verb in ("post", "put", "patch"):
            for kind in ("text/plain", "application/x-www-form-urlencoded"):
                answer = await fetch(verb.upper(), concrete(path), body="{}", headers={"Content-Type": kind})
                assert answer.status == 415, (path, verb, kind)


@pytest.mark.threat("T07")
async def test_a_cookie_without_the_xsrf_token_changes_nothing(
    fetch: Fetch, jp_serverapp: Any, http_server_client: Any, jp_base_url: str
) -> None:
    from tornado.web import create_signed_value

    secret = jp_serverapp.web_app.settings["cookie_secret"]
    provider = jp_serverapp.identity_provider
    name = provider.cookie_name or "username-" + re.sub(
        r"[^A-Za-z0-9]", "-", f"127.0.0.1:{jp_serverapp.port}"
    )
    user = provider.user_to_cookie(User(username="ada"))
    cookie = f"{name}={create_signed_value(secret, name, user).decode()}"
    answer = await http_server_client.fetch(
        f"{jp_base_url}jupyter-dra/sessions",
        method="POST",
        body='{"requirement": {}}',
        headers={"Cookie": cookie, "Content-Type": "application/json"},
        raise_error=False,
    )
    assert answer.code == 403


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("plan", {}, ""),
        ("plan", {"requirement": {}, "claim": {}}, ""),
        ("plan", {"requirement": {}, "extra": 1}, "extra"),
        ("plan", {"requirement": {}, "namespace": "x/../secrets?"}, "namespace"),
        ("sessions", {"requirement": {}, "wait": -1}, "wait"),
        ("sessions", {"requirement": []}, "requirement"),
        ("check", {"text": 1}, "text"),
    ],
)
async def test_a_body_against_the_schema_is_a_problem_that_names_the_field(
    fetch: Fetch, path: str, body: Any, field: str
) -> None:
    answer = await fetch("POST", path, body=body)
    assert answer.status == 422
    problem = answer.json
    assert problem["path"] == field
    assert problem["message"] == problem["detail"]
    assert set(problem) == {
        "type",
        "title",
        "status",
        "detail",
        "code",
        "object",
        "path",
        "next",
        "params",
        "message",
    }


async def test_text_that_is_no_json_is_a_problem_not_a_traceback(fetch: Fetch) -> None:
    for text in ("{", "[]", '"x"', "[" * 100_000):
        answer = await fetch("POST", "plan", body=text)
        assert answer.status == 422
        assert "Traceback" not in answer.body.decode()


def test_deep_bodies_are_refused() -> None:
    from jupyter_dra.errors import InputError

    deep: Any = {}
    for _ in range(60):
        deep = {"requirement": deep}
    with pytest.raises(InputError):
        validated(json.dumps(deep).encode(), "PlanRequest")


async def test_an_unknown_route_is_not_found(fetch: Fetch) -> None:
    assert (await fetch("GET", "nothing")).status == 404
    assert (await fetch("GET", "sessions/..%2f..%2fsecrets")).status == 404


def test_the_front_end_has_the_same_codes() -> None:
    import subprocess
    import sys

    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "tools/front_codes.py", "--check"], cwd=root, check=False)
    assert done.returncode == 0
