"""One document being mended: its text and the values it must have, changed together, step by step.

Every step edits a span of the text, reads the text again and compares: if anything but what was meant has changed,
the step is taken back and CannotEdit is raised.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

from jupyter_dra.checker import writing
from jupyter_dra.checker.editing import (
    CannotEdit,
    Edit,
    Entry,
    apply,
    end_of_value,
    entries,
    leading_comments,
    nested,
    rewrite,
    shift,
)
from jupyter_dra.checker.tree import Steps, TextProblem, Tree, read_documents


class Draft:
    """The text of one document and its value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree, self.value = _parse(text)
        self.json = text.lstrip()[:1] == "{" and _is_json(text)

    def node(self, steps: Steps) -> Tree:
        """The node at a path; CannotEdit where there is none, or where it is shared by an alias."""
        current: Tree | None = self.tree
        for step in steps:
            current = current.child(step) if current is not None else None
            if current is None:
                raise CannotEdit(f"nothing at {steps}")
            if current.kind == "alias" or current.anchor:
                raise CannotEdit("shared by an anchor")
        assert current is not None
        return current

    def at(self, steps: Steps) -> Any:
        """The value at a path, or None."""
        value: Any = self.value
        for step in steps:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def commit(self, edits: list[Edit], change: Callable[[Any], None]) -> None:
        """Apply edits if the result reads as the change says, and as nothing else."""
        expected = copy.deepcopy(self.value)
        change(expected)
        # JSON has no comments to keep: it is written anew, in its own order and indentation.
        text = _write_json(expected, self.text) if self.json else apply(self.text, edits)
        try:
            tree, value = _parse(text)
        except TextProblem as problem:
            raise CannotEdit(problem.message) from None
        if value != expected:
            raise CannotEdit("the edit would change more than meant")
        self.text, self.tree, self.value = text, tree, value

    def set(self, steps: Steps, value: str) -> None:
        """Replace a scalar, keeping its quotes."""
        node = self.node(steps)
        if node.kind != "scalar":
            raise CannotEdit("not a scalar")
        end = end_of_value(self.text, node) if node.style in {"|", ">"} else node.end.at
        quoted = writing.quoted(value, node.style if node.style in {"'", '"'} else "")
        # Plain text stays plain where it still reads as what it says.
        for new in (quoted,) if node.style in {"'", '"'} else (value, quoted):
            try:
                self.commit([Edit(node.start.at, end, new)], lambda root: _put(root, steps, value))
            except CannotEdit:
                if new is quoted:
                    raise
            else:
                return

    def quote(self, steps: Steps) -> None:
        """Put a plain scalar in quotes, so that it is the text that stands there."""
        node = self.node(steps)
        if node.kind != "scalar" or node.style:
            raise CannotEdit("not a plain scalar")
        edit = Edit(node.start.at, node.end.at, writing.quoted(node.text))
        self.commit([edit], lambda root: _put(root, steps, node.text))

    def rename(self, steps: Steps, name: str) -> None:
        """Give a field another name."""
        parent, old = self.node(steps[:-1]), str(steps[-1])
        pair = parent.entry(old)
        if pair is None or parent.entry(name) is not None:
            raise CannotEdit("no such field, or the new name is taken")
        key = pair[0]
        new = writing.quoted(name, key.style) if key.style else writing.scalar(name)

        def change(root: Any) -> None:
            holder = _get(root, steps[:-1])
            renamed = {name if key == old else key: value for key, value in holder.items()}
            holder.clear()
            holder.update(renamed)

        self.commit([Edit(key.start.at, key.end.at, new)], change)

    def rearrange(self, steps: Steps, new: list[Entry], change: Callable[[Any], None]) -> None:
        """Write the fields of a mapping anew."""
        self.commit([rewrite(self.text, self.node(steps), new)], change)

    def nest(self, steps: Steps, names: list[str], under: str, rename: dict[str, str] | None = None) -> None:
        """Move fields of a mapping under a new field, which takes the place of the first of them."""
        node = self.node(steps)
        renames = rename or {}
        moved: list[Entry] = []
        kept: list[Entry] = []
        place: int | None = None
        for entry in entries(self.text, node):
            if entry.key in names:
                place = len(kept) if place is None else place
                moved.append(_renamed(entry, renames))
            else:
                kept.append(entry)
        if not moved or place is None:
            raise CannotEdit("nothing to move")
        if kept and place == 0 and kept[0].key == "name":
            place = 1  # a list's entries begin with their name
        kept.insert(place, nested(node, under, moved))

        def change(root: Any) -> None:
            holder = _get(root, steps)
            inner = {renames.get(name, name): holder.pop(name) for name in list(holder) if name in names}
            holder[under] = inner

        self.rearrange(steps, kept, change)

    def unwrap(self, steps: Steps) -> None:
        """Move the fields of an inner mapping one level up and drop the wrapper."""
        parent, name = self.node(steps[:-1]), str(steps[-1])
        inner = self.node(steps)
        if inner.kind != "map":
            raise CannotEdit("not a mapping")
        lifted = entries(self.text, inner)
        if inner.flow and not parent.flow:
            lifted = [Entry(entry.key, entry.body) for entry in lifted]
        new: list[Entry] = []
        for entry in entries(self.text, parent):
            if entry.key != name:
                new.append(entry)
                continue
            lead = () if inner.flow else leading_comments(self.text, parent, name, inner)
            first = Entry(lifted[0].key, lifted[0].body, (*entry.above, *lead, *lifted[0].above))
            new += [first, *lifted[1:]]

        def change(root: Any) -> None:
            holder = _get(root, steps[:-1])
            wrapped = holder.pop(name)
            if set(wrapped) & set(holder):
                raise CannotEdit("a field would be there twice")
            holder.update(wrapped)

        self.rearrange(steps[:-1], new, change)

    def remove(self, steps: Steps) -> None:
        """Remove a field; its mapping may not become empty."""
        parent, name = steps[:-1], str(steps[-1])
        kept = [entry for entry in entries(self.text, self.node(parent)) if entry.key != name]
        self.rearrange(parent, kept, lambda root: _get(root, parent).pop(name))

    def add(self, steps: Steps, name: str, value: Any, *, last: bool = False) -> None:
        """Add a field to a mapping, first or last."""
        node = self.node(steps)
        if node.kind != "map" or not node.pairs or node.entry(name) is not None:
            raise CannotEdit("no mapping to add to, or the field is there")
        present = entries(self.text, node)
        body = (
            f"{writing.scalar(name)}: {writing.scalar(value)}"
            if node.flow
            else "\n".join(writing.lines({name: value}))
        )
        fresh = Entry(name, body)

        def change(root: Any) -> None:
            _get(root, steps)[name] = copy.deepcopy(value)

        self.rearrange(steps, [*present, fresh] if last else [fresh, *present], change)

    def replace(self, steps: Steps, value: Any) -> None:
        """Write the value of a field anew."""
        parent, name = steps[:-1], str(steps[-1])
        node = self.node(parent)
        new = []
        for entry in entries(self.text, node):
            if entry.key == name:
                flat = f"{writing.scalar(name)}: {writing.scalar(value)}"
                body = flat if node.flow else "\n".join(writing.lines({name: value}))
                entry = Entry(name, body, entry.above)
            new.append(entry)
        self.rearrange(parent, new, lambda root: _put(root, steps, copy.deepcopy(value)))

    def append(self, steps: Steps, value: Any) -> None:
        """Add an entry to a list that is not empty."""
        node = self.node(steps)
        if node.kind != "list" or not node.items:
            raise CannotEdit("no list to add to")
        last = node.items[-1]
        if node.flow:
            edit = Edit(last.end.at, last.end.at, f", {writing.scalar(value)}")
        else:
            column = node.start.column - 1
            end = end_of_value(self.text, _deepest(last))
            body = shift("\n".join(writing.lines([value])), column)
            edit = Edit(end, end, f"\n{' ' * column}{body}")
        self.commit([edit], lambda root: _get(root, steps).append(copy.deepcopy(value)))


