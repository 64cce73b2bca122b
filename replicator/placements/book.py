"""All that the topic sluice.balance says at one time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

import re2

from balancer.plan import TopicPartition
from replicator.config.settings import re2_options
from replicator.placements.records import (
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
class Book:
    """The records that count, by their keys.

    Orders whose time is over are still in here; each question says as of when it is asked.
    """

    records: Mapping[bytes, AnyRecord] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, told: Iterable[tuple[bytes, AnyRecord | None]]) -> Book:
        """The book once these came; None takes a record back."""
        records = dict(self.records)
        for key, record in told:
            if record is None:
                records.pop(key, None)
            else:
                records[key] = record
        return Book(records)

    def of(self, kind: type[Kind], route: str, now_ms: int) -> list[Kind]:
        """The route's records of a kind, but for orders that are over."""
        of_kind: list[Kind] = self._by_kind.get((kind, route), [])
        return [
            record
            for record in of_kind
            if not (isinstance(record, Order) and record.is_over(now_ms))
        ]

    def orders(self, route: str, now_ms: int) -> list[Order]:
        """All that operators have ordered of the route, but for what is over."""
        return [
            record
            for _, record in sorted(self.records.items())
            if isinstance(record, Order) and record.route == route and not record.is_over(now_ms)
        ]

    def streams(self, route: str, now_ms: int) -> list[Stream]:
        """The named ones, by name."""
        return sorted(self.of(Stream, route, now_ms), key=lambda stream: stream.name)

    def placed(self, route: str, stream: str, now_ms: int = 0) -> Placed | None:
        found = (each for each in self.of(Placed, route, now_ms) if each.stream == stream)
        return next(found, None)

    def pins(self, route: str, now_ms: int) -> dict[TopicPartition, int]:
        return {
            TopicPartition(each.topic, each.partition): each.carrier
            for each in self.of(Pin, route, now_ms)
        }

    def excluded(self, route: str, now_ms: int) -> dict[int, str]:
        """By carrier, why."""
        return {each.carrier: each.why for each in self.of(Exclusion, route, now_ms)}

    def hold(self, route: str, stream: str, now_ms: int) -> Hold | None:
        found = (each for each in self.of(Hold, route, now_ms) if each.stream == stream)
        return next(found, None)

    def lease(self, region: str) -> Lease | None:
        """Of the balancer that acts, or acted last."""
        return next(iter(self.of(Lease, region, 0)), None)

    def by_hand(self, route: str, stream: str, now_ms: int) -> ByHand | None:
        found = (each for each in self.of(ByHand, route, now_ms) if each.stream == stream)
        return next(found, None)

    def answer(self, route: str, stream: str, order: str) -> Answer | None:
        """To the order by hand of that id."""
        answers = (each for each in self.of(Answer, route, 0) if each.stream == stream)
        return next((each for each in answers if each.id == order), None)

    def streams_of(self, route: str, topics: Iterable[str], now_ms: int) -> dict[str, str]:
        """By topic, the stream that it belongs to, paused or not."""
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
        """By stream, which of a route's partitions are to be carried in it: paused ones are left
        out. Streams with none are in it too."""
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
    """Where the carriers of one more stream of a route are numbered from."""
    taken = {each.first_carrier for each in streams} | {0}
    return next(
        at for at in range(0, max(taken) + 2 * CARRIERS_MAX, CARRIERS_MAX) if at not in taken
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re2._Regexp[str]:
    """Each pattern by itself: joined, one that is not closed (`\\Qpay`) would swallow the next."""
    return re2.compile(pattern, re2_options())
