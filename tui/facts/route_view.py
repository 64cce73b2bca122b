"""Routes of a snapshot, with their topics and partitions.

Unknown is None, never 0. A sum with an unknown part is unknown; the number of partitions with
unknown lag stands beside it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tui.facts.health import Health


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentCarrier:
    """Carrier that says nothing about a partition with lag.

    Args:
        number, host, pid, heard_at: by its last report, at that time in Unix seconds; None: no
            report of any carrier is known.
    """

    number: int | None = None
    host: str | None = None
    pid: int | None = None
    heard_at: float | None = None

    @property
    def name(self) -> str:
        """Name for people, such as "carrier 3 on repl-c (pid 812)"."""
        process = f" (pid {self.pid})" if self.pid else ""
        return f"carrier {self.number}" + (f" on {self.host}{process}" if self.host else "")


@dataclass(slots=True, kw_only=True)
class PartitionView:
    """State of one partition of a route.

    It is not frozen, and nobody changes one: each snapshot has thousands of new ones, and a frozen
    one takes three times as long.
    """

    topic: str
    partition: int
    source_end: int | None
    """Last stable offset of the source when it was last seen."""
    mirrored_to: int | None
    """Next source offset to mirror; every record before it is in the target."""
    lag_records: int | None
    """Lag in source offsets; on compacted or transactional sources not all of them are records."""
    lag_seconds: float | None
    records_per_second: float | None
    bytes_per_second: float | None
    carrier: int | None
    host: str | None
    """Host on which the carrier runs."""
    custody: str | None
    """virgin, held, released, parked, unreadable or "no entry"; None when it is not known."""
    parked: str | None
    """Reason why the partition waits for an operator; None when it does not."""
    source_high: int | None = None
    """High watermark of the source, as the carrier saw it."""
    written_lag_records: int | None = None
    """Lag against the high watermark, so records of open transactions count as well."""
    written_lag_seconds: float | None = None
    open_transaction_seconds: float | None = None
    """Time for which records have waited for the end of a transaction of the source."""
    state: Health = Health.UNKNOWN
    why: str = ""
    """Reason of the state in words; "" when it is OK."""
    silent_carrier: SilentCarrier | None = None
    """Carrier whose silence is the reason; None: another reason, or none."""
    lag_per_second: float | None = None
    """Change of the lag in records per second, over the last minute; None when not known."""
    drain_seconds: float | None = None
    """Time until the lag is gone at this pace; None when it grows, or is not known."""

    @property
    def parked_count(self) -> int | None:
        """1 when it is parked, else 0; None when neither ledger nor carrier tell."""
        if self.parked is not None:
            return 1
        return None if self.custody is None and self.carrier is None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """State of one topic of a route.

    The fields below `why` are totals of the partitions; one is None when it is unknown for any of
    them.

    Args:
        states: of the topic in the topic plan; empty when the target did not list its topics.
        drain_seconds: of the slowest partition.
    """

    topic: str
    states: tuple[str, ...]
    notes: tuple[str, ...]
    partitions: tuple[PartitionView, ...]
    state: Health = Health.UNKNOWN
    why: str = ""
    lag_records: int | None = None
    lag_seconds: float | None = None
    open_transaction_seconds: float | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    lag_per_second: float | None = None
    drain_seconds: float | None = None
    unknown_partitions: int = 0
    """Number of partitions with unknown lag."""
    parked_partitions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteView:
    """State of one route; `topics` is None when the source did not list its topics.

    Args:
        drain_seconds: of the slowest partition; None when the lag of one grows, or is not known.
        unknown_partitions: number of partitions with unknown lag.
    """

    route: str
    target: str
    topics: tuple[TopicView, ...] | None
    denied_topics: int
    problems: tuple[str, ...]
    source: str = ""
    state: Health = Health.UNKNOWN
    why: str = ""
    lag_records: int | None = None
    lag_seconds: float | None = None
    records_per_second: float | None = None
    bytes_per_second: float | None = None
    lag_per_second: float | None = None
    drain_seconds: float | None = None
    unknown_partitions: int = 0
    parked_partitions: int | None = None
    lag_history: tuple[float | None, ...] = ()
    """Lag in records of the last hour, one value a minute, the oldest first; None: not known."""
    rate_history: tuple[float | None, ...] = ()
    """Records per second of the last hour, likewise."""


def custody_counts(topic: TopicView) -> str:
    """Returns the number of partitions in each custody: "3 held, 1 parked"."""
    counts = Counter(partition.custody or "?" for partition in topic.partitions)
    return ", ".join(f"{count} {custody}" for custody, count in sorted(counts.items()))
