"""Naming rules answer with the API server's sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.errors import NameRuleError
from jupyter_dra.model import (
    DeviceID,
    QualifiedName,
    c_identifier_problems,
    dns_label_problems,
    dns_subdomain_problems,
    driver_name_problems,
    label_key_problems,
    label_value_problems,
    pool_name_problems,
    qualified_name_problems,
)


@pytest.mark.parametrize("text", ["a", "gpu-0", "0a", "a" * 63])
def test_good_labels(text: str) -> None:
    assert dns_label_problems(text) == []


@pytest.mark.parametrize("text", ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "é", "a\n"])
def test_bad_labels(text: str) -> None:
    assert dns_label_problems(text) != []


def test_subdomains_may_have_dots() -> None:
    assert dns_subdomain_problems("gpu.nvidia.com") == []
    assert dns_subdomain_problems("a..b") != []
    assert dns_subdomain_problems("a" * 64, max_length=63)[0] == "must be no more than 63 characters"


def test_driver_names_may_be_upper_case() -> None:
    assert driver_name_problems("GPU.example.com") == []
    assert driver_name_problems("a." + "b" * 62) != []


def test_pool_names_are_subdomains_joined_by_slashes() -> None:
    assert pool_name_problems("rack-1/node.example.com") == []
    assert pool_name_problems("rack 1") != []
    assert pool_name_problems("") == ["pool name must not be empty"]


def test_attribute_names() -> None:
    assert qualified_name_problems("memory") == []
    assert qualified_name_problems("resource.kubernetes.io/pcieRoot") == []
    assert qualified_name_problems("memory", domain_required=True) == [
        "a fully qualified name must be a domain and a name separated by a slash"
    ]
    assert qualified_name_problems("supported-models") != []
    assert qualified_name_problems("a/b/c") != []
    assert qualified_name_problems("/x") == ["the domain must not be empty"]
    assert qualified_name_problems("x/") == ["the name must not be empty"]
    assert c_identifier_problems("a" * 33) == ["may not be more than 32 bytes"]


def test_label_keys_and_values() -> None:
    assert label_key_problems("example.com/My_key.1") == []
    assert label_key_problems("/x") == ["prefix part must be non-empty"]
    assert label_value_problems("") == []
    assert label_value_problems("a b") != []


def test_qualified_names_take_the_drivers_domain() -> None:
    assert QualifiedName.parse("memory").matches(QualifiedName("gpu.nvidia.com", "memory"), "gpu.nvidia.com")
    assert not QualifiedName.parse("memory").matches(QualifiedName("other", "memory"), "gpu.nvidia.com")
    assert str(DeviceID("d", "p", "x")) == "d/p/x"


@pytest.mark.parametrize("text", ["", "/x", "x/", "a/b/c"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(NameRuleError):
        QualifiedName.parse(text)


@given(st.text(max_size=12))
def test_rules_never_fail(text: str) -> None:
    for rule in (
        dns_label_problems,
        dns_subdomain_problems,
        pool_name_problems,
        qualified_name_problems,
        label_key_problems,
    ):
        assert isinstance(rule(text), list)
