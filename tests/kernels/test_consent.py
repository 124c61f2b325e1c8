"""A notebook file never takes a device by itself (threat T04); kernelspecs per tier."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from jupyter_dra.claims import Requirement, build_claim
from jupyter_dra.errors import ConflictError, NotFoundError, RefusedError, RequirementError
from jupyter_dra.kernels.consent import Consents, read_notebook
from jupyter_dra.kernels.kernelspecs import install, installed, packaged_folder, remove, spec_name
from jupyter_dra.kernels.surroundings import look_around


def notebook(folder: Path, kernel: str | None = None, **metadata: Any) -> str:
    if kernel is not None:
        metadata["kernelspec"] = {"name": kernel, "display_name": kernel}
    path = folder / "train.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
    return str(path)


def check(book: Consents, path: str, kernel: str = "dra-big") -> None:
    facts = read_notebook(path)
    assert facts is not None
    book.check(facts, kernel)


@pytest.mark.threat("T04")
def test_a_file_that_names_the_tier_starts_nothing_until_allowed_once(tmp_path: Path) -> None:
    book = Consents(tmp_path / "data")
    path = notebook(tmp_path, "dra-big")
    with pytest.raises(RefusedError) as caught:
        check(book, path)
    assert caught.value.code == "consent"
    assert "jupyter dra allow" in str(caught.value.next_step)
    book.allow(path, "dra-big")
    check(book, path)
    check(Consents(tmp_path / "data"), path)  # a later server remembers
    with pytest.raises(RefusedError):
        check(book, notebook(tmp_path, "dra-bigger"), "dra-bigger")
    assert stat.S_IMODE((tmp_path / "data" / "consents.json").stat().st_mode) == 0o600


@pytest.mark.threat("T04")
def test_consent_is_for_what_was_asked_then(tmp_path: Path) -> None:
    book = Consents(tmp_path / "data")
    modest = {"vram": "24GB"}
    path = notebook(tmp_path, "dra-big", **{"jupyter-dra": {"version": 1, "required": modest}})
    book.allow(path, "dra-big", modest)
    check(book, path)
    notebook(tmp_path, "dra-big", **{"jupyter-dra": {"version": 1, "required": {"count": 64}}})
    with pytest.raises(RefusedError):
        check(book, path)


def test_a_new_notebook_is_consent_and_is_remembered_when_it_is_saved(tmp_path: Path) -> None:
    book = Consents(tmp_path / "data")
    path = notebook(tmp_path)  # just made by the launcher: names no kernel yet
    check(book, path)
    notebook(tmp_path, "dra-big")  # autosave wrote the kernel's name
    check(book, path)
    assert read_notebook(str(tmp_path / "console-1-uuid")) is None
    assert read_notebook(str(tmp_path / "missing.ipynb")) is None


@pytest.mark.threat("T06")
def test_a_notebooks_wish_holds_device_fields_only(tmp_path: Path) -> None:
    asked = {
        "vram": "80GB",
        "image": "evil/x",
        "env": {"A": "b"},
        "namespace": "kube-system",
        "volumes": ["home"],
    }
    facts = read_notebook(notebook(tmp_path, "dra-big", **{"jupyter-dra": {"version": 1, "required": asked}}))
    assert facts is not None
    assert dict(facts.wish) == {"vram": "80GB"}
    for broken in (
        "",
        "[]",
        "[" * 100_000,
        '{"metadata": 7}',
        '{"metadata": {"kernelspec": [], "jupyter-dra": 3}}',
    ):
        (tmp_path / "train.ipynb").write_text(broken)
        facts = read_notebook(str(tmp_path / "train.ipynb"))
        assert facts is not None
        assert not facts.wish


@pytest.mark.parametrize(
    ("required", "preferred", "wish", "optional"),
    [
        ({"vram": "24Gi"}, {}, {"vram": "24Gi"}, False),
        (
            {"tier": "t", "vram": "24Gi"},
            {"vram": "80Gi"},
            {"tier": "t", "vram": "80Gi", "or_else": [{"vram": "24Gi"}]},
            False,
        ),
        (
            {"vram": "24Gi"},
            {"product": "H100"},
            {"vram": "24Gi", "product": "H100", "or_else": [{"product": None}]},
            False,
        ),
        (
            {"vram": "24Gi", "or_else": [{"tier": "x"}]},
            {"vram": "80Gi"},
            {"vram": "80Gi", "or_else": [{"vram": "24Gi"}, {"vram": "24Gi", "tier": "x"}]},
            False,
        ),
        ({}, {"vram": "8Gi"}, {"vram": "8Gi"}, True),
        ({}, {}, {}, False),
        (
            {"vram": "8Gi", "or_else": 7},
            {"product": 7},
            {"vram": "8Gi", "product": 7, "or_else": [{"product": None}]},
            False,
        ),
    ],
)
def test_what_is_preferred_comes_first_and_what_is_required_next(
    tmp_path: Path, required: Any, preferred: Any, wish: Any, optional: bool
) -> None:
    asked = {"version": 1, "required": required, "preferred": preferred}
    facts = read_notebook(notebook(tmp_path, "dra-big", **{"jupyter-dra": asked}))
    assert facts is not None
    assert (dict(facts.wish), facts.optional) == (wish, optional)


def test_the_better_device_of_a_notebook_is_taken_if_there_is_one_and_the_other_if_not(
    tmp_path: Path,
) -> None:
    asked = {"version": 1, "required": {"vram": "24Gi"}, "preferred": {"vram": "80Gi"}}
    facts = read_notebook(notebook(tmp_path, "dra-big", **{"jupyter-dra": asked}))
    assert facts is not None
    claim = build_claim(Requirement.from_dict({"tier": "gpu", **facts.wish}), name="c")
    better, needed = claim["spec"]["devices"]["requests"][0]["firstAvailable"]
    assert '"80Gi"' in better["selectors"][0]["cel"]["expression"]
    assert '"24Gi"' in needed["selectors"][0]["cel"]["expression"]


def test_outside_a_server_there_is_no_board() -> None:
    class Manager:
        parent = None

    assert look_around(Manager()).server is None
    assert look_around(Manager()).sessions is None


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelSpecManager:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return KernelSpecManager()


def test_kernelspecs_are_installed_listed_and_removed(manager: KernelSpecManager) -> None:
    made = install(
        {"tier": "high-memory-gpu", "count": 2}, context="local", wait_for_device="10m", manager=manager
    )
    assert made.name == "dra-high-memory-gpu"
    assert [spec.name for spec in installed(manager) if spec.name != "dra"] == ["dra-high-memory-gpu"]
    spec = manager.get_kernel_spec(made.name)
    assert spec.interrupt_mode == "message"
    assert spec.argv[0] == "python"
    assert spec.metadata["kernel_provisioner"]["config"] == {
        "tier": "high-memory-gpu",
        "count": 2,
        "context": "local",
        "wait_for_device": "10m",
    }
    with pytest.raises(ConflictError):
        install({"tier": "high-memory-gpu"}, manager=manager, replace=False)
    assert remove("high-memory-gpu", manager).name == made.name
    with pytest.raises(NotFoundError):
        remove("high-memory-gpu", manager)


def test_kernels_of_others_are_neither_overwritten_nor_removed(
    manager: KernelSpecManager, tmp_path: Path
) -> None:
    folder = tmp_path / "jupyter" / "kernels" / "theirs"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(
        json.dumps({"argv": ["x"], "display_name": "Theirs", "language": "r"})
    )
    with pytest.raises(NotFoundError):
        remove("theirs", manager)
    with pytest.raises(ConflictError):
        install({"tier": "x"}, name="theirs", manager=manager)
    with pytest.raises(RequirementError):
        install({"vram": "eighty"}, manager=manager)


@pytest.mark.threat("T27")
def test_no_tiers_name_leaves_the_kernels_folder_or_meets_anothers(
    manager: KernelSpecManager, tmp_path: Path
) -> None:
    names = ["../../x", "x", "X", "x/", "a" * 300, "été", "ete", "..", "x.y", "x-y"]
    made = {name: install({"tier": name}, manager=manager) for name in names}
    assert len({spec.name for spec in made.values()}) == len(names)
    root = (tmp_path / "jupyter" / "kernels").resolve()
    assert all(Path(spec.folder).resolve().parent == root for spec in made.values())
    assert spec_name(None) == "dra"


def test_the_packaged_kernel_is_found_without_installing_anything(manager: KernelSpecManager) -> None:
    manager.kernel_dirs = [packaged_folder()]
    assert (
        manager.get_kernel_spec("dra").metadata["kernel_provisioner"]["provisioner_name"] == "dra-provisioner"
    )
