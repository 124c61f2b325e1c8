"""Which cluster: explicit choice, setting, in-cluster, KUBECONFIG, the user's file, the running local cluster."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ClusterError

LOCAL_CONTEXT = "jupyter-dra-local"
LOCAL_WORD = "local"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_FILE_KEYS = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key", "tokenFile"),
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What discovery reads of this machine; tests give their own."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    home: Path = field(default_factory=Path.home)
    service_account: Path = Path(SERVICE_ACCOUNT)

    @property
    def in_cluster(self) -> bool:
        return (
            bool(self.environ.get("KUBERNETES_SERVICE_HOST")) and (self.service_account / "token").is_file()
        )

    def kubeconfig_paths(self) -> tuple[Path, ...]:
        """Files of KUBECONFIG that exist."""
        given = self.environ.get("KUBECONFIG", "")
        paths = (Path(part).expanduser() for part in given.split(os.pathsep) if part)
        return tuple(path for path in paths if path.is_file())

    def home_path(self) -> tuple[Path, ...]:
        path = self.home / ".kube" / "config"
        return (path,) if path.is_file() else ()

    def local_dir(self, name: str = "default") -> Path:
        """Where the local cluster keeps its files."""
        runtime = self.environ.get("XDG_RUNTIME_DIR")
        if runtime:
            return Path(runtime) / "jupyter-dra" / "local" / name
        cache = self.environ.get("XDG_CACHE_HOME")
        return (Path(cache) if cache else self.home / ".cache") / "jupyter-dra" / "local" / name


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """The cluster that was chosen, and why.

    Attributes:
        source: argument, setting, in-cluster, KUBECONFIG, home or local.
        config: the merged kubeconfig; empty for in-cluster.
        context: its context; ``in-cluster`` without a file.
        namespace: the default namespace.
    """

    source: str
    context: str
    namespace: str
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)
    paths: tuple[Path, ...] = ()
    surroundings: Surroundings = field(default_factory=Surroundings, repr=False)

    @property
    def is_local(self) -> bool:
        return self.context == LOCAL_CONTEXT

    @property
    def server(self) -> str | None:
        entry = _named(self.config, "contexts", self.context)
        name = (entry or {}).get("context", {}).get("cluster")
        cluster = _named(self.config, "clusters", name) if isinstance(name, str) else None
        server = (cluster or {}).get("cluster", {}).get("server")
        return server if isinstance(server, str) else None

    @property
    def label(self) -> str:
        """The cluster's name for people."""
        entry = _named(self.config, "contexts", self.context)
        name = (entry or {}).get("context", {}).get("cluster")
        return name if isinstance(name, str) else self.context


def choose(
    context: str | None = None,
    kubeconfig: str | os.PathLike[str] | None = None,
    *,
    setting: str | None = None,
    namespace: str | None = None,
    surroundings: Surroundings | None = None,
) -> ClusterChoice:
    """Choose the cluster by the contract's order; raises ClusterError ``no-cluster`` when there is none.

    Args:
        context: a context's name from the command line, or ``local``.
        kubeconfig: a file that must be used.
        setting: the configured context, weaker than ``context``.
        namespace: replaces the context's namespace.
    """
    around = surroundings or Surroundings()
    source = "argument" if context or kubeconfig else "setting"
    wanted = context or setting
    if kubeconfig is not None:
        return _from_files("argument", (Path(kubeconfig).expanduser(),), wanted, namespace, around)
    if wanted in (LOCAL_WORD, LOCAL_CONTEXT):
        found = _local(namespace, around, source)
        if found is None:
            raise ClusterError(
                "The local cluster is not running.",
                code="no-cluster",
                next_step="Start it with `jupyter dra local up`.",
            )
        return found
    if wanted is not None:
        files = around.kubeconfig_paths() or around.home_path()
        if wanted == "in-cluster" and around.in_cluster:
            return _in_cluster(namespace, around)
        return _from_files(source, files, wanted, namespace, around)
    if around.in_cluster:
        return _in_cluster(namespace, around)
    for origin, files in (("KUBECONFIG", around.kubeconfig_paths()), ("home", around.home_path())):
        if files:
            merged = load(files)
            if merged.get("current-context") or origin == "KUBECONFIG":
                return _from_files(origin, files, None, namespace, around)
    found = _local(namespace, around, "local")
    if found is not None:
        return found
    raise ClusterError(
        "No cluster is configured.",
        code="no-cluster",
        next_step="Set KUBECONFIG, or start a local cluster with `jupyter dra local up`.",
    )


