"""A requirement as text in each face's own words: YAML, Python, %dra, Shell.

Nothing here is a text template around user text: YAML comes from the emitter, Python from ``repr``, shell
from ``shlex``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from .requirement import Requirement

_LINE = 44


class _Dumper(yaml.SafeDumper):
    """Block style, keys in the order given, long CEL folded onto lines of its own."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # kubectl reads YAML 1.1, where y and n are booleans too; PyYAML would leave them unquoted (dra.md c.5).
    style = "'" if text.lower() in ("y", "n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def to_yaml(document: Mapping[str, Any]) -> str:
    """YAML text of a manifest; reads back equal under YAML 1.1 and 1.2."""
    return yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


def to_python(requirement: Requirement) -> str:
    """``Requirement(vram="80GB")``; one field a line where a line would be long."""
    fields = [f"{name}={_literal(value)}" for name, value in _shown(requirement).items()]
    line = f"Requirement({', '.join(fields)})"
    if len(line) <= _LINE:
        return line
    return "Requirement(\n" + "".join(f"    {field},\n" for field in fields) + ")"


def _literal(value: Any) -> str:
    """As ``repr``, texts in the double quotes that formatted code has."""
    if isinstance(value, str):
        text = repr(value)
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text and "\\'" not in text else text
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(name)}: {_literal(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(one) for one in value) + "]"
    return repr(value)


def to_magic(requirement: Requirement) -> str:
    """``%dra launch --vram 80GB``; in Python where a text has line breaks, which no magic line can hold."""
    line = "%dra launch" + _arguments(requirement)
    return line if len(line.splitlines()) == 1 else to_python(requirement)


def to_shell(requirement: Requirement) -> str:
    """``jupyter dra launch --vram 80GB``"""
    return "jupyter dra launch" + _arguments(requirement)


def _shown(requirement: Requirement) -> dict[str, Any]:
    values = requirement.as_dict()
    if "env" in values:
        values["env"] = dict.fromkeys(values["env"], "***")
    return values


def _arguments(requirement: Requirement) -> str:
    words: list[str] = []
    for name, value in _shown(requirement).items():
        flag = f"--{name.replace('_', '-')}"
        for one in _words(name, value):
            # A text that begins with a dash would be taken for a flag.
            words += [f"{flag}={one}"] if one.startswith("-") else [flag, one]
    return "".join(" " + shlex.quote(word) for word in words)


def _words(name: str, value: Any) -> list[str]:
    """The texts of one field, each for a flag of its own."""
    if name == "env":
        return [f"{key}={one}" for key, one in value.items()]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    if name in ("near", "or_else", "tolerate"):
        return [json.dumps(one, ensure_ascii=False) for one in value]
    if isinstance(value, (list, Mapping)):
        return [json.dumps(value, ensure_ascii=False)]
    return [str(value)]
