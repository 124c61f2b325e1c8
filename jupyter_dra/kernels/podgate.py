"""Who may come in to podside: TLS 1.3, and the one client certificate that was made for this pod.

Runs inside the user's image: standard library only, Python 3.8 and later.
"""

from __future__ import annotations

import hashlib
import os
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


def context(folder: str) -> ssl.SSLContext:
    """The server's side of the connection, from the files of the mounted Secret."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_cert_chain(os.path.join(folder, "server.crt"), os.path.join(folder, "server.key"))
    made.load_verify_locations(os.path.join(folder, "client-ca.crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    return made


def is_pinned(writer: asyncio.StreamWriter, sha256: str) -> bool:
    """Whether the client's certificate is the pinned one, whoever signed it."""
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
    return hashlib.sha256(der).hexdigest() == sha256
