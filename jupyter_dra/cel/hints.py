"""The commonest mistakes, explained: what was probably meant, and how it is written."""

from __future__ import annotations

import difflib
import re

from jupyter_dra.cel import kinds
from jupyter_dra.cel.checker import Problem
from jupyter_dra.cel.declarations import functions
from jupyter_dra.cel.issues import SyntaxProblem
from jupyter_dra.cel.kinds import Type
from jupyter_dra.cel.regex import compiled
from jupyter_dra.cel.syntax import Call, Ident, Literal, Node, Select
from jupyter_dra.cel.values import EvalError

__all__ = ["hint_for", "hint_for_runtime", "hint_for_syntax"]

_FIELDS = "driver, attributes, capacity and allowMultipleAllocations"
_NAMES = {
    "toLower": "lowerAscii()",
    "tolower": "lowerAscii()",
    "lower": "lowerAscii()",
    "toUpper": "upperAscii()",
    "toupper": "upperAscii()",
    "upper": "upperAscii()",
    "len": "size()",
    "length": "size()",
    "count": "size()",
    "startswith": "startsWith()",
    "endswith": "endsWith()",
    "strip": "trim()",
    "like": "matches()",
    "regex": "matches()",
    "match": "matches()",
    "isGreaterThanOrEqual": "compareTo(…) >= 0",
    "isLessThanOrEqual": "compareTo(…) <= 0",
    "isGreaterThanOrEqualTo": "compareTo(…) >= 0",
    "gte": "compareTo(…) >= 0",
    "and": "&&",
    "or": "||",
    "not": "!",
}
_ELSEWHERE = frozenset(("math", "base64", "authorizer", "regex", "cel", "jsonpatch"))
_STANDARD = frozenset(("pcieRoot", "pciBusID", "numaNode"))
_ORDERINGS = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_MEMBERS = frozenset(("isGreaterThan", "isLessThan", "compareTo", "add", "sub"))
_EQUALITIES = frozenset(("_==_", "_!=_"))


def hint_for(problem: Problem, text: str) -> str | None:
    """What was probably meant by a text the type checker refuses, or None."""
    node, types, message = problem.node, problem.types, problem.message
    if message.startswith("undefined field"):
        return _field(node)
    if message.startswith("undeclared reference"):
        return _undeclared(node, text, problem.at)
    if message.startswith("found no matching overload"):
        return _overload(message.split("'")[1], node, types)
    if message.startswith("must evaluate to bool"):
        return _result(types[0])
    if message.startswith("expected type 'bool'"):
        return "Conditions must be true or false."
    if message.startswith("expected type"):
        return "All elements of a list literal must have the same type; an attribute (dyn) and a text do not mix."
    if message == "invalid matches argument":
        return _pattern(node)
    if message.startswith("Too long"):
        return "Split it into several selectors: all selectors of a request must be true."
    if message.startswith("error during formatting") or "string.format" in message:
        return "format() takes one list with as many values as the text has clauses: %s, %d for int, %f for double."
    if message.startswith("type conversion error"):
        return "This conversion of a constant can never work."
    return None


def hint_for_syntax(text: str, problem: SyntaxProblem) -> str | None:
    """What was probably meant by a text that cannot be parsed, or None."""
    message, rest = problem.message, text[problem.offset :]
    if message.startswith("invalid argument to has()"):
        return (
            'has() takes a selection: has(device.attributes["domain"].name);'
            ' or write "name" in device.attributes["domain"].'
        )
    if not text.strip():
        return "The expression is empty."
    if "token recognition error at: '= " in message or rest[:1] == "=":
        return "Compare with ==."
    if "token recognition error" in message and rest[:1] in "&|":
        return "Logical operators are && and ||."
    if "token recognition error" in message and rest[:1] in "\"'":
        return r"The text does not end, or has an escape CEL does not know; write \\ or a raw string r'…'."
    word = re.match(r"\w+", rest)
    if word is not None and word[0] in ("and", "or", "not", "AND", "OR", "NOT"):
        return f"CEL writes {_NAMES[word[0].lower()]} for {word[0]}."
    if "expecting {IDENTIFIER, ESC_IDENTIFIER}" in message:
        return 'After .? only a plain name can stand; write [?"name"] for any other.'
    return None


def hint_for_runtime(message: str) -> str | None:
    """How a selector that raises on a device can be written so that it does not, or None."""
    if message.startswith("no such key"):
        name = message.removeprefix("no such key: ").split(".")[0]
        return f'Not every device has "{name}": guard it with has(…), or read it as .?{name}.orValue(…).'
    if message.startswith("quantities must match") or "quantity's suffix" in message:
        return "A quantity ends in k, M, G, T or Ki, Mi, Gi, Ti: 80G, not 80GB; k is small, the others are capital."
    if message.startswith("No Major.Minor.Patch"):
        return 'A version has three parts: semver("9.0.0"), or semver("9.0", true).'
    if message == "no such overload" or message.startswith("no such overload: "):
        return (
            "The value has another type than the selector expects;"
            ' a version is compared with semver("…"), not with a text.'
        )
    return None


