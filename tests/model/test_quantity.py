"""Quantities are exact, and read as Kubernetes reads them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_dra.errors import QuantityError
from jupyter_dra.model import Quantity

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{name: Fraction(10 ** (3 * power)) for power, name in enumerate("kMGTPE", 1)},
    **{f"{name}i": Fraction(2 ** (10 * power)) for power, name in enumerate("KMGTPE", 1)},
}
numbers = st.builds(
    lambda sign, whole, fraction: sign + whole + fraction,
    st.sampled_from(["", "+", "-"]),
    st.text("0123456789", min_size=1, max_size=25),
    st.one_of(st.just(""), st.text("0123456789", max_size=20).map(lambda digits: "." + digits)),
)
quantities = st.builds(lambda number, suffix: number + suffix, numbers, st.sampled_from(list(SUFFIXES)))


def exact(text: str) -> Fraction:
    """The value by definition, in nanos, rounded away from zero and cut where the suffix is binary."""
    suffix = next(name for name in sorted(SUFFIXES, key=len, reverse=True) if text.endswith(name))
    number = text.removesuffix(suffix) if suffix else text
    value = Fraction(number.rstrip(".") if number.endswith(".") else number) * SUFFIXES[suffix] * 10**9
    nanos = Fraction(-(-abs(value).numerator // abs(value).denominator))
    if suffix.endswith("i"):
        nanos = min(nanos, Fraction((2**63 - 1) * 10**9))
    return nanos if value >= 0 else -nanos


@given(quantities)
def test_value_is_exact(text: str) -> None:
    assert Quantity.parse(text).nanos == exact(text)


@given(quantities, quantities)
def test_order_and_equality_are_those_of_the_values(one: str, two: str) -> None:
    left, right = Quantity.parse(one), Quantity.parse(two)
    assert (left < right) == (exact(one) < exact(two))
    assert (left == right) == (exact(one) == exact(two))
    assert left != right or hash(left) == hash(right)
    assert left.compare(right) == (exact(one) > exact(two)) - (exact(one) < exact(two))


@given(quantities, quantities)
def test_sums_and_differences_are_exact(one: str, two: str) -> None:
    left, right = Quantity.parse(one), Quantity.parse(two)
    assert (left + right).nanos == left.nanos + right.nanos
    assert (left - right).nanos == left.nanos - right.nanos
    assert Quantity.parse((left + right).text) == left + right


@given(quantities)
def test_canonical_text_has_the_same_value(text: str) -> None:
    quantity = Quantity.parse(text)
    assert Quantity.parse(quantity.canonical()) == quantity
    assert "." not in quantity.canonical()


@given(quantities)
def test_whole_units_are_rounded_away_from_zero(text: str) -> None:
    quantity = Quantity.parse(text)
    assert abs(quantity.bytes) * 10**9 >= abs(quantity.nanos) > (abs(quantity.bytes) - 1) * 10**9


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert Quantity.is_valid(text) in (True, False)


@pytest.mark.parametrize(
    "text",
    ["1k", "1.5Gi", ".5Gi", "5.", "1e3", "1E3", "1E", "1E2", "+1", "1m", "1n", "12e-3", "Mi", "-3", "0" * 40],
)
def test_accepted_texts(text: str) -> None:
    assert Quantity.is_valid(text)


@pytest.mark.parametrize(
    "text",
    [
        "1K",
        "40GB",
        "40gi",
        "40GiB",
        "1 Gi",
        "1_000",
        "0x10",
        "",
        "1,5",
        "1e",
        "Ei",
        "1.2.3",
        "1Gi ",
        "1\n",
        "١",
    ],
)
def test_refused_texts(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1", 1),
        ("2k", 2000),
        ("1.0", None),
        ("1.5k", 1500),
        ("1.5Gi", None),
        ("10Ti", 10995116277760),
        ("100Ti", None),
        ("9E", 9 * 10**18),
        ("100E", None),
        ("1000m", None),
        ("1234567890123456789", None),
        ("123456789012345678", 123456789012345678),
        ("-3", -3),
    ],
)
def test_as_integer_depends_on_the_text(text: str, whole: int | None) -> None:
    quantity = Quantity.parse(text)
    assert quantity.as_integer == whole
    assert quantity.is_integer is (whole is not None)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        ("1.5", "1500m"),
        ("0.5Gi", "512Mi"),
        ("1000", "1k"),
        ("0Gi", "0"),
        ("1e4", "10e3"),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert Quantity.parse(text).canonical() == canonical


def test_numbers_are_read_by_their_json_text() -> None:
    assert Quantity.parse(2) == Quantity.parse("2")
    assert Quantity.parse(1.5) == Quantity.parse("1500m")
    with pytest.raises(QuantityError):
        Quantity.parse(True)
    with pytest.raises(QuantityError):
        Quantity.parse(float("nan"))


def test_huge_exponents_are_refused_at_once() -> None:
    for text in ("1e2000000000", "1e" + "9" * 4000):
        with pytest.raises(QuantityError):
            Quantity.parse(text)
    assert Quantity.parse("1e-2000000000").nanos == 1
