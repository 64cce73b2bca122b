"""What the topic sluice.balance holds: operators' orders, the balancer's placements and answers.

Each record has a key; a newer one of the same key counts instead, and a tombstone takes it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from balancer.decision.placing import Scope
from balancer.plan import TopicPartition

DEFAULT_STREAM = "default"
"""Every topic of a route that belongs to none of its named streams."""

Natural = Annotated[int, Field(ge=0, lt=2**53)]
ByTopic = tuple[tuple[str, tuple[Natural, ...]], ...]


class UnreadableRecord(Exception):
    """Not a record of ours, or one of a later version of Sluice. Leave it out."""


class Record(BaseModel):
    """One record.

    Args:
        route: its key: west.east.
        at_ms: when it was written, since 1970.
        who: wrote it, as user@host; the balancer by its own name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    route: str
    at_ms: Natural
    who: str

    @property
    def subject(self) -> tuple[str | int, ...]:
        """What the record is about, within its kind and route."""
        raise NotImplementedError


class Order(Record):
    """What an operator wants, until it is taken back or its time is over."""

    why: str = ""
    until_ms: Natural | None = None

    def is_over(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


class Pin(Order):
    """A partition is to be on a certain carrier."""

    kind: Literal["pin"] = "pin"
    topic: str
    partition: Natural
    carrier: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return self.topic, self.partition


class Exclusion(Order):
    """A carrier is to have nothing."""

    kind: Literal["exclusion"] = "exclusion"
    carrier: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.carrier,)


class Hold(Order):
    """A stream's partitions stay where they are; new ones get a carrier all the same."""

    kind: Literal["hold"] = "hold"
    stream: str = DEFAULT_STREAM

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)


class Pause(Order):
    """A topic, or one partition of it, is not to be carried; its place in the ledger stays."""

    kind: Literal["pause"] = "pause"
    topic: str
    partition: Natural | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.topic,) if self.partition is None else (self.topic, self.partition)


class Stream(Order):
    """Some of a route's topics, with carriers and limits of their own.

    Args:
        topics: RE2 patterns, each for a whole name. Of two streams that match a topic the one
            whose name comes first has it.
        first_carrier: its carriers are numbered from here; no other stream of the route has any of
            the CARRIERS_MAX that follow.
        is_paused: none of its topics is carried.
        threshold, carriers_min, carriers_max, partitions_max, memory_mib, lag_seconds_max,
        capacity_mib_per_second: what it has instead of its route's.
    """

    kind: Literal["stream"] = "stream"
    name: str
    topics: tuple[str, ...]
    first_carrier: Natural
    is_paused: bool = False
    capacity_mib_per_second: float | None = None
    threshold: float | None = None
    carriers_min: int | None = None
    carriers_max: int | None = None
    partitions_max: int | None = None
    memory_mib: int | None = None
    lag_seconds_max: float | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.name,)


class ByHand(Order):
    """A stream's partitions are to be placed now, upon a placement that the operator has seen.

    Args:
        generation: of that placement.
    """

    kind: Literal["by-hand"] = "by-hand"
    id: str
    stream: str = DEFAULT_STREAM
    scope: Scope
    generation: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)


class Answer(Record):
    """What became of an order by hand.

    Args:
        refused: why; None: it was done.
        generation: of the stream's placement then.
    """

    kind: Literal["answer"] = "answer"
    id: str
    stream: str
    refused: str | None = None
    generation: Natural
    moves: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)


class Placed(Record):
    """Where a stream's partitions are to be: the balancer's word.

    Args:
        generation: one more with every placement of the stream.
        carriers: numbers of all that the stream has, those with nothing too.
        topics: by carrier, what it carries: a topic, and the partitions of it.
        state: what the balancer's next round goes on from.
    """

    kind: Literal["placed"] = "placed"
    stream: str
    generation: Natural
    carriers: tuple[Natural, ...]
    topics: dict[int, ByTopic]
    state: dict[str, Any] = Field(default_factory=dict)

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)

    @property
    def where(self) -> dict[TopicPartition, int]:
        """By partition, its carrier."""
        return {
            TopicPartition(topic, number): carrier
            for carrier, topics in self.topics.items()
            for topic, numbers in topics
            for number in numbers
        }


class Lease(Record):
    """Which balancer acts, said again and again; `route` is its region.

    Args:
        since_ms: when it took the place of the one before.
    """

    kind: Literal["lease"] = "lease"
    since_ms: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return ()


CARRIERS_MAX = 1000
"""Of one stream."""

AnyRecord = Pin | Exclusion | Hold | Pause | Stream | ByHand | Answer | Placed | Lease
_READER: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])


def key_of(record: AnyRecord) -> bytes:
    """The record's key in the log."""
    return key(record.kind, record.route, *record.subject)


def key(kind: str, route: str, *subject: str | int) -> bytes:
    """Of a record that may be there: for taking it back."""
    return json.dumps([kind, route, *subject], separators=(",", ":")).encode()


def encode(record: AnyRecord) -> bytes:
    """Compact JSON."""
    return record.model_dump_json(exclude_none=True).encode()


def decode(value: bytes) -> AnyRecord:
    """Raises UnreadableRecord."""
    try:
        return _READER.validate_json(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnreadableRecord(f"{where or 'it'}: {first['msg']}") from None


def by_carrier(where: Iterable[tuple[TopicPartition, int]]) -> dict[int, ByTopic]:
    """A placement as `Placed.topics` holds it: sorted, partitions of one topic share its name."""
    found: dict[int, list[TopicPartition]] = {}
    for partition, carrier in sorted(where):
        found.setdefault(carrier, []).append(partition)
    return {
        carrier: tuple(
            (topic, tuple(each.partition for each in some))
            for topic, some in groupby(partitions, key=lambda each: each.topic)
        )
        for carrier, partitions in sorted(found.items())
    }
