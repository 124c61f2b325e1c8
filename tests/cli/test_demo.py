"""What people meet inside the demo, besides its pages: the command, and the cluster it speaks to."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from jupyter_dra.cli.commands.demo import environment_of
from jupyter_dra.cluster.kubeconfig import Surroundings, choose

KUBECONFIG = """
clusters: [{{name: {0}, cluster: {{server: "https://127.0.0.1:9"}}}}]
users: [{{name: me, user: {{token: x}}}}]
contexts: [{{name: {0}, context: {{cluster: {0}, user: me}}}}]
current-context: {0}
"""


def test_terminals_and_notebooks_of_the_demo_never_speak_to_a_cluster_of_ones_own(tmp_path: Path) -> None:
    for path, name in ((tmp_path / "local", "jupyter-dra-local"), (tmp_path / ".kube" / "config", "prod")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(KUBECONFIG.format(name))
        path.chmod(0o600)
    (tmp_path / "token").write_text("of the pod")
    inherited = {"KUBECONFIG": str(tmp_path / ".kube" / "config"), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}

    def chosen(environ: dict[str, str]) -> str:
        return choose(surroundings=Surroundings(environ, home=tmp_path, service_account=tmp_path)).context

    assert chosen({"KUBECONFIG": inherited["KUBECONFIG"]}) == "prod"
    assert chosen(environment_of(tmp_path, str(tmp_path / "local"), inherited)) == "jupyter-dra-local"


def test_our_command_is_found_in_terminals_of_the_demo(tmp_path: Path) -> None:
    environment = environment_of(tmp_path, "local", {"PATH": "/usr/bin"})
    assert shutil.which("python", path=environment["PATH"]) == str(Path(sys.executable).parent / "python")
