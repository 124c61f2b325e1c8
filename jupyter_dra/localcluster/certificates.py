"""The cluster's own certificate authority and the certificates it issues (P-256, in memory and as files)."""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=365)
_SKEW = timedelta(minutes=5)

SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
KUBELET_NAME = "kubelet.jupyter-dra.internal"
"""The name every kubelet certificate carries, so that a node's address need not be known beforehand."""
KUBELET_CLIENT = "kube-apiserver-kubelet-client"
"""Common name of the certificate with which the API server calls a kubelet."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def _name(common: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _pem_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Authority:
    """Signs certificates; made new per cluster, or read back from a kept state."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority's key must be an elliptic curve key")
        self._key = key

    @classmethod
    def create(cls, name: str = "jupyter-dra-local") -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name(name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + 10 * _VALID)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem_key(key)))

    def server(self, common: str, names: tuple[str, ...]) -> Pair:
        """A server certificate for 127.0.0.1, ::1 and these DNS names."""
        addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        return self._issue(_name(common), ExtendedKeyUsageOID.SERVER_AUTH, [*alternatives, *addresses])

    def client(self, common: str, organization: str) -> Pair:
        return self._issue(_name(common, organization), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, alternatives: list[x509.GeneralName]
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        key_usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + _VALID)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem_key(key))


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, in one step that never shows half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.replace(partial, path)


def private_folder(path: Path) -> Path:
    """The folder, made if needed, readable by its owner only whatever the umask."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(0o700)
    return path


def write_pki(folder: Path, authority: Authority) -> None:
    """Write what the API server and the node agent need, the authority's key excepted."""
    private_folder(folder)
    pairs = {
        "apiserver": authority.server("kube-apiserver", SERVER_NAMES),
        "kubelet": authority.server("system:node", (KUBELET_NAME, "localhost")),
        "apiserver-kubelet-client": authority.client(KUBELET_CLIENT, "kubeadm:cluster-admins"),
    }
    write_private(folder / "ca.crt", authority.pair.certificate)
    for name, pair in pairs.items():
        write_private(folder / f"{name}.crt", pair.certificate)
        write_private(folder / f"{name}.key", pair.key)


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    return context


def kubelet_context(folder: Path) -> ssl.SSLContext:
    """For calls to kubelets: trusts this authority only, shows the API server's client certificate."""
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "apiserver-kubelet-client.crt", folder / "apiserver-kubelet-client.key")
    return context
