"""``jupyter dra claim``: the manifest of a requirement."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ...claims.arguments import add_requirement_arguments, requirement_from_arguments
from ...errors import ClusterError
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, show, write

if TYPE_CHECKING:
    from ...claims import Requirement


def configure(parser: argparse.ArgumentParser) -> None:
    add_requirement_arguments(parser, session=True)
    parser.add_argument("--template", action="store_true", help="print a ResourceClaimTemplate")
    add_cluster(parser, offline=True)
    add_output(parser, "yaml", "json", "table")


def run(arguments: argparse.Namespace) -> int:
    from ...claims import to_yaml

    requirement = requirement_from_arguments(arguments, namespace=arguments.namespace)
    document = _claim(arguments, requirement)
    show(document, "yaml" if arguments.output == "table" else arguments.output, to_yaml(document))
    return exits.DONE


def _claim(arguments: argparse.Namespace, requirement: Requirement) -> dict[str, Any]:
    """What a launch would make; without a cluster the words alone, where they name every tier."""
    from ...claims import build_claim, build_template
    from ..surroundings import open_surroundings

    if requirement.claim is None:
        try:
            with open_surroundings(arguments) as around:
                return around.claim_for(requirement, template=arguments.template)
        except ClusterError as error:
            if _leaves_tiers_open(requirement):
                raise
            if error.code != "no-cluster":
                write(f"The claim was made without the cluster: {clean(error.message)}", sys.stderr)
    build = build_template if arguments.template else build_claim
    return build(requirement, name=requirement.name or "claim")


def _leaves_tiers_open(requirement: Requirement) -> bool:
    others = (requirement.alternative(index) for index in range(len(requirement.or_else)))
    return any(wish.tier is None for wish in (requirement, *others, *requirement.near))
