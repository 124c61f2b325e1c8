"""The house keeps its shape: import directions, purity, and names people rely on."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import jupyter_dra
from jupyter_dra.kernels.runtime import MODULE_FILES, POD_FILES

ROOT = Path(jupyter_dra.__file__).parent
TABLE = tomllib.loads((Path(__file__).parent / "imports.toml").read_text())
TOP_MODULES = {"errors", "_version"}
FOLDERS = sorted(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists())


def modules(folder: str) -> Iterator[Path]:
    yield from sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Absolute dotted names a module imports, also inside functions, with the line."""
    package = ("jupyter_dra", *path.relative_to(ROOT).with_suffix("").parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            name = ".".join(part for part in (base, node.module or "") if part)
            yield name, node.lineno
            if not node.module or name == "jupyter_dra":
                yield from ((f"{name}.{alias.name}", node.lineno) for alias in node.names)


def first_part(name: str) -> str | None:
    parts = name.split(".")
    return parts[1] if parts[0] == "jupyter_dra" and len(parts) > 1 else None


def test_every_folder_stands_in_the_import_table() -> None:
    assert set(FOLDERS) <= set(TABLE["allowed"]), "a new folder needs its line in imports.toml"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_the_table_allows(folder: str) -> None:
    allowed = {folder, "errors", "_version", *TABLE["allowed"][folder]}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(folder)
        for name, line in imported(path)
        if (part := first_part(name)) is not None and part not in allowed and part != "__version__"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", [name for name in TABLE["pure"] if name in FOLDERS])
def test_a_pure_folder_touches_no_clock_network_or_chance(folder: str) -> None:
    impure = tuple(TABLE["impure_modules"])
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(folder)
        for name, line in imported(path)
        if any(name == one or name.startswith(one + ".") for one in impure)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", [*POD_FILES, *MODULE_FILES])
def test_what_runs_in_the_pod_needs_only_the_standard_library(file: str) -> None:
    own = {**POD_FILES, **MODULE_FILES}
    packages = {package for package, _ in own.values()}
    names = {name.removesuffix(".py") for name in [*own, *(source for _, source in own.values())]}
    siblings = names | packages | {f"{package}.{name}" for package in packages for name in names}
    if file == "module-__init__.py":
        siblings.add("IPython.core.magic")  # IPython is what loads it
    package, name = own[file]
    path = ROOT.parent.joinpath(*package.split("."), name)
    outside = [
        found
        for found, _ in imported(path)
        if found.split(".")[0] not in sys.stdlib_module_names and found not in siblings
    ]
    assert not outside


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_explains_itself_in_at_most_forty_lines(folder: str) -> None:
    readme = ROOT / folder / "README.md"
    assert readme.exists(), f"{folder} has no README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 40


def test_no_module_grows_beyond_six_hundred_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for path in sorted(ROOT.rglob("*.py"))
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 600
    ]
    assert not long, "\n".join(long)


def test_public_names_are_exactly_these_and_load() -> None:
    assert sorted(jupyter_dra.__all__) == [
        "Inventory",
        "Requirement",
        "Session",
        "__version__",
        "allocate",
        "build_claim",
        "check",
        "compile_selector",
        "held_devices",
        "plan",
    ]
    for name in jupyter_dra.__all__:
        assert getattr(jupyter_dra, name) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, jupyter_dra; "
        "heavy = {'kubernetes', 'tornado', 'aiohttp', 'yaml', 'traitlets', 'jupyter_server'} & set(sys.modules); "
        "sys.exit(', '.join(sorted(heavy)) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
