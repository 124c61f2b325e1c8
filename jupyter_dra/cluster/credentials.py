"""Credentials for the API server: the client library's loaders, and exec plugins under our own rules.

Exec plugins run without a shell, without standard input, and with a deadline (threat T20); the policy of the
user's ``kuberc`` is obeyed as kubectl does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import ClusterError
from .kubeconfig import ClusterChoice, Surroundings
from .kubeconfig import load as load_files

log = logging.getLogger(__name__)

PLUGIN_DEADLINE = 60.0
_LOOK_AT_THE_PLUGIN = "Run the plugin in a terminal to see what it prints."
_SKEW = timedelta(seconds=60)
_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@dataclass(slots=True)
class _Plugin:
    """One exec plugin and what it last answered."""

    spec: Mapping[str, Any]
    cluster: Mapping[str, Any] | None
    around: Surroundings
    expires: datetime | None = None
    answered: bool = False

    @property
    def stale(self) -> bool:
        return not self.answered or (self.expires is not None and datetime.now(UTC) + _SKEW >= self.expires)

    async def run(self) -> Mapping[str, Any]:
        command = str(self.spec.get("command") or "")
        allow(command, kuberc(self.around))
        version = self.spec.get("apiVersion")
        if version not in _API_VERSIONS:
            raise ClusterError(
                f"The login plugin speaks {version}, which is not known here.",
                code="unauthorized",
                next_step="Write client.authentication.k8s.io/v1 as its apiVersion in the kubeconfig.",
            )
        info: dict[str, Any] = {
            "apiVersion": version,
            "kind": "ExecCredential",
            "spec": {"interactive": False},
        }
        if self.spec.get("provideClusterInfo") and self.cluster:
            info["spec"]["cluster"] = dict(self.cluster)
        environ = dict(self.around.environ)
        environ.update({str(e["name"]): str(e["value"]) for e in self.spec.get("env") or []})
        environ["KUBERNETES_EXEC_INFO"] = json.dumps(info)
        argv = [command, *[str(arg) for arg in self.spec.get("args") or []]]
        status = _answer(await _run(argv, environ, str(self.spec.get("installHint") or "")), str(version))
        self.answered = True
        self.expires = _moment(status.get("expirationTimestamp"))
        return status


def _moment(stamp: object) -> datetime | None:
    """A time as the plugin wrote it, in UTC where it names no zone; None for anything else."""
    try:
        found = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


async def _run(argv: list[str], environ: Mapping[str, str], hint: str) -> bytes:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise ClusterError(
            f"The login plugin {argv[0]!r} cannot be run: {error.strerror}.",
            code="unauthorized",
            next_step=hint or "Install the plugin that the kubeconfig names.",
        ) from error
    try:
        async with asyncio.timeout(PLUGIN_DEADLINE):
            out, err = await process.communicate()
    except TimeoutError:
        raise ClusterError(
            f"The login plugin {argv[0]!r} gave no answer in {PLUGIN_DEADLINE:.0f} s.",
            code="unauthorized",
            next_step="Log in to the cluster in a terminal, as for kubectl: the plugin may wait for an answer.",
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        text = err.decode("utf-8", "replace").strip().splitlines()
        raise ClusterError(
            f"The login plugin {argv[0]!r} failed: {text[-1] if text else process.returncode}",
            code="unauthorized",
            next_step="Log in to the cluster again, as for kubectl.",
        )
    return out


def _answer(out: bytes, version: str) -> Mapping[str, Any]:
    try:
        value = json.loads(out)
    except ValueError:
        value = None
    if (
        not isinstance(value, dict)
        or value.get("kind") != "ExecCredential"
        or value.get("apiVersion") != version
    ):
        raise ClusterError(
            "The login plugin's answer is no ExecCredential.",
            code="unauthorized",
            next_step=_LOOK_AT_THE_PLUGIN,
        )
    status = value.get("status")
    if not isinstance(status, dict) or not (status.get("token") or status.get("clientCertificateData")):
        raise ClusterError(
            "The login plugin gave neither token nor certificate.",
            code="unauthorized",
            next_step=_LOOK_AT_THE_PLUGIN,
        )
    return status


def kuberc(around: Surroundings) -> Mapping[str, Any]:
    """The user's kuberc preferences; empty when there is no file."""
    given = around.environ.get("KUBERC")
    if given == "off":
        return {}
    path = Path(given).expanduser() if given else around.home / ".kube" / "kuberc"
    if not path.is_file():
        return {}
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ClusterError(
            f"{path} cannot be read, so no login plugin is run.",
            code="unauthorized",
            next_step="Mend that file, or remove it.",
        ) from error
    return document if isinstance(document, dict) else {}


