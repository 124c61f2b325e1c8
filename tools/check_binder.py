"""Run Binder's two scripts in a clean environment: install, start the local cluster, ask it, stop it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
ASK = "jupyter-dra tiers --context local && jupyter-dra plan --vram 40GB --context local"


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        checkout = folder / "checkout"
        files = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in filter(None, files.stdout.split("\0")):
            if (ROOT / name).is_file():
                (checkout / name).parent.mkdir(parents=True, exist_ok=True)
                (checkout / name).write_bytes((ROOT / name).read_bytes())
                (checkout / name).chmod((ROOT / name).stat().st_mode)
        venv.create(folder / "env", with_pip=True)
        run_folder = folder / "run"
        run_folder.mkdir(mode=0o700)
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("JUPYTER", "PYTHON"))
            },
            "PATH": f"{folder / 'env' / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(run_folder),
            "REPO_DIR": str(checkout),
        }
        if "HOME" in os.environ:
            # The package caches of this machine may be used; nothing else of it is.
            environment["PIP_CACHE_DIR"] = str(Path(os.environ["HOME"]) / ".cache" / "pip")
            environment["YARN_GLOBAL_FOLDER"] = str(Path(os.environ["HOME"]) / ".yarn" / "berry")
        for words in (["binder/postBuild"], ["binder/start", "bash", "-c", ASK]):
            done = subprocess.run(
                [str(checkout / words[0]), *words[1:]],
                cwd=checkout,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"{words[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}", file=sys.stderr)
                return 1
        print(done.stdout.strip().splitlines()[-1])
        subprocess.run(["jupyter-dra", "local", "down"], env=environment, check=True, capture_output=True)
    print("binder: 2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
