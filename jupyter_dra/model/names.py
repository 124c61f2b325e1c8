"""Kubernetes naming rules, and the names of devices and attributes.

The problem functions return the API server's own sentences (``k8s.io/apimachinery/pkg/util/validation``), an empty
list where the text is good.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from jupyter_dra.errors import NameRuleError
from jupyter_dra.model import limits

__all__ = [
    "DeviceID",
    "QualifiedName",
    "c_identifier_problems",
    "dns_label_problems",
    "dns_subdomain_problems",
    "driver_name_problems",
    "label_key_problems",
    "label_value_problems",
    "pool_name_problems",
    "qualified_name_problems",
    "too_long",
]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_KEY_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_C_IDENTIFIER_RE = re.compile(_C_IDENTIFIER)
_KEY_NAME_RE = re.compile(_KEY_NAME)


class DeviceID(NamedTuple):
    """The only unique key of a device: a device name alone names many."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True, order=True)
class QualifiedName:
    """The key of an attribute or a capacity: ``id`` with an optional ``domain``.

    >>> QualifiedName.parse("memory").qualified("gpu.nvidia.com")
    QualifiedName(domain='gpu.nvidia.com', id='memory')
    >>> str(QualifiedName.parse("resource.kubernetes.io/pcieRoot"))
    'resource.kubernetes.io/pcieRoot'
    """

    domain: str | None
    id: str

    @staticmethod
    def parse(text: str) -> QualifiedName:
        """Split at the slash; raises NameRuleError for more than one slash or an empty part."""
        return _split(text)

    def qualified(self, driver: str) -> QualifiedName:
        """The same with the driver's name as domain where there is none."""
        return self if self.domain is not None else QualifiedName(driver, self.id)

    def matches(self, other: QualifiedName, driver: str) -> bool:
        """Tell whether both name the same attribute of a device of ``driver``."""
        return self.qualified(driver) == other.qualified(driver)

    def __str__(self) -> str:
        return self.id if self.domain is None else f"{self.domain}/{self.id}"


@lru_cache(maxsize=4096)
def _split(text: str) -> QualifiedName:
    domain, slash, name = text.rpartition("/")
    if not name or (slash and not domain) or "/" in domain:
        raise NameRuleError(
            f"{text!r} is no attribute name (write NAME or DOMAIN/NAME)", params={"text": text}
        )
    return QualifiedName(domain if slash else None, name)


def too_long(limit: int) -> str:
    """The sentence for a text of more than ``limit`` bytes in a name."""
    return f"must be no more than {limit} bytes"


def too_many_characters(limit: int) -> str:
    """The length message of DNS names, which counts bytes too but says characters."""
    return f"must be no more than {limit} characters"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def dns_label_problems(text: str) -> list[str]:
    """What keeps a text from being a DNS label (RFC 1123)."""
    problems = [too_many_characters(limits.DNS_LABEL_MAX)] if _size(text) > limits.DNS_LABEL_MAX else []
    if not _LABEL_RE.fullmatch(text) and _SUBDOMAIN_RE.fullmatch(text):
        problems.append("must not contain dots")
    elif not _LABEL_RE.fullmatch(text):
        problems.append(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
            " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
            f" '{_LABEL}')"
        )
    return problems


def dns_subdomain_problems(text: str, max_length: int = limits.DNS_SUBDOMAIN_MAX) -> list[str]:
    """What keeps a text from being a DNS subdomain (RFC 1123) of at most ``max_length`` bytes."""
    problems = [too_many_characters(max_length)] if _size(text) > max_length else []
    if not _SUBDOMAIN_RE.fullmatch(text):
        problems.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
            f" '{_SUBDOMAIN}')"
        )
    return problems


def driver_name_problems(text: str) -> list[str]:
    """What keeps a text from being a DRA driver name: a DNS subdomain of at most 63 bytes, in any case."""
    problems = dns_subdomain_problems(text.lower())
    if _size(text) > limits.DRIVER_NAME_MAX:
        problems.insert(0, f"may not be more than {limits.DRIVER_NAME_MAX} bytes")
    return problems


def pool_name_problems(text: str) -> list[str]:
    """What keeps a text from being a pool name: DNS subdomains joined by slashes, at most 253 bytes."""
    if not text:
        return ["pool name must not be empty"]
    problems = (
        [] if _size(text) <= limits.POOL_NAME_MAX else [f"may not be more than {limits.POOL_NAME_MAX} bytes"]
    )
    for part in text.split("/"):
        problems += dns_subdomain_problems(part)
    return problems


def c_identifier_problems(text: str, max_length: int = limits.QUALIFIED_ID_MAX) -> list[str]:
    """What keeps a text from being a C identifier of at most ``max_length`` bytes."""
    problems = [f"may not be more than {max_length} bytes"] if _size(text) > max_length else []
    if not _C_IDENTIFIER_RE.fullmatch(text):
        problems.append(
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric"
            " characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is"
            f" '{_C_IDENTIFIER}')"
        )
    return problems


def qualified_name_problems(text: str, domain_required: bool = False) -> list[str]:
    """What keeps a text from being an attribute or capacity key (``[domain/]id``)."""
    if not text:
        return ["name required"]
    parts = text.split("/")
    if len(parts) > 2:
        return ["must be a name or a domain and a name separated by a slash"]
    if len(parts) == 1:
        if domain_required:
            return ["a fully qualified name must be a domain and a name separated by a slash"]
        return c_identifier_problems(parts[0])
    domain, name = parts
    problems = driver_name_problems(domain) if domain else ["the domain must not be empty"]
    return problems + (c_identifier_problems(name) if name else ["the name must not be empty"])


def label_key_problems(text: str) -> list[str]:
    """What keeps a text from being a label, annotation, taint or toleration key."""
    parts = text.split("/")
    problems: list[str] = []
    name = parts[-1]
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += ["prefix part " + problem for problem in dns_subdomain_problems(parts[0])]
    elif len(parts) > 2:
        return [
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
            " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            f" '{_KEY_NAME}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > limits.LABEL_NAME_MAX:
        problems.append("name part " + too_long(limits.LABEL_NAME_MAX))
    if not _KEY_NAME_RE.fullmatch(name):
        problems.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
            " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
            f" '{_KEY_NAME}')"
        )
    return problems


def label_value_problems(text: str) -> list[str]:
    """What keeps a text from being a label value."""
    problems = [too_long(limits.LABEL_VALUE_MAX)] if _size(text) > limits.LABEL_VALUE_MAX else []
    if text and not _KEY_NAME_RE.fullmatch(text):
        problems.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
            " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
            f" for validation is '({_KEY_NAME})?')"
        )
    return problems
