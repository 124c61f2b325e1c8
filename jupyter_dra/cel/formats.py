"""Named formats: ``format.named("dns1123Label").value().validate(text)`` (``library/format.go``)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from jupyter_dra.cel.declarations import FORMAT_NAMES
from jupyter_dra.cel.network import is_url
from jupyter_dra.cel.times import parse_timestamp
from jupyter_dra.cel.values import NONE, CelOptional, EvalError
from jupyter_dra.model import (
    dns_label_problems,
    dns_subdomain_problems,
    label_key_problems,
    label_value_problems,
)

__all__ = ["NamedFormat", "named", "validate"]


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format by its name."""

    name: str


def named(name: str) -> CelOptional:
    """The format, or none where there is no such name."""
    return CelOptional(NamedFormat(name)) if name in FORMAT_NAMES else NONE


def validate(form: NamedFormat, text: str) -> CelOptional:
    """None where the text is good, else its problems."""
    problems: list[object] = list(_CHECKS[form.name](text))
    return CelOptional(problems) if problems else NONE


_DNS1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _dns1035(text: str) -> list[str]:
    problems = ["must be no more than 63 bytes"] if len(text) > 63 else []
    if not _DNS1035.fullmatch(text):
        problems.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', and start with a letter"
        )
    return problems


def _masked_prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Check a name prefix: a trailing dash counts as good."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _uri(text: str) -> list[str]:
    return [] if is_url(text) else ["invalid URI for request"]


def _bytes(text: str) -> list[str]:
    try:
        base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def _date(text: str) -> list[str]:
    try:
        if _DATE.fullmatch(text):
            date.fromisoformat(text)
            return []
    except ValueError:
        pass
    return ["invalid date"]


def _datetime(text: str) -> list[str]:
    try:
        parse_timestamp(text.upper())
    except EvalError:
        return ["invalid datetime"]
    return []


_CHECKS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": dns_label_problems,
    "dns1123Subdomain": dns_subdomain_problems,
    "dns1035Label": _dns1035,
    "qualifiedName": label_key_problems,
    "dns1123LabelPrefix": _masked_prefix(dns_label_problems),
    "dns1123SubdomainPrefix": _masked_prefix(dns_subdomain_problems),
    "dns1035LabelPrefix": _masked_prefix(_dns1035),
    "labelValue": label_value_problems,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _bytes,
    "date": _date,
    "datetime": _datetime,
}
