"""The parts of Pod and ResourceQuota that planning and checking read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_dra.model.base import APIObject, Part, meta_of, spec_of
from jupyter_dra.model.reading import Json, items, mapping, optional_text, text, text_map

__all__ = ["Container", "ContainerClaim", "Pod", "PodClaim", "ResourceQuota"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClaim(Part):
    """An entry of ``spec.resourceClaims``: a claim, or a template from which one is made."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> PodClaim:
        return PodClaim(
            raw=raw,
            name=text(raw.get("name")),
            resource_claim_name=optional_text(raw.get("resourceClaimName")),
            resource_claim_template_name=optional_text(raw.get("resourceClaimTemplateName")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerClaim(Part):
    """A container's use of a pod claim; ``request`` None means all its devices."""

    name: str
    request: str | None = None

    @staticmethod
    def from_dict(raw: Json) -> ContainerClaim:
        return ContainerClaim(raw=raw, name=text(raw.get("name")), request=optional_text(raw.get("request")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Part):
    """A container's name, image and resources; amounts are texts as given."""

    name: str
    image: str | None = None
    claims: tuple[ContainerClaim, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def from_dict(raw: Json) -> Container:
        resources = mapping(raw.get("resources"))
        return Container(
            raw=raw,
            name=text(raw.get("name")),
            image=optional_text(raw.get("image")),
            claims=tuple(map(ContainerClaim.from_dict, items(resources.get("claims")))),
            requests={key: str(value) for key, value in mapping(resources.get("requests")).items()},
            limits={key: str(value) for key, value in mapping(resources.get("limits")).items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod(APIObject):
    """A pod's claims, containers, place and phase."""

    resource_claims: tuple[PodClaim, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Json = field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()
    phase: str | None = None
    claim_names: Mapping[str, str | None] = field(default_factory=dict)

    @staticmethod
    def from_dict(raw: Json) -> Pod:
        spec, status = spec_of(raw), mapping(raw.get("status"))
        made = items(status.get("resourceClaimStatuses"))
        return Pod(
            raw=raw,
            metadata=meta_of(raw),
            resource_claims=tuple(map(PodClaim.from_dict, items(spec.get("resourceClaims")))),
            containers=tuple(map(Container.from_dict, items(spec.get("containers")))),
            init_containers=tuple(map(Container.from_dict, items(spec.get("initContainers")))),
            node_name=optional_text(spec.get("nodeName")),
            node_selector=text_map(spec.get("nodeSelector")),
            affinity=mapping(spec.get("affinity")),
            tolerations=tuple(items(spec.get("tolerations"))),
            phase=optional_text(status.get("phase")),
            claim_names={
                text(item.get("name")): optional_text(item.get("resourceClaimName")) for item in made
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuota(APIObject):
    """Limits of a namespace; amounts are texts as given."""

    hard: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)
    scopes: tuple[str, ...] = ()

    @staticmethod
    def from_dict(raw: Json) -> ResourceQuota:
        spec, status = spec_of(raw), mapping(raw.get("status"))
        scopes = spec.get("scopes")
        return ResourceQuota(
            raw=raw,
            metadata=meta_of(raw),
            hard={key: str(value) for key, value in mapping(spec.get("hard")).items()},
            used={key: str(value) for key, value in mapping(status.get("used")).items()},
            scopes=tuple(scopes) if isinstance(scopes, list) else (),
        )
