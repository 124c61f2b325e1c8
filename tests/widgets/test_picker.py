"""The picker takes every field of the vocabulary, with or without a control of its own."""

from __future__ import annotations

from dataclasses import fields

from jupyter_dra.claims import Requirement
from jupyter_dra.widgets import DRAPicker
from jupyter_dra.widgets.picker import FIELDS, MORE


def test_every_requirement_field_can_be_given_by_code_and_shows_in_the_words() -> None:
    assert {*FIELDS, *MORE} == {one.name for one in fields(Requirement)} - {"claim", "name"}
    picker = DRAPicker(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert picker.requirement == Requirement(
        tier="high-memory-gpu", compute_capability=">=9.0", near=[{"tier": "rdma-nic"}], align="numaNode"
    )
    assert "--align numaNode" in picker._magic.value
