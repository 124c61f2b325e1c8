"""Print the Python of an environment with the oldest supported JupyterLab, made once and kept in the home folder.

The environment is made anew when what we depend on changes; our own code in it is this checkout's.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LAB = "jupyterlab==4.4.*"
_FAMILY = "lab-4.4-"


def place(project: dict[str, Any]) -> Path:
    """Where the environment of these dependencies stands."""
    needed = (
        LAB,
        sys.version,
        project["dependencies"],
        project["optional-dependencies"]["widgets"],
        project["entry-points"],
    )
    key = hashlib.sha256(json.dumps(needed).encode()).hexdigest()[:12]
    return cache() / f"{_FAMILY}{key}"


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jupyter-dra"


def make(environment: Path) -> None:
    """Make it with the pip of this environment; earlier ones go, and the front end stays as it was built."""
    for earlier in cache().glob(f"{_FAMILY}*"):
        shutil.rmtree(earlier)
    venv.create(environment, symlinks=os.name != "nt")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(environment),
        "--quiet",
        "--disable-pip-version-check",
    ]
    wanted = ["--editable", f"{ROOT}[widgets]", LAB]
    surroundings = {**os.environ, "HATCH_BUILD_NO_HOOKS": "true"}
    subprocess.run([*pip, "install", "--no-compile", *wanted], check=True, env=surroundings)


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environment = place(project)
    complete = environment / ".complete"
    if not complete.exists():
        print(f"Making {environment} …", file=sys.stderr, flush=True)
        make(environment)
        complete.touch()
    print(environment / ("Scripts" if os.name == "nt" else "bin") / "python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
