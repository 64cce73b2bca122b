"""Intent effects: records that are produced in the transaction of an intent, so that each is there
exactly once, also after a crash."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from aiokafka.protocol.admin import DescribeConfigsRequest

from aggregator.loader.produced import MESSAGE_BYTES_MAX, Limits, Produced, RecordPlace, packed
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import stamp
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden, ProducerStateLost
from replicator.kafka.client.fenced_committer import FencedCommitter, Identity
from replicator.kafka.protocol.error_codes import NOTHING_APPENDED, Code, Verdict, named, verdict
from replicator.kafka.protocol.produce import Outcome, ProduceRequest, outcomes

MISSING_SECONDS = 10.0
"""Time after which a topic that the metadata do not show is missing: a broker that is starting does
not show it either."""
LIMITS_SECONDS = 5.0
"""Longest wait for the limits of a topic; those that topics are made with are assumed then."""
LETTER_BYTES_MIN = 2048
"""Smallest size to which a dead letter is cut: its coordinates fit, and what tells of the cuts."""
LETTER_BYTES_MAX = 64 << 20
"""Largest dead letter, whatever its topic takes: socket.request.max.bytes is 100 MiB by default."""
TOO_LARGE = frozenset({Code.MESSAGE_TOO_LARGE, Code.RECORD_LIST_TOO_LARGE})
_OF_TOPIC = 2
"""Type of a topic among the resources that have configs."""


class LetterRefused(Exception):
    """A dead letter that its topic will never take. Park the partition of its record."""

    def __init__(self, of: RecordPlace, why: str) -> None:
        super().__init__(why)
        self.of = of


@dataclass(eq=False)
class EffectProducer:
    """Produces records of a feed into the cluster that it reads.

    Args:
        timeout_ms: of a produce request.
        missing_seconds: longest wait for a topic that may be missing.
    """

    cluster: Cluster
    timeout_ms: int = 15_000
    missing_seconds: float = MISSING_SECONDS
    begins: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    """Offset of the first record that was produced into a partition."""
    ends: dict[TopicPartition, int] = field(init=False, default_factory=dict)
    """Offset behind the last one."""
    _sequences: dict[tuple[Identity, TopicPartition], int] = field(init=False, default_factory=dict)
    _limits: dict[str, Limits] = field(init=False, default_factory=dict)

    def effects(
        self, fenced_committer: FencedCommitter, records: Sequence[Produced]
    ) -> Callable[[Identity], Awaitable[None]]:
        """Returns what to do inside the transaction, which may be repeated once it has committed.

        A repeated call adds the partitions again, so that each gets its marker, and sends nothing:
        all batches are in the log, and brokers recognize only the last five of a partition.

        The effects raise LetterRefused.
        """
        by_place: dict[TopicPartition, list[Produced]] = {}
        for each in records:
            by_place.setdefault(TopicPartition(each.topic, each.partition), []).append(each)
        topics = sorted({place.topic for place in by_place})
        is_sent = False

        async def send(identity: Identity) -> None:
            nonlocal is_sent
            self.cluster.watch(topics)
            for topic in topics:
                numbers = sorted(place.partition for place in by_place if place.topic == topic)
                letters = (each.of for each in records if each.topic == topic and each.of)
                await self._add(fenced_committer, topic, numbers, next(letters, None))
            if not is_sent:
                for place, some in sorted(by_place.items()):
                    await self._send(identity, place, some)
            is_sent = True

        return send

    async def _add(
        self,
        fenced_committer: FencedCommitter,
        topic: str,
        partitions: Sequence[int],
        first: RecordPlace | None,
    ) -> None:
        """Adds partitions to the transaction.

        Args:
            first: record of the first dead letter for the topic; None: it is no topic of letters.

        Raises:
            LetterRefused: the topic is missing, or may not be written.
        """
        while True:
            try:
                async with asyncio.timeout(self.missing_seconds):
                    await fenced_committer.add_partitions(topic, partitions)
            except TimeoutError:
                await self.cluster.try_refresh()
                if first is not None and self.cluster.topic(topic) is None:
                    text = f"{topic} is missing; sluice aggregate makes it when it starts"
                    raise LetterRefused(first, text) from None
            except Forbidden as error:
                if first is None:
                    raise
                raise LetterRefused(first, f"{topic} takes no dead letter: {error}") from error
            else:
                return

    async def _send(
        self, identity: Identity, place: TopicPartition, records: Sequence[Produced]
    ) -> None:
        """Produces records of one partition in as many batches as they need. Raises
        LetterRefused."""
        key, first = (identity, place), 0
        now_ms = time.time_ns() // 1_000_000
        while first < len(records):
            limits = self._limits.get(place.topic, Limits())
            sequence = self._sequences.get(key, 0)
            batch = packed(records, first, limits, now_ms)
            if len(batch.data) > MESSAGE_BYTES_MAX // 2 and place.topic not in self._limits:
                self._limits[place.topic] = await self._read_limits(place.topic)
                continue
            stamp(
                batch.data,
                producer_id=identity.producer_id,
                producer_epoch=identity.epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
            try:
                outcome = await self.send_batch(identity, place, batch.data)
            except Answered as answer:
                if not _is_refusal(answer):
                    raise
                self._limits[place.topic] = await self._narrower(
                    limits, answer, records[first], batch.count, len(batch.data)
                )
                continue
            if outcome.base_offset >= 0:
                self.begins.setdefault(place, outcome.base_offset)
                self.ends[place] = outcome.base_offset + batch.count
            first += batch.count
            self._sequences[key] = sequence + batch.count

    async def send_batch(
        self, identity: Identity, place: TopicPartition, batch: bytes | bytearray | memoryview
    ) -> Outcome:
        """Produces a batch of the open transaction, and waits for all replicas.

        Raises ProducerStateLost if it is refused: it may be in the log, and only another producer
        can go on.
        """
        topic, partition = place
        known = self.cluster.topic(topic)
        if known is None:
            await self.cluster.refresh()
            known = self.cluster.topic(topic)
        if known is None:
            raise ProducerStateLost(f"{self.cluster.name}: {topic} is missing")
        request = ProduceRequest(
            {(topic, known.id): [(partition, batch)]},
            timeout_ms=self.timeout_ms,
            transactional_id=identity.transactional_id,
        )
        response = await self.cluster.ask_leader(
            topic,
            partition,
            request,
            lambda r: [outcome.code for outcome in outcomes(r).values()],
            question="Produce",
            purpose="produce",
        )
        (outcome,) = outcomes(response).values()
        if outcome.code:
            raise ProducerStateLost(f"{self.cluster.name}: {topic}: {named(outcome.code)}")
        return outcome

    async def _narrower(
        self, limits: Limits, answer: Answered, first: Produced, count: int, size_bytes: int
    ) -> Limits:
        """Returns limits within which the records of a refused batch may be taken.

        Nothing of it was appended, so the next batch has its sequence.

        Args:
            first: of the records.

        Raises:
            LetterRefused: there are none.
        """
        if TOO_LARGE.issuperset(answer.codes):
            read = await self._read_limits(first.topic)
            bytes_max = min(read.batch_bytes, limits.batch_bytes)
            if bytes_max >= size_bytes:
                # As by a limit of the broker, which cannot be read. Each record alone may fit.
                if count > 1:
                    return replace(limits, several_bytes=size_bytes // 2)
                bytes_max = size_bytes // 2
            if LETTER_BYTES_MIN <= bytes_max < limits.batch_bytes:
                return replace(limits, batch_bytes=bytes_max)
        if Code.INVALID_TIMESTAMP in answer.codes and limits.has_times:
            return replace(limits, has_times=False)
        if count > 1:
            return replace(limits, records=1)
        if first.of is None:
            raise answer
        raise LetterRefused(first.of, f"{first.topic} refuses its dead letter: {answer}")

    async def _read_limits(self, topic: str) -> Limits:
        """Returns the limits of a topic; those that topics are made with if it does not tell."""
        found: dict[str, str] = {}
        # A broker without the API, and a user without the right, tell nothing.
        with suppress(TimeoutError, Answered):
            async with asyncio.timeout(LIMITS_SECONDS):
                response = await self.cluster.ask(
                    self.cluster.any_node,
                    DescribeConfigsRequest([(_OF_TOPIC, topic, ["max.message.bytes"])]),
                    lambda r: [resource[0] for resource in r.resources],
                )
                found = {row[0]: row[1] for it in response.resources for row in it[4]}
        text = found.get("max.message.bytes") or ""
        return Limits(min(int(text) if text.isdecimal() else MESSAGE_BYTES_MAX, LETTER_BYTES_MAX))


def _is_refusal(answer: Answered) -> bool:
    """Returns True for an answer by which the broker will never take these bytes, and has appended
    nothing of them."""
    codes = answer.codes
    return bool(codes) and all(
        verdict(code) is Verdict.POISON and code in NOTHING_APPENDED for code in codes
    )
