"""How fast a carrier goes, and how far behind its partitions are, for people and for metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from balancer.plan import TopicPartition
from replicator.carrier.lag_clock import LagClock
from replicator.carrier.lane import Lane
from replicator.ledger.loss import Loss
from replicator.offsets.reports import PartitionReport

HALF_LIFE_SECONDS = 5.0


@dataclass(slots=True)
class _Seen:
    lane: Lane
    at: float
    records: int
    bytes: int
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    lag: LagClock = field(default_factory=LagClock)


class Pace:
    """Counts what is acknowledged; rates fade with HALF_LIFE_SECONDS."""

    def __init__(self, route: str, carrier: int):
        self.bytes_since_commit = 0
        self._route = route
        self._carrier = carrier
        self._seen: dict[TopicPartition, _Seen] = {}

    def shipped(self, size: int) -> None:
        """A batch of so many bytes was acknowledged."""
        self.bytes_since_commit += size

    def reports(
        self, lanes: Iterable[Lane], parked: Mapping[TopicPartition, Loss], now: float
    ) -> list[PartitionReport]:
        """One report per partition; `now` in unix seconds."""
        # Only what is carried now: a lane that was parked shall not be held in memory.
        self._seen = {lane.partition: self._seen_of(lane, now) for lane in lanes}
        found = [self._report(seen, now) for seen in self._seen.values()]
        for partition, loss in parked.items():
            found.append(
                PartitionReport(
                    route=self._route,
                    topic=partition.topic,
                    partition=partition.partition,
                    carrier=self._carrier,
                    records_per_second=None,
                    bytes_per_second=None,
                    source_end=None,
                    mirrored_to=None,
                    lag_records=None,
                    lag_seconds=None,
                    parked=str(loss),
                    at=now,
                )
            )
        return found

    def _seen_of(self, lane: Lane, now: float) -> _Seen:
        """What was seen of it before; a partition taken again has another lane and starts over."""
        seen = self._seen.get(lane.partition)
        return seen if seen and seen.lane is lane else _Seen(lane, now, lane.records, lane.bytes)

    def _report(self, seen: _Seen, now: float) -> PartitionReport:
        lane = seen.lane
        elapsed = now - seen.at
        if elapsed > 0:
            weight = (
                1.0 if seen.records_per_second is None else 1 - 0.5 ** (elapsed / HALF_LIFE_SECONDS)
            )
            seen.records_per_second = _faded(
                seen.records_per_second, (lane.records - seen.records) / elapsed, weight
            )
            seen.bytes_per_second = _faded(
                seen.bytes_per_second, (lane.bytes - seen.bytes) / elapsed, weight
            )
            seen.at, seen.records, seen.bytes = now, lane.records, lane.bytes
        mirrored_to = lane.position if lane.is_empty else lane.entry.source_offset
        lag = None if lane.source_end is None else max(0, lane.source_end - mirrored_to)
        lag_seconds = None
        if lane.source_end is not None:
            lag_seconds = seen.lag.seconds(now, lane.source_end, mirrored_to)
        return PartitionReport(
            route=self._route,
            topic=lane.partition.topic,
            partition=lane.partition.partition,
            carrier=self._carrier,
            records_per_second=seen.records_per_second,
            bytes_per_second=seen.bytes_per_second,
            source_end=lane.source_end,
            mirrored_to=mirrored_to,
            lag_records=lag,
            lag_seconds=lag_seconds,
            parked=None,
            at=now,
            opened_part=lane.opened / sent if (sent := lane.opened + lane.unopened) else None,
        )


def _faded(old: float | None, new: float, weight: float) -> float:
    return new if old is None else old + (new - old) * weight
