"""gateway-provisioners in an environment of its own, launching an ordinary pod on any cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.controlplane.build import cache_folder

RELEASE = "0.5.0"
DRIVER = Path(__file__).with_name("gateway_kernel.py")


class CannotRun(Exception):
    """One sentence on why it is left out."""


def environment() -> Path:
    """The Python of an environment with it; made once, in the user's cache folder."""
    folder = cache_folder() / f"gateway-provisioners-{RELEASE}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        wanted = [f"gateway-provisioners[k8s]=={RELEASE}", "ipykernel", "pycryptodomex"]
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "-q", *wanted],
        ):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                raise CannotRun(f"gateway-provisioners {RELEASE} cannot be installed here.")
        (folder / "complete").touch()
    return python


class Gateway:
    """The running driver."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        python = environment()
        self._errors = (folder / "gateway.log").open("wb")
        _kernelspec(python, folder)
        self._process = subprocess.Popen(
            [str(python), str(DRIVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
            env={
                "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(folder),
                "JUPYTER_PATH": str(folder / "jupyter"),
                "KUBECONFIG": str(kubeconfig),
                "GP_USE_INCLUSTER_CONFIG": "false",
                "GP_NAMESPACE": "default",
                "GP_RESPONSE_IP": "127.0.0.1",
                "KERNEL_USERNAME": "ada",
            },
        )
        self._answer(folder)

    def launch(self, folder: Path) -> float:
        """Seconds to the first result of one kernel, which is shut down again."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._answer(folder)["seconds"])

    def _answer(self, folder: Path) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            said = (folder / "gateway.log").read_text(errors="replace").strip().splitlines()
            raise CannotRun(f"gateway-provisioners {RELEASE} ended: {said[-1] if said else 'without a word'}")
        return dict(json.loads(line))

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()
        self._errors.close()


@contextmanager
def gateway(kubeconfig: Path, folder: Path) -> Iterator[Gateway]:
    folder.mkdir()
    running = Gateway(kubeconfig, folder)
    try:
        yield running
    finally:
        running.close()


def _kernelspec(python: Path, folder: Path) -> None:
    """Their kernelspec and pod template; the command takes the place of their image's own start script."""
    (package,) = python.parent.parent.glob("lib/python*/site-packages/gateway_provisioners")
    launchers = package / "kernel-launchers"
    scripts = folder / "jupyter" / "kernels" / "gateway-python" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("launch_kubernetes.py", "kernel-pod.yaml.j2"):
        (scripts / name).write_text((launchers / "kubernetes" / "scripts" / name).read_text())
    # Their image holds the launcher put together with the listener that all languages share.
    image_files = folder / "image"
    image_files.mkdir()
    for source in ("python/scripts/launch_ipykernel.py", "shared/scripts/server_listener.py"):
        (image_files / Path(source).name).write_text((launchers / source).read_text())
    start = [str(python), str(image_files / "launch_ipykernel.py")]
    for option in ("kernel-id", "port-range", "response-address", "public-key"):
        start += [f"--{option}", f"$({option.upper().replace('-', '_')})"]
    template = scripts / "kernel-pod.yaml.j2"
    image = '  - image: "{{ kernel_image }}"\n'
    template.write_text(template.read_text().replace(image, f"{image}    command: {json.dumps(start)}\n"))
    argv = [str(python), str(scripts / "launch_kubernetes.py")]
    for option in ("kernel-id", "port-range", "response-address", "public-key"):
        argv += [f"--{option}", f"{{{option.replace('-', '_')}}}"]
    spec = {
        "argv": argv,
        "display_name": "gateway",
        "language": "python",
        "metadata": {
            "kernel_provisioner": {
                "provisioner_name": "kubernetes-provisioner",
                "config": {"image_name": "python"},
            }
        },
    }
    (scripts.parent / "kernel.json").write_text(json.dumps(spec))
