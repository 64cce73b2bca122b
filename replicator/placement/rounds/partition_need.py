"""Need of each partition, for people: its share of its carrier's time, and the basis of that
number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from balancer.demand.demand import Basis
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.placement.rounds.route_snapshot import RouteSnapshot
from replicator.placement.rounds.shares import ShareEstimates


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
    snapshot: RouteSnapshot, estimates: ShareEstimates, where: Mapping[TopicPartition, int]
) -> list[PartitionNeed]:
    """Returns the needs of all partitions, the heaviest first.

    Args:
        where: maps each partition to its carrier.
    """
    heaviest = sorted(estimates.shares, key=lambda each: (-estimates.shares[each], each))
    return [_need(each, snapshot, estimates, where.get(each)) for each in heaviest]


def _need(
    partition: TopicPartition,
    snapshot: RouteSnapshot,
    estimates: ShareEstimates,
    carrier: int | None,
) -> PartitionNeed:
    basis = estimates.bases[partition]
    rate = {
        Basis.MEASURED: snapshot.rates.get(partition),
        Basis.FILE: snapshot.throughput.rate(partition),
    }.get(basis)
    report = snapshot.reports.get(partition)
    return PartitionNeed(
        partition=partition,
        carrier=carrier,
        share=estimates.shares[partition],
        basis=basis,
        is_fresh=partition in estimates.measured,
        rate=rate,
        lag_records=report.lag_records if report else None,
        lag_seconds=report.lag_seconds if report else None,
    )
