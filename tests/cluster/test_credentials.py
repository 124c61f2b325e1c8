"""Login plugins: how they are run, when again, and who may forbid it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster import Surroundings, choose
from jupyter_dra.cluster.credentials import Credentials, allow
from jupyter_dra.errors import ClusterError
from tests.cluster.test_kubeconfig import config

API = "client.authentication.k8s.io/v1"
EMPTY = f"""print('{{"apiVersion": "{API}", "kind": "ExecCredential", "status": {{}}}}')"""


def plugin(tmp_path: Path, body: str) -> dict[str, Any]:
    script = tmp_path / "plugin.py"
    script.write_text(body)
    return {"apiVersion": API, "command": sys.executable, "args": [str(script)]}


def answer(token: str, expires: datetime | None = None) -> str:
    status = {"token": token}
    if expires is not None:
        status["expirationTimestamp"] = expires.isoformat()
    text = json.dumps({"apiVersion": API, "kind": "ExecCredential", "status": status})
    return f"print({text!r})"


def credentials(tmp_path: Path, spec: dict[str, Any]) -> Credentials:
    config(tmp_path / ".kube" / "config", "home", current="home", exec=spec)
    return Credentials(choose(surroundings=Surroundings(environ={}, home=tmp_path)))


def token_of(made: Credentials) -> str:
    async def main() -> str:
        configuration = await made.load()
        return str(configuration.api_key["BearerToken"])

    return asyncio.run(main())


def test_a_plugins_token_is_used_and_asked_for_again_when_it_runs_out(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    soon = datetime.now(UTC) + timedelta(seconds=5)
    body = f"open({str(counter)!r}, 'a').write('x')\n" + answer("fresh", soon)
    made = credentials(tmp_path, plugin(tmp_path, body))
    assert token_of(made) == "Bearer fresh"

    async def again() -> None:
        configuration = await made.load()
        await made.refresh(configuration)

    asyncio.run(again())
    assert len(counter.read_text()) >= 2


def test_a_new_login_is_taken_from_the_file_and_the_cluster_stays(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    config(path, "home", current="home", token="first")
    made = Credentials(choose(surroundings=Surroundings(environ={}, home=tmp_path)))
    assert token_of(made) == "Bearer first"
    text = path.read_text().replace("first", "second")
    path.write_text(text.replace("https://", "https://elsewhere."))
    assert token_of(made) == "Bearer first"
    made.reread()
    assert token_of(made) == "Bearer second"
    assert "elsewhere" not in asyncio.run(made.load()).host
    path.write_text("{")
    made.reread()
    assert token_of(made) == "Bearer second"


def test_a_token_that_still_holds_is_not_asked_for_again(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    body = f"open({str(counter)!r}, 'a').write('x')\n" + answer(
        "long", datetime.now(UTC) + timedelta(hours=1)
    )
    made = credentials(tmp_path, plugin(tmp_path, body))

    async def main() -> None:
        configuration = await made.load()
        await made.refresh(configuration)
        await made.refresh(configuration)

    asyncio.run(main())
    assert counter.read_text() == "x"


@pytest.mark.threat("T20")
def test_a_plugin_gets_no_standard_input(tmp_path: Path) -> None:
    body = "import sys\nassert sys.stdin.read() == ''\n" + answer("quiet")
    ours, theirs = os.pipe()
    os.write(theirs, b"typed for somebody else")
    os.close(theirs)
    kept = os.dup(0)
    os.dup2(ours, 0)
    try:
        assert token_of(credentials(tmp_path, plugin(tmp_path, body))) == "Bearer quiet"
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(ours)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import sys; sys.exit('please log in')", "please log in"),
        ("print('hello')", "no ExecCredential"),
        (EMPTY, "neither"),
    ],
)
def test_a_plugin_that_fails_says_why(tmp_path: Path, body: str, words: str) -> None:
    with pytest.raises(ClusterError, match=words) as caught:
        token_of(credentials(tmp_path, plugin(tmp_path, body)))
    assert caught.value.code == "unauthorized"


def test_a_missing_plugin_shows_the_install_hint(tmp_path: Path) -> None:
    spec = {"apiVersion": API, "command": "no-such-login-tool", "installHint": "Install the tool."}
    with pytest.raises(ClusterError) as caught:
        token_of(credentials(tmp_path, spec))
    assert caught.value.next_step == "Install the tool."


@pytest.mark.threat("T20")
def test_the_policy_of_kuberc_is_obeyed(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    body = f"open({str(canary)!r}, 'w')\n" + answer("never")
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "kuberc").write_text("credentialPluginPolicy: DenyAll\n")
    with pytest.raises(ClusterError, match="forbids"):
        token_of(credentials(tmp_path, plugin(tmp_path, body)))
    assert not canary.exists()
    allow(
        "gke-login",
        {"credentialPluginPolicy": "Allowlist", "credentialPluginAllowlist": [{"name": "gke-login"}]},
    )
    with pytest.raises(ClusterError):
        allow(
            "other",
            {"credentialPluginPolicy": "Allowlist", "credentialPluginAllowlist": [{"name": "gke-login"}]},
        )
