"""From what a person wants to the claim Kubernetes reads, and back."""

from .builder import Resolution, build_claim, build_spec, build_template, pod_claims, resolve, session_labels
from .classes import ClassFacts, facts_of
from .names import hashed_slug, pod_name, session_id, slug
from .previews import to_magic, to_python, to_shell, to_yaml
from .reader import Kept, Reading, read_claim, requirement_from_claim
from .requirement import Requirement
from .sizes import Size, format_duration, parse_duration, parse_size, sold_as_but_less
from .vocabulary import DEVICE_FIELDS, SESSION_FIELDS, WISH_FIELDS, LaunchFields, RequirementFields

__all__ = [
    "DEVICE_FIELDS",
    "SESSION_FIELDS",
    "WISH_FIELDS",
    "ClassFacts",
    "Kept",
    "LaunchFields",
    "Reading",
    "Requirement",
    "RequirementFields",
    "Resolution",
    "Size",
    "build_claim",
    "build_spec",
    "build_template",
    "facts_of",
    "format_duration",
    "hashed_slug",
    "parse_duration",
    "parse_size",
    "pod_claims",
    "pod_name",
    "read_claim",
    "requirement_from_claim",
    "resolve",
    "session_id",
    "session_labels",
    "slug",
    "sold_as_but_less",
    "to_magic",
    "to_python",
    "to_shell",
    "to_yaml",
]
