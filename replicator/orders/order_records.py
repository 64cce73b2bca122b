"""Records of the topic sluice.balance: operators' orders, and the balancer's placements, answers
and leases.

Each record has a key. A newer record replaces an older one of the same key, and a tombstone deletes
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from balancer.decision.placement import Scope
from balancer.decision.settings import CARRIERS_MAX
from balancer.topic_partition import TopicPartition

DEFAULT_STREAM = "default"
"""Stream of all topics of a route that belong to no named stream."""
UPTIME_MS_MAX = 2**52
"""Bound of uptimes, in milliseconds, which no clock reaches."""

Natural = Annotated[int, Field(ge=0, lt=2**53)]
ByTopic = tuple[tuple[str, tuple[Natural, ...]], ...]


class UnreadableRecord(Exception):
    """The value is no record of ours, or one of a later version of Sluice. Leave it out."""


class Record(BaseModel):
    """Fields of every record.

    Args:
        route: route key, for example west.east; for a lease, the region; for an order about a feed,
            the feed.
        at_ms: time of writing, Unix time in milliseconds.
        who: the writer: an operator as user@host, the balancer by its own name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    route: str
    at_ms: Natural
    who: str

    @property
    def subject(self) -> tuple[str | int, ...]:
        """Identifies the subject of the record within its kind and route."""
        raise NotImplementedError


class Order(Record):
    """An operator's request, valid until it is deleted or expires."""

    why: str = ""
    until_ms: Natural | None = None

    def is_over(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


class Pin(Order):
    """Assigns a partition to a given carrier."""

    kind: Literal["pin"] = "pin"
    topic: str
    partition: Natural
    carrier: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return self.topic, self.partition


class Exclusion(Order):
    """Excludes a carrier from carrying anything."""

    kind: Literal["exclusion"] = "exclusion"
    carrier: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.carrier,)


class Hold(Order):
    """Keeps a stream's partitions on their carriers; new partitions still get one."""

    kind: Literal["hold"] = "hold"
    stream: str = DEFAULT_STREAM

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)


class Pause(Order):
    """Stops carrying a topic, or one partition of it; its ledger entries stay."""

    kind: Literal["pause"] = "pause"
    topic: str
    partition: Natural | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.topic,) if self.partition is None else (self.topic, self.partition)


class Stream(Order):
    """A group of a route's topics with carriers and limits of its own.

    Args:
        topics: RE2 patterns, each matched against the whole name. A topic that matches two streams
            belongs to the stream whose name sorts first.
        first_carrier: number of its first carrier. No other stream of the route has any of the
            CARRIERS_MAX numbers from here on.
        is_paused: True if none of its topics is carried.
        threshold, carriers_min, carriers_max, partitions_max, memory_mib, lag_seconds_max,
            capacity_mib_per_second: replace the route's settings; None keeps the setting of the
            route.
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
    """Manual order to make a new placement of a stream now.

    Args:
        generation: of the placement that the operator has seen; the order is refused upon another.
    """

    kind: Literal["by-hand"] = "by-hand"
    id: str
    stream: str = DEFAULT_STREAM
    scope: Scope
    generation: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.stream,)


class FeedOrder(Order):
    """An order to the loaders of one feed; `route` holds the feed's name."""

    @property
    def feed(self) -> str:
        return self.route


class Freeze(FeedOrder):
    """Stops reading: of a feed, or of what the fields name. Buffers are loaded, intents stay.

    Args:
        cluster, topic, partition: of the partitions to stop; None for all.
        table: the table whose records stop a partition; None for any record.
    """

    kind: Literal["freeze"] = "freeze"
    cluster: str | None = None
    topic: str | None = None
    partition: Natural | None = None
    table: str | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        number = "" if self.partition is None else self.partition
        return self.cluster or "", self.topic or "", number, self.table or ""


class RefreshSchema(FeedOrder):
    """Has loaders fetch the columns of a table again, or of all tables of the feed."""

    kind: Literal["refresh-schema"] = "refresh-schema"
    table: str | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.table or "",)


class SkipReplay(FeedOrder):
    """Drops one block that a loader has to repeat: offsets begin..end-1 of a table in a partition.

    An order about another block than the one that the partition's intent names has no effect.

    Args:
        incarnation: of the partition's log, as its intent says; None for 0.
    """

    kind: Literal["skip-replay"] = "skip-replay"
    cluster: str
    topic: str
    partition: Natural
    table: str
    begin: Natural
    end: Natural
    incarnation: Natural | None = None

    @property
    def subject(self) -> tuple[str | int, ...]:
        return self.cluster, self.topic, self.partition, self.table


