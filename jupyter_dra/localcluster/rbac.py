"""Role-based access: may this user do that?

Follows k8s.io/kubernetes ``plugin/pkg/auth/authorizer/rbac`` and ``pkg/registry/rbac/validation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_dra.localcluster.identity import MASTERS, SERVICE_ACCOUNTS, User
from jupyter_dra.localcluster.requests import Target
from jupyter_dra.localcluster.resources import RBAC_GROUP, named
from jupyter_dra.localcluster.store import Store

Rule = Mapping[str, Any]

_ROLES = named("roles", RBAC_GROUP)
_CLUSTER_ROLES = named("clusterroles", RBAC_GROUP)
_ROLE_BINDINGS = named("rolebindings", RBAC_GROUP)
_CLUSTER_ROLE_BINDINGS = named("clusterrolebindings", RBAC_GROUP)


@dataclass(frozen=True, slots=True)
class Decision:
    """``reason`` names the binding that allowed it, or is empty."""

    allowed: bool
    reason: str = ""


def subject_matches(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and user.name == f"{SERVICE_ACCOUNTS.removesuffix('s')}:{home}:{name}"
    return False


def rule_allows(rule: Rule, target: Target) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and target.verb not in verbs:
        return False
    if not target.is_resource:
        return any(_path_matches(pattern, target.path) for pattern in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if "*" not in groups and target.group not in groups:
        return False
    if not any(_resource_matches(pattern, target) for pattern in rule.get("resources") or ()):
        return False
    names = rule.get("resourceNames") or ()
    return not names or target.name in names


def _resource_matches(pattern: str, target: Target) -> bool:
    if pattern in ("*", target.rule_resource):
        return True
    return bool(target.subresource) and pattern == f"*/{target.subresource}"


def _path_matches(pattern: str, path: str) -> bool:
    if pattern == "*" or pattern == path:
        return True
    return pattern.endswith("*") and path.startswith(pattern[:-1])


class Authorizer:
    """Evaluates the roles and bindings that are stored now; ``system:masters`` may do everything."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def decide(self, user: User, target: Target) -> Decision:
        if self.is_master(user):
            return Decision(True)
        for why, rules in self._grants(user, target.namespace):
            if any(rule_allows(rule, target) for rule in rules):
                return Decision(True, why)
        return Decision(False)

    def is_master(self, user: User) -> bool:
        return MASTERS in user.groups

    def rules_of(self, user: User, namespace: str) -> list[Rule]:
        """Every rule the user has in a namespace and cluster-wide."""
        if self.is_master(user):
            return [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]
        return [rule for _, rules in self._grants(user, namespace) for rule in rules]

    def covers(self, user: User, namespace: str, wanted: Iterable[Rule]) -> list[Rule]:
        """The single rules among ``wanted`` that the user does not hold (for the escalation check)."""
        held = self.rules_of(user, namespace)
        return [
            single
            for rule in wanted
            for single in _split(rule)
            if not any(_includes(h, single) for h in held)
        ]

    def role_rules(self, ref: Mapping[str, Any], namespace: str) -> list[Rule] | None:
        """The rules a roleRef stands for, or None if there is no such role."""
        if ref.get("kind") == "ClusterRole":
            found = self._store.get(_CLUSTER_ROLES, "", ref.get("name", ""))
        else:
            found = self._store.get(_ROLES, namespace, ref.get("name", ""))
        if found is None:
            return None
        return self.expand(found.value)

    def expand(self, role: Mapping[str, Any]) -> list[Rule]:
        """The role's own rules, or those an aggregation rule collects."""
        aggregation = role.get("aggregationRule")
        if not aggregation:
            return list(role.get("rules") or ())
        collected: list[Rule] = []
        for selector in aggregation.get("clusterRoleSelectors") or ():
            wanted = (selector.get("matchLabels") or {}).items()
            for stored in self._store.objects(_CLUSTER_ROLES):
                labels = stored.value["metadata"].get("labels") or {}
                if wanted and wanted <= labels.items():
                    collected.extend(stored.value.get("rules") or ())
        return collected

    def _grants(self, user: User, namespace: str) -> Iterator[tuple[str, list[Rule]]]:
        yield from self._bound(user, "", _CLUSTER_ROLE_BINDINGS)
        if namespace:
            yield from self._bound(user, namespace, _ROLE_BINDINGS)

    def _bound(self, user: User, namespace: str, kind: Any) -> Iterator[tuple[str, list[Rule]]]:
        for stored in self._store.objects(kind, namespace):
            binding = stored.value
            if not any(subject_matches(s, user, namespace) for s in binding.get("subjects") or ()):
                continue
            ref = binding.get("roleRef") or {}
            rules = self.role_rules(ref, namespace)
            if rules:
                label = f'{kind.kind} "{binding["metadata"]["name"]}{"/" + namespace if namespace else ""}"'
                yield (
                    f'RBAC: allowed by {label} of {ref.get("kind")} "{ref.get("name")}" to {_subject(user)}',
                    rules,
                )


def _subject(user: User) -> str:
    return f'User "{user.name}"'


def _split(rule: Rule) -> Iterator[Rule]:
    """One rule per verb, group, resource and name."""
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield {"verbs": [verb], "nonResourceURLs": [path]}
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or [None]:
                    single: dict[str, Any] = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                    if name is not None:
                        single["resourceNames"] = [name]
                    yield single


def _includes(held: Rule, single: Rule) -> bool:
    def has(field: str) -> bool:
        have, want = held.get(field) or (), single.get(field) or ()
        return "*" in have or all(item in have for item in want)

    if "nonResourceURLs" in single:
        paths = held.get("nonResourceURLs") or ()
        return has("verbs") and any(_path_matches(have, single["nonResourceURLs"][0]) for have in paths)
    if not held.get("resources"):
        return False
    names = held.get("resourceNames") or ()
    named_ok = not names or set(single.get("resourceNames") or ()) & set(names) == set(
        single.get("resourceNames") or (None,)
    )
    resource = single["resources"][0]
    wildcard = "/" in resource and f"*/{resource.split('/', 1)[1]}" in (held.get("resources") or ())
    return has("verbs") and has("apiGroups") and (has("resources") or wildcard) and named_ok
