"""Previews mean exactly what was asked, whatever the text: nothing in them breaks out of its quotes."""

from __future__ import annotations

import argparse
import ast
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_dra.cel import Selector, compile_selector
from jupyter_dra.claims import Requirement, build_claim, to_magic, to_python, to_shell, to_yaml
from jupyter_dra.claims.arguments import add_requirement_arguments, requirement_from_arguments
from jupyter_dra.magics.celloptions import parse_cell
from tests.hostile import TEXTS

pytestmark = pytest.mark.threat("T03")
HOSTILE = [text for text in TEXTS if text.strip()]


def wish(text: str) -> Requirement:
    return Requirement.from_dict(
        {
            "tier": "gpu",
            "product": [text, "H100"],
            "where": [f"device.driver == {text!r}"],
            "near": [{"tier": "nic", "product": text}],
            "share": {"profile": text},
            "env": {"A": text},
            "name": text,
        }
    )


def shown(requirement: Requirement) -> dict[str, Any]:
    """The wish as previews may show it: values of the environment stay secret."""
    return {**requirement.as_dict(), "env": {"A": "***"}}


def parsed(words: list[str]) -> Requirement:
    parser = argparse.ArgumentParser()
    add_requirement_arguments(parser, session=True)
    return requirement_from_arguments(parser.parse_args(words))


@pytest.mark.parametrize("text", HOSTILE)
def test_the_python_preview_is_one_call_with_literals_only(text: str) -> None:
    tree = ast.parse(to_python(wish(text)), mode="eval").body
    assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "Requirement"
    values = {one.arg: ast.literal_eval(one.value) for one in tree.keywords}
    assert Requirement.from_dict({k: v for k, v in values.items() if k}).as_dict() == shown(wish(text))


@pytest.mark.parametrize("text", HOSTILE)
def test_the_shell_preview_is_one_command_with_the_same_words(text: str, tmp_path: Path) -> None:
    line = to_shell(wish(text))
    words = shlex.split(line)
    assert words[:3] == ["jupyter", "dra", "launch"]
    assert parsed(words[3:]).as_dict() == shown(wish(text))
    script = f"jupyter() {{ printf '%s\\0' \"$@\"; }}\n{line}\n"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=True, timeout=20)
    assert done.stdout.decode().split("\0")[:-1] == words[1:]
    assert list(tmp_path.iterdir()) == [], "nothing was run but the command"


@pytest.mark.parametrize("text", HOSTILE)
def test_the_magic_preview_reads_back_as_the_wish(text: str) -> None:
    line = to_magic(wish(text))
    if not line.startswith("%dra launch "):
        assert len(text.splitlines()) > 1 and line == to_python(wish(text))
        return
    assert len(line.splitlines()) == 1
    words = shlex.split(line.removeprefix("%dra launch"))
    assert parsed(words).as_dict() == shown(wish(text))
    found = parse_cell(words)
    assert Requirement.from_dict({**found.wish, "name": found.name}).as_dict() == shown(wish(text))


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_is_one_document_that_reads_back_equal(text: str) -> None:
    claim = build_claim(wish(text or "x"), name="c", extra_annotations={"a/b": text})
    assert list(yaml.safe_load_all(to_yaml(claim))) == [claim]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_product_name_matches_nothing_more_than_itself(text: str) -> None:
    claim = build_claim(Requirement(tier="gpu", product=text), name="c")
    selectors = claim["spec"]["devices"]["requests"][0]["exactly"]["selectors"]
    compiled: list[Selector] = [compile_selector(one["cel"]["expression"]) for one in selectors]
    device = {
        "driver": "gpu.nvidia.com",
        "attributes": {"gpu.nvidia.com": {"productName": "NVIDIA H100"}},
        "capacity": {},
    }
    assert not all(one.evaluate(device) for one in compiled)
