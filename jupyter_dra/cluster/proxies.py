"""Which HTTP proxy leads to the API server, as kubectl decides it.

The kubeconfig's ``proxy-url`` always counts; else ``HTTPS_PROXY`` and ``NO_PROXY`` by the rules of Go
(golang.org/x/net/http/httpproxy): networks and ports in ``NO_PROXY`` work, this machine is never asked by proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from ..errors import ClusterError


def proxy_for(server: str, configured: str | None, environ: Mapping[str, str]) -> str | None:
    """The proxy's URL for an API server; None to connect directly.

    Raises:
        ClusterError: ``no-cluster`` for a kind of proxy we cannot speak to.
    """
    if configured:
        return _spoken(configured)
    scheme = urlsplit(server).scheme
    names = ("HTTPS_PROXY", "https_proxy") if scheme == "https" else ("HTTP_PROXY", "http_proxy")
    given = next((environ[name] for name in names if environ.get(name)), None)
    if given is None or _direct(server, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    return _spoken(given)


def _spoken(proxy: str) -> str:
    url = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ClusterError(
            f"The proxy of this cluster speaks {urlsplit(url).scheme[:20]}, which is not known here.",
            code="no-cluster",
            next_step="Give an HTTP proxy (proxy-url in the kubeconfig, or HTTPS_PROXY).",
        )
    return url


def _direct(server: str, exceptions: str) -> bool:
    parts = urlsplit(server)
    host = (parts.hostname or "").rstrip(".").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = [entry.strip().lower() for entry in exceptions.split(",")]
    return any(entry and _excepts(entry, host, port, address) for entry in entries)


def _excepts(
    entry: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit() and (":" not in name or name.endswith("]")):
        if int(wanted) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    listed = _address(entry)
    if listed is not None or address is not None:
        return listed == address
    # "example.org" means the host and what lies below it, ".example.org" (or "*.") only the latter.
    below = entry.removeprefix("*")
    return host.endswith(below if below.startswith(".") else f".{below}") or host == below


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
