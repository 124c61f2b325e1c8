"""YAML and JSON text as trees with positions, read safely and within limits.

kubectl reads YAML 1.1 (go-yaml v2): what is a boolean or a number follows it, see ``scalars``. Nothing here builds
objects from tags, follows files or recurses without bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from jupyter_dra.checker.scalars import resolve
from jupyter_dra.validation import ParsedObject

Steps = tuple[str | int, ...]
LOADER: Any = getattr(yaml, "CLoader", yaml.Loader)  # only its event parser is used
TAGS = {"str", "int", "float", "bool", "null", "map", "seq", "binary", "timestamp", "merge"}
PREFIX = "tag:yaml.org,2002:"
_BAD_CHARACTER = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SEPARATOR = re.compile(r"^---(?=[ \t#\r\n]|\Z)", re.MULTILINE)
CONTENT = re.compile(r"^(?!\s*(#|%|\.\.\.\s*$|$))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read before a text counts as hostile; nodes are counted after aliases are followed."""

    most_bytes: int = 4 * 1024 * 1024
    most_documents: int = 1_000
    most_nodes: int = 60_000
    most_depth: int = 100


class Spot(NamedTuple):
    """A place in the text: ``at`` counts characters from 0, line and column count from 1."""

    at: int
    line: int
    column: int


