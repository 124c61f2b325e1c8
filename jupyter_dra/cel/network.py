"""IP addresses, CIDRs and URLs (``k8s.io/apiserver/pkg/cel/library/{ip,cidr,urls}.go``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import parse_qsl, unquote, urlsplit

from jupyter_dra.cel.values import CelMap, EvalError

__all__ = ["Cidr", "Ip", "Url", "cidr", "ip", "is_cidr", "is_ip", "is_url", "url"]


@dataclass(frozen=True, slots=True)
class Ip:
    """An address; equal addresses are equal values."""

    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address with a prefix length; the address may have bits behind the prefix."""

    address: IPv4Address | IPv6Address
    prefix: int

    def __str__(self) -> str:
        return f"{self.address}/{self.prefix}"

    @property
    def network(self) -> IPv4Network | IPv6Network:
        return ip_network(f"{self.address}/{self.prefix}", strict=False)


@dataclass(frozen=True, slots=True)
class Url:
    """A URL with a scheme, or an absolute path."""

    text: str
    scheme: str
    host: str
    hostname: str
    port: str
    path: str
    query: str


def ip(text: str) -> Ip:
    """Read an address; zones and IPv4 inside IPv6 are refused."""
    try:
        address = ip_address(text)
    except ValueError:
        raise EvalError(f'IP Address "{text}" parse error during conversion from string') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvalError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise EvalError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def is_ip(text: str) -> bool:
    return _reads(ip, text)


def is_canonical(text: str) -> bool:
    return str(ip(text)) == text


def family(address: Ip) -> int:
    return address.address.version


def is_loopback(address: Ip) -> bool:
    return address.address.is_loopback


def is_unspecified(address: Ip) -> bool:
    return address.address.is_unspecified


def is_link_local_unicast(address: Ip) -> bool:
    return address.address.is_link_local


def is_link_local_multicast(address: Ip) -> bool:
    found = address.address
    if isinstance(found, IPv4Address):
        return found in IPv4Network("224.0.0.0/24")
    return found.is_multicast and found.packed[1] & 0x0F == 2


def is_global_unicast(address: Ip) -> bool:
    found = address.address
    broadcast = isinstance(found, IPv4Address) and int(found) == 2**32 - 1
    return not (
        found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local or broadcast
    )


_PREFIX = re.compile(r"0|[1-9][0-9]{0,2}")


def cidr(text: str) -> Cidr:
    """Read ``address/length``."""
    address_text, slash, length = text.rpartition("/")
    if slash and _PREFIX.fullmatch(length):
        try:
            address = ip(address_text).address
        except EvalError:
            raise EvalError("network address parse error during conversion from string") from None
        if int(length) <= address.max_prefixlen:
            return Cidr(address, int(length))
    raise EvalError("network address parse error during conversion from string")


def is_cidr(text: str) -> bool:
    return _reads(cidr, text)


def contains_ip(block: Cidr, address: Ip) -> bool:
    return address.address.version == block.address.version and address.address in block.network


def contains_ip_text(block: Cidr, text: str) -> bool:
    return contains_ip(block, ip(text))


def contains_cidr(block: Cidr, other: Cidr) -> bool:
    return other.prefix >= block.prefix and contains_ip(block, Ip(other.address))


def contains_cidr_text(block: Cidr, text: str) -> bool:
    return contains_cidr(block, cidr(text))


def masked(block: Cidr) -> Cidr:
    return Cidr(block.network.network_address, block.prefix)


def address_of(block: Cidr) -> Ip:
    return Ip(block.address)


def prefix_length(block: Cidr) -> int:
    return block.prefix


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD = re.compile(r"[\x00-\x20\x7f]")


def url(text: str) -> Url:
    """Read an absolute URL or an absolute path, as ``url.ParseRequestURI`` does."""
    scheme = _SCHEME.match(text)
    if _BAD.search(text) or not (scheme or text.startswith("/")):
        raise EvalError(
            f'URL parse error during conversion from string: parse "{text}": invalid URI for request'
        )
    rest, _, query = text.partition("?")
    if scheme and not rest[scheme.end() :].startswith("/"):
        # An opaque URL (mailto:x): nothing but a scheme.
        return Url(text, scheme[1].lower(), "", "", "", "", query)
    try:
        parts = urlsplit(rest, allow_fragments=False)
        port = parts.port
    except ValueError as error:
        raise EvalError(f'URL parse error during conversion from string: parse "{text}": {error}') from None
    host = parts.netloc.rpartition("@")[2]
    name = host if port is None else host.rpartition(":")[0]
    name = name.removesuffix(":").removeprefix("[").removesuffix("]")
    number = "" if port is None else host.rpartition(":")[2]
    return Url(text, parts.scheme, unquote(host), unquote(name), number, parts.path, query)


def is_url(text: str) -> bool:
    return _reads(url, text)


def query_of(address: Url) -> CelMap:
    """The query's parameters: name to list of values."""
    found: dict[object, object] = {}
    for name, value in parse_qsl(address.query, keep_blank_values=True):
        values = found.setdefault(name, [])
        if isinstance(values, list):
            values.append(value)
    return CelMap(found)


def _reads(parse: object, text: str) -> bool:
    try:
        parse(text)  # type: ignore[operator]
    except EvalError:
        return False
    return True
