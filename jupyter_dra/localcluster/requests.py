"""What a request asks for, read as k8s.io/apiserver ``pkg/endpoints/request`` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from jupyter_dra.localcluster.status import bad_request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "GET": "get", "HEAD": "get"}
_NAMESPACE_PARTS = ("status", "finalize")
_FALSE = frozenset(("0", "false"))


@dataclass(frozen=True, slots=True)
class Query:
    """Query parameters; a missing one is empty, unknown ones are ignored."""

    values: Mapping[str, list[str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Query:
        return cls(parse_qs(text, keep_blank_values=True))

    def text(self, name: str) -> str:
        found = self.values.get(name)
        return found[0] if found else ""

    def all(self, name: str) -> list[str]:
        return list(self.values.get(name, ()))

    def flag(self, name: str) -> bool:
        """Whether a parameter is given and is neither ``0`` nor ``false`` (apimachinery, ``runtime/conversion.go``)."""
        return name in self.values and self.text(name).lower() not in _FALSE

    def number(self, name: str) -> int | None:
        text = self.text(name)
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    def revision(self) -> int | None:
        """``resourceVersion``, None where it was not given; raises 400 for what is no number."""
        text = self.text("resourceVersion")
        if not text:
            return None
        if not text.isdigit():
            raise bad_request(
                f'invalid resource version "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
            )
        return int(text)


@dataclass(frozen=True, slots=True)
class Target:
    """One request: the verb that authorization sees, and what it is about.

    ``group``, ``version`` and ``plural`` are empty for paths that name no resource; ``path`` is always whole.
    """

    verb: str
    path: str
    group: str = ""
    version: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def is_resource(self) -> bool:
        return bool(self.plural)

    @property
    def rule_resource(self) -> str:
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural


def read_target(method: str, path: str, query: Query) -> Target:
    """The target of a request; never raises, an unknown path simply names no resource."""
    parts = [unquote(part) for part in path.split("/") if part]
    plain = Target(method.lower(), path)
    match parts:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return plain
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS):
        namespace, rest = rest[1], rest[2:]
    plural, name, sub = (*rest, "", "")[0], (*rest, "", "")[1], "/".join(rest[2:])
    if plural == "namespaces" and group == "":
        namespace = name
    verb = _verb(method, name, query)
    return Target(verb, path, group, version, plural, sub, namespace, name)


def _verb(method: str, name: str, query: Query) -> str:
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    verb = _VERBS.get(method, method.lower())
    if verb == "get":
        if query.flag("watch"):
            return "watch"
        return "get" if name else "list"
    return verb
