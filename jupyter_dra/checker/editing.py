"""Edits of a text on the spans of its tree: everything that is not meant stays as it is, byte for byte.

A mapping is taken apart into entries (the text of each field with the comments above it) and put together again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jupyter_dra.checker.tree import Tree, key_text


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of a mapping: its key, its text relative to the mapping's column, and comment lines above it."""

    key: str
    body: str
    above: tuple[str, ...] = ()

    def shifted(self, by: int) -> Entry:
        """The entry deeper (or less deep) by so many columns."""
        return replace(
            self, body=shift(self.body, by), above=tuple(shift(line, by, first=True) for line in self.above)
        )


class CannotEdit(Exception):
    """The text has a form this editor does not change (anchors across the edit, odd layouts)."""


def apply(text: str, edits: list[Edit]) -> str:
    """The text with edits applied; they may not overlap."""
    for edit in sorted(edits, key=lambda entry: entry.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def shift(text: str, by: int, *, first: bool = False) -> str:
    """All lines but the first (or the first too) moved by so many columns; empty lines stay empty."""
    found = text.split("\n")
    for index, line in enumerate(found):
        if (index or first) and line.strip():
            found[index] = " " * by + line if by >= 0 else line[min(-by, len(line) - len(line.lstrip())) :]
    return "\n".join(found)


def entries(text: str, node: Tree) -> list[Entry]:
    """The fields of a mapping, in order."""
    if node.kind != "map":
        raise CannotEdit("not a mapping")
    return _flow_entries(text, node) if node.flow else _block_entries(text, node)


def _flow_entries(text: str, node: Tree) -> list[Entry]:
    return [Entry(key_text(key), text[key.start.at : value.end.at]) for key, value in node.pairs]


def _block_entries(text: str, node: Tree) -> list[Entry]:
    column = node.start.column - 1
    found: list[Entry] = []
    above: tuple[str, ...] = ()
    for index, (key, value) in enumerate(node.pairs):
        last = index + 1 == len(node.pairs)
        stop = end_of_value(text, value) if last else node.pairs[index + 1][0].start.at
        body = text[key.start.at : stop]
        following: tuple[str, ...] = ()
        if not last:
            body, following = _split_comments(body)
        found.append(Entry(key_text(key), shift(body, -column), above))
        above = tuple(shift(line, -column, first=True) for line in following)
    return found


def leading_comments(text: str, parent: Tree, name: str, inner: Tree) -> tuple[str, ...]:
    """Comment lines between a field's name and the first field of the mapping it holds."""
    pair = parent.entry(name)
    if pair is None:
        return ()
    between = text[pair[0].end.at : inner.start.at].split("\n")[1:-1]
    return tuple(line.strip() for line in between if line.strip().startswith("#"))


def _split_comments(body: str) -> tuple[str, tuple[str, ...]]:
    """The text of a field without the comment lines and blank lines that lead over to the next one."""
    parts = body.split("\n")
    parts.pop()  # the indentation before the next key
    tail: list[str] = []
    while len(parts) > 1 and (not parts[-1].strip() or parts[-1].lstrip().startswith("#")):
        tail.insert(0, parts.pop())
    return "\n".join(parts), tuple(tail)


def end_of_value(text: str, value: Tree) -> int:
    """Where a value's text ends: behind a comment on its last line, without trailing blank lines."""
    end = value.end.at
    while end > 0 and text[end - 1] in "\n\r \t" and value.style in {"|", ">"}:
        end -= 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    rest = text[end:stop]
    if not rest.strip() or rest.lstrip().startswith("#"):
        return end + len(rest.rstrip())
    return end


def render(node: Tree, fields: list[Entry]) -> str:
    """The text of a mapping from its entries, in the node's style and at its column."""
    if node.flow:
        return "{" + ", ".join(entry.body for entry in fields) + "}"
    column = node.start.column - 1
    pad = " " * column
    parts: list[str] = []
    for index, entry in enumerate(fields):
        comments = [pad + line if line.strip() else "" for line in entry.above]
        if comments and index == 0:
            raise CannotEdit("comments would come before the first field")
        body = shift(entry.body, column)
        parts += comments
        parts.append(body if index == 0 else pad + body)
    return "\n".join(parts)


def rewrite(text: str, node: Tree, fields: list[Entry]) -> Edit:
    """Put a mapping's fields back, changed."""
    if not fields:
        raise CannotEdit("nothing would be left")
    if node.flow:
        return Edit(node.start.at, node.end.at, render(node, fields))
    last = node.pairs[-1][1]
    if fields[0].above:
        # A comment that stood above a later field moves below the new first line.
        fields = [replace(fields[0], above=()), *fields[1:]]
    return Edit(node.start.at, end_of_value(text, last), render(node, fields))


def nested(node: Tree, name: str, fields: list[Entry]) -> Entry:
    """A field that holds other fields as its mapping."""
    if node.flow:
        return Entry(name, f"{name}: {{{', '.join(entry.body for entry in fields)}}}")
    parts = [f"{name}:"]
    for entry in fields:
        deeper = entry.shifted(2)
        parts += [line if line.strip() else "" for line in deeper.above]
        parts.append("  " + deeper.body)
    above = fields[0].above if fields else ()
    if fields and fields[0].above:
        parts = [parts[0], *parts[1 + len(fields[0].above) :]]
    return Entry(name, "\n".join(parts), above)


def new_entry(node: Tree, name: str, body: list[str]) -> Entry:
    """A field written anew, from its block lines (relative to the mapping)."""
    return Entry(name, "\n".join(body))
