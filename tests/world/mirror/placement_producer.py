"""Transactional producer of confluent_kafka in a world, as the balancer's publisher uses it.

Its transactions are real requests of our own client, so brokers and coordinators fence it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiokafka.protocol.transaction import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from confluent_kafka import KafkaError, KafkaException

from aggregator.loader.intent_effects import EffectProducer
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.cluster import (
    TRANSACTION,
    Answered,
    Cluster,
    Fenced,
)
from replicator.kafka.client.fenced_committer import Identity
from tests.world.blocking import wait

BATCH_BYTES = 1 << 20


class PlacementProducer:
    """Producer of one balancer; blocking.

    Args:
        cluster: client of the process.
        options: of confluent_kafka.
        opening, opened: called before it fences older producers, and once it has.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: dict[str, Any],
        *,
        opening: Callable[[], object] = lambda: None,
        opened: Callable[[], object] = lambda: None,
    ) -> None:
        self._cluster, self._opening, self._opened = cluster, opening, opened
        self._id = str(options["transactional.id"])
        self._timeout_ms = int(options["transaction.timeout.ms"])
        self._identity = Identity(self._id, -1, -1)
        self._records: list[tuple[str, bytes, bytes | None]] = []
        self._sequences: dict[str, int] = {}

    def init_transactions(self, timeout: float) -> None:
        self._wait(self._init(), timeout)

    def begin_transaction(self) -> None:
        self._records = []

    def produce(self, topic: str, key: bytes, value: bytes | None) -> None:
        self._records.append((topic, key, value))

    def commit_transaction(self, timeout: float) -> None:
        self._wait(self._commit(), timeout)

    def abort_transaction(self, timeout: float) -> None:
        self._wait(self._end(commit=False), timeout)

    def _wait(self, work: Awaitable[None], timeout: float) -> None:
        async def in_time() -> None:
            async with asyncio.timeout(timeout):
                await work

        try:
            wait(in_time)
        except Fenced as error:
            raise _failure(KafkaError._FENCED, error) from None
        except TimeoutError as error:
            raise _failure(KafkaError._TIMED_OUT, error) from None
        except Answered as error:
            raise _failure(KafkaError._STATE, error) from None

    async def _init(self) -> None:
        with suppress(Exception):
            await self._cluster.open()
        self._opening()
        await asyncio.sleep(0)  # a process that was stopped goes on from here
        response = await self._cluster.ask_coordinator(
            TRANSACTION, self._id, InitProducerIdRequest(self._id, self._timeout_ms), _one
        )
        self._identity = Identity(self._id, response.producer_id, response.producer_epoch)
        self._sequences = {}
        self._opened()

    async def _commit(self) -> None:
        for topic in sorted({topic for topic, *_ in self._records}):
            own = [(key, value) for it, key, value in self._records if it == topic]
            await self._cluster.ask_coordinator(
                TRANSACTION,
                self._id,
                AddPartitionsToTxnRequest(*self._identity, [(topic, [0])]),
                _many,
            )
            self._cluster.watch([topic])
            await EffectProducer(self._cluster, self._timeout_ms).send_batch(
                self._identity, TopicPartition(topic, 0), self._batch(topic, own)
            )
        await self._end(commit=True)

    def _batch(self, topic: str, records: list[tuple[bytes, bytes | None]]) -> bytes:
        sequence = self._sequences.get(topic, 0)
        self._sequences[topic] = sequence + len(records)
        builder = DefaultRecordBatchBuilder(
            2, 0, True, self._identity.producer_id, self._identity.epoch, sequence, BATCH_BYTES
        )
        for at, (key, value) in enumerate(records):
            builder.append(
                at, timestamp=time.time_ns() // 1_000_000, key=key, value=value, headers=[]
            )
        return bytes(builder.build())

    async def _end(self, *, commit: bool) -> None:
        await self._cluster.ask_coordinator(
            TRANSACTION, self._id, EndTxnRequest(*self._identity, commit), _one
        )


def _failure(code: int, error: Exception) -> KafkaException:
    text = f"{type(error).__name__}: {error}"
    is_fatal = code == KafkaError._FENCED
    return KafkaException(
        KafkaError(code, text, fatal=is_fatal, txn_requires_abort=code == KafkaError._STATE)
    )


def _one(response: Any) -> list[int]:
    return [response.error_code]


def _many(response: Any) -> list[int]:
    return [code for _, rows in response.errors for _, code in rows]
