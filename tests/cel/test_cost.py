"""The API server's cost estimate; the figures are the server's own."""

from __future__ import annotations

import pytest

from jupyter_dra.cel.cost import COST_LIMIT, UNKNOWN, estimate

NEW = (1, 35)


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ("device.driver == 'gpu.nvidia.com'", 4),
        ("has(device.attributes['a'].b) && device.attributes['a'].b.matches('^x$')", 14),
        ("[1, 2, 3].all(x, x > 1)", 26),
        ("(has(device.attributes['a'].b) ? {'x': 1} : {'abc': 2}).all(k, k.contains('x'))", 39),
        ("(['a'] + ['abc']).exists(x, x.startsWith('a'))", 34),
        ("'abcdef'.replace(device.driver == 'a' ? 'ab' : 'abc', 'x') == ''", 5),
        ("strings.quote(device.attributes['a'].?b.orValue('')) == 'x'", 1844674407370955269),
        ("cidr('10.0.0.0/8').containsIP(optional.none().value())", 1844674407370955271),
    ],
)
def test_bounded_selectors_have_the_servers_estimate(expression: str, cost: int) -> None:
    assert estimate(expression, NEW) == cost


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes['a'].?b.orValue('').matches('^x')",
        "device.attributes['a'].?b.orValue('').lowerAscii() == 'x'",
        "type(1) == int",
        "['b', 'a'].min() == 'a'",
    ],
)
def test_what_has_no_bound_is_over_the_limit(expression: str) -> None:
    assert estimate(expression, NEW) > COST_LIMIT


def test_nested_loops_over_the_devices_maps_multiply() -> None:
    loops = "device.attributes.all({0}, device.attributes.all({1}, {2}))"
    three = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, true)))"
    assert estimate(loops.format("a", "b", "true"), NEW) < estimate(three, NEW) < COST_LIMIT
    four = three.replace("true", "device.attributes.all(d, true)")
    assert COST_LIMIT < estimate(four, NEW) < UNKNOWN