class TableOrder(FeedOrder):
    """An order to the keeper of one upsert table of a feed. It may be carried out again by another
    process, and never does harm."""

    table: str

    @property
    def subject(self) -> tuple[str | int, ...]:
        return (self.table,)


class SettleTable(TableOrder):
    """Has the ends of an upsert table's rows brought into the rows now."""

    kind: Literal["settle-table"] = "settle-table"


class RotateTable(TableOrder):
    """Has the state of an upsert table's keys read from the store again, without expired ones."""

    kind: Literal["rotate-table"] = "rotate-table"


class AcceptLaneLosses(TableOrder):
    """Lets stopped partitions of an upsert table go on behind what they have lost.

    Args:
        losses: (number of the lane, kind of its loss, begin, end or None) as the operator was shown
            them: another loss stays a reason to stop.
    """

    kind: Literal["accept-lane-losses"] = "accept-lane-losses"
    losses: tuple[tuple[Natural, str, Natural, Natural | None], ...]


class Answer(Record):
    """The balancer's answer to a manual order.

    Args:
        refused: the reason of a refusal; None if the order was executed.
        generation: of the stream's placement after the order was processed.
        moves: number of partitions that changed their carrier.
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
    """The balancer's placement of one stream.

    Args:
        generation: grows by one with every placement of the stream.
        carriers: numbers of all carriers of the stream, including those without partitions.
        topics: by carrier, its topics, each with its partition numbers.
        state: state that the balancer's next round continues from, and `uptime_ms` (see `Uptime`)
            as of the placement.
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
        """Maps each partition to its carrier."""
        return {
            TopicPartition(topic, number): carrier
            for carrier, topics in self.topics.items()
            for topic, numbers in topics
            for number in numbers
        }

    @property
    def uptime_ms(self) -> int:
        """Uptime of the balancers as of the placement; 0 if an earlier version wrote it."""
        found = self.state.get("uptime_ms")
        return found if isinstance(found, int) and 0 <= found < UPTIME_MS_MAX else 0


class Lease(Record):
    """Lease of the active balancer, renewed periodically; `route` holds its region.

    Args:
        since_ms: start of the balancer process, Unix time in milliseconds.
    """

    kind: Literal["lease"] = "lease"
    since_ms: Natural

    @property
    def subject(self) -> tuple[str | int, ...]:
        return ()


class Uptime(Record):
    """Uptime of a region's balancers, written with each renewal of the lease; `route` holds the
    region.

    Waits that a placement begins go on by it when another balancer takes over: the clocks of their
    machines may differ.

    Args:
        uptime_ms: time for which balancers were active, in total, each by its own monotonic clock.
    """

    kind: Literal["uptime"] = "uptime"
    uptime_ms: Annotated[int, Field(ge=0, lt=UPTIME_MS_MAX)]

    @property
    def subject(self) -> tuple[str | int, ...]:
        return ()


RENEWED = (Lease, Uptime)
"""Records that a balancer writes all the time. They change no order."""

AnyRecord = (
    Pin
    | Exclusion
    | Hold
    | Pause
    | Stream
    | ByHand
    | Freeze
    | RefreshSchema
    | SkipReplay
    | SettleTable
    | RotateTable
    | AcceptLaneLosses
    | Answer
    | Placed
    | Lease
    | Uptime
)
_READER: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])


def carrier_numbers(first_carrier: int) -> range:
    """Returns the carrier numbers of the stream with this first carrier."""
    return range(first_carrier, first_carrier + CARRIERS_MAX)


def key_of(record: AnyRecord) -> bytes:
    """Returns the record's key in the topic."""
    return key(record.kind, record.route, *record.subject)


def key(kind: str, route: str, *subject: str | int) -> bytes:
    """Returns the key of a record, for deleting it."""
    return json.dumps([kind, route, *subject], separators=(",", ":")).encode()


def encode(record: AnyRecord) -> bytes:
    """Returns the record as compact JSON."""
    return record.model_dump_json(exclude_none=True).encode()


def decode(value: bytes) -> AnyRecord:
    """Parses a record's value. Raises UnreadableRecord."""
    try:
        return _READER.validate_json(value)
    except ValidationError as error:
        raise UnreadableRecord(first_mistake(error)) from None


def first_mistake(error: ValidationError) -> str:
    """Returns the first mistake that validation found, with the name of its field."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where or 'the record'}: {first['msg']}"


def by_carrier(where: Iterable[tuple[TopicPartition, int]]) -> dict[int, ByTopic]:
    """Returns a placement in the form of `Placed.topics`: sorted, with partitions grouped by
    topic."""
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
