"""A claim somebody wrote by hand: only what makes a claim, nothing that reaches for other objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError, RequirementError
from ..model import ResourceClaim

API_VERSION = "resource.k8s.io/v1"
KIND = "ResourceClaim"
_FIELDS = ("apiVersion", "kind", "metadata", "spec")
_METADATA = ("name", "namespace", "labels", "annotations")


def claim_manifest(value: Mapping[str, Any], path: str = "claim") -> dict[str, Any]:
    """The manifest with its version and kind filled in.

    A manifest is created as it stands, with the user's rights; so it must be a ResourceClaim of the version we
    write, and owners, finalizers, a status or any other field is refused by its path, never dropped. What stands
    in its spec is the API server's to judge.

    Raises:
        RequirementError: it is something else, or a field is of the wrong type.
    """
    for given, known, where in (
        (value, _FIELDS, path),
        (value.get("metadata"), _METADATA, f"{path}.metadata"),
    ):
        if given is not None and not isinstance(given, Mapping):
            raise _refused(where, f"{where} is no object.", "Give a ResourceClaim manifest.")
        for name in given or ():
            if name not in known:
                raise _refused(
                    f"{where}.{str(name)[:60]}",
                    f"A claim given as a manifest has no {str(name)[:60]!r} here.",
                    f"Leave it out; there may be: {', '.join(known)}.",
                )
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(name, wanted) != wanted:
            raise _refused(
                f"{path}.{name}",
                f"{path}.{name}: {str(value[name])[:80]!r} is not {wanted}.",
                "`jupyter dra check --fix` migrates older versions.",
            )
    _check_texts(value.get("metadata") or {}, f"{path}.metadata")
    if not isinstance(value.get("spec"), Mapping):
        raise _refused(f"{path}.spec", f"{path}.spec is missing or no object.", "Give spec.devices.requests.")
    try:
        ResourceClaim.from_dict(value)
    except InputError as error:
        raise _refused(f"{path}.{error.path or 'spec'}", error.message, error.next_step) from error
    return {"apiVersion": API_VERSION, "kind": KIND, **value}


def _check_texts(metadata: Mapping[str, Any], path: str) -> None:
    for name in ("name", "namespace"):
        if metadata.get(name) is not None and not isinstance(metadata[name], str):
            raise _refused(f"{path}.{name}", f"{path}.{name} is no text.", None)
    for name in ("labels", "annotations"):
        texts = metadata.get(name) or {}
        if not isinstance(texts, Mapping) or not all(
            isinstance(one, str) for pair in texts.items() for one in pair
        ):
            raise _refused(f"{path}.{name}", f"{path}.{name} holds something else than texts.", None)


def _refused(path: str, message: str, next_step: str | None) -> RequirementError:
    return RequirementError(
        message,
        code="claim-manifest",
        path=path,
        next_step=next_step or "Look at the ResourceClaim's fields.",
    )
