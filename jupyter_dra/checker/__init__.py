"""Check manifests as the API server and the scheduler would, explain, and repair.

>>> from jupyter_dra.checker import check
>>> flat = '''
... apiVersion: resource.k8s.io/v1
... kind: ResourceClaim
... metadata: {name: flat}
... spec: {devices: {requests: [{name: gpu, deviceClassName: gpu.nvidia.com}]}}
... '''
>>> [(finding.code, finding.path) for finding in check(flat).findings]
[('field-moved', 'spec.devices.requests[0].deviceClassName')]
"""

from __future__ import annotations

from jupyter_dra.checker.asking import ask_server
from jupyter_dra.checker.codes import FINDINGS
from jupyter_dra.checker.findings import CheckResult, Finding, ServerAnswer, ServerText
from jupyter_dra.checker.run import check, documents

__all__ = [
    "FINDINGS",
    "CheckResult",
    "Finding",
    "ServerAnswer",
    "ServerText",
    "ask_server",
    "check",
    "documents",
]
