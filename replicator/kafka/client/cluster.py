"""Client of one Kafka cluster: requests are repeated until they are answered.

Finds the broker to ask: a partition's leader, or the coordinator of a group or transactional id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.offset import OffsetRequest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.client.brokers import Brokers, OpenConnection, Unreachable
from replicator.kafka.client.connection import connect
from replicator.kafka.protocol.error_codes import Code, Verdict, named, verdict
from replicator.kafka.protocol.fetch import FetchPosition, FetchRequest
from replicator.kafka.protocol.group_offsets import PendingOffsetsRequest
from replicator.kafka.protocol.leader_epoch import LeaderEpochRequest
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from replicator.kafka.protocol.producers import DescribeProducersRequest
from replicator.kafka.protocol.topic_id import NO_TOPIC_ID
from replicator.runtime.backoff import Backoff
from replicator.runtime.error_text import error_text

GROUP, TRANSACTION = 0, 1
EARLIEST, LATEST = -2, -1
UNKNOWN_TOPIC = Code.UNKNOWN_TOPIC_OR_PARTITION
MISSING_SECONDS_MAX = 10.0
"""A topic that is missing from the metadata for so long was deleted. A broker that is starting does
not show it either."""
BACKOFF_SECONDS_MAX = 0.5
READ_WAIT_MS = 100
_FROM_THE_RIGHT_BROKER = frozenset({Code.CONCURRENT_TRANSACTIONS, Code.THROTTLING_QUOTA_EXCEEDED})
"""Codes that only the right broker answers with."""


class Answered(Exception):
    """A broker refused, and asking again would not help. Carries its error codes, if any."""

    def __init__(self, question: str, codes: Sequence[int] = ()):
        answer = ", ".join(named(code) for code in codes)
        super().__init__(f"{question}: {answer}" if codes else question)
        self.codes = tuple(codes)


class Fenced(Answered):
    """A newer writer of the same transactional id exists. Discard this one; do not retry."""


class ProducerStateLost(Answered):
    """The broker forgot the writer. Open its id again and acquire anew from the ledger."""


class Forbidden(Answered):
    """The user lacks a right on the cluster. Grant it, then the route continues."""


_RAISED: dict[Verdict, type[Answered]] = {
    Verdict.FENCED: Fenced,
    Verdict.START_OVER: ProducerStateLost,
    Verdict.FORBIDDEN: Forbidden,
}


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A leader's memory of one producer id: its epoch and last sequence (-1: none)."""

    epoch: int
    last_sequence: int
    transaction_start: int = -1
    """First offset of its open transaction in the partition; -1 for none."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The part of a Fetch answer for a single partition.

    Args:
        aborted: producer id and first offset of each aborted transaction.
        records: raw batches; empty at the log's end.
    """

    high_watermark: int
    stable_offset: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview


