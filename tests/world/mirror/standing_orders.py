"""Orders of operators that stand in the topic, read without the product's code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import DEFAULT_STREAM
from tests.replicator.batches.source_batches import Record

STRANGER = "stranger"
"""Writer of records that nobody can follow: each has to be left out."""


@dataclass(frozen=True, slots=True)
class StandingOrders:
    """Records by key."""

    records: Mapping[bytes, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, more: Iterable[Record]) -> StandingOrders:
        """Returns the orders after more records of the topic."""
        records = dict(self.records)
        for each in more:
            value = parsed(each.value)
            if each.value is None:
                records.pop(each.key or b"", None)
            elif value.get("who", STRANGER) != STRANGER:
                records[each.key or b""] = value
        return StandingOrders(records)

    @property
    def streams(self) -> dict[str, Mapping[str, Any]]:
        """Returns the named streams, sorted by name."""
        found = {it["name"]: it for it in self.records.values() if it["kind"] == "stream"}
        return dict(sorted(found.items()))

    def stream_of(self, topic: str) -> str:
        """Returns the stream that a topic belongs to."""
        for name, stream in self.streams.items():
            if any(re.fullmatch(pattern, topic) for pattern in stream["topics"]):
                return name
        return DEFAULT_STREAM

    def first_carrier(self, stream: str) -> int:
        """Returns the number of a stream's first carrier."""
        return 0 if stream == DEFAULT_STREAM else int(self.streams[stream]["first_carrier"])

    def placed(self, stream: str) -> Mapping[str, Any] | None:
        """Returns the last placement of a stream."""
        found = (it for it in self.records.values() if it["kind"] == "placed")
        return next((it for it in found if it["stream"] == stream), None)

    def is_paused(self, place: TopicPartition) -> bool:
        """Returns True if an operator has paused a partition, its topic or its stream."""
        stream = self.streams.get(self.stream_of(place.topic))
        if stream is not None and stream["is_paused"]:
            return True
        return any(
            it["kind"] == "pause"
            and it["topic"] == place.topic
            and it.get("partition") in (None, place.partition)
            for it in self.records.values()
        )


def parsed(value: bytes | None) -> Mapping[str, Any]:
    """Returns a record's fields; none for what is no record of Sluice."""
    try:
        found: Mapping[str, Any] = json.loads(value or b"{}")
    except ValueError:
        return {}
    return found
