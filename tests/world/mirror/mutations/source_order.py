"""Mutations of what waits for an entry: gaps in the source, and newer leader epochs."""

from __future__ import annotations

from replicator.mirror.carrier.partition_pipeline import PartitionPipeline
from replicator.mirror.carrier.source_gaps import SourceGaps
from replicator.mirror.ledger.entry import Gap
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


def _list_all(pipeline: PartitionPipeline) -> None:
    pipeline.gaps = SourceGaps(pipeline.entry.sequence, bytes_max=1 << 30)


class CutShort(SourceGaps):
    """Takes the gaps that an entry has no room for as listed."""

    def listed(self, begin: int, end: int) -> tuple[tuple[Gap, ...], int]:
        return super().listed(begin, end)[0], end


def _cut_short(pipeline: PartitionPipeline) -> None:
    pipeline.gaps = CutShort(pipeline.entry.sequence)


MUTATIONS = (
    Mutation(4, "gaps are not awaited", adapted(_await_no_cover)),
    Mutation(4, "newer leader epochs are not awaited", adapted(_heedless), "takeovers"),
    Mutation(5, "an entry lists all gaps", adapted(_list_all), "gaps"),
    Mutation(5, "gaps beyond an entry count as listed", adapted(_cut_short), "gaps"),
)