class Cluster(Brokers):
    """Sends requests to one cluster's brokers.

    Methods wait through elections and restarts, until cancelled.

    Args:
        name: display name of the cluster, such as "west regional".
        settings: its address and security.
        client_id: shown in the brokers' logs and quotas.
        request_timeout_ms: how long one request may take.
        idle_seconds: time after which an idle connection is closed. It must be far below the
            brokers' producer.id.expiration.ms. A writer that comes back late then has to connect
            anew, and to commit entries before it sends.
        open_connection: opens a connection to a host and port.
    """

    def __init__(
        self,
        name: str,
        settings: KafkaCluster,
        *,
        client_id: str = "sluice",
        request_timeout_ms: int = 15_000,
        idle_seconds: float = 540.0,
        open_connection: OpenConnection = connect,
    ):
        super().__init__(
            name,
            settings,
            {
                "client_id": client_id,
                "request_timeout_ms": request_timeout_ms,
                "max_idle_ms": int(idle_seconds * 1000),
            },
            open_connection,
        )
        self._coordinators: dict[tuple[int, str], int] = {}

    # -- asking

    async def ask(
        self,
        find: Callable[[], Awaitable[int | None]],
        request: Any,
        codes: Callable[[Any], Iterable[int]],
        *,
        forget: Callable[[], None] = lambda: None,
        never: frozenset[int] = frozenset(),
        question: str = "",
        purpose: str = "control",
    ) -> Any:
        """Asks until answered, or until an answer shows that asking again is useless.

        Args:
            find: returns the broker to ask (None: not known yet).
            request: a request, or a function that makes it anew for each attempt.
            codes: returns the error codes in a response.
            forget: called when the broker was the wrong one.
            never: codes to give up on although they are normally asked again.
            question: name for error texts, when a function makes the request.
            purpose: of the connection.

        Raises:
            Fenced, ProducerStateLost, Forbidden, Answered: by the verdict on the codes.
        """
        backoff = Backoff(0.004, BACKOFF_SECONDS_MAX, factor=1.6)
        question = question or type(request).__name__.removesuffix("Request")
        while True:
            try:
                node = await find()
                if node is None:
                    raise KafkaError("no leader")
                asked = request() if callable(request) else request
                response = await self.send(node, asked, purpose)
            except (OSError, KafkaError, TimeoutError, KeyError, Unreachable) as error:
                self.trouble = f"{self.name}: {question}: {error_text(error)}"
                forget()
            else:
                bad = [code for code in codes(response) if code]
                if not bad:
                    self.trouble = ""
                    return response
                for code in bad:
                    answer = verdict(code)
                    if answer is not Verdict.AGAIN or code in never:
                        raise _RAISED.get(answer, Answered)(f"{self.name}: {question}", bad)
                self.trouble = f"{self.name}: {question}: {named(bad[0])}"
                if not _FROM_THE_RIGHT_BROKER.issuperset(bad):
                    forget()
            await asyncio.sleep(backoff.jittered(0.5, 1.0))
            backoff.grow()

    async def ask_leader(
        self,
        topic: str,
        partition: int,
        request: Any,
        codes: Callable[[Any], Iterable[int]],
        *,
        never: frozenset[int] = frozenset(),
        question: str = "",
        purpose: str = "control",
    ) -> Any:
        stale = False
        missing_since = 0.0

        async def find() -> int | None:
            nonlocal missing_since
            if stale or self.leader(topic, partition) is None:
                await self.refresh()
            if self.topic(topic) is None:
                missing_since = missing_since or time.monotonic()
                if time.monotonic() - missing_since > MISSING_SECONDS_MAX:
                    raise Answered(f"{self.name}: {topic}", [UNKNOWN_TOPIC])
            leader = self.leader(topic, partition)
            return leader.node if leader else None

        def forget() -> None:
            nonlocal stale
            stale = True

        return await self.ask(
            find, request, codes, forget=forget, never=never, question=question, purpose=purpose
        )

    async def ask_coordinator(
        self,
        kind: int,
        key: str,
        request: Any,
        codes: Callable[[Any], Iterable[int]],
        *,
        never: frozenset[int] = frozenset(),
    ) -> Any:
        """Asks the coordinator of a group (GROUP) or of a transactional id (TRANSACTION)."""

        async def find() -> int | None:
            node = self._coordinators.get((kind, key))
            if node is None:
                found = await self.send(await self.any_node(), FindCoordinatorRequest(key, kind))
                if found.error_code:
                    answer = verdict(found.error_code)
                    if answer is Verdict.FORBIDDEN:
                        raise Forbidden(f"{self.name}: FindCoordinator {key}", [found.error_code])
                    raise KafkaError(f"coordinator of {key}: {named(found.error_code)}")
                if found.coordinator_id not in self.nodes:
                    await self.refresh()
                node = self._coordinators[kind, key] = found.coordinator_id
            return node

        def forget() -> None:
            self._coordinators.pop((kind, key), None)

        return await self.ask(find, request, codes, forget=forget, never=never)

    # -- requests of carriers

    async def log_end(self, topic: str, partition: int) -> int:
        return await self._list_offset(topic, partition, LATEST)

    async def log_start(self, topic: str, partition: int) -> int:
        return await self._list_offset(topic, partition, EARLIEST)

    async def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """Returns the first offset at or after a timestamp; the log's end when there is none."""
        found = await self._list_offset(topic, partition, timestamp_ms)
        return found if found >= 0 else await self.log_end(topic, partition)

    async def _list_offset(self, topic: str, partition: int, timestamp: int) -> int:
        request = OffsetRequest(-1, 0, [(topic, [(partition, timestamp)])])
        response = await self.ask_leader(topic, partition, request, _partition_codes)
        return int(response.topics[0][1][0][3])

    async def epoch_end(
        self, topic: str, partition: int, leader_epoch: int, *, of_leader: int = -1
    ) -> int:
        """Returns a leader epoch's end offset in today's log (KIP-320); -1 for an unknown epoch.

        Args:
            of_leader: leader epoch of the log that is meant (-1: any). One of before is waited for.

        Raises:
            Answered: with code 74 when there is a newer leader.
        """
        request = LeaderEpochRequest(topic, partition, leader_epoch, current_leader_epoch=of_leader)
        response = await self.ask_leader(
            topic,
            partition,
            request,
            lambda r: [row[0] for _, rows in r.topics for row in rows],
            never=frozenset({Code.FENCED_LEADER_EPOCH}),
        )
        return int(response.topics[0][1][0][3])

    async def producer_states(self, topic: str, partition: int) -> dict[int, ProducerState]:
        """Returns the leader's memory of producers, by producer id (DescribeProducers)."""
        response = await self.ask_leader(
            topic,
            partition,
            DescribeProducersRequest(topic, [partition]),
            lambda r: [row[1] for _, rows, *_ in r.topics for row in rows],
        )
        producers = response.topics[0][1][0][3]
        return {row[0]: ProducerState(row[1], row[2], row[5]) for row in producers}

    async def read(self, topic: str, partition: int, offset: int, bytes_max: int) -> bytes:
        """Returns raw batches from an offset on, uncommitted ones too; empty at the log's end.

        Raises:
            Answered: with code 1 when the offset is outside the log.
        """
        fetched = await self.fetch(topic, partition, offset, bytes_max, read_committed=False)
        return bytes(fetched.records)

    async def fetch(
        self, topic: str, partition: int, offset: int, bytes_max: int, *, read_committed: bool
    ) -> Fetched:
        """Fetches from the leader without a session, over a connection for reading.

        A quota on fetched bytes mutes that connection, and none that a writer needs.

        Raises:
            Answered: with code 1 when the offset is outside the log, with 100 when the topic was
                recreated meanwhile.
        """
        asked = self.topic(topic)

        def request() -> FetchRequest:
            nonlocal asked
            known = self.topic(topic)
            asked = asked or known
            if known and asked and known.id != asked.id:
                raise Answered(f"{self.name}: Fetch {topic}", [Code.UNKNOWN_TOPIC_ID])
            return FetchRequest(
                [FetchPosition(known.id if known else NO_TOPIC_ID, partition, offset, bytes_max)],
                wait_ms=READ_WAIT_MS,
                bytes_max=bytes_max,
                read_committed=read_committed,
            )

        response = await self.ask_leader(
            topic, partition, request, _fetch_codes, question="Fetch", purpose="read"
        )
        ((_, (row,), _),) = response.topics
        _, _, high_watermark, stable_offset, _, aborted, _, records, _ = row
        return Fetched(
            high_watermark,
            stable_offset,
            tuple((producer_id, first) for producer_id, first, *_ in aborted or ()),
            memoryview(b"") if records is None else records,
        )

    async def commits(
        self, group: str, partitions: Sequence[tuple[str, Sequence[int]]]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Returns a group's committed offsets by topic and partition, as far as there are any."""
        response = await self.ask_coordinator(
            GROUP,
            group,
            OffsetFetchRequest(group, [(topic, list(some)) for topic, some in partitions]),
            lambda r: [r.error_code] + [row[3] for _, rows in r.topics for row in rows],
        )
        return {
            TopicPartition(topic, partition): OffsetAndMetadata(offset, metadata)
            for topic, rows in response.topics
            for partition, offset, metadata, _ in rows
            if offset >= 0
        }

    async def is_pending(self, group: str, partition: TopicPartition) -> bool:
        """Returns True while a transaction that has no marker yet has put an offset of a group's
        partition, whoever began it."""
        response = await self.ask_coordinator(
            GROUP,
            group,
            PendingOffsetsRequest(group, [(partition.topic, [partition.partition])]),
            lambda r: [
                code
                for it in r.groups.values()
                for code in (it.code, *it.refused.values())
                if code != Code.UNSTABLE_OFFSET_COMMIT
            ],
        )
        return any(it.refused for it in response.groups.values())


def _partition_codes(response: Any) -> list[int]:
    return [row[1] for _, rows in response.topics for row in rows]


def _fetch_codes(response: Any) -> list[int]:
    """Returns the error codes of a Fetch answer.

    A sessionless answer that lacks the partition was cut short by a quota and says nothing about
    the log.
    """
    rows = [row[1] for _, rows, _ in response.topics for row in rows]
    if response.error_code or rows:
        return [response.error_code, *rows]
    return [Code.THROTTLING_QUOTA_EXCEEDED]
