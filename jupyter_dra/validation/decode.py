"""Strict decoding, with the texts of the API server.

Follows sigs.k8s.io/json (the decoder of k8s.io/apimachinery) for unknown fields, duplicates and type errors.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_dra.errors import QuantityError
from jupyter_dra.model.quantity import Quantity
from jupyter_dra.validation import schemas
from jupyter_dra.validation.gotime import quote, time_problem
from jupyter_dra.validation.paths import Path
from jupyter_dra.validation.schemas import Kind, Shape

MAX_STRICT_PROBLEMS = 100
INT_RANGE = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class ParsedObject(dict[str, Any]):
    """A mapping that remembers which of its keys were written more than once (the last one counts)."""

    __slots__ = ("duplicates",)

    def __init__(self, pairs: Any = (), duplicates: tuple[str, ...] = ()) -> None:
        super().__init__(pairs)
        self.duplicates = duplicates


def parse_json(text: str | bytes) -> Any:
    """JSON text as plain values; duplicate keys are kept in mind by ParsedObject. Raises ValueError."""
    return json.loads(text, object_pairs_hook=_remember_duplicates)


def _remember_duplicates(pairs: list[tuple[str, Any]]) -> ParsedObject:
    seen: set[str] = set()
    twice: list[str] = []
    for key, _ in pairs:
        if key in seen and key not in twice:
            twice.append(key)
        seen.add(key)
    return ParsedObject(pairs, tuple(twice))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing strict decoding found.

    ``code`` is unknown-field, duplicate-field, wrong-type, bad-quantity, bad-intstr, bad-time or bad-bytes;
    ``path`` is written as the server writes it; ``text`` is the server's own sentence, without the
    ``strict decoding error:`` prefix.
    """

    code: str
    path: str
    text: str
    steps: tuple[str | int, ...] = ()

    @property
    def strict(self) -> bool:
        """True for what ``fieldValidation=Warn`` only warns about."""
        return self.code in {"unknown-field", "duplicate-field"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of decoding: the value as the server would read it, and everything that was wrong.

    ``unknown_kind`` is the server's sentence for an apiVersion and kind that it (or we) cannot place.
    """

    kind: Kind | None
    value: dict[str, Any]
    problems: tuple[Problem, ...] = ()
    unknown_kind: str | None = None

    @property
    def fatal(self) -> Problem | None:
        hard = [problem for problem in self.problems if problem.code in _HARD]
        soft = [problem for problem in self.problems if not problem.strict]
        return next(iter(hard or soft), None)

    @property
    def strict_problems(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.strict)

    @property
    def ok(self) -> bool:
        return not self.problems and self.unknown_kind is None

    def message(self, *, strict: bool = True) -> str | None:
        """The server's 400 message, or None; with ``strict`` False only type errors count."""
        if self.unknown_kind is not None:
            return self.unknown_kind
        if self.kind is None:
            return None
        kind, reason = self.kind.kind, self.reason(strict=strict)
        return reason and f'{kind} in version "{self.kind.version}" cannot be handled as a {kind}: {reason}'

    def reason(self, *, strict: bool = True) -> str | None:
        """What Go's decoder says, or None; with ``strict`` False only type errors count."""
        fatal = self.fatal
        if fatal is not None:
            return fatal.text
        if strict and self.strict_problems:
            return "strict decoding error: " + ", ".join(p.text for p in self.strict_problems)
        return None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The texts that ``fieldValidation=Warn`` sends as Warning headers."""
        return tuple(problem.text for problem in self.strict_problems)


# Custom Go unmarshalers end decoding at once; plain type mismatches are saved and decoding goes on.
_HARD = {"bad-quantity", "bad-time", "bad-intstr"}


def decode(document: Mapping[str, Any], *, target: str = "1.37", kind: Kind | None = None) -> Decoded:
    """Decode an object strictly, as the API server of ``target`` does.

    Args:
        document: the parsed object; a ParsedObject also reports duplicate keys.
        target: Kubernetes minor version; fields that are newer are unknown to it.
        kind: decode as this kind (the URL's) instead of what the document says.
    """
    known = kind or schemas.find_kind(document.get("apiVersion"), document.get("kind"))
    if known is None:
        return Decoded(None, dict(document), unknown_kind=_no_kind(document))
    run = _Run(target)
    value = run.object(document, schemas.shape(known.type), Path(), _Context("", ()))
    return Decoded(known, value, tuple(run.problems))


def _no_kind(document: Mapping[str, Any]) -> str:
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return "Object 'Kind' is missing"
    if not isinstance(version, str) or not version:
        return "Object 'apiVersion' is missing"
    return f'no kind "{kind}" is registered for version "{version}"'


@dataclass(frozen=True, slots=True)
class _Context:
    """What Go's decoder names in a type error: the innermost struct and the field names from the root."""

    struct: str
    fields: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"Go struct field {self.struct}.{'.'.join(self.fields)}" if self.struct else "Go value"

    def enter(self, shape: Shape, found: schemas.Field) -> _Context:
        via = tuple(found.via.split(".")) if found.via else ()
        return _Context(shape.struct_name, (*self.fields, *via, found.name))


@dataclass(slots=True)
class _Run:
    target: str
    problems: list[Problem] = field(default_factory=list)

    def value(self, value: Any, shape: Shape, path: Path, context: _Context) -> Any:
        if shape.kind == "raw":
            return value
        if value is None:
            return None
        if isinstance(value, Mapping) and shape.kind in {"struct", "map"}:
            return self.object(value, shape, path, context)
        if isinstance(value, list) and shape.kind == "list":
            element = schemas.shape(shape.elem or "string")
            return [self.element(v, element, path.index(i), context) for i, v in enumerate(value)]
        return self.scalar(value, shape, path, context)

    def element(self, value: Any, shape: Shape, path: Path, context: _Context) -> Any:
        result = self.value(value, shape, path, context)
        return zero(shape) if result is None else result

    def object(self, value: Mapping[str, Any], shape: Shape, path: Path, context: _Context) -> dict[str, Any]:
        duplicates = getattr(value, "duplicates", ())
        result: dict[str, Any] = {}
        for key, entry in value.items():
            key = str(key)
            if shape.kind == "map":
                element = schemas.shape(shape.elem or "string")
                result[key] = self.element(entry, element, path.key_as_field(key), context)
            elif (found := self.field(shape, key)) is not None:
                inner = context.enter(shape, found)
                decoded = self.value(entry, schemas.shape(found.type), path.child(key), inner)
                if decoded is not None:
                    result[key] = decoded
            else:
                self.strict("unknown-field", "unknown field", path.child(key))
                continue
            if key in duplicates:
                self.strict("duplicate-field", "duplicate field", path.child(key))
        return result

    def field(self, shape: Shape, key: str) -> schemas.Field | None:
        found = shape.fields.get(key)
        return found if found is not None and found.known_to(self.target) else None

    def strict(self, code: str, words: str, path: Path) -> None:
        if len(self.problems) < MAX_STRICT_PROBLEMS:
            self.problems.append(Problem(code, path.text, f"{words} {quote(path.text)}", path.steps))

    def scalar(self, value: Any, shape: Shape, path: Path, context: _Context) -> Any:
        kind = shape.kind
        if kind == "string" and isinstance(value, str):
            return value
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind in INT_RANGE and isinstance(value, int) and not isinstance(value, bool):
            low, high = INT_RANGE[kind]
            if low <= value <= high:
                return value
        if kind == "float64" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if kind in _CUSTOM:
            return self.custom(value, shape, path, context)
        if kind == "bytes" and isinstance(value, str):
            return self.base64(value, path)
        self.mismatch(value, shape, path, context)
        return None

    def mismatch(self, value: Any, shape: Shape, path: Path, context: _Context) -> None:
        text = mismatch_text(value, shape.go, context.place, with_number=shape.kind in INT_RANGE)
        self.problems.append(Problem("wrong-type", path.text, text, path.steps))

    def custom(self, value: Any, shape: Shape, path: Path, context: _Context) -> Any:
        text = custom_problem(value, shape.kind, context.place)
        if text is not None:
            code = {"quantity": "bad-quantity", "intstr": "bad-intstr"}.get(shape.kind, "bad-time")
            self.problems.append(Problem(code, path.text, text, path.steps))
            return None
        if shape.kind == "quantity" and not isinstance(value, str):
            return number_text(value)
        return value

    def base64(self, value: str, path: Path) -> str | None:
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            text = f"illegal base64 data at input byte {bad_base64_offset(value)}"
            self.problems.append(Problem("bad-bytes", path.text, text, path.steps))
            return None
        return value


_CUSTOM = {"quantity", "time", "microtime", "duration", "intstr"}
_BASE64 = re.compile(r"[A-Za-z0-9+/]")


def bad_base64_offset(text: str) -> int:
    """The offset at which Go's base64 decoder gives up on a text that is no base64."""
    padding = len(text) - len(text.rstrip("="))
    for offset, char in enumerate(text):
        if char == "=" and offset >= len(text) - min(padding, 2):
            continue
        if not _BASE64.match(char) and char not in "\r\n":
            return offset
    return len(text) // 4 * 4


def mismatch_text(value: Any, go_type: str, place: str, *, with_number: bool = False) -> str:
    """Go's sentence for a JSON value that does not fit a type; integers are told with the number itself."""
    word = json_word(value)
    if word == "number" and with_number:
        word = f"number {number_text(value)}"
    return f"json: cannot unmarshal {word} into {place} of type {go_type}"


def custom_problem(value: Any, kind: str, place: str = "Go value") -> str | None:
    """The text with which a type's own Go unmarshaler refuses a value, or None."""
    if kind == "quantity":
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return QUANTITY_TEXT
        try:
            # Go's Quantity.UnmarshalJSON trims the text before it parses it.
            Quantity.parse(value.strip(" ") if isinstance(value, str) else number_text(value))
        except QuantityError as error:
            return error.message
        return None
    if kind == "intstr":
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return None
        return mismatch_text(value, "int32", place, with_number=True)
    if not isinstance(value, str):
        return mismatch_text(value, "string", place)
    return time_problem(value, kind)


QUANTITY_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def json_word(value: Any) -> str:
    """How Go names a JSON value in type errors."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list) else "null"


def number_text(value: float) -> str:
    """A JSON number as it would stand in the document."""
    return json.dumps(value)


def zero(shape: Shape) -> Any:
    """Go's zero value of a shape, as JSON: what ``null`` inside a list or map becomes."""
    if shape.kind == "struct":
        return {}
    if shape.kind in {"list", "map", "raw", "time", "microtime"}:
        return None
    return {"string": "", "bool": False, "bytes": None, "quantity": "0", "intstr": 0}.get(shape.kind, 0)
