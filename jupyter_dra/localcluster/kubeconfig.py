"""The kubeconfig files a cluster writes: one for people, one each for the agent and the control plane."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from jupyter_dra.localcluster.certificates import write_private

CONTEXT = "jupyter-dra-local"


def kubeconfig(server: str, ca: bytes, token: str, user: str, context: str = CONTEXT) -> bytes:
    """A kubeconfig with everything embedded; JSON, which every reader of YAML takes."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": context,
        "clusters": [
            {
                "name": context,
                "cluster": {"server": server, "certificate-authority-data": base64.b64encode(ca).decode()},
            }
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [
            {"name": context, "context": {"cluster": context, "user": user, "namespace": "default"}}
        ],
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def write_kubeconfig(path: Path, server: str, ca: bytes, token: str, user: str) -> None:
    write_private(path, kubeconfig(server, ca, token, user))