def allow(command: str, preferences: Mapping[str, Any]) -> None:
    """Raise ClusterError when the kuberc policy forbids running ``command``."""
    policy = preferences.get("credentialPluginPolicy") or "AllowAll"
    if policy == "AllowAll":
        return
    if policy == "Allowlist":
        for entry in preferences.get("credentialPluginAllowlist") or []:
            name = (entry or {}).get("command") or (entry or {}).get("name") or ""
            if name and (name == command or _same_program(name, command)):
                return
    raise ClusterError(
        f"kuberc ({policy}) forbids running the login plugin {command!r}.",
        code="unauthorized",
        next_step="Change credentialPluginPolicy in kuberc.",
    )


def _same_program(name: str, command: str) -> bool:
    found = shutil.which(name) if os.sep not in name else None
    return found is not None and found == shutil.which(command)


class Credentials:
    """Keeps the client library's configuration current for one chosen cluster."""

    def __init__(self, choice: ClusterChoice) -> None:
        self._choice = choice
        self._config = json.loads(json.dumps(dict(choice.config), default=str))
        self._plugin = self._take_plugin()
        self._lock = asyncio.Lock()
        self._certificate: tuple[str, str] | None = None

    def reread(self) -> None:
        """Take the user as the kubeconfig has it now, where a new login puts a new token; a plugin is asked again.

        The cluster stays the one that was chosen, whatever the file says meanwhile; a file that cannot be read now
        changes nothing.
        """
        try:
            users = load_files(self._choice.paths)["users"]
        except ClusterError as error:
            log.warning("The login is not read again: %s", error.message)
            users = []
        if users:
            self._config["users"] = json.loads(json.dumps(users, default=str))
            self._plugin = self._take_plugin()
        elif self._plugin is not None:
            self._plugin.answered = False

    def _user(self) -> dict[str, Any] | None:
        for context in self._config.get("contexts") or []:
            if context["name"] == self._choice.context:
                name = context["context"].get("user")
                for user in self._config.get("users") or []:
                    if user["name"] == name:
                        inner = user.setdefault("user", {})
                        return inner if isinstance(inner, dict) else None
        return None

    def _take_plugin(self) -> _Plugin | None:
        """Take the plugin out of the configuration, so that only we ever run it."""
        user = self._user()
        spec = user.pop("exec", None) if user else None
        if not spec:
            return None
        return _Plugin(spec, self._cluster_info(), self._choice.surroundings)

    def _cluster_info(self) -> dict[str, Any] | None:
        for entry in self._config.get("clusters") or []:
            if entry["name"] == self._choice.label:
                inner = entry["cluster"]
                keys = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data")
                return {key: inner[key] for key in keys if key in inner}
        return None

    async def load(self) -> Any:
        """A new configuration of the client library, with credentials set."""
        from kubernetes.aio.client.configuration import Configuration
        from kubernetes.aio.config.config_exception import ConfigException

        in_cluster: Any = import_module("kubernetes.aio.config.incluster_config")
        from_file: Any = import_module("kubernetes.aio.config.kube_config")
        configuration = Configuration()
        try:
            if self._choice.source == "in-cluster":
                folder = self._choice.surroundings.service_account
                in_cluster.InClusterConfigLoader(
                    token_filename=str(folder / "token"),
                    cert_filename=str(folder / "ca.crt"),
                    environ=self._choice.surroundings.environ,
                ).load_and_set(configuration)
            else:
                loader = from_file.KubeConfigLoader(self._config, active_context=self._choice.context)
                await loader.load_and_set(configuration)
        except (ConfigException, OSError, ValueError) as error:
            raise ClusterError(
                f"The kubeconfig cannot be used: {error}",
                code="no-cluster",
                next_step="See whether `kubectl get namespaces` works with it.",
            ) from error
        await self.refresh(configuration)
        return configuration

    async def refresh(self, configuration: Any) -> bool:
        """Renew what has run out; True when the client certificate changed and connections must be made anew."""
        plugin = self._plugin
        if plugin is None or not plugin.stale:
            return False
        async with self._lock:
            if not plugin.stale:
                return False
            status = await plugin.run()
            if status.get("token"):
                configuration.api_key["BearerToken"] = f"Bearer {status['token']}"
            if not status.get("clientCertificateData"):
                return False
            pair = (str(status["clientCertificateData"]), str(status.get("clientKeyData") or ""))
            changed = pair != self._certificate
            self._certificate = pair
            configuration.cert_file, configuration.key_file = _files_of(pair)
            return changed


def _files_of(pair: tuple[str, str]) -> tuple[str, str]:
    """Both as private files that the client library removes at exit."""
    library: Any = import_module("kubernetes.aio.config.kube_config")
    keep = library._create_temp_file_with_content
    return keep(pair[0]), keep(pair[1])
