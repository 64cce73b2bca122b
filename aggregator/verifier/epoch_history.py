"""History of the producers of each transactional id: once a newer one has committed, no older one
may commit any more. Pure.

Opening an id fences its holder before. Its entries are spread over several groups, hence over
several logs and broker clocks, so entries are compared by commit time with the skew as tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from aggregator.verifier.finding import Finding, Kind


class Producer(NamedTuple):
    """Producer id and epoch under which an id was held."""

    producer_id: int
    epoch: int


@dataclass(slots=True)
class _Id:
    """Holders of one transactional id.

    Args:
        producer: the newest one that was seen.
        since_ms: commit time of its first entry.
        left: producer ids before; a transactional id that expired gets another one.
    """

    producer: Producer
    since_ms: int
    left: set[int] = field(default_factory=set)


class EpochHistory:
    """Newest producer of each transactional id of one cluster.

    Args:
        skew_ms: largest difference between the clocks of brokers.
    """

    def __init__(self, skew_ms: int) -> None:
        self._skew_ms = skew_ms
        self._ids: dict[str, _Id] = {}

    def judge(self, transactional_id: str, producer: Producer, at_ms: int) -> Finding | None:
        """Returns the finding about a held entry that was committed at a time, if there is one."""
        known = self._ids.get(transactional_id)
        if known is None:
            self._ids[transactional_id] = _Id(producer, at_ms)
            return None
        if producer == known.producer:
            known.since_ms = min(known.since_ms, at_ms)
            return None
        is_left = producer.producer_id in known.left
        is_older = is_left or (
            producer.producer_id == known.producer.producer_id
            and producer.epoch < known.producer.epoch
        )
        if not is_older:
            if producer.producer_id != known.producer.producer_id:
                known.left.add(known.producer.producer_id)
            known.producer, known.since_ms = producer, at_ms
            return None
        if at_ms <= known.since_ms + self._skew_ms:
            return None
        return Finding(
            Kind.EPOCH,
            f"{transactional_id}: producer {producer.producer_id}/{producer.epoch} committed "
            f"{at_ms - known.since_ms} ms after {known.producer.producer_id}/"
            f"{known.producer.epoch} had begun",
        )
