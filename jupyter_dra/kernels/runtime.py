"""Makes what goes into a kernel pod and connects to it: the `PodRuntime` that sessions use."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from ..errors import InputError
from ..sessions.ports import KernelChoice, PodMaterials, Target
from .control import PodControl
from .credentials import PodCredentials
from .pki import make_certificates
from .tls import Dialer

PORT = 17117
MOUNT = "/jupyter-dra/podside"
RUN_DIR = "/run/jupyter-dra"
TERMINATION_LOG = RUN_DIR + "/termination-log"
FACTS_LIMIT = 256 * 1024
# What podside lays out as the small jupyter_dra package: file in the Secret -> (package, file) it is the text of.
MODULE_FILES = {
    "module-__init__.py": ("jupyter_dra.kernels", "podmodule.py"),
    "module-held.py": ("jupyter_dra.widgets", "held.py"),
    "module-card.py": ("jupyter_dra.widgets", "card.py"),
    "module-measured.py": ("jupyter_dra.widgets", "measured.py"),
    "module-plain.py": ("jupyter_dra.widgets", "plain.py"),
}
# podside's own modules: file in the Secret -> (package, file) it is the text of.
POD_FILES = {
    "podside.py": ("jupyter_dra.kernels", "podside.py"),
    "podgate.py": ("jupyter_dra.kernels", "podgate.py"),
    "podclients.py": ("jupyter_dra.kernels", "podclients.py"),
    "podjoin.py": ("jupyter_dra.kernels", "podjoin.py"),
    "podkeep.py": ("jupyter_dra.kernels", "podkeep.py"),
    "podkernel.py": ("jupyter_dra.kernels", "podkernel.py"),
    "podusage.py": ("jupyter_dra.kernels", "podusage.py"),
    "podmeter.py": ("jupyter_dra.kernels", "podmeter.py"),
    "podlease.py": ("jupyter_dra.sessions", "leasing.py"),
}


class KernelPods:
    """Implements `sessions.ports.PodRuntime`.

    Args:
        python: command of the image's Python.
        port: the port podside listens on; 0 takes a free one (tests).
        curve: encrypt the kernel's messages with CurveZMQ too; None: where the relay has no Unix sockets.
        usage_seconds: how often podside reads the device's figures.
        decision_seconds: how long podside waits for a server to decide about a kernel that ended.
    """

    def __init__(
        self,
        *,
        python: str = "python",
        port: int = PORT,
        curve: bool | None = None,
        usage_seconds: float = 5.0,
        decision_seconds: float = 15.0,
    ) -> None:
        self.python = python
        self.port = port
        self.curve = sys.platform == "win32" if curve is None else curve
        self.usage_seconds = usage_seconds
        self.decision_seconds = decision_seconds

    def materials(
        self,
        *,
        session_id: str,
        pod_name: str,
        facts: Mapping[str, Any],
        kernel: KernelChoice,
        hold: bool = False,
        lease: Mapping[str, Any] | None = None,
        measure_cells: bool = False,
        autorestart: bool = True,
    ) -> PodMaterials:
        """Everything for one new pod: fresh keys, podside's text and settings, the container's command.

        Args:
            facts: first content of session.json (``session``, ``claim``, ``devices``, …); no secrets.
            hold: the kernel starts only at `Control.start`: for a pod that replaces another on the same device.
            lease: ``lease_seconds``, ``longest_seconds``, ``idle_limit_seconds``, counted from podside's start;
                ``idle_by`` ``kernel`` lets the kernel's activity decide where the device's use is not known.
            measure_cells: measure each cell's memory and device time, too.
            autorestart: restart a crashed kernel in place when no server is there to decide.

        Raises:
            InputError: no command, or facts too large.
        """
        if not kernel.argv:
            raise InputError(
                "The kernel has no command.",
                code="kernel",
                path="kernel.argv",
                next_step="Give the kernelspec an argv.",
            )
        certificates = make_certificates(pod_name, datetime.now(UTC))
        key, curve = secrets.token_hex(32), _curve_pair() if self.curve else None
        config = {
            "v": 1,
            "session": session_id,
            "pod": pod_name,
            "key": key,
            "signature_scheme": "hmac-sha256",
            "curve": curve,
            "client_sha256": certificates.client_sha256,
            "lease": dict(lease or {}),
            "facts": dict(facts),
            "autorestart": autorestart,
            "measure_cells": measure_cells,
            **self._settings(kernel),
        }
        text = json.dumps(config).encode()
        if len(text) > FACTS_LIMIT:
            raise InputError(
                "The facts about this session are too large for its Secret.",
                code="facts",
                next_step="Ask for fewer devices in one session.",
            )
        credentials = PodCredentials.of(certificates, key, curve)
        return PodMaterials(
            secret_data={
                **pod_files(),
                "podside.json": text,
                "server.crt": certificates.server_certificate,
                "server.key": certificates.server_key,
                "client-ca.crt": certificates.ca,
            },
            private_data=credentials.private_data(),
            command=self._command(hold),
            port=self.port,
            credentials=credentials,
        )

    def _command(self, hold: bool) -> tuple[str, ...]:
        words = [self.python, f"{MOUNT}/podside.py", "--run", RUN_DIR, "--port", str(self.port)]
        words += ["--termination-log", TERMINATION_LOG]
        return (*words, "--hold") if hold else tuple(words)

    def _settings(self, kernel: KernelChoice) -> dict[str, Any]:
        return {
            "argv": list(kernel.argv),
            "env": dict(kernel.env),
            "kernel_name": kernel.name,
            "usage_seconds": self.usage_seconds,
            "decision_seconds": self.decision_seconds,
        }

    def credentials(
        self, private_data: Mapping[str, bytes], secret_data: Mapping[str, bytes]
    ) -> PodCredentials:
        """The credentials of `materials`, from what its Secret holds; raises InputError if incomplete."""
        return PodCredentials.from_secret(private_data, secret_data)

    async def connect(self, target: Target, credentials: object, *, silence: float) -> PodControl:
        """Connect to podside; raises ClusterError (unreachable, impostor)."""
        if not isinstance(credentials, PodCredentials):
            raise TypeError("credentials come from materials() or credentials()")
        return await PodControl.connect(Dialer(target, credentials), silence=silence)


def pod_files() -> dict[str, bytes]:
    """podside and the small module, as they are mounted."""
    found: dict[str, bytes] = {}
    for name, (package, source) in {**POD_FILES, **MODULE_FILES}.items():
        # Read as text, not imported: these modules are written to run alone in the image.
        found[name] = files(package).joinpath(source).read_bytes()
    return found


def _curve_pair() -> dict[str, str]:
    import zmq

    public, secret = zmq.curve_keypair()
    return {"curve_publickey": public.decode(), "curve_secretkey": secret.decode()}
