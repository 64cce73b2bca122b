"""What partitions take of a carrier's time: their sources' traffic, and what they are behind.

Traffic is what was looked at; of what never was, what a file says.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from balancer.demand.demand import Basis, believed, demands
from balancer.demand.load_model import LoadModel
from balancer.demand.throughput_file import Throughput
from balancer.demand.window import Rate
from balancer.plan import TopicPartition
from replicator.offsets.reports import PartitionReport

RATE_DEFAULT = Rate(5 * 1024, 5)
"""Of a partition of whose topic nothing is known: Brooklin's."""
BYTES_PER_RECORD = 1024
"""Of a log that takes in nothing, for what it is behind."""


@dataclass(frozen=True, slots=True)
class Known:
    """Every partition's share, and how far it is to be believed.

    Args:
        measured: those whose own traffic was looked at lately.
        doubts: why a new share was not believed.
        bases: where each share comes from.
    """

    shares: Mapping[TopicPartition, float] = field(default_factory=dict)
    measured: Set[TopicPartition] = frozenset()
    doubts: Mapping[TopicPartition, str] = field(default_factory=dict)
    bases: Mapping[TopicPartition, Basis] = field(default_factory=dict)


class ShareMemory:
    """What was believed of one stream's partitions: a share that jumps is believed when it is seen
    twice."""

    def __init__(self) -> None:
        self._seen: Mapping[TopicPartition, float] = {}
        self._held: Mapping[TopicPartition, float] = {}

    def known(
        self,
        partitions: Set[TopicPartition],
        rates: Mapping[TopicPartition, Rate],
        fresh: Set[TopicPartition],
        reports: Mapping[TopicPartition, PartitionReport],
        model: LoadModel,
        throughput: Throughput | None = None,
    ) -> Known:
        """The shares of now.

        Args:
            rates: to be expected, of the partitions of which anything was ever seen.
            fresh: those that were looked at lately.
            throughput: what a file says; counts for those that are not in `rates`, and is no look.
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
        told = {each: share for each, share in found.shares.items() if each not in rates}
        wanted = demands(measured, told, sorted(partitions), model.share(RATE_DEFAULT))
        return Known(
            {each: demand.share for each, demand in wanted.items()},
            measured.keys() & fresh,
            found.doubts,
            {each: demand.basis for each, demand in wanted.items()},
        )


def share_of(rate: Rate, report: PartitionReport | None, model: LoadModel) -> float:
    """One partition's share of a carrier's time."""
    records = report.lag_records if report and report.lag_records else 0
    flows = rate.records_per_second > 0
    size = rate.bytes_per_second / rate.records_per_second if flows else BYTES_PER_RECORD
    opened = report.opened_part if report and report.opened_part is not None else 0.0
    return model.share(rate, opened_part=opened, lag=(round(records * size), records))
