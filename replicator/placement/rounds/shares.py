"""Shares: the part of a carrier's time that each partition takes for its traffic and its lag.

Traffic is measured at the source; for partitions never measured, a file may give it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from balancer.demand.demand import Basis, believed, demands
from balancer.demand.load_model import LoadModel
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.topic_partition import TopicPartition
from replicator.mirror.offset_map.reports import PartitionReport

RATE_DEFAULT = Rate(5 * 1024, 5)
"""Rate assumed for a partition if nothing is known of its topic: the default of Brooklin."""
BYTES_PER_RECORD = 1024
"""Record size assumed for the lag of a partition that takes in no records now."""


@dataclass(frozen=True, slots=True)
class ShareEstimates:
    """Estimated share of every partition of a stream.

    Args:
        measured: partitions whose own traffic was measured lately.
        doubts: by partition, why its new share was not believed.
        bases: by partition, the basis of its share.
    """

    shares: Mapping[TopicPartition, float] = field(default_factory=dict)
    measured: Set[TopicPartition] = frozenset()
    doubts: Mapping[TopicPartition, str] = field(default_factory=dict)
    bases: Mapping[TopicPartition, Basis] = field(default_factory=dict)

    def loads(
        self, carriers: Iterable[int], where: Mapping[TopicPartition, int]
    ) -> dict[int, float]:
        """Returns the predicted load of each of these carriers.

        Args:
            where: carrier of each partition; partitions of other carriers are left out.
        """
        found = dict.fromkeys(carriers, 0.0)
        for partition, carrier in where.items():
            if carrier in found:
                found[carrier] += self.shares.get(partition, 0.0)
        return found


class ShareMemory:
    """Last shares of one stream's partitions, with which a share that jumps is compared.

    Such a share is believed once it is seen twice.
    """

    def __init__(self) -> None:
        self._seen: Mapping[TopicPartition, float] = {}
        self._held: Mapping[TopicPartition, float] = {}

    def estimate(
        self,
        partitions: Set[TopicPartition],
        rates: Mapping[TopicPartition, Rate],
        fresh: Set[TopicPartition],
        reports: Mapping[TopicPartition, PartitionReport],
        model: LoadModel,
        throughput: Throughput | None = None,
    ) -> ShareEstimates:
        """Returns the current shares, and remembers them.

        Args:
            rates: expected rates of all partitions that were ever measured.
            fresh: partitions that were measured lately.
            throughput: content of the throughput file; used for partitions that are not in `rates`,
                and never counted as a measurement.
        """
        throughput = throughput or Throughput()
        new = {
            each: share_of(rate, reports.get(each), model)
            for each in partitions
            if (rate := rates.get(each) or throughput.rate(each))
        }
        found = believed(new, self._seen, self._held)
        self._seen, self._held = new, found.shares
        measured = {each: share for each, share in found.shares.items() if each in rates}
        from_file = {each: share for each, share in found.shares.items() if each not in rates}
        wanted = demands(measured, from_file, sorted(partitions), model.share(RATE_DEFAULT))
        return ShareEstimates(
            {each: demand.share for each, demand in wanted.items()},
            measured.keys() & fresh,
            found.doubts,
            {each: demand.basis for each, demand in wanted.items()},
        )


def share_of(rate: Rate, report: PartitionReport | None, model: LoadModel) -> float:
    """Returns one partition's share of a carrier's time."""
    records = report.lag_records if report and report.lag_records else 0
    has_traffic = rate.records_per_second > 0
    size = rate.bytes_per_second / rate.records_per_second if has_traffic else BYTES_PER_RECORD
    opened = report.opened_part if report and report.opened_part is not None else 0.0
    return model.share(rate, opened_part=opened, lag=(round(records * size), records))
