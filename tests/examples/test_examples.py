"""Every example runs from top to bottom on the local cluster; every manifest is valid and applies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from jupyter_dra import check
from jupyter_dra.cli.main import main
from jupyter_dra.cluster import AUDIENCES
from tests.localcluster_fixture import LocalCluster, start_local_cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
ON_A_SESSION = ("01-first-session.ipynb", "06-training-loop.ipynb", "vllm/serve.ipynb")
ON_ANY_KERNEL = (
    "02-choose-by-memory.ipynb",
    "03-gpu-and-network-card.ipynb",
    "04-parts-shares-alternatives.ipynb",
    "05-check-manifests.ipynb",
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    running = start_local_cluster()
    yield running
    running.stop()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: LocalCluster) -> Path:
    """A copy of the examples, as a user has it after `demo`."""
    copied = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copied)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    return copied


def test_every_notebook_is_run_by_a_test() -> None:
    found = {str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.ipynb")}
    assert found == {*ON_A_SESSION, *ON_ANY_KERNEL}


@pytest.mark.parametrize("name", ON_A_SESSION)
def test_a_notebook_runs_on_a_session(folder: Path, cluster: LocalCluster, name: str) -> None:
    path = folder / name
    assert main(["run", str(path)]) == 0
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not cluster.list("resourceclaims")


@pytest.mark.parametrize("name", ON_ANY_KERNEL)
def test_a_notebook_runs_on_an_ordinary_kernel(folder: Path, cluster: LocalCluster, name: str) -> None:
    notebook = nbformat.read(folder / name, as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ})
    assert not cluster.list("resourceclaims")


def test_examples_are_stored_without_outputs() -> None:
    for path in EXAMPLES.rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs"), path.name


@pytest.mark.parametrize("path", sorted((EXAMPLES / "cluster").glob("*.yaml")), ids=lambda path: path.name)
def test_the_admins_manifests_check_clean_and_apply(path: Path, cluster: LocalCluster) -> None:
    assert check(path.read_text()).as_dict()["clean"]
    cluster.kubectl("apply", "-f", str(EXAMPLES / "cluster" / "namespace.yaml"))
    cluster.kubectl("apply", "-f", str(path))


def test_the_printed_roles_apply(cluster: LocalCluster, capfd: pytest.CaptureFixture[str]) -> None:
    cluster.kubectl("apply", "-f", str(EXAMPLES / "cluster" / "namespace.yaml"))
    for audience in AUDIENCES:
        capfd.readouterr()
        assert main(["rbac", audience, "--namespace", "team-a"]) == 0
        cluster.kubectl("apply", "-f", "-", stdin=capfd.readouterr().out)
