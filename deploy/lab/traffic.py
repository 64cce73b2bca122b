"""Real traffic for tests: every codec, batch size, empty field, and aborted transactions."""

import itertools
import random
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from deploy.lab.kafka import KafkaCluster

Codec = Literal["none", "gzip", "snappy", "lz4", "zstd"]
CODECS: tuple[Codec, ...] = ("none", "gzip", "snappy", "lz4", "zstd")

# A header's value may be null too, although the client's types exclude it.
Headers = list[tuple[str, Any]]


ANY_PARTITION = -1


@dataclass(frozen=True, slots=True)
class TrafficRecord:
    """A record to be produced. `timestamp_ms` None = the time of sending.

    ANY_PARTITION leaves the choice to the client: by key, or at random without a key.
    """

    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Batching, compression and transactions of the produced records.

    Args:
        batch_records: maximum per batch (1 = the tiny batches that cost most).
        transaction_records: 0 = not transactional; otherwise records per transaction, all
            partitions together.
        abort_every: every n-th transaction is aborted; 0 = none.
    """

    codec: Codec = "none"
    batch_records: int = 10_000
    batch_bytes: int = 262_144
    linger_ms: float = 20.0
    transaction_records: int = 0
    abort_every: int = 0


PLAIN = Shape()


def records(
    count: int,
    *,
    partitions: int = 1,
    seed: int = 0,
    origin: str = "",
    value_bytes: int = 200,
    first_timestamp_ms: int | None = None,
) -> Iterator[TrafficRecord]:
    """Yields unique records (by number and `origin`) that cover every unusual case.

    Keys and values are absent, empty or filled; headers absent, empty, repeated, null or filled.
    Values are half random, so that they compress about as well as real ones. The same arguments
    give the same records. With `first_timestamp_ms`, records have timestamps from there on: mostly
    up to 2 ms apart, and sometimes a second forward or back.
    """
    rng = random.Random(f"{seed} {origin}")
    timestamp_ms = first_timestamp_ms
    for number in range(count):
        mark = f"{origin}#{number}".encode()
        if timestamp_ms is not None:
            timestamp_ms += rng.choice((0, 1, 2, 1, 1, 0, 2, -1000, 1001))
        odd = rng.randrange(20)
        # A record without a value is identified by its key.
        value = None if odd == 0 else b"" if odd == 1 else _value(rng, mark, value_bytes)
        key = mark if odd < 12 else b"" if odd < 14 else None
        yield TrafficRecord(
            partition=rng.randrange(partitions),
            key=key,
            value=value,
            headers=_headers(rng, mark),
            timestamp_ms=timestamp_ms,
        )


def send(
    cluster: KafkaCluster,
    topic: str,
    traffic: Iterable[TrafficRecord],
    shape: Shape = PLAIN,
    *,
    is_idempotent: bool = True,
) -> int:
    """Produces all records in order with acks=all. Returns the number that were not aborted.

    Args:
        is_idempotent: False where brokers do not die: nothing is sent twice then, and the producer
            need not wait half a second for an id. Transactions always have one.

    Raises RuntimeError if a record was refused, KafkaException if a transaction failed.
    """
    if shape.transaction_records:
        return _send_transactions(cluster, topic, traffic, shape)
    refused: list[str] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(str(error))

    options = _producer_options(cluster, shape)
    if not is_idempotent:
        options |= {"enable.idempotence": False, "max.in.flight.requests.per.connection": 1}
    producer = Producer({**options, "on_delivery": on_delivery})
    sent = _put(producer, topic, traffic)
    if producer.flush(120) or refused:
        raise RuntimeError(f"{topic}: not all records were taken: {refused[:3]}")
    return sent


def _send_transactions(
    cluster: KafkaCluster, topic: str, traffic: Iterable[TrafficRecord], shape: Shape
) -> int:
    options = {"transactional.id": f"{topic}.{uuid.uuid4()}", "transaction.timeout.ms": 60_000}

    def initialized() -> Producer:
        producer = Producer({**_producer_options(cluster, shape), **options})
        # A producer that has no connection yet asks for its coordinator again after half a second.
        with suppress(KafkaException):
            producer.list_topics(topic, timeout=30)
        producer.init_transactions(60)
        return producer

    producer = initialized()
    committed = 0
    left = iter(traffic)
    for number in itertools.count(1):
        part = list(itertools.islice(left, shape.transaction_records))
        if not part:
            # A commit is answered before its markers are written. InitProducerId for the same id
            # returns only after them.
            initialized()
            return committed
        producer.begin_transaction()
        _put(producer, topic, part)
        if shape.abort_every and number % shape.abort_every == 0:
            # Without the flush the records would never reach the broker.
            producer.flush(60)
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed += len(part)
    raise AssertionError("count() does not end")


def _put(producer: Producer, topic: str, traffic: Iterable[TrafficRecord]) -> int:
    sent = 0
    for record in traffic:
        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    record.partition,
                    timestamp=record.timestamp_ms or 0,
                    headers=record.headers,
                )
                break
            except BufferError:
                producer.poll(0.1)
        sent += 1
        if sent % 1000 == 0:
            producer.poll(0)
    return sent


def _producer_options(cluster: KafkaCluster, shape: Shape) -> dict[str, str | int | float]:
    return {
        **cluster.librdkafka_options(),
        "acks": "all",
        "enable.idempotence": True,
        "compression.type": shape.codec,
        "batch.num.messages": shape.batch_records,
        "batch.size": shape.batch_bytes,
        "linger.ms": shape.linger_ms,
        "queue.buffering.max.messages": 200_000,
        # Errors arrive as exceptions; warnings of a cluster that has just started are irrelevant.
        "log_level": 3,
    }


def _value(rng: random.Random, mark: bytes, size_bytes: int) -> bytes:
    filling = rng.randbytes(size_bytes // 2) + bytes(size_bytes)
    return mark + filling[: max(0, size_bytes - len(mark))]


def _headers(rng: random.Random, mark: bytes) -> Headers | None:
    choices: tuple[Headers | None, ...] = (
        None,
        [("mark", mark)],
        [("same", b"1"), ("same", b"2"), ("", b"")],
        [("null", None), ("empty", b""), ("grüße", "größer".encode())],
    )
    return choices[rng.choice((0, 0, 0, 1, 1, 2, 3))]
