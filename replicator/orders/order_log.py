"""Order log: the newest record of every key in the topic sluice.balance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import re2

from balancer.plan import TopicPartition
from replicator.config.settings import re2_options
from replicator.orders.order_records import (
    CARRIERS_MAX,
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
)

Kind = TypeVar("Kind", bound=Record)


@dataclass(frozen=True)
class OrderLog:
    """The newest records, by key.

    Expired orders stay in here; each query takes the time as of which it is asked.
    """

    records: Mapping[bytes, AnyRecord] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, told: Iterable[tuple[bytes, AnyRecord | None]]) -> OrderLog:
        """Returns the order log after more records were read. None deletes the record of a key."""
        records = dict(self.records)
        for key, record in told:
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

    def placed(self, route: str, stream: str) -> Placed | None:
        found = (each for each in self.of(Placed, route, 0) if each.stream == stream)
        return next(found, None)

    def pins(self, route: str, now_ms: int) -> dict[TopicPartition, int]:
        return {
            TopicPartition(each.topic, each.partition): each.carrier
            for each in self.of(Pin, route, now_ms)
        }

    def excluded(self, route: str, now_ms: int) -> dict[int, str]:
        """Returns the excluded carriers, each with the operator's reason."""
        return {each.carrier: each.why for each in self.of(Exclusion, route, now_ms)}

    def hold(self, route: str, stream: str, now_ms: int) -> Hold | None:
        found = (each for each in self.of(Hold, route, now_ms) if each.stream == stream)
        return next(found, None)

    def lease(self, region: str) -> Lease | None:
        """Returns the lease of the balancer that is active, or was active last."""
        return next(iter(self.of(Lease, region, 0)), None)

    def by_hand(self, route: str, stream: str, now_ms: int) -> ByHand | None:
        found = (each for each in self.of(ByHand, route, now_ms) if each.stream == stream)
        return next(found, None)

    def answer(self, route: str, stream: str, order: str) -> Answer | None:
        """Returns the answer to the manual order with the id `order`."""
        answers = (each for each in self.of(Answer, route, 0) if each.stream == stream)
        return next((each for each in answers if each.id == order), None)

    def streams_of(self, route: str, topics: Iterable[str], now_ms: int) -> dict[str, str]:
        """Maps each topic to its stream, paused or not."""
        streams = self.streams(route, now_ms)
        patterns = [(each.name, tuple(map(_compiled, each.topics))) for each in streams]
        found: dict[str, str] = {}
        for topic in topics:
            if topic not in found:
                matching = (
                    name for name, own in patterns if any(it.fullmatch(topic) for it in own)
                )
                found[topic] = next(matching, DEFAULT_STREAM)
        return found

    def split(
        self, route: str, partitions: Iterable[TopicPartition], now_ms: int
    ) -> dict[str, list[TopicPartition]]:
        """Maps each stream to its share of the given partitions, without the paused ones.

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

    @cached_property
    def _by_kind(self) -> dict[tuple[type[Record], str], list[Any]]:
        found: dict[tuple[type[Record], str], list[Any]] = {}
        for _, record in sorted(self.records.items()):
            found.setdefault((type(record), record.route), []).append(record)
        return found


def first_carrier(streams: Iterable[Stream]) -> int:
    """Returns the number of the first carrier for one more stream of the route."""
    taken = {each.first_carrier for each in streams} | {0}
    return next(
        at for at in range(0, max(taken) + 2 * CARRIERS_MAX, CARRIERS_MAX) if at not in taken
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re2._Regexp[str]:
    """Compiles each pattern separately. In a joined pattern an unclosed quote (`\\Qpay`) would
    swallow the next one."""
    return re2.compile(pattern, re2_options())
