"""Contract of reading: offsets by time and isolation, transactions, fetch sessions, epochs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.transaction import EndTxnRequest

from replicator.kafka.client.cluster import TRANSACTION, Cluster
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from replicator.kafka.protocol.producers import DescribeProducersRequest
from tests.world.contracts.contract import opened, produced, stamped, until_end
from tests.world.contracts.contract_sequences import OTHER_ID

EARLIEST, LATEST = -2, -1
EXPECTED = [
    ("an empty log: begin, end, end of what is committed", (0, 0, 0)),
    ("a time in an empty log", -1),
    (
        "three records, and two of an open transaction: begin, end, end of what is committed",
        (0, 5, 3),
    ),
    ("the last record that is old enough", 0),
    ("a time within a batch", 2),
    ("a time behind all records", -1),
    ("read from 0, uncommitted too", ("NONE", 5, 3, [], 2)),
    ("read from 0, committed", ("NONE", 5, 3, [], 1)),
    ("read from the middle of a batch, committed", ("NONE", 5, 3, [], 1)),
    ("read from the open transaction on, committed", ("NONE", 5, 3, [], 0)),
    ("after the abort: begin, end, end of what is committed", (0, 6, 6)),
    ("read aborted records, committed", ("NONE", 6, 6, [3], 2)),
    ("read from 0 to the aborted ones, committed", ("NONE", 6, 6, [3], 3)),
    ("read from the end", ("NONE", 6, 6, [], 0)),
    ("read behind the end", "OFFSET_OUT_OF_RANGE"),
    ("read before the begin", "OFFSET_OUT_OF_RANGE"),
    ("read in an epoch to come", "UNKNOWN_LEADER_EPOCH"),
    ("read another topic id", "UNKNOWN_TOPIC_ID"),
    ("read a partition that is not there", "UNKNOWN_TOPIC_OR_PARTITION"),
    ("a session begins", ("NONE", "id", 1)),
    ("the session without news", ("NONE", "id", 0)),
    ("the session at another offset", ("NONE", "id", 1)),
    ("the session in an epoch that is over", ("error 71", "none", 0)),
    ("the session without the partition", ("NONE", "none", 0)),
    ("a session that nobody has", ("error 70", "none", 0)),
    ("end of an epoch, asked in an epoch to come", ("UNKNOWN_LEADER_EPOCH", -1, -1)),
    ("end of the epoch, asked in it", ("NONE", 0, 6)),
    ("end of an epoch before the first", ("NONE", -1, -1)),
    ("end of an epoch of a partition that is not there", ("UNKNOWN_TOPIC_OR_PARTITION", -1, -1)),
    ("producers of a partition that is not there", "UNKNOWN_TOPIC_OR_PARTITION"),
    ("offsets of a partition that is not there", ("UNKNOWN_TOPIC_OR_PARTITION", -1)),
]


async def observed(client: Cluster, topic: str) -> list[tuple[str, Any]]:
    """Returns the answers of a cluster."""
    reading = _Reading(client, topic)
    await reading.offsets()
    await reading.fetches()
    await reading.session()
    await reading.epochs()
    return reading.found


class _Reading:
    """Questions about one topic, in order."""

    def __init__(self, client: Cluster, topic: str) -> None:
        self._client, self._topic = client, topic
        self.found: list[tuple[str, Any]] = []
        known, leader = client.topic(topic), client.leader(topic, 0)
        assert known is not None and leader is not None
        self._id, self._node, self._epoch = known.id, leader.node, leader.epoch
        # Older records would stand in a segment of their own, and a read ends with its segment.
        self._first_ms = int(time.time() * 1000)

    def _note(self, text: str, answer: Any) -> None:
        self.found.append((text, answer))

    async def _ask(self, request: Any) -> Any:
        return await self._client.send(self._node, request)

    # -- offsets

    async def offsets(self) -> None:
        client, topic = self._client, self._topic
        self._note("an empty log: begin, end, end of what is committed", await self._ends())
        self._note("a time in an empty log", await self._listed(self._first_ms))
        writer = await opened(client, f"{topic}.id")
        await produced(client, topic, stamped(writer, 0, 3, first_ms=self._first_ms))
        identity = (writer.transactional_id, writer.producer_id, writer.epoch)
        await writer.add_partitions(topic, [0])
        data = stamped(writer, 3, is_transactional=True, first_ms=self._first_ms)
        await produced(client, topic, data, transactional_id=writer.transactional_id)
        text = "three records, and two of an open transaction"
        self._note(f"{text}: begin, end, end of what is committed", await self._ends())
        self._note("the last record that is old enough", await self._listed(self._first_ms))
        self._note("a time within a batch", await self._listed(self._first_ms + 2))
        self._note("a time behind all records", await self._listed(self._first_ms + 3))
        self._note("read from 0, uncommitted too", await self._read(0, read_committed=False))
        self._note("read from 0, committed", await self._read(0))
        self._note("read from the middle of a batch, committed", await self._read(1))
        self._note("read from the open transaction on, committed", await self._read(3))
        end = EndTxnRequest(*identity, False)
        await client.ask_coordinator(TRANSACTION, writer.transactional_id, end, lambda _: [])
        await until_end(client, topic, 6)
        self._note("after the abort: begin, end, end of what is committed", await self._ends())

    async def _ends(self) -> tuple[int, int, int]:
        return (
            await self._listed(EARLIEST),
            await self._listed(LATEST),
            await self._listed(LATEST, isolation=1),
        )

    async def _listed(self, time_ms: int, isolation: int = 0) -> int:
        answer = await self._ask(OffsetRequest(-1, isolation, [(self._topic, [(0, time_ms)])]))
        return int(answer.topics[0][1][0][3])

    # -- fetches without a session

    async def fetches(self) -> None:
        self._note("read aborted records, committed", await self._read(3))
        self._note("read from 0 to the aborted ones, committed", await self._read(0))
        self._note("read from the end", await self._read(6))
        self._note("read behind the end", (await self._read(7))[0])
        self._note("read before the begin", (await self._read(-5))[0])
        later = await self._read(0, epoch=self._epoch + 1)
        self._note("read in an epoch to come", later[0])
        self._note("read another topic id", (await self._read(0, topic=OTHER_ID))[0])
        self._note("read a partition that is not there", (await self._read(0, partition=7))[0])

    async def _read(
        self,
        offset: int,
        *,
        read_committed: bool = True,
        topic: UUID | None = None,
        partition: int = 0,
        epoch: int = -1,
    ) -> tuple[str, int, int, list[int], int]:
        """Returns error, high watermark, last stable offset, begins of aborted transactions, and
        how many batches there are."""
        at = FetchPosition(topic or self._id, partition, offset, 1 << 20, epoch)
        request = FetchRequest([at], wait_ms=0, bytes_max=1 << 20, read_committed=read_committed)
        ((_, (row,), _),) = (await self._ask(request)).topics
        _, code, high, stable, _, aborted, _, records, _ = row
        begins = [first for _, first, *_ in aborted or ()]
        return named(code), high, stable, begins, _batches(records or b"")

    # -- fetches of a session

    async def session(self) -> None:
        at = FetchPosition(self._id, 0, 0, 1 << 20)
        first = await self._in_session((0, 0), [at])
        self._note("a session begins", _shown(first))
        number = first.session_id
        at_end = FetchPosition(self._id, 0, 6, 1 << 20)
        await self._in_session((number, 1), [at_end])
        nothing = await self._in_session((number, 2), [])
        self._note("the session without news", _shown(nothing))
        again = await self._in_session((number, 3), [at])
        self._note("the session at another offset", _shown(again))
        over = await self._in_session((number, 3), [])
        self._note("the session in an epoch that is over", _shown(over))
        without = await self._in_session((number, 4), [], forgotten=[(self._id, 0)])
        self._note("the session without the partition", _shown(without))
        unknown = await self._in_session((number + 12345, 1), [])
        self._note("a session that nobody has", _shown(unknown))

    async def _in_session(
        self,
        session: tuple[int, int],
        positions: Iterable[FetchPosition],
        forgotten: Iterable[tuple[UUID, int]] = (),
    ) -> Any:
        return await self._ask(
            FetchRequest(
                positions,
                session=session,
                forgotten=forgotten,
                wait_ms=0,
                bytes_max=1 << 20,
                read_committed=True,
            )
        )

    # -- epochs, producers

    async def epochs(self) -> None:
        epoch = self._epoch
        text = "end of an epoch, asked in an epoch to come"
        self._note(text, await self._epoch_end(epoch, current=epoch + 1))
        self._note("end of the epoch, asked in it", await self._epoch_end(epoch, current=epoch))
        self._note("end of an epoch before the first", await self._epoch_end(-1))
        text = "end of an epoch of a partition that is not there"
        self._note(text, await self._epoch_end(epoch, partition=7))
        answer = await self._ask(DescribeProducersRequest(self._topic, [7]))
        code = answer.topics[0][1][0][1]
        self._note("producers of a partition that is not there", named(code))
        answer = await self._ask(OffsetRequest(-1, 0, [(self._topic, [(7, LATEST)])]))
        row = answer.topics[0][1][0]
        self._note("offsets of a partition that is not there", (named(row[1]), row[3]))

    async def _epoch_end(
        self, epoch: int, *, current: int = -1, partition: int = 0
    ) -> tuple[str, int, int]:
        request = LeaderEpochRequest(self._topic, partition, epoch, current_leader_epoch=current)
        code, _, found, end = (await self._ask(request)).topics[0][1][0]
        return named(code), found, end


def _shown(answer: Any) -> tuple[str, str, int]:
    """Returns error, whether there is a session, and how many partitions the answer names."""
    count = sum(len(rows) for _, rows, _ in answer.topics)
    return named(answer.error_code), "id" if answer.session_id else "none", count


def _batches(records: Any) -> int:
    count, at = 0, 0
    while at < len(records):
        at += 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        count += 1
    return count
