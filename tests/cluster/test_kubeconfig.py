"""Which cluster is chosen, and which files are trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_dra.cluster import Surroundings, choose, contexts
from jupyter_dra.cluster.kubeconfig import load
from jupyter_dra.errors import ClusterError


def config(path: Path, *names: str, current: str | None = None, **user: Any) -> Path:
    """Write a kubeconfig with one context, cluster and user per name."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": n, "cluster": {"server": f"https://{n}.example:6443"}} for n in names],
        "users": [
            {"name": n, "user": {**({} if "exec" in user else {"token": f"token-{n}"}), **user}}
            for n in names
        ],
        "contexts": [
            {"name": n, "context": {"cluster": n, "user": n, "namespace": f"ns-{n}"}} for n in names
        ],
    }
    if current:
        document["current-context"] = current
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


def around(home: Path, **environ: str) -> Surroundings:
    return Surroundings(environ=environ, home=home, service_account=home / "sa")


def test_the_order_is_argument_setting_in_cluster_environment_home(tmp_path: Path) -> None:
    config(tmp_path / ".kube" / "config", "home", "other", current="home")
    kube = config(tmp_path / "env.yaml", "env", current="env")
    plain = around(tmp_path)
    assert choose(surroundings=plain).source == "home"
    assert choose(surroundings=plain).namespace == "ns-home"

    with_env = around(tmp_path, KUBECONFIG=str(kube))
    assert choose(surroundings=with_env).context == "env"
    assert choose(surroundings=with_env).source == "KUBECONFIG"

    account = tmp_path / "sa"
    account.mkdir()
    (account / "token").write_text("t")
    (account / "namespace").write_text("team-a")
    inside = around(tmp_path, KUBECONFIG=str(kube), KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert choose(surroundings=inside).source == "in-cluster"
    assert choose(surroundings=inside).namespace == "team-a"

    assert choose(setting="env", surroundings=inside).source == "setting"
    assert choose("env", setting="nothing", surroundings=inside).source == "argument"
    explicit = config(tmp_path / "explicit.yaml", "mine", current="mine")
    assert choose(None, explicit, setting="mine", surroundings=inside).context == "mine"


def test_the_running_local_cluster_comes_last_and_by_its_word(tmp_path: Path, cluster: Any) -> None:
    folder = tmp_path / "run" / "jupyter-dra" / "local" / "default"
    folder.mkdir(parents=True)
    place = around(tmp_path, XDG_RUNTIME_DIR=str(tmp_path / "run"))
    with pytest.raises(ClusterError) as caught:
        choose(surroundings=place)
    assert caught.value.code == "no-cluster"
    with pytest.raises(ClusterError, match="not running"):
        choose("local", surroundings=place)

    (folder / "kubeconfig").write_text(cluster.kubeconfig.read_text())
    (folder / "kubeconfig").chmod(0o600)
    found = choose(surroundings=place)
    assert (found.source, found.is_local) == ("local", True)
    config(tmp_path / ".kube" / "config", "home", current="home")
    assert choose(surroundings=place).source == "home"
    assert choose("local", surroundings=place).is_local
    assert [row["name"] for row in contexts(place)] == ["home", "jupyter-dra-local"]
    asked = around(
        tmp_path, XDG_RUNTIME_DIR=place.environ["XDG_RUNTIME_DIR"], KUBECONFIG=str(folder / "kubeconfig")
    )
    assert choose(surroundings=asked).is_local
    assert [(row["name"], row["source"]) for row in contexts(asked)] == [("jupyter-dra-local", "local")]


def test_a_local_cluster_that_does_not_answer_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "jupyter-dra" / "local" / "default"
    dead = config(folder / "kubeconfig", "jupyter-dra-local", current="jupyter-dra-local")
    dead.write_text(dead.read_text().replace("https://jupyter-dra-local.example:6443", "https://127.0.0.1:9"))
    with pytest.raises(ClusterError) as caught:
        choose(surroundings=around(tmp_path, XDG_RUNTIME_DIR=str(tmp_path / "run")))
    assert "local up" in (caught.value.next_step or "")


def test_an_unknown_context_names_the_known_ones(tmp_path: Path) -> None:
    config(tmp_path / ".kube" / "config", "home", current="home")
    with pytest.raises(ClusterError) as caught:
        choose("nowhere", surroundings=around(tmp_path))
    assert "home" in (caught.value.next_step or "")


def test_files_are_merged_with_the_first_entry_winning_and_paths_made_absolute(tmp_path: Path) -> None:
    first = config(tmp_path / "a" / "one", "x", current="x", **{"client-key": "keys/x.pem"})
    second = config(tmp_path / "b" / "two", "x", "y", current="y")
    merged = load((first, second))
    assert merged["current-context"] == "x"
    assert [entry["name"] for entry in merged["users"]] == ["x", "y"]
    assert merged["users"][0]["user"]["client-key"] == str(tmp_path / "a" / "keys" / "x.pem")


@pytest.mark.threat("T20")
def test_a_kubeconfig_that_others_may_write_is_refused_with_the_fix(tmp_path: Path) -> None:
    path = config(tmp_path / ".kube" / "config", "home", current="home")
    path.chmod(0o666)
    with pytest.raises(ClusterError) as caught:
        choose(surroundings=around(tmp_path))
    assert caught.value.next_step == f"Run: chmod go-w {path}"


@pytest.mark.threat("T20")
def test_nothing_in_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config(tmp_path / "work" / "kubeconfig", "evil", current="evil")
    (tmp_path / "work" / ".env").write_text("KUBECONFIG=kubeconfig\n")
    monkeypatch.chdir(tmp_path / "work")
    with pytest.raises(ClusterError):
        choose(surroundings=around(tmp_path / "empty"))


def test_a_broken_kubeconfig_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / ".kube" / "config"
    path.parent.mkdir()
    path.write_text("{]")
    path.chmod(0o600)
    with pytest.raises(ClusterError, match="no valid YAML"):
        choose(surroundings=around(tmp_path))
