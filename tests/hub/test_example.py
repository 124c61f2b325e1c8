"""The example's two forms say the same."""

from __future__ import annotations

from typing import Any

import yaml
from traitlets.config import Config

from jupyter_dra.hub.options import TierOffer
from jupyter_dra.hub.spawner import DRASpawner
from tests.hub.hubs import EXAMPLE


def example() -> Config:
    config = Config()
    exec(compile(EXAMPLE.read_text(), str(EXAMPLE), "exec"), {"get_config": lambda: config})
    return config


def test_the_helm_values_offer_what_the_configuration_offers() -> None:
    values: dict[str, Any] = yaml.safe_load(EXAMPLE.with_name("values.yaml").read_text())
    config, chart = example(), values["hub"]["config"]
    assert chart["JupyterHub"]["spawner_class"] == config.JupyterHub.spawner_class == "dra"
    assert chart["DRASpawner"]["tiers"] == config.DRASpawner.tiers
    for name in ("max_devices", "group_max_devices", "wait_timeout"):
        assert chart["DRASpawner"][name] == config.DRASpawner[name]
    assert values["hub"]["concurrentSpawnLimit"] == config.JupyterHub.concurrent_spawn_limit
    assert values["singleuser"]["startTimeout"] == config.DRASpawner.launch_timeout
    assert values["singleuser"]["memory"]["limit"] == config.KubeSpawner.mem_limit


def test_every_name_in_the_example_is_one_of_the_spawners() -> None:
    config = example()
    known = set(DRASpawner.class_traits(config=True))
    assert set(config.DRASpawner) <= known
    assert set(config.KubeSpawner) <= known
    for entry in config.DRASpawner.tiers:
        TierOffer.from_config(entry)
