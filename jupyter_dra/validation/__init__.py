"""What the API server does before it stores an object: decoding, defaults, rules.

>>> from jupyter_dra.validation import decode
>>> flat = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "flat"},
...         "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.nvidia.com"}]}}}
>>> print(decode(flat).message())
ResourceClaim in version "v1" cannot be handled as a ResourceClaim: strict decoding error: \
unknown field "spec.devices.requests[0].deviceClassName"
"""

from __future__ import annotations

from jupyter_dra.validation import schemas
from jupyter_dra.validation.decode import Decoded, ParsedObject, Problem, decode, parse_json

__all__ = ["Decoded", "ParsedObject", "Problem", "decode", "parse_json", "schemas"]