def contexts(surroundings: Surroundings | None = None) -> list[dict[str, Any]]:
    """What one may choose from: name, cluster, namespace, source of each; the local cluster last when it runs."""
    around = surroundings or Surroundings()
    found: list[dict[str, Any]] = []
    if around.in_cluster:
        found.append(
            {"name": "in-cluster", "cluster": "in-cluster", "namespace": None, "source": "in-cluster"}
        )
    origin, files = "KUBECONFIG", around.kubeconfig_paths()
    if not files:
        origin, files = "home", around.home_path()
    if files:
        for entry in load(files)["contexts"]:
            inner = entry.get("context") or {}
            # Nobody but the local cluster writes that name; KUBECONFIG may lead to its file.
            source = "local" if entry["name"] == LOCAL_CONTEXT else origin
            row = {"cluster": inner.get("cluster"), "namespace": inner.get("namespace"), "source": source}
            found.append({"name": entry["name"], **row})
    if not any(row["name"] == LOCAL_CONTEXT for row in found):
        local = _local(None, around, "local")
        if local is not None:
            row = {"cluster": local.label, "namespace": local.namespace, "source": "local"}
            found.append({"name": LOCAL_CONTEXT, **row})
    return found


def load(paths: tuple[Path, ...]) -> dict[str, Any]:
    """Merge kubeconfig files as kubectl does: the first to name an entry wins; file paths become absolute."""
    merged: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [],
        "users": [],
        "contexts": [],
    }
    for path in paths:
        document = _read(path)
        for section in ("clusters", "users", "contexts"):
            have = {entry["name"] for entry in merged[section]}
            for entry in document.get(section) or []:
                if (
                    isinstance(entry, dict)
                    and isinstance(entry.get("name"), str)
                    and entry["name"] not in have
                ):
                    merged[section].append(_absolute(section, entry, path.parent))
        if document.get("current-context") and not merged.get("current-context"):
            merged["current-context"] = document["current-context"]
    return merged


_NAME_ANOTHER = "Mend the file, or name another one with --kubeconfig or KUBECONFIG."


def _read(path: Path) -> dict[str, Any]:
    import yaml

    _refuse_writable_by_others(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ClusterError(
            f"The kubeconfig {path} cannot be read: {error.strerror}.",
            code="no-cluster",
            next_step=_NAME_ANOTHER,
        ) from error
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ClusterError(
            f"The kubeconfig {path} is no valid YAML.", code="no-cluster", next_step=_NAME_ANOTHER
        ) from error
    if not isinstance(document, dict):
        raise ClusterError(f"The kubeconfig {path} is empty.", code="no-cluster", next_step=_NAME_ANOTHER)
    return document


def _refuse_writable_by_others(path: Path) -> None:
    """A file that others may write could make us run their exec plugin (threat T20)."""
    if os.name != "posix":
        return
    try:
        info = path.stat()
    except OSError:
        return
    foreign_group = info.st_mode & stat.S_IWGRP and info.st_gid != os.getgid()
    if info.st_mode & stat.S_IWOTH or foreign_group or info.st_uid not in (0, os.getuid()):
        raise ClusterError(
            f"The kubeconfig {path} can be changed by other accounts, so it is not used.",
            code="no-cluster",
            next_step=f"Run: chmod go-w {path}",
        )


def _absolute(section: str, entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    inner_key = section[:-1]
    inner = dict(entry.get(inner_key) or {})
    for key in _FILE_KEYS.get(section, ()):
        if isinstance(inner.get(key), str) and inner[key]:
            inner[key] = str(folder / inner[key])
    plugin = inner.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command", "")):
        inner["exec"] = {**plugin, "command": str(folder / plugin["command"])}
    return {**entry, inner_key: inner}


def _from_files(
    source: str, files: tuple[Path, ...], context: str | None, namespace: str | None, around: Surroundings
) -> ClusterChoice:
    merged = load(files) if files else {"contexts": []}
    name = context or merged.get("current-context") or ""
    entry = _named(merged, "contexts", name)
    if entry is None:
        known = ", ".join(str(item["name"]) for item in merged["contexts"]) or "none"
        where = ", ".join(str(path) for path in files) or "any kubeconfig"
        text = f"There is no context {name!r} in {where}." if name else f"{where} names no current context."
        raise ClusterError(text, code="no-cluster", next_step=f"Choose one with --context; known: {known}.")
    own = namespace or (entry.get("context") or {}).get("namespace") or "default"
    return ClusterChoice(source, name, own, merged, files, around)


def _in_cluster(namespace: str | None, around: Surroundings) -> ClusterChoice:
    own = namespace
    if not own:
        try:
            own = (around.service_account / "namespace").read_text(encoding="utf-8").strip()
        except OSError:
            own = None
    return ClusterChoice("in-cluster", "in-cluster", own or "default", surroundings=around)


def _local(namespace: str | None, around: Surroundings, source: str) -> ClusterChoice | None:
    path = around.local_dir() / "kubeconfig"
    if not path.is_file():
        return None
    choice = _from_files(source, (path,), None, namespace, around)
    return choice if _listens(choice.server) else None


def _listens(server: str | None) -> bool:
    parts = urlsplit(server or "")
    if not parts.hostname:
        return False
    try:
        with socket.create_connection((parts.hostname, parts.port or 443), timeout=0.5):
            return True
    except OSError:
        return False


def _named(config: Mapping[str, Any], section: str, name: str) -> dict[str, Any] | None:
    for entry in config.get(section) or []:
        if entry.get("name") == name:
            return dict(entry)
    return None
