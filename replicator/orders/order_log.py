"""Order log: the newest record of each key in the topic sluice.balance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

import re2

from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition
from replicator.config.settings import re2_options
from replicator.orders.order_records import (
    DEFAULT_STREAM,
    Answer,
    AnyRecord,
    ByHand,
    Exclusion,
    Hold,
    Lease,
    Order,
    Pause,
    Pin,
    Placed,
    Record,
    Stream,
    Uptime,
)

Kind = TypeVar("Kind", bound=Record)
OfStream = TypeVar("OfStream", Hold, ByHand, Placed, Answer)

KeyedRecord = tuple[bytes, AnyRecord | None]
"""A key, and its new record; None means that the record was deleted."""


@dataclass(frozen=True)
class OrderLog:
    """The newest records, by key.

    Expired orders stay in here; each query takes the time as of which it is asked.
    """

    records: Mapping[bytes, AnyRecord] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, more: Iterable[KeyedRecord]) -> OrderLog:
        """Returns the order log after more records were read."""
        records = dict(self.records)
        for key, record in more:
            if record is None:
                records.pop(key, None)
            else:
                records[key] = record
        return OrderLog(records)

    def of(self, kind: type[Kind], route: str, now_ms: int) -> list[Kind]:
        """Returns the route's records of one kind, without expired orders."""
        of_kind: list[Kind] = self._by_kind.get((kind, route), [])
        return [
            record
            for record in of_kind
            if not (isinstance(record, Order) and record.is_over(now_ms))
        ]

    def orders(self, route: str, now_ms: int) -> list[Order]:
        """Returns all orders of operators for the route, without expired ones."""
        return [
            record
            for _, record in sorted(self.records.items())
            if isinstance(record, Order) and record.route == route and not record.is_over(now_ms)
        ]

    def streams(self, route: str, now_ms: int) -> list[Stream]:
        """Returns the named streams, sorted by name."""
        return sorted(self.of(Stream, route, now_ms), key=lambda stream: stream.name)

    def stream(self, route: str, name: str, now_ms: int) -> Stream | None:
        """Returns the named stream; None for the default stream."""
        found = (each for each in self.streams(route, now_ms) if each.name == name)
        return next(found, None)

    def placed(self, route: str, stream: str) -> Placed | None:
        return self._of_stream(Placed, route, stream)

    def pins(self, route: str, now_ms: int) -> dict[TopicPartition, int]:
        return {
            TopicPartition(each.topic, each.partition): each.carrier
            for each in self.of(Pin, route, now_ms)
        }

    def excluded(self, route: str, now_ms: int) -> dict[int, str]:
        """Returns the excluded carriers, each with the operator's reason."""
        return {each.carrier: each.why for each in self.of(Exclusion, route, now_ms)}

    def hold(self, route: str, stream: str, now_ms: int) -> Hold | None:
        return self._of_stream(Hold, route, stream, now_ms)

    def lease(self, region: str) -> Lease | None:
        """Returns the lease of the balancer that is active, or was active last."""
        return next(iter(self.of(Lease, region, 0)), None)

    def uptime_ms(self) -> int:
        """Returns how long balancers of the region have been active, in milliseconds."""
        found = (it.uptime_ms for it in self.records.values() if isinstance(it, Uptime | Placed))
        return max(found, default=0)

    def by_hand(self, route: str, stream: str, now_ms: int) -> ByHand | None:
        """Returns the manual order that is not answered yet."""
        return self._of_stream(ByHand, route, stream, now_ms)

    def answer(self, route: str, stream: str, order: str) -> Answer | None:
        """Returns the answer to the manual order with the id `order`."""
        answer = self._of_stream(Answer, route, stream)
        return answer if answer and answer.id == order else None

    def streams_of(self, route: str, topics: Iterable[str], now_ms: int) -> dict[str, str]:
        """Maps each topic to its stream, paused or not."""
        streams = self.streams(route, now_ms)
        patterns = [(each.name, tuple(map(_compiled, each.topics))) for each in streams]

        def stream_of(topic: str) -> str:
            matching = (name for name, own in patterns if any(it.fullmatch(topic) for it in own))
            return next(matching, DEFAULT_STREAM)

        return {topic: stream_of(topic) for topic in dict.fromkeys(topics)}

    def split(
        self, route: str, partitions: Iterable[TopicPartition], now_ms: int
    ) -> dict[str, list[TopicPartition]]:
        """Maps each stream to those of the partitions that belong to it and are not paused.

        Streams without partitions are included.
        """
        streams, wanted = self.streams(route, now_ms), list(partitions)
        stream_of = self.streams_of(route, (each.topic for each in wanted), now_ms)
        paused_streams = {each.name for each in streams if each.is_paused}
        pauses = {each.subject for each in self.of(Pause, route, now_ms)}
        found: dict[str, list[TopicPartition]] = {
            DEFAULT_STREAM: [],
            **{each.name: [] for each in streams},
        }
        for partition in wanted:
            topic = partition.topic
            stream = stream_of[topic]
            is_paused = (topic,) in pauses or tuple(partition) in pauses
            if not is_paused and stream not in paused_streams:
                found[stream].append(partition)
        return found

    def _of_stream(
        self, kind: type[OfStream], route: str, stream: str, now_ms: int = 0
    ) -> OfStream | None:
        """Returns the record of a kind that has one for each stream."""
        found = (each for each in self.of(kind, route, now_ms) if each.stream == stream)
        return next(found, None)

    @cached_property
    def _by_kind(self) -> dict[tuple[type[Record], str], list[Any]]:
        found: dict[tuple[type[Record], str], list[Any]] = {}
        for _, record in sorted(self.records.items()):
            found.setdefault((type(record), record.route), []).append(record)
        return found


def first_carrier(streams: Iterable[Stream]) -> int:
    """Returns the number of the first carrier for one more stream of the route."""
    used = {each.first_carrier for each in streams} | {0}
    return next(number for number in count(0, CARRIERS_MAX) if number not in used)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re2._Regexp[str]:
    """Compiles each pattern separately. In a joined pattern an unclosed quote (`\\Qpay`) would
    swallow the next one."""
    return re2.compile(pattern, re2_options())
