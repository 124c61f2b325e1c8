"""Build sdist and wheel, install the wheel into a clean environment without Node, and ask Jupyter what it sees.

Exits non-zero with one sentence when the extension is not there, not enabled, or a file is missing or too much.
"""

from __future__ import annotations

import os
import re
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
    "jupyter_dra/hub/form.css",
    "jupyter_dra/localcluster/inventories/default.yaml",
    "jupyter_dra/examples/01-first-session.ipynb",
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
        if not installs(Path(scratch) / "env", wheel, sdist):
            return 1
    print("wheel and sdist installed without Node: 2 passed, 0 failed")
    return 0


def installs(folder: Path, wheel: Path, sdist: Path) -> bool:
    """Install both in turn with a PATH that has no Node; true when Jupyter sees both extensions each time."""
    venv.create(folder, with_pip=True)
    bin_ = folder / "bin"
    tools = folder / "tools"
    tools.mkdir()
    for name in ("sh", "uname", "env"):
        (tools / name).symlink_to(
            next(one / name for one in (Path("/bin"), Path("/usr/bin")) if (one / name).exists())
        )
    kept = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("JUPYTER", "VIRTUAL_ENV", "PYTHON"))
    }
    environment = {**kept, "PATH": f"{bin_}:{tools}"}
    pip = [str(bin_ / "python"), "-m", "pip", "install", "-q"]
    run([*pip, f"{wheel}[lab,widgets]"], env=environment)
    if not seen(bin_, environment, wheel.name):
        return False
    run([*pip, "--no-deps", "--force-reinstall", str(sdist)], env=environment)
    return seen(bin_, environment, sdist.name)


def seen(bin_: Path, environment: dict[str, str], artifact: str) -> bool:
    """Whether ``jupyter labextension list`` and ``jupyter server extension list`` show ours as enabled and well."""
    for arguments, wanted in (
        (("labextension", "list"), r"jupyter-dra v\S+ enabled OK"),
        (
            ("server", "extension", "list"),
            r"jupyter_dra enabled\s+- Validating jupyter_dra\.\.\.\s+jupyter_dra \S+ OK",
        ),
    ):
        done = subprocess.run(
            [str(bin_ / "jupyter"), *arguments], env=environment, capture_output=True, text=True, check=False
        )
        shown = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        if not re.search(wanted, shown):
            print(
                f"After installing {artifact}, `jupyter {' '.join(arguments)}` says:\n{shown}",
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
