"""Writes the hub's spawn form and its page of a waiting server into a folder, made by JupyterHub's own templates."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
from jupyterhub._data import DATA_FILES_PATH
from markupsafe import Markup

from jupyter_dra.hub.form import render
from jupyter_dra.hub.options import Rules, TierOffer
from jupyter_dra.hub.prospects import Prospect
from jupyter_dra.hub.words import waiting

SHARED = Path(DATA_FILES_PATH)
GONE = ("Your last choice, ", "gpu-old", ", is no longer offered. Choose again.")


def offer(tier: dict[str, Any]) -> TierOffer:
    facts = {**tier, "price": tier["price"] and dict(tier["price"])}
    return TierOffer(tier["name"], tier["display_name"], requirement={"tier": tier["name"]}, facts=facts)


def prospect(tier: dict[str, Any]) -> Prospect:
    """What a plan would tell of a tier's free devices; its first product is the likely one."""
    free = tier["free"]
    label = f"{tier['products'][0]['name'].split()[1].split('-')[0]} {tier['sizes'][0]['label']}"
    verdict = "fits" if free else "busy"
    return Prospect(
        verdict, tier["devices"], free, nodes=tier["nodes"], rooms=(free,), likely=label if free else None
    )


def waiting_words() -> str:
    """Twelve of twelve taken, three of them by this hub's servers."""
    holders = [
        {"namespace": "hub", "claim": f"ours-{number}", "devices": 1, "who": "namespace"}
        for number in range(3)
    ]
    plan = {
        "counts": {"matching": 12, "free_at_most": 0},
        "certainty": {"sure": True},
        "holders": holders,
    }
    return waiting(plan, "High-memory GPU", [("hub", f"ours-{number}") for number in range(3)], 7200)


def write(folder: Path, tiers: list[dict[str, Any]]) -> None:
    """``spawn.html`` and ``progress.html``, with JupyterHub's files beside them."""
    templates = jinja2.FileSystemLoader(str(SHARED / "templates"))
    env = jinja2.Environment(loader=templates, autoescape=True, undefined=jinja2.ChainableUndefined)
    user = SimpleNamespace(name="ada")
    common = {
        "static_url": lambda path, **_: f"static/{path}",
        "base_url": "/hub/",
        "prefix": "/",
        "user": user,
    }
    named = [tier for tier in tiers if tier["device_kind"] == "gpu"]
    named[1] = {**named[1], "free": 0, "free_at_most": 0}
    labels = {size["label"] for tier in named for size in tier["sizes"]}
    nothing = Prospect("impossible", 0)
    found = {
        tier["name"]: {
            "": prospect(tier),
            **{
                label.replace(" ", ""): prospect(tier) if label <= tier["sizes"][0]["label"] else nothing
                for label in labels
            },
        }
        for tier in named
    }
    form = render(
        Rules(
            tiers=tuple(offer(tier) for tier in named),
            images=("cuda-notebook:2026.10", "pytorch-notebook:2026.10"),
        ),
        prospects=found,
        chosen={"tier": "high-memory-gpu", "vram": "80GB"},
        notes=[GONE],
    )
    spawn = env.get_template("spawn.html").render(**common, spawner_options_form=Markup(form), for_user=user)
    (folder / "spawn.html").write_text(spawn)
    page = env.get_template("spawn_pending.html").render(**common, spawner=user, progress_url="never")
    (folder / "progress.html").write_text(page)
    (folder / "waiting.txt").write_text(waiting_words())
    (folder / "static").symlink_to(SHARED / "static")
    (folder / "hub").mkdir()
    (folder / "hub/logo").symlink_to(SHARED / "static/images/jupyterhub-80.png")


write(Path(sys.argv[1]), json.load(sys.stdin))
