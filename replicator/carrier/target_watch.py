"""Topics of the target that are deleted or made anew under a carrier."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from replicator.carrier.lane import Lane
from replicator.carrier.lanes import Lanes
from replicator.kafka.cluster import Cluster
from replicator.ledger.loss import Loss, LossKind

DELETED_AFTER_SECONDS = 10.0
"""A broker that starts does not show its topics at once."""


class TargetWatch:
    """Looks at what the metadata shows of the lanes' topics.

    Args:
        park: called with a lane whose target topic was deleted: its entry went with it.
    """

    def __init__(
        self, target: Cluster, lanes: Lanes, park: Callable[[Lane, Loss], Awaitable[None]]
    ):
        self._target = target
        self._lanes = lanes
        self._park = park
        self._missing_since: dict[str, float] = {}

    async def look(self) -> None:
        """One look."""
        now = time.monotonic()
        for partition, lane in list(self._lanes.items()):
            topic = self._target.topic(partition.topic)
            if topic is None:
                since = self._missing_since.setdefault(partition.topic, now)
                if now - since > DELETED_AFTER_SECONDS:
                    gone = Loss(LossKind.TARGET_DELETED, 0, lane.entry.target_offset)
                    await self._park(lane, gone)
                continue
            self._missing_since.pop(partition.topic, None)
            if topic.id != lane.entry.target_topic:
                # Made anew: to be checked before it gets more.
                lane.target_leader = -1
