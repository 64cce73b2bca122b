"""Mutations of what waits for an entry: gaps in the source, and newer leader epochs."""

from __future__ import annotations

from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.source_gaps import SourceGaps
from tests.world.mirror.mutations.mutation import Mutation, adapted


class NeverAwaited(SourceGaps):
    """Takes every gap for covered."""

    def are_covered(self, end: int) -> bool:
        return True


def _await_no_cover(pipeline: PartitionPipeline) -> None:
    pipeline.gaps = NeverAwaited(pipeline.entry.sequence)


class Heedless(SourceGaps):
    """Lets batches of a newer leader epoch wait for no entry."""

    def add(self, sequence: int, skipped: int) -> None:
        if skipped:
            super().add(sequence, skipped)


def _heedless(pipeline: PartitionPipeline) -> None:
    pipeline.gaps = Heedless(pipeline.entry.sequence)


MUTATIONS = (
    Mutation(4, "gaps are not awaited", adapted(_await_no_cover)),
    Mutation(4, "newer leader epochs are not awaited", adapted(_heedless), "takeovers"),
)