def _deepest(node: Tree) -> Tree:
    while True:
        if node.flow or (not node.pairs and not node.items):
            return node
        node = node.pairs[-1][1] if node.pairs else node.items[-1]


def _renamed(entry: Entry, renames: dict[str, str]) -> Entry:
    new = renames.get(entry.key)
    if new is None:
        return entry
    if not entry.body.startswith(entry.key):
        raise CannotEdit("a quoted field name")
    return Entry(new, new + entry.body[len(entry.key) :], entry.above)


def _get(root: Any, steps: Steps) -> Any:
    for step in steps:
        root = root[step]
    return root


def _put(root: Any, steps: Steps, value: Any) -> None:
    _get(root, steps[:-1])[steps[-1]] = value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _write_json(value: Any, like: str) -> str:
    indent = re.search(r"\n([ \t]+)\S", like)
    space = indent.group(1) if indent else None
    end = like[len(like.rstrip()) :]
    return like[: len(like) - len(like.lstrip())] + json.dumps(value, indent=space, ensure_ascii=False) + end


def _parse(text: str) -> tuple[Tree, Any]:
    found = list(read_documents(text))
    if len(found) != 1:
        raise TextProblem("yaml-syntax", "not one document")
    document = found[0]
    if isinstance(document, TextProblem):
        raise document
    return document.tree, document.value()