def _field(node: Node | None) -> str:
    name = node.field if isinstance(node, Select) else ""
    if name in ("memory", "vram", "cores", "multiprocessors"):
        return f"A selector sees {_FIELDS}; write device.capacity[device.driver].{name}."
    if name in ("name", "pool", "node", "nodeName", "taints"):
        return f"A selector sees only {_FIELDS} of a device, not its {name}."
    return f"A selector sees {_FIELDS}; write device.attributes[device.driver].{name}."


def _undeclared(node: Node | None, text: str, at: int) -> str | None:
    if isinstance(node, Ident):
        name = node.name
        if name in ("attributes", "capacity", "driver"):
            return f"Write device.{name}."
        if name in _ELSEWHERE:
            return (
                f"The library {name} is not known to jupyter-dra; the scheduler of your cluster may know it."
            )
        if text[:at].rstrip().endswith("-"):
            return "A minus sign makes a subtraction; names of attributes have no dashes."
        return f'A text needs quotes: "{name}". The only variable is device.'
    if not isinstance(node, Call):
        return None
    name = node.function
    if name == "includes":
        return "includes() is known from Kubernetes 1.36 on."
    if name in _NAMES:
        return f"Write {_NAMES[name]}."
    close = difflib.get_close_matches(
        name, [known for known in functions((1, 37)) if known.isalnum()], 1, 0.75
    )
    meant = f"Did you mean {close[0]}()? " if close else ""
    return f"{meant}The function {name} is not known to jupyter-dra; a newer API server may know it."


def _overload(name: str, node: Node | None, types: tuple[Type, ...]) -> str | None:
    if any(_is_domain(kind) for kind in types):
        return _domain(node)
    if name in _ORDERINGS and (kinds.QUANTITY in types or kinds.SEMVER in types):
        operator = name.strip("_")
        return f"Quantities and versions have no {operator}; write a.compareTo(b) {operator} 0."
    if name == "sign":
        return "sign is a function: sign(quantity), not quantity.sign()."
    if name in _MEMBERS and len(types) == 2 and types[1] in (kinds.STRING, kinds.INT, kinds.DOUBLE):
        made = "semver" if types[0] == kinds.SEMVER else "quantity"
        return f'Both sides must be of one kind: write {name}({made}("…")).'
    if name in _EQUALITIES and kinds.QUANTITY in types:
        return 'A quantity is compared with a quantity: == quantity("40Gi").'
    if name in _EQUALITIES and kinds.SEMVER in types:
        return 'A version is compared with a version: == semver("1.2.3").'
    if name in _EQUALITIES and any(kind[0] == "optional" for kind in types):
        return "After .? comes an optional; give it a default with .orValue(…) before comparing."
    if name in _EQUALITIES:
        return "Both sides of == must have one type; convert one with int(…), double(…) or string(…)."
    if name == "orValue":
        return 'The default must have the type of the value: .orValue(quantity("0")) for a capacity.'
    if name == "@in" and types[-1] == kinds.STRING:
        return "in looks into lists and maps; for a part of a text write text.contains(part)."
    if name in ("!_", "_?_:_"):
        return "Conditions must be true or false."
    return None


def _is_domain(kind: Type) -> bool:
    """All names of one domain: what ``device.capacity["memory"]`` is by mistake."""
    return kind[0] == "map" and kind[1] == kinds.STRING and kind[2] in (kinds.QUANTITY, kinds.DYN, kinds.ANY)


def _domain(node: Node | None) -> str:
    """The reader wrote an attribute's name where a domain stands."""
    for part in _parts(node):
        where, key = _outer_index(part)
        if where is None or key is None:
            continue
        domain, slash, name = key.rpartition("/")
        standard = '"resource.kubernetes.io"' if name in _STANDARD else "device.driver"
        index = f'"{domain}"' if slash else standard
        return f'The first index of {where} is a domain: write {where}[{index}].{name}, not {where}["{key}"].'
    return 'The first index of device.attributes and device.capacity is a domain: device.capacity["domain"].name.'


def _parts(node: Node | None) -> list[Node]:
    if isinstance(node, Call):
        return [*([node.target] if node.target is not None else []), *node.args]
    return []


def _outer_index(node: Node) -> tuple[str | None, str | None]:
    """``device.capacity`` and the key, of ``device.capacity["memory"]`` or ``device.capacity.memory``."""
    key: object = None
    operand: Node | None = None
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]") and isinstance(node.args[1], Literal):
        operand, key = node.args[0], node.args[1].value
    elif isinstance(node, Select):
        operand, key = node.operand, node.field
    if (
        isinstance(operand, Select)
        and isinstance(operand.operand, Ident)
        and operand.operand.name == "device"
    ):
        return f"device.{operand.field}", key if isinstance(key, str) else None
    return None, None


def _result(kind: Type) -> str | None:
    if kind[0] == "optional":
        return "An optional is no answer: end with .orValue(false)."
    if kind == kinds.QUANTITY:
        return 'Compare it: ….compareTo(quantity("40Gi")) >= 0.'
    return f"A selector is true or false; this gives {kinds.format_type(kind)}. Compare it with something."


def _pattern(node: Node | None) -> str | None:
    pattern = node.args[0] if isinstance(node, Call) else None
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        return None
    try:
        compiled(pattern.value)
    except EvalError as error:
        return f"{error}. Patterns are RE2: no look-around, no back-references."
    return None