class TextProblem(Exception):
    """The text (or one document of it) cannot be read; becomes a finding with line and column."""

    def __init__(
        self, code: str, message: str, spot: Spot | None = None, *, why: str = "", fix: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.spot = spot or Spot(0, 1, 1)
        self.why = why
        self.fix = fix


@dataclass(slots=True, eq=False)
class Tree:
    """A node: ``kind`` is scalar, map, list or alias; ``end`` is the place behind its last character."""

    kind: str
    start: Spot
    end: Spot
    text: str = ""
    style: str = ""
    tag: str | None = None
    flow: bool = False
    anchor: str | None = None
    pairs: list[tuple[Tree, Tree]] = field(default_factory=list)
    items: list[Tree] = field(default_factory=list)
    target: Tree | None = None

    @property
    def plain(self) -> bool:
        return self.kind == "scalar" and not self.style

    def real(self) -> Tree:
        """The node itself, or what an alias stands for."""
        return self.target if self.target is not None else self

    def entry(self, key: str) -> tuple[Tree, Tree] | None:
        """The pair of a mapping whose key reads like this; of doubles the last, which counts."""
        for name, value in reversed(self.real().pairs):
            if key_text(name) == key:
                return name, value
        return None

    def find(self, steps: Steps) -> Tree | None:
        """The node a path leads to, or None."""
        found: Tree | None = self
        for step in steps:
            if found is None:
                return None
            found = found.real().child(step)
        return found

    def child(self, step: str | int) -> Tree | None:
        if isinstance(step, int):
            return self.items[step] if 0 <= step < len(self.items) else None
        pair = self.entry(step)
        return pair[1] if pair else None

    def spot(self, steps: Steps) -> Spot:
        """Where a path stands: its key if it has one; the nearest thing above it where it does not exist."""
        current: Tree = self
        best = self.start
        for step in steps:
            real = current.real()
            if isinstance(step, str):
                pair = real.entry(step)
                if pair is None:
                    return best
                best, current = pair[0].start, pair[1]
            elif 0 <= step < len(real.items):
                current = real.items[step]
                best = current.start
            else:
                return best
        return best


@dataclass(frozen=True, slots=True)
class Document:
    """One document: ``index`` counts those with content from 0; ``text`` is the whole source, span its part of it."""

    index: int
    tree: Tree
    text: str = field(repr=False)
    limits: Limits = field(default=Limits(), repr=False)
    span: tuple[int, int] = (0, 0)

    def value(self) -> Any:
        """Plain values as kubectl would send them; raises TextProblem for alias bombs and odd keys."""
        return _Builder(self.limits).build(self.tree, 0)


def key_text(key: Tree) -> str:
    """A mapping's key as JSON has it: booleans and numbers become texts."""
    if key.kind != "scalar":
        return ""
    value = scalar_value(key)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return str(value)


def scalar_value(node: Tree) -> Any:
    """The value of a scalar as kubectl reads it."""
    tag = node.tag.removeprefix(PREFIX) if node.tag else None
    if tag in {"str", "binary"} or (not node.plain and tag is None):
        return node.text
    return resolve(node.text)


@dataclass(slots=True)
class _Builder:
    limits: Limits
    seen: int = 0

    def build(self, node: Tree, depth: int) -> Any:
        self.seen += 1
        if self.seen > self.limits.most_nodes:
            text = f"The document unfolds to more than {self.limits.most_nodes:,} values."
            raise TextProblem(
                "yaml-alias", text, node.start, fix="Write it without nested aliases, or split it."
            )
        if depth > self.limits.most_depth:
            raise too_deep(node.start, self.limits)
        real = node.real()
        if real.kind == "map":
            return self.mapping(real, depth)
        if real.kind == "list":
            return [self.build(item, depth + 1) for item in real.items]
        return scalar_value(real)

    def mapping(self, node: Tree, depth: int) -> ParsedObject:
        pairs: list[tuple[str, Any]] = []
        merged: dict[str, Any] = {}
        for key, value in node.pairs:
            if key.kind != "scalar":
                text = "A mapping or a list stands where a field name is needed."
                raise TextProblem("yaml-syntax", text, key.start)
            if key.plain and key.text == "<<":
                merged.update(self.merge(value, depth))
            else:
                pairs.append((key_text(key), self.build(value, depth + 1)))
        values = dict(pairs)
        doubles: tuple[str, ...] = ()
        if len(values) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            doubles = tuple(name for name, count in counts.items() if count > 1)
        return ParsedObject({**merged, **values} if merged else values, doubles)

    def merge(self, value: Tree, depth: int) -> dict[str, Any]:
        built = self.build(value, depth + 1)
        parts = built if isinstance(built, list) else [built]
        self.seen += sum(len(part) for part in parts if isinstance(part, dict))
        result: dict[str, Any] = {}
        for part in reversed(parts):
            if not isinstance(part, dict):
                raise TextProblem("yaml-syntax", "Only mappings can be merged with <<.", value.start)
            result.update(part)
        return result


def too_deep(spot: Spot, limits: Limits) -> TextProblem:
    return TextProblem("too-deep", f"The document nests deeper than {limits.most_depth} levels.", spot)


def read_documents(text: str, limits: Limits | None = None) -> Iterator[Document | TextProblem]:
    """The documents of a text, each with its tree; a document that cannot be read yields its problem.

    Raises TextProblem where nothing of the text can be trusted: too large, not text, too many documents.
    """
    bounds = limits or Limits()
    ensure_readable(text, bounds)
    count = 0
    for start, end in chunks(text):
        chunk = text[start:end]
        if not CONTENT.search(chunk):
            continue
        if count >= bounds.most_documents:
            message = f"The text has more than {bounds.most_documents:,} documents."
            raise TextProblem("too-many-documents", message, spot_at(text, start), fix="Split it.")
        yield _read_chunk(text, chunk, start, count, bounds)
        count += 1


def ensure_readable(text: str, bounds: Limits) -> None:
    """Raise TextProblem for a text that is too large or holds what YAML does not allow."""
    if len(text) > bounds.most_bytes or len(text.encode("utf-8", "surrogatepass")) > bounds.most_bytes:
        size = f"{bounds.most_bytes // 1024:,} KiB"
        raise TextProblem("too-large", f"The text is larger than {size}.", fix="Split it into smaller files.")
    odd = _BAD_CHARACTER.search(text)
    if odd is not None:
        spot = spot_at(text, odd.start())
        shown = f"U+{ord(odd.group()):04X}"
        raise TextProblem(
            "not-text", f"The text holds the character {shown}, which YAML does not allow.", spot
        )


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Split at separator lines, as kubectl does before it parses."""
    start = 0
    for match in _SEPARATOR.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def spot_at(text: str, index: int) -> Spot:
    line = text.count("\n", 0, index)
    return Spot(index, line + 1, index - (text.rfind("\n", 0, index) + 1) + 1)


def _read_chunk(text: str, chunk: str, start: int, number: int, limits: Limits) -> Document | TextProblem:
    first = spot_at(text, start)
    # The parser counts from the chunk's start; the first line may begin behind "---".
    pad = " " * (first.column - 1)
    body = pad + chunk
    if chunk.lstrip()[:1] == "{":
        body = body.replace("\t", " ")  # JSON may be indented with tabs; columns stay the same
    offset = start - len(pad)
    try:
        tree = _compose(body, offset, first.line - 1, limits)
    except TextProblem as problem:
        return problem
    except yaml.YAMLError as error:
        return explain(error, body, offset, first.line - 1)
    return Document(number, tree, text, limits, (start, start + len(chunk)))


def _compose(body: str, offset: int, lines: int, limits: Limits) -> Tree:
    return _Composer(offset, lines, limits).compose(body)


@dataclass(slots=True)
class _Composer:
    """Builds a tree from parser events without recursion."""

    offset: int
    lines: int
    limits: Limits
    anchors: dict[str, Tree] = field(default_factory=dict)
    open: list[Tree] = field(default_factory=list)
    keys: list[Tree | None] = field(default_factory=list)
    root: Tree | None = None
    count: int = 0

    def compose(self, body: str) -> Tree:
        loader = LOADER(body)
        try:
            while loader.check_event():
                self.take(loader.get_event())
        finally:
            loader.dispose()
        if self.root is None:
            raise TextProblem("yaml-syntax", "The document is empty.", Spot(self.offset, self.lines + 1, 1))
        return self.root

    def spot(self, mark: Any) -> Spot:
        return Spot(mark.index + self.offset, mark.line + self.lines + 1, mark.column + 1)

    def take(self, event: Any) -> None:
        kind_of = type(event)
        if kind_of is yaml.ScalarEvent:
            self.add(self.scalar(event))
        elif kind_of is yaml.AliasEvent:
            self.add(self.alias(event))
        elif kind_of is yaml.MappingStartEvent or kind_of is yaml.SequenceStartEvent:
            kind = "map" if kind_of is yaml.MappingStartEvent else "list"
            node = Tree(
                kind, self.spot(event.start_mark), self.spot(event.end_mark), flow=bool(event.flow_style)
            )
            self.mark(node, event)
            self.add(node)
            self.open.append(node)
            self.keys.append(None)
            if len(self.open) > self.limits.most_depth:
                raise too_deep(node.start, self.limits)
        elif kind_of is yaml.MappingEndEvent or kind_of is yaml.SequenceEndEvent:
            node = self.open.pop()
            self.keys.pop()
            node.end = self.closing(node, event)
        elif kind_of is yaml.DocumentStartEvent and self.root is not None:
            raise TextProblem("yaml-syntax", "A second document starts here.", self.spot(event.start_mark))

    def closing(self, node: Tree, event: Any) -> Spot:
        """Block collections end with their last entry, not where the next token happens to stand."""
        if node.flow:
            return self.spot(event.end_mark)
        last = node.pairs[-1][1] if node.pairs else node.items[-1] if node.items else None
        return last.end if last is not None else node.end

    def scalar(self, event: Any) -> Tree:
        node = Tree(
            "scalar",
            self.spot(event.start_mark),
            self.spot(event.end_mark),
            text=event.value,
            style=event.style or "",
        )
        self.mark(node, event)
        return node

    def alias(self, event: Any) -> Tree:
        start = self.spot(event.start_mark)
        target = self.anchors.get(event.anchor)
        if target is None:
            raise TextProblem("yaml-syntax", f"The alias *{event.anchor} has no anchor before it.", start)
        if any(node is target for node in self.open):
            raise TextProblem("yaml-alias", f"The alias *{event.anchor} stands inside its own anchor.", start)
        return Tree("alias", start, self.spot(event.end_mark), text=event.anchor, target=target)

    def mark(self, node: Tree, event: Any) -> None:
        self.count += 1
        if self.count > self.limits.most_nodes:
            text = f"The document has more than {self.limits.most_nodes:,} values."
            raise TextProblem("too-large", text, node.start)
        tag = event.tag
        if tag is None and event.anchor is None:
            return
        if tag and tag != "!" and tag.removeprefix(PREFIX) not in TAGS:
            text = f"The tag {tag!r} asks for an object; only plain data is read."
            raise TextProblem("yaml-tag", text, node.start, fix="Remove the tag.")
        node.tag = tag if tag != "!" else PREFIX + "str"
        if event.anchor:
            node.anchor = event.anchor
            self.anchors[event.anchor] = node

    def add(self, node: Tree) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if parent.kind == "list":
            parent.items.append(node)
            return
        key = self.keys[-1]
        if key is None:
            self.keys[-1] = node
        else:
            parent.pairs.append((key, node))
            self.keys[-1] = None


def explain(error: yaml.YAMLError, body: str, offset: int, lines: int) -> TextProblem:
    """A parser's complaint as a finding: where, what, and for the usual mistakes how to mend it."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or error)
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    index = mark.index if mark is not None else 0
    source = body.split("\n")[line] if line < body.count("\n") + 1 else ""
    spot = Spot(max(index + offset, 0), line + lines + 1, column + 1)
    before = source[:column]
    if "\t" in source[: len(source) - len(source.lstrip())] or "'\\t'" in problem:
        at = source.find("\t")
        spot = Spot(max(index + offset - column + at, 0), line + lines + 1, at + 1)
        text = "A tab stands where YAML needs spaces."
        return TextProblem(
            "yaml-tab", text, spot, why="YAML forbids tabs in indentation.", fix="Replace it by spaces."
        )
    if "mapping values are not allowed" in problem:
        text = "A second colon, or a line that is indented too far."
        fix = "Quote the value if it holds ': ', or put the field at the depth of its neighbors."
        return TextProblem("yaml-syntax", text, spot, why=problem, fix=fix)
    if "did not find expected key" in problem or "expected <block end>" in problem:
        text = "This line is not indented like its neighbors."
        return TextProblem(
            "yaml-syntax", text, spot, why=problem, fix="Indent the fields of one object alike."
        )
    if "could not find expected ':'" in problem:
        text = "A field name without a colon."
        return TextProblem("yaml-syntax", text, spot, why=problem, fix="Write 'name: value'.")
    if "quoted scalar" in problem or "unexpected end of stream" in problem:
        return TextProblem(
            "yaml-syntax", "A quoted text is not closed.", spot, why=problem, fix="Close the quotes."
        )
    where = f" after {before.strip()!r}" if before.strip() else ""
    return TextProblem("yaml-syntax", f"This is not valid YAML{where}.", spot, why=problem)
