"""What the local cluster serves: one entry per resource, read by discovery, storage and authorization."""

from __future__ import annotations

from dataclasses import dataclass

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below one object; ``kind`` is what it speaks, ``verbs`` what discovery lists."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One stored kind. ``answers_deleted`` says that DELETE answers with the object and not with a Status."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    has_generation: bool = False
    answers_deleted: bool = False
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def qualified(self) -> str:
        """``resourceclaims.resource.k8s.io``, or only the plural in the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def all_subresources(self) -> tuple[Subresource, ...]:
        status = (Subresource("status", self.kind, STATUS_VERBS),) if self.has_status else ()
        return (*self.subresources, *status)


CORE = "v1"
RESOURCE_GROUP = "resource.k8s.io"
RBAC_GROUP = "rbac.authorization.k8s.io"

_POD_PARTS = (
    Subresource("binding", "Binding", ("create",)),
    Subresource("log", "Pod", ("get",)),
    Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
)
_TOKEN = Subresource("token", "TokenRequest", ("create",), group="authentication.k8s.io", version="v1")

RESOURCES: tuple[Resource, ...] = (
    Resource("", CORE, "configmaps", "ConfigMap", short_names=("cm",)),
    Resource("", CORE, "events", "Event", short_names=("ev",)),
    Resource("", CORE, "limitranges", "LimitRange", short_names=("limits",)),
    Resource(
        "",
        CORE,
        "namespaces",
        "Namespace",
        namespaced=False,
        short_names=("ns",),
        has_status=True,
        verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
        subresources=(Subresource("finalize", "Namespace", ("update",)),),
    ),
    Resource("", CORE, "nodes", "Node", namespaced=False, short_names=("no",), has_status=True),
    Resource(
        "",
        CORE,
        "pods",
        "Pod",
        short_names=("po",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        answers_deleted=True,
        subresources=_POD_PARTS,
    ),
    Resource(
        "",
        CORE,
        "resourcequotas",
        "ResourceQuota",
        short_names=("quota",),
        has_status=True,
        answers_deleted=True,
    ),
    Resource("", CORE, "secrets", "Secret"),
    Resource(
        "",
        CORE,
        "serviceaccounts",
        "ServiceAccount",
        short_names=("sa",),
        answers_deleted=True,
        subresources=(_TOKEN,),
    ),
    Resource(
        "",
        CORE,
        "services",
        "Service",
        short_names=("svc",),
        categories=("all",),
        has_status=True,
        answers_deleted=True,
    ),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource(
        "networking.k8s.io",
        "v1",
        "networkpolicies",
        "NetworkPolicy",
        short_names=("netpol",),
        has_generation=True,
    ),
    Resource(RBAC_GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    Resource(RBAC_GROUP, "v1", "clusterroles", "ClusterRole", namespaced=False),
    Resource(RBAC_GROUP, "v1", "rolebindings", "RoleBinding"),
    Resource(RBAC_GROUP, "v1", "roles", "Role"),
    Resource(
        RESOURCE_GROUP,
        "v1",
        "deviceclasses",
        "DeviceClass",
        namespaced=False,
        has_generation=True,
        answers_deleted=True,
    ),
    Resource(
        RESOURCE_GROUP,
        "v1",
        "devicetaintrules",
        "DeviceTaintRule",
        namespaced=False,
        has_status=True,
        has_generation=True,
        answers_deleted=True,
    ),
    Resource(RESOURCE_GROUP, "v1", "resourceclaims", "ResourceClaim", has_status=True, answers_deleted=True),
    Resource(RESOURCE_GROUP, "v1", "resourceclaimtemplates", "ResourceClaimTemplate", answers_deleted=True),
    Resource(
        RESOURCE_GROUP,
        "v1",
        "resourceslices",
        "ResourceSlice",
        namespaced=False,
        has_generation=True,
        answers_deleted=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Review:
    """A question that is answered and never stored; only ``create`` exists."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


REVIEWS: tuple[Review, ...] = (
    Review("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    Review("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
    Review("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    Review("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    Review("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
)

_BY_PATH: dict[tuple[str, str, str], Resource] = {(r.group, r.version, r.plural): r for r in RESOURCES}
_BY_NAME: dict[tuple[str, str], Resource] = {(r.group, r.plural): r for r in RESOURCES}
_REVIEW_BY_PATH: dict[tuple[str, str, str], Review] = {(r.group, r.version, r.plural): r for r in REVIEWS}


def find_resource(group: str, version: str, plural: str) -> Resource | None:
    return _BY_PATH.get((group, version, plural))


def find_review(group: str, version: str, plural: str) -> Review | None:
    return _REVIEW_BY_PATH.get((group, version, plural))


def named(plural: str, group: str = "") -> Resource:
    """The resource of this plural; KeyError if it is not served (a mistake in the caller)."""
    return _BY_NAME[(group, plural)]


def group_versions() -> tuple[tuple[str, str], ...]:
    """Every served (group, version), the core group first, then by name."""
    found = {(r.group, r.version) for r in RESOURCES} | {(r.group, r.version) for r in REVIEWS}
    return tuple(sorted(found))
