"""Random selectors, mostly well typed: built from the declared functions, so that most of them compile."""

from __future__ import annotations

from random import Random
from typing import Any

from jupyter_dra.cel import kinds
from jupyter_dra.cel.declarations import Overload, functions
from jupyter_dra.cel.kinds import Type

_GPU = 'device.attributes["gpu.example.com"]'
_CAPACITY = 'device.capacity["gpu.example.com"]'
_LEAVES: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false", f"has({_GPU}.model)", '"model" in ' + _GPU, "device.allowMultipleAllocations"),
    "int": ("0", "1", "-3", "42", "9223372036854775807", f"size({_GPU})"),
    "uint": ("0u", "7u", "18446744073709551615u"),
    "double": ("0.0", "1.5", "-2.25", "1e10"),
    "string": (
        '"A100"',
        '""',
        '"a,b"',
        "device.driver",
        '"1.2.3"',
        '"10Gi"',
        '"^[a-z]+$"',
        '"é🙂"',
        '"10.0.0.1"',
    ),
    "bytes": ('b"ab"', 'b""'),
    "duration": ('duration("90m")', 'duration("0s")'),
    "timestamp": ('timestamp("2024-02-29T12:30:45Z")',),
    "kubernetes.Quantity": ('quantity("1Gi")', 'quantity("-1500m")', f"{_CAPACITY}.memory"),
    "kubernetes.Semver": ('semver("1.2.3")', 'semver("2.0.0-rc.1")'),
    "net.IP": ('ip("10.0.0.1")', 'ip("::1")'),
    "net.CIDR": ('cidr("10.0.0.0/8")',),
    "kubernetes.URL": ('url("https://a.b:80/c?d=1")',),
    "kubernetes.NamedFormat": ("format.dns1123Label()", "format.uuid()"),
    "dyn": (
        *(f"{_GPU}.{name}" for name in ("model", "count", "version", "on", "missing")),
        *("dyn(1)", 'dyn("s")', "dyn([1, 2])", f'{_GPU}["model"]', f'{_GPU}.?model.orValue("")'),
    ),
}
_BASIC = ("bool", "int", "uint", "double", "string")
_BY_RESULT: list[tuple[str, Overload]] = [
    (name, overload)
    for name, found in sorted(functions((1, 35)).items())
    for overload in found
    if not name.startswith("@") or name == "@in"
]
DEVICES: list[dict[str, Any]] = [
    {
        "driver": "gpu.example.com",
        "name": "one",
        "attributes": {
            "model": {"string": "A100"},
            "count": {"int": 4},
            "version": {"version": "1.2.3"},
            "on": {"bool": True},
        },
        "capacity": {"memory": {"value": "40Gi"}},
    },
    {"driver": "gpu.example.com", "name": "two", "attributes": {"model": {"string": ""}}, "capacity": {}},
    {"driver": "nic.example.com", "name": "three", "allowMultipleAllocations": True},
]


def expression(rnd: Random) -> str:
    """A selector; a few of them are broken by one character."""
    text = _Writer(rnd).write(kinds.BOOL, rnd.randint(1, 4))
    if rnd.random() < 0.05 and text:
        spot = rnd.randrange(len(text))
        text = text[:spot] + rnd.choice(("", "(", ".", "1", '"', " ")) + text[spot + 1 :]
    return text


