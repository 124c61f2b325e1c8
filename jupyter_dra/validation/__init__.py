"""What the API server does before it stores an object: decoding, defaults, rules.

>>> from jupyter_dra.validation import decode
>>> flat = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "flat"},
...         "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.nvidia.com"}]}}}
>>> print(decode(flat).message())
ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding error: \
unknown field "spec.devices.requests[0].deviceClassName"
"""

from __future__ import annotations

from jupyter_dra.validation import schemas, versions
from jupyter_dra.validation.conversion import to_v1
from jupyter_dra.validation.decode import Decoded, ParsedObject, Problem, decode, parse_json
from jupyter_dra.validation.defaults import apply_defaults
from jupyter_dra.validation.fielderrors import FieldError, status, status_text
from jupyter_dra.validation.normalize import normalize
from jupyter_dra.validation.rules import validate

__all__ = [
    "Decoded",
    "FieldError",
    "ParsedObject",
    "Problem",
    "apply_defaults",
    "decode",
    "normalize",
    "parse_json",
    "schemas",
    "status",
    "status_text",
    "to_v1",
    "validate",
    "versions",
]
