"""``jupyter dra claim``: the manifest of a requirement."""

from __future__ import annotations

import argparse

from ...claims.arguments import add_requirement_arguments, requirement_from_arguments
from .. import exits
from ..options import add_cluster, add_output
from ..output import show


def configure(parser: argparse.ArgumentParser) -> None:
    add_requirement_arguments(parser, session=True)
    parser.add_argument("--template", action="store_true", help="print a ResourceClaimTemplate")
    add_cluster(parser, offline=True)
    add_output(parser, "yaml", "json", "table")


def run(arguments: argparse.Namespace) -> int:
    from ...claims import build_claim, build_template, to_yaml

    requirement = requirement_from_arguments(arguments, namespace=arguments.namespace)
    name = requirement.name or "claim"
    classes = None
    if requirement.claim is None and _needs_classes(requirement):
        from ..surroundings import open_surroundings

        with open_surroundings(arguments) as around:
            classes = around.class_facts()
    build = build_template if arguments.template else build_claim
    document = build(requirement, name=name, classes=classes)
    show(document, "yaml" if arguments.output == "table" else arguments.output, to_yaml(document))
    return exits.DONE


def _needs_classes(requirement: object) -> bool:
    from ...claims import Requirement

    assert isinstance(requirement, Requirement)
    wishes = [
        requirement,
        *(requirement.alternative(index) for index in range(len(requirement.or_else))),
        *requirement.near,
    ]
    return any(wish.tier is None for wish in wishes)
