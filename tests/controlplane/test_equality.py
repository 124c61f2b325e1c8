"""A smaller dose of what ``make equality`` compares; the tables are printed by that command."""

from __future__ import annotations

import secrets
from random import Random

import pytest

from . import building, fuzzing, judging, planning
from .equality import FIXED
from .manifests import damaged, recorded
from .plane import ControlPlane

pytestmark = pytest.mark.controlplane


def test_recorded_manifests_are_judged_as_the_server_judges_them(control_plane: ControlPlane) -> None:
    judging.prepare(control_plane)
    outcome = judging.compare(control_plane, recorded())
    assert outcome.differences == []
    assert outcome.table.total() > 160


def test_damaged_manifests_are_judged_as_the_server_judges_them(control_plane: ControlPlane) -> None:
    judging.prepare(control_plane)
    outcome = judging.compare(control_plane, damaged(Random(FIXED), 150))
    assert outcome.differences == []


def test_every_claim_we_build_is_accepted_and_read_back_whole(control_plane: ControlPlane) -> None:
    outcome = building.compare(control_plane, Random(FIXED), 150, real=15)
    assert outcome.problems == []
    assert (outcome.accepted, outcome.equal) == (150, 150)


@pytest.mark.parametrize("compare", fuzzing.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", [FIXED, None], ids=["fixed", "fresh"])
def test_random_cases_get_kubernetes_own_answers(compare: fuzzing.Compare, seed: int | None) -> None:
    """A thousand of each kind; the oracle is Kubernetes' selector compiler and allocator."""
    seed = secrets.randbelow(10**6) if seed is None else seed
    score = compare(Random(seed), 1000)
    assert score.differences == [], f"seed {seed}"


@pytest.mark.timeout(240)
def test_plans_say_what_the_scheduler_does() -> None:
    """In a control plane of its own: its nodes are objects without a kubelet."""
    outcome = planning.run(FIXED, 50)
    assert outcome.differences == []
    assert outcome.cells == 50
    assert outcome.devices[True] > 10
