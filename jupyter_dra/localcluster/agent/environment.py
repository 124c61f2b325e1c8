"""The environment of a container: what the pod says, and nothing of the agent's own."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jupyter_dra.errors import InputError
from jupyter_dra.model.quantity import Quantity


class Sources(Protocol):
    """Where variables and volumes come from: objects of the cluster, by namespace and name; None when absent."""

    async def secret(self, namespace: str, name: str) -> Mapping[str, Any] | None: ...

    async def config_map(self, namespace: str, name: str) -> Mapping[str, Any] | None: ...

    async def token(self, pod: Mapping[str, Any], audience: str | None, seconds: int) -> str: ...


_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")
_FIELD_MAP = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


class MissingSource(InputError):
    """A Secret, ConfigMap or key that an environment variable needs is not there (yet)."""

    code = "missing-source"


@dataclass(frozen=True, slots=True)
class Place:
    """The facts of a running pod that the downward API can show."""

    pod: Mapping[str, Any]
    pod_ip: str
    host_ip: str

    def field(self, path: str) -> str:
        """Return a downward API field.

        Raises:
            InputError: the field is not supported there.
        """
        meta, spec = self.pod["metadata"], self.pod["spec"]
        simple = {
            "metadata.name": meta["name"],
            "metadata.namespace": meta["namespace"],
            "metadata.uid": meta["uid"],
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
            "status.podIP": self.pod_ip,
            "status.podIPs": self.pod_ip,
            "status.hostIP": self.host_ip,
            "status.hostIPs": self.host_ip,
        }
        if path in simple:
            return str(simple[path])
        if path in ("metadata.labels", "metadata.annotations"):
            entries = meta.get(path.split(".")[1]) or {}
            return "\n".join(f'{key}="{value}"' for key, value in sorted(entries.items()))
        if match := _FIELD_MAP.fullmatch(path):
            return str((meta.get(match[1]) or {}).get(match[2], ""))
        raise InputError(f'unsupported fieldPath: "{path}"')


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` in one pass; ``$$`` stands for ``$``, an unknown name stays as written.

    Follows third_party/forked/golang/expansion of Kubernetes.
    """

    def replacement(match: re.Match[str]) -> str:
        if match.group() == "$$":
            return "$"
        return values.get(match[1], match.group())

    return _REFERENCE.sub(replacement, text)


def base_environment(*, search_path: str, home: str, temporary: str, host: str) -> dict[str, str]:
    """Return what every container has before its own variables."""
    env = {
        "PATH": search_path,
        "HOME": home,
        "TMPDIR": temporary,
        "HOSTNAME": host,
        "LANG": "C.UTF-8",
        # Devices that were not allocated stay out of sight: vendor runtimes read the first, CUDA itself the second.
        "NVIDIA_VISIBLE_DEVICES": "void",
        "CUDA_VISIBLE_DEVICES": "",
    }
    if os.name == "nt":
        env |= {name: os.environ[name] for name in ("SYSTEMROOT", "COMSPEC", "PATHEXT") if name in os.environ}
        env["TEMP"] = env["TMP"] = temporary
    return env


async def container_environment(
    container: Mapping[str, Any], place: Place, sources: Sources
) -> dict[str, str]:
    """Return the variables the container's spec asks for, in its order and expanded.

    Raises:
        MissingSource: something required is not there.
        InputError: a reference that cannot be understood.
    """
    result: dict[str, str] = {}
    namespace = place.pod["metadata"]["namespace"]
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix", "")
        data = await _whole_source(source, namespace, sources)
        result |= {prefix + key: value for key, value in data.items() if _ENV_NAME.fullmatch(prefix + key)}
    for entry in container.get("env") or ():
        name = entry["name"]
        if entry.get("valueFrom"):
            value = await _from_source(entry["valueFrom"], container, place, sources)
            if value is not None:
                result[name] = value
        else:
            result[name] = expand(entry.get("value") or "", result)
    return result


async def _whole_source(source: Mapping[str, Any], namespace: str, sources: Sources) -> dict[str, str]:
    if reference := source.get("secretRef"):
        found = await sources.secret(namespace, reference["name"])
        if found is not None:
            return {key: _decoded(text) for key, text in (found.get("data") or {}).items()}
        kind = "secret"
    elif reference := source.get("configMapRef"):
        found = await sources.config_map(namespace, reference["name"])
        if found is not None:
            return dict(found.get("data") or {})
        kind = "configmap"
    else:
        return {}
    if reference.get("optional"):
        return {}
    raise MissingSource(f'{kind} "{reference["name"]}" not found')


async def _from_source(
    source: Mapping[str, Any],
    container: Mapping[str, Any],
    place: Place,
    sources: Sources,
) -> str | None:
    if reference := source.get("fieldRef"):
        return place.field(reference["fieldPath"])
    if reference := source.get("resourceFieldRef"):
        return resource_field(container, reference)
    secret = source.get("secretKeyRef")
    reference = secret or source.get("configMapKeyRef")
    if not reference:
        raise InputError("valueFrom names no source this node knows")
    namespace = place.pod["metadata"]["namespace"]
    kind = "secret" if secret else "configmap"
    find = sources.secret if secret else sources.config_map
    found = await find(namespace, reference["name"])
    data = (found or {}).get("data") or {}
    if reference["key"] in data:
        value = data[reference["key"]]
        return _decoded(value) if secret else str(value)
    if reference.get("optional"):
        return None
    if found is None:
        raise MissingSource(f'{kind} "{reference["name"]}" not found')
    raise MissingSource(f"couldn't find key {reference['key']} in {kind} {namespace}/{reference['name']}")


def resource_field(container: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    """Return a ``resourceFieldRef`` value as a whole number of its divisor, rounded up; "0" without a limit."""
    kind, _, resource = reference["resource"].partition(".")
    text = ((container.get("resources") or {}).get(kind) or {}).get(resource)
    if text is None:
        return "0"
    divisor = Quantity.parse(reference.get("divisor") or "1")
    unit = divisor.nanos or 10**9
    return str(-(-Quantity.parse(text).nanos // unit))


def expanded_argv(
    container: Mapping[str, Any], env: Mapping[str, str]
) -> tuple[Sequence[str], Sequence[str]]:
    """Return (command, args) with references expanded."""
    return (
        [expand(part, env) for part in container.get("command") or ()],
        [expand(part, env) for part in container.get("args") or ()],
    )


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode("utf-8", "surrogateescape")
