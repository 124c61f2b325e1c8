"""Who calls: static tokens, signed service account tokens, and the users they stand for."""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated caller; ``groups`` always holds system:authenticated."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = (AUTHENTICATED,)
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        info: dict[str, Any] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


def service_account_user(namespace: str, name: str, uid: str = "") -> User:
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", uid, groups)


def new_token() -> str:
    """256 random bits, safe in a header."""
    return secrets.token_urlsafe(32)


def read_token_file(path: Path) -> list[tuple[str, User]]:
    """Lines ``token,user,uid,"group1,group2"`` as the API server's --token-auth-file; raises ValueError."""
    found: list[tuple[str, User]] = []
    with path.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row or row[0].startswith("#"):
                continue
            if len(row) < 3:
                raise ValueError(f"{path.name}, line {number}: needs token, user and uid")
            groups = tuple(part.strip() for part in row[3].split(",") if part.strip()) if len(row) > 3 else ()
            found.append((row[0].strip(), User(row[1].strip(), row[2].strip(), (*groups, AUTHENTICATED))))
    return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


FindAccount = Callable[[str, str], str | None]
"""``(namespace, name) -> uid`` of a service account that exists, or None."""


class Authenticator:
    """Turns a bearer token into a user.

    Static tokens are compared by digest, so the time taken says nothing about a token. Service account tokens
    are JSON web tokens under a key of this cluster; they end with their account.
    """

    def __init__(
        self, tokens: Iterable[tuple[str, User]], signing_key: bytes, find_account: FindAccount
    ) -> None:
        self._static = {_digest(token): user for token, user in tokens}
        self._key = signing_key
        self._find_account = find_account

    def authenticate(self, token: str, now: float) -> User | None:
        digest = _digest(token)
        found = None
        for known, user in self._static.items():
            if hmac.compare_digest(known, digest):
                found = user
        return found or self._service_account(token, now)

    def issue(self, account: Mapping[str, str], audiences: list[str], now: float, seconds: int) -> str:
        """A token for ``{"namespace", "name", "uid"}``, good for this many seconds."""
        head = _b64(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
        claims = {
            "aud": audiences,
            "exp": int(now + seconds),
            "iat": int(now),
            "iss": "https://kubernetes.default.svc",
            "jti": secrets.token_hex(8),
            "kubernetes.io": {
                "namespace": account["namespace"],
                "serviceaccount": {"name": account["name"], "uid": account["uid"]},
            },
            "sub": f"system:serviceaccount:{account['namespace']}:{account['name']}",
        }
        body = f"{head}.{_b64(json.dumps(claims, separators=(',', ':')).encode())}"
        return f"{body}.{self._sign(body)}"

    def _sign(self, body: str) -> str:
        return _b64(hmac.new(self._key, body.encode(), hashlib.sha256).digest())

    def _service_account(self, token: str, now: float) -> User | None:
        body, _, signature = token.rpartition(".")
        if body.count(".") != 1 or not hmac.compare_digest(self._sign(body).encode(), signature.encode()):
            return None
        try:
            claims = json.loads(_unb64(body.split(".")[1]))
            bound = claims["kubernetes.io"]
            namespace, account = bound["namespace"], bound["serviceaccount"]
        except (ValueError, KeyError, TypeError, binascii.Error):
            return None
        if claims.get("exp", 0) <= now or self._find_account(namespace, account["name"]) != account["uid"]:
            return None
        return service_account_user(namespace, account["name"], account["uid"])
