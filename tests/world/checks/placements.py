"""Checks of each placement in the topic of orders, as it is committed.

- It is based on the last one of its stream: its generation is the next.
- Its writer is the newest balancer: the last lease before it is its own. So is that of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.replicator.batches.source_batches import decoded
from tests.world.checks.log_reading import LogReading
from tests.world.checks.wrong import Wrong
from tests.world.kafka.partition import Observer, Partition
from tests.world.mirror.scene import Scene
from tests.world.mirror.standing_orders import STRANGER, parsed


class PlacementChecks(Observer):
    """Checks of one region's balancers. Whatever they find ends the history at that moment."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        partition = scene.mirroring.orders.partition
        self._reading = LogReading(partition, is_stable=True)
        self._placed: dict[bytes, Mapping[str, Any]] = {}
        self._leader = "nobody"
        self.count = 0
        """Placements so far."""
        self.moves = 0
        """Partitions that placements have moved so far."""
        partition.observers.append(self)

    def advanced(self, partition: Partition) -> None:
        for batch in self._reading.batches():
            for record in [] if batch.is_marker else decoded(batch.data):
                if record.value is None:
                    self._placed.pop(record.key or b"", None)
                else:
                    self._seen(record.key or b"", parsed(record.value))

    def _seen(self, key: bytes, value: Mapping[str, Any]) -> None:
        if value.get("who", STRANGER) == STRANGER:
            return
        if value["kind"] == "lease":
            self._leader = value["who"]
        elif value["kind"] in ("placed", "answer") and value["who"] != self._leader:
            self._wrong(f"{value} is written while {self._leader} leads")
        elif value["kind"] == "placed":
            self.count += 1
            self._compare(self._placed.get(key), value)
            self._placed[key] = value

    def _compare(self, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> None:
        about = f"generation {after['generation']} of {after['stream']}, by {after['who']}"
        self._scene.tell(f"placed {about}: {after['topics']}")
        if before and after["generation"] != before["generation"] + 1:
            self._wrong(f"{about}, follows {before['generation']} by {before['who']}")
        if before:
            former, now = _where(before), _where(after)
            self.moves += sum(former.get(place, it) != it for place, it in now.items())

    def _wrong(self, text: str) -> None:
        self._scene.loop.fail(Wrong(text))


def _where(placed: Mapping[str, Any]) -> dict[tuple[str, int], str]:
    """Returns the carrier of each partition."""
    return {
        (topic, number): carrier
        for carrier, topics in placed["topics"].items()
        for topic, numbers in topics
        for number in numbers
    }
