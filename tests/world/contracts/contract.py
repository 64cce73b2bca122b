"""Contract of a cluster: what its answers are to the requests of carriers, in and out of order.

The world and a real broker have to give the same ones. Where they differ, the world is wrong.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable
from typing import Any
from uuid import UUID

from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import named
from replicator.kafka.protocol.produce import ProduceRequest, outcomes
from tests.replicator.batches.source_batches import encoded, one_record, with_crc
from tests.world.kafka.log_batch import (
    BASE_SEQUENCE_AT,
    PRODUCER_EPOCH_AT,
    PRODUCER_ID_AT,
    TRANSACTIONAL,
)

GROUP = "contract"
PARTITION = 0
EXPECTED = [
    ("another client opens the id", "one epoch more"),
    ("the older holder commits", "INVALID_PRODUCER_EPOCH"),
    ("first batch", ("NONE", 0)),
    ("the same batch again", ("NONE", 0)),
    ("a batch too far ahead", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)),
    ("the next batch", ("NONE", 2)),
    ("a batch with a wrong checksum", ("CORRUPT_MESSAGE", -1)),
    ("the log's end", 4),
    ("last sequence", 3),
    ("offsets are committed", (7, "seven")),
    ("offsets of a topic that is not there", "UNKNOWN_TOPIC_OR_PARTITION"),
    ("offsets after that", (7, "seven")),
    ("the newer holder fences", 5),
    ("a batch of the older epoch", ("INVALID_PRODUCER_EPOCH", -1)),
    ("memory of the fenced producer", "newer epoch, no sequence"),
    ("a batch of the newer epoch that does not begin at 0", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)),
    ("a batch of the newer epoch", ("NONE", 5)),
    ("end of the leader's first epoch", 7),
    ("end of an epoch to come", -1),
    ("reading behind the end", "OFFSET_OUT_OF_RANGE"),
]
"""Each request with its answer."""


async def observed(client: Cluster, topic: str) -> list[tuple[str, Any]]:
    """Returns the answers of a cluster.

    Args:
        client: knows the topic, which is empty and has one partition.
    """
    found: list[tuple[str, Any]] = []
    older = await opened(client, f"{topic}.id")
    newer = await opened(client, f"{topic}.id")
    is_next = (newer.producer_id, newer.epoch) == (older.producer_id, older.epoch + 1)
    found.append(("another client opens the id", "one epoch more" if is_next else "otherwise"))
    found.append(("the older holder commits", await code_of(_commit(older, topic, 1, ""))))

    async def produce(text: str, data: bytes) -> None:
        found.append((text, await produced(client, topic, data)))

    await produce("first batch", stamped(newer, 0))
    await produce("the same batch again", stamped(newer, 0))
    await produce("a batch too far ahead", stamped(newer, 5))
    await produce("the next batch", stamped(newer, 2))
    await produce("a batch with a wrong checksum", stamped(newer, 4)[:-1] + b"\xff")
    found.append(("the log's end", await client.log_end(topic, PARTITION)))
    states = await client.producer_states(topic, PARTITION)
    found.append(("last sequence", states[newer.producer_id].last_sequence))

    await _commit(newer, topic, 7, "seven")
    found.append(("offsets are committed", await _committed(client, topic)))
    missing = _commit(newer, "no-such-topic", 1, "")
    found.append(("offsets of a topic that is not there", await code_of(missing)))
    found.append(("offsets after that", await _committed(client, topic)))

    fencing = await opened(client, f"{topic}.id")
    await fencing.fence(topic, [PARTITION])
    await until_end(client, topic, 5)
    found.append(("the newer holder fences", await client.log_end(topic, PARTITION)))
    await produce("a batch of the older epoch", stamped(newer, 4))
    memory = (await client.producer_states(topic, PARTITION))[fencing.producer_id]
    is_fenced = (memory.epoch, memory.last_sequence) == (fencing.epoch, -1)
    text = "newer epoch, no sequence" if is_fenced else str(memory)
    found.append(("memory of the fenced producer", text))
    await produce("a batch of the newer epoch that does not begin at 0", stamped(fencing, 4))
    await produce("a batch of the newer epoch", stamped(fencing, 0))

    leader = client.leader(topic, PARTITION)
    assert leader is not None
    end = await client.epoch_end(topic, PARTITION, leader.epoch)
    found.append(("end of the leader's first epoch", end))
    later = await client.epoch_end(topic, PARTITION, leader.epoch + 9)
    found.append(("end of an epoch to come", later))
    beyond = client.read(topic, PARTITION, 1000, 1 << 20)
    found.append(("reading behind the end", await code_of(beyond)))
    return found


async def opened(client: Cluster, transactional_id: str) -> FencedCommitter:
    """Opens an id. A broker that has just started may show its first commits late."""
    return await FencedCommitter(client, transactional_id, shown_seconds=60.0).open()


def stamped(
    committer: FencedCommitter,
    sequence: int,
    count: int = 2,
    *,
    size: int = 1,
    is_transactional: bool = False,
    first_ms: int = 1_700_000_000_000,
) -> bytes:
    """Returns a batch of a committer's producer.

    Args:
        size: of each value.
        first_ms: time of the first record; each next one is a millisecond later.
    """
    attributes = TRANSACTIONAL if is_transactional else 0
    records = [one_record(at, b"v" * size, first_ms) for at in range(count)]
    data = bytearray(encoded(records, attributes=attributes))
    struct.pack_into(">q", data, PRODUCER_ID_AT, committer.producer_id)
    struct.pack_into(">h", data, PRODUCER_EPOCH_AT, committer.epoch)
    struct.pack_into(">i", data, BASE_SEQUENCE_AT, sequence)
    return bytes(with_crc(data))


async def produced(
    client: Cluster,
    topic: str,
    data: bytes,
    *,
    topic_id: UUID | None = None,
    partition: int = PARTITION,
    transactional_id: str | None = None,
) -> tuple[str, int]:
    """Returns the error and the base offset of a batch that is sent."""
    known, leader = client.topic(topic), client.leader(topic, PARTITION)
    assert known is not None and leader is not None
    request = ProduceRequest(
        {(topic, topic_id or known.id): [(partition, data)]},
        timeout_ms=5000,
        transactional_id=transactional_id,
    )
    (answer,) = outcomes(await client.send(leader.node, request)).values()
    return named(answer.code), answer.base_offset


async def _commit(committer: FencedCommitter, topic: str, offset: int, metadata: str) -> None:
    await committer.commit({GROUP: [(topic, PARTITION, offset, metadata)]}, lambda *_: True)


async def _committed(client: Cluster, topic: str) -> tuple[int, str]:
    (found,) = (await client.commits(GROUP, [(topic, [PARTITION])])).values()
    return found.offset, found.metadata


async def until_end(client: Cluster, topic: str, end: int) -> None:
    """Waits for a marker, which follows the answer to EndTxn."""
    async with asyncio.timeout(30):
        while await client.log_end(topic, PARTITION) < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def code_of(answer: Awaitable[object]) -> str:
    """Returns the error that a request raises; "done" if none."""
    try:
        await answer
    except Answered as refused:
        return named(refused.codes[0])
    return "done"
