"""Mutation: a rule of docs/invariants.md that carriers of a history do not keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from tests.replicator.mirror.carrier.adapted_pipelines import AdaptedPipelines
from tests.world.mirror.parts import PARTS, Parts


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that is taken out.

    Args:
        rule: its number in docs/invariants.md.
        name: of the mutation.
        makers: of the carriers that break it.
        family: of the histories that find it.
        parts: of the drivers, balancers and commands that break it.
    """

    rule: int
    name: str
    makers: Makers = MAKERS
    family: str = "mirror"
    parts: Parts = PARTS


RULES_HOLD = Mutation(0, "none")


def adapted(adapt: Callable[[PartitionPipeline], None]) -> Makers:
    """Returns makers of carriers whose pipelines are changed as they are made."""
    return Makers(pipelines=lambda: AdaptedPipelines(adapt))
