"""Which images exist here, and what they run: nothing is pulled, a table stands for the registry."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_dra.errors import InputError

_MISSING = ("*.invalid/*", "*:missing")
_PYTHON_NAMES = frozenset({"python", "python3", f"python3.{sys.version_info.minor}"})


@dataclass(frozen=True, slots=True)
class Image:
    """An image that exists: the environment it stands for, and its default command."""

    name: str
    environment: Path
    command: tuple[str, ...] = ()

    @property
    def interpreter(self) -> str:
        if Path(sys.prefix) == self.environment:
            return sys.executable
        folder = self.environment / ("Scripts" if os.name == "nt" else "bin")
        return str(folder / ("python.exe" if os.name == "nt" else "python"))

    def search_path(self) -> str:
        """Return the PATH a container of this image starts with: the environment first, then the system's."""
        folders = [os.path.dirname(self.interpreter)]
        system = (
            os.defpath if os.name == "nt" else "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
        )
        return os.pathsep.join([*folders, system])

    def executable(self, name: str, search_path: str) -> str | None:
        """Return the program that ``name`` means in this image, or None when there is none."""
        if name in _PYTHON_NAMES or (Path(name).name in _PYTHON_NAMES and not os.path.exists(name)):
            return self.interpreter
        return shutil.which(name, path=search_path)


@dataclass(frozen=True, slots=True)
class ImageTable:
    """The images of this machine.

    Args:
        environments: glob of image names → root folder of a Python environment; the first match wins, and any
            image that no glob names runs in this interpreter's environment.
        missing: further globs of images that cannot be pulled.
    """

    environments: Mapping[str, Path] = field(default_factory=dict)
    missing: Sequence[str] = ()

    def resolve(self, name: str, env: Mapping[str, str]) -> Image | None:
        """Return the image, or None when it cannot be pulled; ``env`` is what the container will see.

        Raises:
            InputError: the text is no image reference.
        """
        if not name or name != name.strip() or any(part in ("", "..", ".") for part in name.split("/")):
            raise InputError(
                f'Failed to apply default image tag "{name}": couldn\'t parse image name "{name}"'
            )
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in (*_MISSING, *self.missing)):
            return None
        environment = next(
            (root for pattern, root in self.environments.items() if fnmatch.fnmatchcase(name, pattern)),
            Path(sys.prefix),
        )
        image = Image(name, environment)
        return Image(name, environment, _default_command(image, env))


def _default_command(image: Image, env: Mapping[str, str]) -> tuple[str, ...]:
    base = image.name.rsplit("/", 1)[-1].split("@", 1)[0].split(":", 1)[0]
    if base == "python":
        return (image.interpreter, "-c", "")
    if "notebook" in image.name and "JUPYTERHUB_API_TOKEN" in env:
        return ("jupyterhub-singleuser",)
    stand_in = Path(__file__).with_name("standin.py")
    return (image.interpreter, "-I", str(stand_in), "--", image.name)
