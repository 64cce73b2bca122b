"""Writers at each step: only the producer that a partition's entry names appends to the target."""

from __future__ import annotations

from balancer.topic_partition import TopicPartition
from tests.world.checks.entry_view import EntryView
from tests.world.checks.wrong import Wrong
from tests.world.kafka.log_batch import Batch
from tests.world.kafka.partition import Observer, Partition
from tests.world.mirror.mirroring import ROUTE
from tests.world.mirror.scene import Scene


class Writers(Observer):
    """Check of one route, which ends a history at the first batch of another producer.

    It holds whatever logs lose. A topic that is recreated is watched up to then.
    """

    def __init__(self, scene: Scene) -> None:
        self._loop, target = scene.loop, scene.mirroring.target
        for place in scene.places:
            partition = target.partition(*place)
            assert partition is not None
            partition.observers.append(self)
        self._ledger = EntryView(target, ROUTE, lambda *_: None)

    def appended(self, partition: Partition, broker: int, batch: Batch) -> None:
        # What a former leader appends in its old belief never counts.
        if broker != partition.decided.leader or batch.is_marker:
            return
        entry = self._ledger.entries.get(TopicPartition(partition.topic, partition.number))
        if entry is None or not entry.is_held_by(batch.producer_id, batch.producer_epoch):
            self._loop.fail(
                Wrong(
                    f"{partition.topic}-{partition.number}: producer {batch.producer_id}/"
                    f"{batch.producer_epoch} appended at {batch.base_offset}, and the entry names "
                    f"another one: {entry}"
                )
            )