class _Writer:
    def __init__(self, rnd: Random) -> None:
        self.rnd = rnd
        self.names: list[tuple[str, Type]] = []

    def write(self, kind: Type, depth: int) -> str:
        """Text of a value of a type."""
        rnd = self.rnd
        known = [name for name, of in self.names if of == kind]
        if known and rnd.random() < 0.5:
            return rnd.choice(known)
        if rnd.random() < 0.08:
            return rnd.choice(_LEAVES["dyn"])
        if depth <= 0 or rnd.random() < 0.15:
            return self._leaf(kind, depth)
        roll = rnd.random()
        if roll < 0.12 and kind == kinds.BOOL:
            return f"({self.write(kind, depth - 1)} {rnd.choice(('&&', '||'))} {self.write(kind, depth - 1)})"
        if roll < 0.2:
            asked = self.write(kinds.BOOL, depth - 1)
            return f"({asked} ? {self.write(kind, depth - 1)} : {self.write(kind, depth - 1)})"
        if roll < 0.38:
            made = self._macro(kind, depth)
            if made is not None:
                return made
        return self._call(kind, depth) or self._leaf(kind, depth)

    def _leaf(self, kind: Type, depth: int) -> str:
        if kind[0] == "list":
            return "[" + ", ".join(self.write(kind[1], 0) for _ in range(self.rnd.randrange(4))) + "]"
        if kind[0] == "map":
            pairs = range(self.rnd.randrange(3))
            return "{" + ", ".join(f"{self.write(kind[1], 0)}: {self.write(kind[2], 0)}" for _ in pairs) + "}"
        if kind[0] == "optional":
            return (
                f"optional.of({self.write(kind[1], depth - 1)})"
                if self.rnd.random() < 0.7
                else "optional.none()"
            )
        return self.rnd.choice(_LEAVES.get(kind[0], ("dyn(1)",)))

    def _basic(self) -> Type:
        return (self.rnd.choice(_BASIC),)

    def _macro(self, kind: Type, depth: int) -> str | None:
        rnd = self.rnd
        name = f"v{len(self.names)}"
        if rnd.random() < 0.3:
            of = self._basic()
            value = self.write(of, depth - 1)
            return f"cel.bind({name}, {value}, {self._inside(name, of, kind, depth)})"
        over, of = rnd.choice((("list", self._basic()), ("attributes", kinds.STRING), ("map", kinds.STRING)))
        source = {
            "list": lambda: self.write(kinds.list_of(of), depth - 1),
            "attributes": lambda: rnd.choice(("device.attributes", _GPU, "device.capacity")),
            "map": lambda: self.write(kinds.map_of(kinds.STRING, kinds.INT), depth - 1),
        }[over]()
        if kind == kinds.BOOL:
            macro = rnd.choice(("all", "exists", "exists_one"))
            return f"{source}.{macro}({name}, {self._inside(name, of, kind, depth)})"
        if kind[0] == "list":
            return f"{source}.map({name}, {self._inside(name, of, kind[1], depth)})"
        return None

    def _inside(self, name: str, of: Type, kind: Type, depth: int) -> str:
        self.names.append((name, of))
        text = self.write(kind, depth - 1)
        self.names.pop()
        return text

    def _call(self, kind: Type, depth: int) -> str | None:
        """A call of a random function whose result has the type."""
        for _ in range(8):
            name, overload = self.rnd.choice(_BY_RESULT)
            bound: dict[Type, Type] = {}
            if not _fits(overload.result, kind, bound):
                continue
            types = [self._filled(part, bound) for part in overload.parameters]
            parts = [self.write(part, depth - 1) for part in types]
            return _spelled(name, overload.member, parts)
        return None

    def _filled(self, kind: Type, bound: dict[Type, Type]) -> Type:
        if kind[0] == "var":
            return bound.setdefault(kind, self._basic())
        return (kind[0], *(self._filled(part, bound) for part in kind[1:]))


def _fits(pattern: Type, kind: Type, bound: dict[Type, Type]) -> bool:
    if pattern[0] == "var":
        return bound.setdefault(pattern, kind) == kind
    if pattern[0] != kind[0] or len(pattern) != len(kind):
        return False
    return all(_fits(one, two, bound) for one, two in zip(pattern[1:], kind[1:], strict=True))


def _spelled(name: str, member: bool, parts: list[str]) -> str:
    if name in ("!_", "-_"):
        return f"{name[0]}({parts[0]})"
    if name == "_?_:_":
        return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    if name in ("_[_]", "_[?_]"):
        return f"{parts[0]}[{'?' if '?' in name else ''}{parts[1]}]"
    if name == "@in":
        return f"({parts[0]} in {parts[1]})"
    if name.startswith("_"):
        return f"({parts[0]} {name.strip('_')} {parts[1]})"
    if member:
        return f"{parts[0]}.{name}({', '.join(parts[1:])})"
    return f"{name}({', '.join(parts)})"
