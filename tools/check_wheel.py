"""Build sdist and wheel, install the wheel into a clean environment without Node, and ask Jupyter what it sees.

Exits non-zero with one sentence when the extension is not there, not enabled, or a file is missing or too much.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXPECTED = (
    "jupyter_dra/py.typed",
    "jupyter_dra/server/openapi.yaml",
    "jupyter_dra/kernels/podside.py",
    ".data/data/share/jupyter/labextensions/jupyter-dra/package.json",
    ".data/data/share/jupyter/labextensions/jupyter-dra/install.json",
    ".data/data/etc/jupyter/jupyter_server_config.d/jupyter_dra.json",
)
FORBIDDEN = ("tests/", "node_modules/", "labextension/src/", ".map.map")


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        dist = Path(scratch) / "dist"
        run([sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT)])
        wheel = next(dist.glob("*.whl"))
        sdist = next(dist.glob("*.tar.gz"))
        names = zipfile.ZipFile(wheel).namelist()
        missing = [one for one in EXPECTED if not any(name.endswith(one) for name in names)]
        extra = [name for name in names if any(part in name for part in FORBIDDEN)]
        if missing or extra:
            print(f"The wheel lacks {missing} and has {extra[:5]} too much.", file=sys.stderr)
            return 1
        for artifact in (wheel, sdist):
            if not installs(Path(scratch) / f"env-{artifact.suffix}", artifact):
                return 1
    print("wheel and sdist: 2 installed without Node, extension seen")
    return 0


def installs(folder: Path, artifact: Path) -> bool:
    """Install *artifact* with a PATH that has no Node; true when Jupyter lists both extensions as enabled."""
    venv.create(folder, with_pip=True)
    bin_ = folder / "bin"
    tools = folder / "tools"
    tools.mkdir()
    for name in ("sh", "uname", "env"):
        (tools / name).symlink_to(
            Path("/bin") / name if (Path("/bin") / name).exists() else Path("/usr/bin") / name
        )
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("JUPYTER", "VIRTUAL_ENV", "PYTHON"))
        },
        "PATH": f"{bin_}:{tools}",
    }
    run([str(bin_ / "python"), "-m", "pip", "install", "-q", f"{artifact}[lab,widgets]"], env=environment)
    for arguments, line in (
        (("labextension", "list"), "jupyter-dra v"),
        (("server", "extension", "list"), "jupyter_dra enabled"),
    ):
        done = subprocess.run(
            [str(bin_ / "jupyter"), *arguments], env=environment, capture_output=True, text=True, check=False
        )
        shown = done.stdout + done.stderr
        fine = (
            line in shown
            and "jupyter-dra v" in shown.replace("jupyter_dra enabled", "jupyter-dra v")
            and "disabled" not in shown
        )
        if not fine or "X " in shown:
            print(
                f"After installing {artifact.name}, `jupyter {' '.join(arguments)}` says:\n{shown}",
                file=sys.stderr,
            )
            return False
    return True


def run(command: list[str], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
