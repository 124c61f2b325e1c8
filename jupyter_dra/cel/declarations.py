"""Every function of the API server's CEL environment and its overloads, as signatures.

Follows ``cel-go/common/stdlib``, ``cel-go/ext`` and ``k8s.io/apiserver/pkg/cel/library``. ``A`` and ``B`` are type
variables; a receiver before a point makes an overload a member. ``@since 1.36`` applies to the rest of its line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from jupyter_dra.cel import kinds
from jupyter_dra.cel.kinds import Type

__all__ = ["Overload", "functions", "type_names"]

_OPERATORS = """
!_(bool):bool  -_(double):double -_(int):int  _?_:_(bool,A,A):A
_==_(A,A):bool _!=_(A,A):bool _&&_(bool,bool):bool _||_(bool,bool):bool
_+_(bytes,bytes):bytes _+_(double,double):double _+_(duration,duration):duration
_+_(duration,timestamp):timestamp _+_(timestamp,duration):timestamp _+_(int,int):int
_+_(list<A>,list<A>):list<A> _+_(string,string):string _+_(uint,uint):uint
_-_(double,double):double _-_(duration,duration):duration _-_(int,int):int
_-_(timestamp,duration):timestamp _-_(timestamp,timestamp):duration _-_(uint,uint):uint
_*_(double,double):double _*_(int,int):int _*_(uint,uint):uint
_/_(double,double):double _/_(int,int):int _/_(uint,uint):uint  _%_(int,int):int _%_(uint,uint):uint
_[_](list<A>,int):A _[_](map<A,B>,A):B _[_](optional<list<A>>,int):optional<A>
_[_](optional<map<A,B>>,A):optional<B>
_[?_](list<A>,int):optional<A> _[?_](optional<list<A>>,int):optional<A>
_[?_](map<A,B>,A):optional<B> _[?_](optional<map<A,B>>,A):optional<B>
@in(A,list<A>):bool @in(A,map<A,B>):bool
"""
_COMPARED = "bool int uint double string bytes timestamp duration"
_MIXED = "int,uint int,double uint,int uint,double double,int double,uint"
_COMPARABLE = "int uint double bool duration timestamp string bytes"

_STANDARD = """
size(bytes):int bytes.size():int size(list<A>):int list<A>.size():int size(map<A,B>):int map<A,B>.size():int
size(string):int string.size():int
string.contains(string):bool string.endsWith(string):bool string.startsWith(string):bool
matches(string,string):bool string.matches(string):bool
bool(bool):bool bool(string):bool bytes(bytes):bytes bytes(string):bytes
double(double):double double(int):double double(string):double double(uint):double
duration(duration):duration duration(string):duration
dyn(A):dyn
int(int):int int(double):int int(duration):int int(string):int int(timestamp):int int(uint):int
string(string):string string(bool):string string(bytes):string string(double):string string(duration):string
string(int):string string(timestamp):string string(uint):string
timestamp(timestamp):timestamp timestamp(int):timestamp timestamp(string):timestamp
type(A):type<A>
uint(uint):uint uint(double):uint uint(int):uint uint(string):uint
"""
_DATE_PARTS = "getFullYear getMonth getDayOfYear getDate getDayOfMonth getDayOfWeek"
_TIME_PARTS = "getHours getMinutes getSeconds getMilliseconds"

_STRINGS = """
string.charAt(int):string string.format(list<dyn>):string
string.indexOf(string):int string.indexOf(string,int):int string.lastIndexOf(string):int
string.lastIndexOf(string,int):int list<string>.join():string list<string>.join(string):string
string.lowerAscii():string string.upperAscii():string strings.quote(string):string
string.replace(string,string):string string.replace(string,string,int):string
string.split(string):list<string> string.split(string,int):list<string>
string.substring(int):string string.substring(int,int):string string.trim():string
string.find(string):string string.findAll(string):list<string> string.findAll(string,int):list<string>
"""
_LISTS = """
list<int>.sum():int list<uint>.sum():uint list<double>.sum():double list<duration>.sum():duration
list<A>.indexOf(A):int list<A>.lastIndexOf(A):int
list<A>.slice(int,int):list<A> list<list<A>>.flatten():list<A> list<dyn>.flatten(int):list<dyn>
list<A>.distinct():list<A> list<A>.reverse():list<A> list<A>.first():optional<A> list<A>.last():optional<A>
lists.range(int):list<int>
sets.contains(list<A>,list<A>):bool sets.equivalent(list<A>,list<A>):bool sets.intersects(list<A>,list<A>):bool
"""
_OPTIONALS = """
optional.of(A):optional<A> optional.none():optional<A> optional.ofNonZeroValue(A):optional<A>
optional<A>.hasValue():bool optional<A>.value():A optional<A>.or(optional<A>):optional<A>
optional<A>.orValue(A):A
"""
_KUBERNETES = """
quantity(string):quantity isQuantity(string):bool sign(quantity):int
quantity.isGreaterThan(quantity):bool quantity.isLessThan(quantity):bool quantity.compareTo(quantity):int
quantity.asInteger():int quantity.asApproximateFloat():double quantity.isInteger():bool
quantity.add(quantity):quantity quantity.add(int):quantity quantity.sub(quantity):quantity
quantity.sub(int):quantity
semver(string):semver semver(string,bool):semver isSemver(string):bool isSemver(string,bool):bool
semver.isGreaterThan(semver):bool semver.isLessThan(semver):bool semver.compareTo(semver):int
semver.major():int semver.minor():int semver.patch():int
ip(string):ip isIP(string):bool ip.isCanonical(string):bool string(ip):string ip@.family():int
ip@.isUnspecified():bool ip@.isLoopback():bool ip@.isLinkLocalMulticast():bool
ip@.isLinkLocalUnicast():bool ip@.isGlobalUnicast():bool
cidr(string):cidr isCIDR(string):bool string(cidr):string cidr@.containsIP(string):bool
cidr@.containsIP(ip):bool cidr@.containsCIDR(string):bool cidr@.containsCIDR(cidr):bool
cidr@.ip():ip cidr@.masked():cidr cidr@.prefixLength():int
url(string):url isURL(string):bool url@.getScheme():string url@.getHost():string url@.getHostname():string
url@.getPort():string url@.getEscapedPath():string url@.getQuery():map<string,list<string>>
format.named(string):optional<format> format@.validate(string):optional<list<string>>
"""
FORMAT_NAMES = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)

_BASE: dict[str, Type] = {
    "bool": kinds.BOOL,
    "int": kinds.INT,
    "uint": kinds.UINT,
    "double": kinds.DOUBLE,
    "string": kinds.STRING,
    "bytes": kinds.BYTES,
    "dyn": kinds.DYN,
    "duration": kinds.DURATION,
    "timestamp": kinds.TIMESTAMP,
    "quantity": kinds.QUANTITY,
    "semver": kinds.SEMVER,
    "ip": kinds.IP,
    "cidr": kinds.CIDR,
    "url": kinds.URL,
    "format": kinds.FORMAT,
    "A": ("var", "A"),
    "B": ("var", "B"),
}
# Names that are functions' namespaces, not types of a receiver.
_NAMESPACES = ("strings", "lists", "sets", "ip", "format", "optional")
_SIGNATURE = re.compile(r"(?:([^\s(]+?)\.)?([A-Za-z]\w*|@in|[!-]_|_[^\s(]+?_\]?|_\[[^(]*)\(([^)]*)\):(\S+)")


class Overload(NamedTuple):
    """Parameters and result of one form; ``member`` when the first parameter is the receiver."""

    member: bool
    parameters: tuple[Type, ...]
    result: Type
    generic: bool


def _type(text: str) -> Type:
    text = text.removesuffix("@")
    known = _BASE.get(text)
    if known is not None:
        return known
    name, _, inner = text.partition("<")
    return (name, *map(_type, _split(inner[:-1])))


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]] if text else []


def _generic(kind: Type) -> bool:
    return kind[0] == "var" or any(_generic(part) for part in kind[1:])


def _declare(table: dict[str, list[Overload]], signature: str) -> None:
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(signature)
    receiver, name, parameters, result = match.groups()
    types = tuple(map(_type, _split(parameters)))
    member = receiver is not None and receiver not in _NAMESPACES
    if receiver in _NAMESPACES:
        name = f"{receiver}.{name}"
    elif receiver is not None:
        types = (_type(receiver), *types)
    outcome = _type(result)
    generic = any(map(_generic, (*types, outcome)))
    table.setdefault(name, []).append(Overload(member, types, outcome, generic))


def _made() -> str:
    """The regular families, written out."""
    pairs = [f"{one},{one}" for one in _COMPARED.split()] + _MIXED.split()
    lines = [f"_{op}_({pair}):bool" for op in ("<", "<=", ">", ">=") for pair in pairs]
    for name in (_DATE_PARTS + " " + _TIME_PARTS).split():
        lines += [f"timestamp.{name}():int", f"timestamp.{name}(string):int"]
    lines += [f"duration.{name}():int" for name in _TIME_PARTS.split()]
    for kind in _COMPARABLE.split():
        lines += [f"list<{kind}>.isSorted():bool", f"list<{kind}>.min():{kind}", f"list<{kind}>.max():{kind}"]
        lines += [f"list<{kind}>.sort():list<{kind}>"]
    lines += [f"format.{name}():format" for name in FORMAT_NAMES]
    return " ".join(lines)


@lru_cache(maxsize=4)
def functions(version: tuple[int, int]) -> dict[str, tuple[Overload, ...]]:
    """All functions of a Kubernetes version by name, operators included."""
    table: dict[str, list[Overload]] = {}
    for text in (_OPERATORS, _STANDARD, _STRINGS, _LISTS, _OPTIONALS, _KUBERNETES, _made()):
        for signature in text.split():
            _declare(table, signature)
    if version >= (1, 36):
        _declare(table, "dyn.includes(dyn):bool")
    return {name: tuple(overloads) for name, overloads in table.items()}


def type_names() -> dict[str, Type]:
    """Identifiers that stand for types (``type(x) == int``)."""
    plain = ("bool", "int", "uint", "double", "string", "bytes")
    names = {name: _BASE[name] for name in plain}
    names |= {"null_type": kinds.NULL, "list": ("list", kinds.DYN), "map": ("map", kinds.DYN, kinds.DYN)}
    names |= {"type": ("type",), "optional_type": ("optional", kinds.DYN)}
    names |= {"google.protobuf.Timestamp": kinds.TIMESTAMP, "google.protobuf.Duration": kinds.DURATION}
    for kind in (kinds.QUANTITY, kinds.SEMVER, kinds.IP, kinds.CIDR, kinds.URL):
        names[kind[0]] = kind
    return names
