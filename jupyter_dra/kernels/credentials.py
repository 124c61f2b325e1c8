"""What this process needs to speak to one kernel pod, and how it lies in the pod's Secret."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from .folders import PrivateFolder
from .pki import PodCertificates, fingerprint

CHANNELS: Mapping[str, int] = {"shell": 1, "iopub": 2, "stdin": 3, "hb": 4, "control": 5}


@dataclass(frozen=True, slots=True)
class PodCredentials:
    """Client side of a pod's certificates, and the keys of its kernel's messages.

    ``curve`` holds the CurveZMQ pair of a kernel that must be reached over loopback TCP (no Unix sockets here);
    None where the relay is a file only this account can open.
    """

    ca: bytes = field(repr=False)
    client_certificate: bytes = field(repr=False)
    client_key: bytes = field(repr=False)
    server_sha256: str
    key: str = field(repr=False)
    signature_scheme: str = "hmac-sha256"
    curve: Mapping[str, str] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, certificates: PodCertificates, key: str, curve: Mapping[str, str] | None) -> PodCredentials:
        return cls(
            ca=certificates.ca,
            client_certificate=certificates.client_certificate,
            client_key=certificates.client_key,
            server_sha256=certificates.server_sha256,
            key=key,
            curve=curve,
        )

    def private_data(self) -> dict[str, bytes]:
        """Entries of the Secret that are never mounted into the pod."""
        return {"client.crt": self.client_certificate, "client.key": self.client_key}

    @classmethod
    def from_secret(
        cls, private_data: Mapping[str, bytes], secret_data: Mapping[str, bytes]
    ) -> PodCredentials:
        """Read back what `private_data` and the mounted files hold; raises InputError if something is missing."""
        try:
            config = json.loads(secret_data["podside.json"])
            return cls(
                ca=secret_data["client-ca.crt"],
                client_certificate=private_data["client.crt"],
                client_key=private_data["client.key"],
                server_sha256=fingerprint(secret_data["server.crt"]),
                key=str(config["key"]),
                signature_scheme=str(config["signature_scheme"]),
                curve=config.get("curve"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "The Secret of this kernel pod is not complete.",
                code="secret",
                next_step="Stop the session and start a new one.",
            ) from error

    def tls_context(self) -> ssl.SSLContext:
        """A TLS 1.3 context that trusts this pod's authority only and shows our certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=self.ca.decode())
        # The ssl module reads client certificates from files only: one that lives for this call, in a 0700 folder.
        with PrivateFolder() as folder:
            path = os.path.join(folder, "client.pem")
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(self.client_certificate + self.client_key)
            context.load_cert_chain(path)
        return context

    def message_keys(self) -> dict[str, Any]:
        """The part of a connection file that signs and, with Curve, encrypts messages."""
        keys: dict[str, Any] = {"key": self.key.encode(), "signature_scheme": self.signature_scheme}
        keys.update(self.curve or {})
        return keys
