"""Fetch: batches up to the high watermark or the last stable offset, with and without a session.

Source: FetchSession, FetchManager and FetchContext (KIP-227), ReplicaManager.fetchMessages. Our
requests name no last fetched epoch, so no answer names a diverging one (Partition.readRecords).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from aiokafka.protocol.types import Int16, Int32, Int64, UnsignedVarInt32

from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.fetch import FetchResponse
from tests.world.kafka.broker import Broker
from tests.world.kafka.log_batch import Batch, Refused
from tests.world.kafka.partition import Partition
from tests.world.kafka.requests import Asked

FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_FETCH_SESSION_EPOCH = 71
EPOCH_MAX = 0x7FFFFFFF
Place = tuple[UUID, int]


@dataclass(slots=True)
class FetchedPartition:
    """Position of one partition, and what the last answer of its session told about it."""

    epoch: int
    offset: int
    bytes_max: int
    told: tuple[int, int] | None = None
    """High watermark and log start."""


@dataclass(slots=True)
class Session:
    """Fetch session of a client."""

    id: int
    epoch: int = 0
    wanted: dict[Place, FetchedPartition] = field(default_factory=dict)


@dataclass(slots=True)
class Row:
    """Answer for one partition."""

    number: int
    code: int = Code.NONE
    high_watermark: int = -1
    stable_offset: int = -1
    start: int = -1
    aborted: list[tuple[int, int]] | None = None
    records: bytes = b""


async def fetch(broker: Broker, asked: Asked) -> Any:
    body = asked.body
    try:
        session = _session(broker, body)
    except Refused as refused:
        return _encoded(refused.code, 0, {})
    if broker.throttle_ms:
        # A quota that is used up: nothing is read, and no session begins (getThrottledResponse).
        session_id = session.id if body.session_epoch > 0 else 0
        return _encoded(Code.NONE, session_id, {}, broker.throttle_ms)
    is_new, is_kept, epoch = body.session_epoch == 0, session.id > 0, session.epoch
    loop = broker.cluster.network.loop
    give_up_at = loop.time() + body.max_wait_ms / 1000
    while True:
        rows = _read(broker, session, body)
        has_news = any(row.code or row.records for row in rows.values())
        left = give_up_at - loop.time()
        if has_news or left <= 0 or not session.wanted:
            break
        await _any_change(broker, session.wanted, left)
    if not is_kept:
        return _encoded(Code.NONE, 0, rows)
    if session.epoch != epoch:
        # Another request of the session came meanwhile.
        return _encoded(INVALID_FETCH_SESSION_EPOCH, session.id, {})
    shown = {}
    for place, row in rows.items():
        wanted = session.wanted.get(place, FetchedPartition(-1, 0, 0))
        told = (row.high_watermark, row.start)
        # A change of the last stable offset alone is not told.
        if is_new or row.code or row.records or wanted.told != told:
            shown[place] = row
        wanted.told = None if row.code else told
    return _encoded(Code.NONE, session.id, shown)


def _session(broker: Broker, body: Any) -> Session:
    sessions: dict[int, Session] = broker.memory.setdefault("fetch sessions", {})
    positions = {
        (topic, number): FetchedPartition(epoch, offset, bytes_max)
        for topic, rows, _ in body.topics
        for number, epoch, offset, _, _, bytes_max, _ in rows
    }
    if body.session_epoch == -1:
        sessions.pop(body.session_id, None)
        return Session(0, 0, positions)
    if body.session_epoch == 0:
        sessions.pop(body.session_id, None)
        number = broker.memory["last session"] = broker.memory.get("last session", 0) + 1
        session = sessions[number] = Session(number, 1, positions)
        return session
    found = sessions.get(body.session_id)
    if found is None:
        raise Refused(FETCH_SESSION_ID_NOT_FOUND)
    if found.epoch != body.session_epoch:
        raise Refused(INVALID_FETCH_SESSION_EPOCH)
    found.epoch = 1 if found.epoch == EPOCH_MAX else found.epoch + 1
    for topic, numbers, _ in body.forgotten_topics_data:
        for number in numbers:
            found.wanted.pop((topic, number), None)
    for place, wanted in positions.items():
        before = found.wanted.get(place)
        wanted.told = before.told if before else None
        found.wanted[place] = wanted
    if not found.wanted:
        del sessions[found.id]
        return Session(0)
    return found


def _read(broker: Broker, session: Session, body: Any) -> dict[Place, Row]:
    """Reads all partitions of a session within the limit of an answer."""
    rows: dict[Place, Row] = {}
    left, is_first = body.max_bytes, True
    for place, wanted in session.wanted.items():
        limit = min(wanted.bytes_max, broker.cluster.fetch_bytes_max, left)
        read_committed = body.isolation_level == 1
        row = _read_one(broker, place, wanted, read_committed, _Room(limit, is_first))
        rows[place] = row
        left = max(0, left - len(row.records))
        is_first = is_first and not row.records
    return rows


class _Room(NamedTuple):
    """Room for a partition's records in an answer, in bytes (ReplicaManager.readFromLog).

    Args:
        is_first: no other partition has records in it. Then a first batch may be larger.
    """

    size: int
    is_first: bool

    def filled(self, batches: Iterable[Batch]) -> list[Batch]:
        """Returns the batches that begin within the room; the last one may be cut."""
        found: list[Batch] = []
        size = 0
        for batch in batches:
            is_kept = size < self.size if found else self.is_first or len(batch.data) <= self.size
            if not is_kept:
                break
            found.append(batch)
            size += len(batch.data)
        return found

    def cut(self, batches: list[Batch]) -> bytes:
        """Returns the bytes of these batches that an answer has."""
        return b"".join(it.data for it in batches)[: max(self.size, len(batches[0].data))]


def _read_one(
    broker: Broker, place: Place, wanted: FetchedPartition, read_committed: bool, room: _Room
) -> Row:
    topic, number = place
    partition = broker.cluster.partition(topic, number)
    if partition is None:
        is_known = broker.cluster.knows(topic)
        return Row(number, Code.UNKNOWN_TOPIC_OR_PARTITION if is_known else Code.UNKNOWN_TOPIC_ID)
    try:
        partition.checked_epoch(broker.node, wanted.epoch, leads=False)
    except Refused as refused:
        return Row(number, refused.code)
    log = partition.logs[broker.node]
    row = Row(number, Code.NONE, log.high_watermark, log.stable_offset, log.start)
    limit = log.stable_offset if read_committed else log.high_watermark
    if not log.start <= wanted.offset <= log.end:
        return Row(number, Code.OFFSET_OUT_OF_RANGE)
    batches = room.filled(log.from_offset(wanted.offset, limit))
    if batches:
        row.records = room.cut(batches)
        if read_committed:
            row.aborted = log.aborted_between(wanted.offset, batches[-1].end)
    elif read_committed:
        row.aborted = []
    return row


async def _any_change(
    broker: Broker, places: dict[Place, FetchedPartition], seconds: float
) -> None:
    found = [broker.cluster.partition(*place) for place in places]
    partitions: list[Partition] = [it for it in found if it is not None]
    loop = broker.cluster.network.loop
    woken = loop.create_future()
    for partition in partitions:
        partition.watchers.append(woken)
    try:
        async with asyncio.timeout(seconds):
            await woken
    except TimeoutError:
        pass
    finally:
        for partition in partitions:
            if woken in partition.watchers:
                partition.watchers.remove(woken)


def _encoded(code: int, session_id: int, rows: dict[Place, Row], throttle_ms: int = 0) -> bytes:
    """Returns the answer as bytes: our schema cannot write record batches."""
    by_topic: dict[UUID, list[Row]] = {}
    for (topic, _), row in rows.items():
        by_topic.setdefault(topic, []).append(row)
    parts = [
        Int32.encode(throttle_ms),
        Int16.encode(code),
        Int32.encode(session_id),
        UnsignedVarInt32.encode(len(by_topic) + 1),
    ]
    for topic, some in by_topic.items():
        parts += [topic.bytes, UnsignedVarInt32.encode(len(some) + 1)]
        for row in some:
            parts += [
                Int32.encode(row.number),
                Int16.encode(row.code),
                Int64.encode(row.high_watermark),
                Int64.encode(row.stable_offset),
                Int64.encode(row.start),
            ]
            if row.aborted is None:
                parts.append(UnsignedVarInt32.encode(0))
            else:
                parts.append(UnsignedVarInt32.encode(len(row.aborted) + 1))
                for producer_id, first in row.aborted:
                    parts += [Int64.encode(producer_id), Int64.encode(first), b"\0"]
            parts += [
                Int32.encode(-1),
                UnsignedVarInt32.encode(len(row.records) + 1),
                row.records,
                b"\0",
            ]
        parts.append(b"\0")
    parts.append(b"\0")
    return b"".join(parts)


HANDLERS = {FetchResponse.API_KEY: fetch}
