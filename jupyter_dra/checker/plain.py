"""Documents as plain values only: for large inventories, where no finding needs a place.

The same rules and limits as ``tree``, without a node for every value. An anchor's value is shared, not copied; what
its aliases stand for counts against the limit all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from jupyter_dra.checker.scalars import resolve
from jupyter_dra.checker.tree import (
    CONTENT,
    LOADER,
    PREFIX,
    TAGS,
    Limits,
    Spot,
    TextProblem,
    chunks,
    ensure_readable,
    explain,
    spot_at,
    too_deep,
)

_NO_KEY = object()


def read_values(text: str, limits: Limits) -> Iterator[Any]:
    """The documents of a text; raises TextProblem for the first thing that cannot be read."""
    ensure_readable(text, limits)
    count = 0
    for start, end in chunks(text):
        chunk = text[start:end]
        if not CONTENT.search(chunk):
            continue
        count += 1
        if count > limits.most_documents:
            message = f"The text has more than {limits.most_documents:,} documents."
            raise TextProblem("too-many-documents", message, spot_at(text, start))
        yield _read(text, chunk, start, limits)


def _read(text: str, chunk: str, start: int, limits: Limits) -> Any:
    if chunk.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(chunk)
        except (ValueError, RecursionError):
            pass  # flow YAML, or a mistake that the YAML reader explains
    first = spot_at(text, start)
    pad = " " * (first.column - 1)
    reader = _Reader(start - len(pad), first.line - 1, limits)
    body = pad + chunk
    loader = LOADER(body)
    try:
        while loader.check_event():
            reader.take(loader.get_event())
    except yaml.YAMLError as error:
        raise explain(error, body, start - len(pad), first.line - 1) from None
    finally:
        loader.dispose()
    return reader.root


@dataclass(slots=True)
class _Open:
    """A collection being read."""

    value: Any
    anchor: str | None
    seen_before: int
    key: Any = _NO_KEY
    merged: dict[str, Any] | None = None


@dataclass(slots=True)
class _Reader:
    offset: int
    lines: int
    limits: Limits
    root: Any = None
    seen: int = 0
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def spot(self, event: Any) -> Spot:
        mark = event.start_mark
        return Spot(mark.index + self.offset, mark.line + self.lines + 1, mark.column + 1)

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self.count(1, event)
            self.add(self.scalar(event), event, plain=not event.style)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self.check_tag(event)
            if len(self.stack) >= self.limits.most_depth:
                raise too_deep(self.spot(event), self.limits)
            self.count(1, event)
            value: Any = {} if kind is yaml.MappingStartEvent else []
            self.stack.append(_Open(value, event.anchor, self.seen))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            done = self.stack.pop()
            if done.merged:
                done.value = {**done.merged, **done.value}
            if done.anchor:
                self.anchors[done.anchor] = (done.value, self.seen - done.seen_before)
            self.add(done.value, event)
        elif kind is yaml.AliasEvent:
            self.add(self.alias(event), event)

    def count(self, amount: int, event: Any) -> None:
        self.seen += amount
        if self.seen > self.limits.most_nodes:
            text = f"The document has more than {self.limits.most_nodes:,} values."
            raise TextProblem("too-large", text, self.spot(event))

    def check_tag(self, event: Any) -> None:
        tag = event.tag
        if tag and tag != "!" and tag.removeprefix(PREFIX) not in TAGS:
            text = f"The tag {tag!r} asks for an object; only plain data is read."
            raise TextProblem("yaml-tag", text, self.spot(event), fix="Remove the tag.")

    def scalar(self, event: Any) -> Any:
        self.check_tag(event)
        short = event.tag.removeprefix(PREFIX) if event.tag else None
        quoted = bool(event.style) and short is None
        value = event.value if quoted or short in {"str", "binary", "!"} else resolve(event.value)
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        return value

    def alias(self, event: Any) -> Any:
        found = self.anchors.get(event.anchor)
        if found is None:
            text = f"The alias *{event.anchor} has no anchor before it."
            if any(entry.anchor == event.anchor for entry in self.stack):
                text = f"The alias *{event.anchor} stands inside its own anchor."
                raise TextProblem("yaml-alias", text, self.spot(event))
            raise TextProblem("yaml-syntax", text, self.spot(event))
        value, size = found
        self.seen += size
        if self.seen > self.limits.most_nodes:
            text = f"The document unfolds to more than {self.limits.most_nodes:,} values."
            raise TextProblem("yaml-alias", text, self.spot(event))
        return value

    def add(self, value: Any, event: Any, *, plain: bool = False) -> None:
        if not self.stack:
            self.root = value
            return
        parent = self.stack[-1]
        if isinstance(parent.value, list):
            parent.value.append(value)
        elif parent.key is _NO_KEY:
            if isinstance(value, (dict, list)):
                text = "A mapping or a list stands where a field name is needed."
                raise TextProblem("yaml-syntax", text, self.spot(event))
            parent.key = "<<" if plain and event.value == "<<" else _name(value)
            if parent.key == "<<" and plain:
                parent.merged = parent.merged or {}
        else:
            if parent.key == "<<" and parent.merged is not None:
                self.merge(parent, value, event)
            else:
                parent.value[parent.key] = value
            parent.key = _NO_KEY

    def merge(self, parent: _Open, value: Any, event: Any) -> None:
        for part in reversed(value if isinstance(value, list) else [value]):
            if not isinstance(part, dict):
                raise TextProblem("yaml-syntax", "Only mappings can be merged with <<.", self.spot(event))
            parent.merged = {**(parent.merged or {}), **part}


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
