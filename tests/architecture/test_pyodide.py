"""The brain runs where only pure Python does: in a browser page, without compiled or networked packages."""

from __future__ import annotations

import subprocess
import sys
import textwrap

MISSING = ("re2", "psutil", "aiohttp", "tornado", "traitlets", "kubernetes", "zmq", "jupyter_client", "ssl")


def run_without(code: str) -> str:
    """What a program prints in a process that has none of those packages."""
    head = f"import sys\nfor name in {MISSING!r}: sys.modules[name] = None\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_pure_folder_works_without_compiled_and_networked_packages() -> None:
    printed = run_without(
        """
        from jupyter_dra import allocator, cel, checker, claims, model, planner, validation

        wish = claims.Requirement(tier="gpu", product=["A100"], vram="40GB")
        claim = claims.build_claim(wish, name="c", namespace="n")
        attributes = {"productName": {"string": "NVIDIA A100-SXM4-40GB"}}
        device = {"name": "g", "attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}}
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": "n", "pool": pool, "devices": [device]}
        kinds = {"apiVersion": "resource.k8s.io/v1", "metadata": {"name": "gpu"}}
        selectors = [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]
        tier = {**kinds, "kind": "DeviceClass", "spec": {"selectors": selectors}}
        inventory = planner.Inventory.from_objects([tier, {**kinds, "kind": "ResourceSlice", "spec": spec}])
        print(inventory.plan(claim).verdict, checker.check([claim, tier], fix=True).count("error"))
        """
    )
    assert printed == "fits 0"


def test_patterns_that_could_take_long_are_refused_in_words() -> None:
    printed = run_without(
        """
        from jupyter_dra.cel import compile_selector
        from jupyter_dra.errors import CELCompileError, CELRuntimeError

        device = {"driver": "d", "attributes": {"m": {"string": "a" * 60}}, "capacity": {}}
        for pattern in ("(a+)+$", "(a|a)*b", "(a*)*c", r"(\\\\w|a)+!", "((a{1,9}){1,9}){1,9}b"):
            try:
                compile_selector(f'device.attributes["d"].m.matches("{pattern}")').evaluate(device)
            except (CELCompileError, CELRuntimeError) as error:
                said = f"{error} {getattr(error, 'hint', '')}"
                print("refused" if "google-re2" in said else said)
        for pattern in ("^a{60}$", "(?i)(^|[^a-z0-9])a{1,60}([^a-z0-9]|$)", "a|b"):
            print(compile_selector(f'device.attributes["d"].m.matches("{pattern}")').evaluate(device))
        """
    )
    assert printed.split() == ["refused"] * 5 + ["True"] * 3
