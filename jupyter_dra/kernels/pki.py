"""Certificates of one kernel pod: an authority of its own whose key is forgotten at once.

Only two certificates ever exist under it, podside's and its one client's, and both ends pin the other's digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAME = "podside.jupyter-dra.invalid"  # what the client asks for; no such host can exist
LIFETIME = timedelta(days=400)
SKEW = timedelta(days=1)  # a node's clock may be wrong; the pod's life is bounded by its lease


@dataclass(frozen=True, slots=True)
class PodCertificates:
    """PEM files of one pod; ``server_key`` goes into the pod, ``client_key`` never does."""

    ca: bytes
    server_certificate: bytes
    server_key: bytes = field(repr=False)
    client_certificate: bytes
    client_key: bytes = field(repr=False)

    @property
    def client_sha256(self) -> str:
        return fingerprint(self.client_certificate)

    @property
    def server_sha256(self) -> str:
        return fingerprint(self.server_certificate)


def fingerprint(pem: bytes) -> str:
    """SHA-256 of the certificate's DER form, in hexadecimal."""
    der = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest()


def make_certificates(pod_name: str, now: datetime) -> PodCertificates:
    """Make the certificates of a pod; the authority's key is not kept, so no third one can follow."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _name(f"jupyter-dra {pod_name}")
    ca = (
        _builder(authority, authority, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )

    def leaf(common_name: str, purpose: x509.ObjectIdentifier) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_name(common_name), authority, key.public_key(), now)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(common_name)]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
            )
            .sign(authority_key, hashes.SHA256())
        )
        return _pem(certificate), key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    server, server_key = leaf(SERVER_NAME, ExtendedKeyUsageOID.SERVER_AUTH)
    client, client_key = leaf("client.jupyter-dra.invalid", ExtendedKeyUsageOID.CLIENT_AUTH)
    return PodCertificates(_pem(ca), server, server_key, client, client_key)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + LIFETIME)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
