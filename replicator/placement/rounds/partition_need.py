"""Need of each partition: the share that it takes of its carrier, and the basis of that number. For
people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from balancer.demand.demand import Basis
from balancer.demand.window import Rate
from balancer.plan import TopicPartition
from replicator.placement.rounds.shares import Known
from replicator.placement.rounds.stream_round import Scene


@dataclass(frozen=True, slots=True)
class PartitionNeed:
    """Need of one partition.

    Args:
        carrier: number of its carrier, or None.
        share: part of a carrier's time.
        is_fresh: True if its traffic was measured lately.
        rate: expected rate at the source from which the share follows; None if nothing is known of
            the partition itself.
        lag_records, lag_seconds: None if its carrier has not reported them.
    """

    partition: TopicPartition
    carrier: int | None
    share: float
    basis: Basis
    is_fresh: bool
    rate: Rate | None
    lag_records: int | None
    lag_seconds: float | None


def needs_of(
    scene: Scene, known: Known, where: Mapping[TopicPartition, int]
) -> list[PartitionNeed]:
    """Returns the needs of all partitions, the heaviest first.

    Args:
        where: maps each partition to its carrier.
    """
    heaviest = sorted(known.shares, key=lambda each: (-known.shares[each], each))
    return [_need(each, scene, known, where.get(each)) for each in heaviest]


def _need(
    partition: TopicPartition, scene: Scene, known: Known, carrier: int | None
) -> PartitionNeed:
    basis = known.bases[partition]
    rate = {
        Basis.MEASURED: scene.rates.get(partition),
        Basis.FILE: scene.throughput.rate(partition),
    }.get(basis)
    report = scene.reports.get(partition)
    return PartitionNeed(
        partition=partition,
        carrier=carrier,
        share=known.shares[partition],
        basis=basis,
        is_fresh=partition in known.measured,
        rate=rate,
        lag_records=report.lag_records if report else None,
        lag_seconds=report.lag_seconds if report else None,
    )
