"""All lanes of one carrier, and those among them that have something to send."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.plan import TopicPartition
from replicator.carrier.lane import Lane


class Lanes(dict[TopicPartition, Lane]):
    """By partition. `busy` spares the senders to look at every lane at every turn."""

    def __init__(self) -> None:
        super().__init__()
        self._busy: dict[TopicPartition, Lane] = {}

    def stir(self, lanes: Iterable[Lane]) -> None:
        """These have something queued now."""
        for lane in lanes:
            self._busy[lane.partition] = lane

    def busy(self) -> list[Lane]:
        """Lanes with something queued."""
        for partition, lane in list(self._busy.items()):
            if not lane.has_queued or self.get(partition) is not lane:
                del self._busy[partition]
        return list(self._busy.values())
