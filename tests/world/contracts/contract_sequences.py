"""Contract of sequences: what a broker takes from a producer, and what it takes for repeated."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from replicator.kafka.client.cluster import Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from tests.world.contracts.contract import opened, produced, stamped
from tests.world.kafka.log_batch import MAX_SEQUENCE

OTHER_ID = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
EXPECTED = [
    ("an unknown producer begins at 10", ("NONE", 0)),
    ("sequence 12", ("NONE", 2)),
    ("sequence 14", ("NONE", 4)),
    ("sequence 16", ("NONE", 6)),
    ("sequence 18", ("NONE", 8)),
    ("sequence 20", ("NONE", 10)),
    ("again the fifth batch from the end", ("NONE", 2)),
    ("again the sixth batch from the end", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)),
    ("again the last batch", ("NONE", 10)),
    ("a longer batch from a known sequence on", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)),
    ("a batch that leaves one sequence out", ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)),
    ("memory of the producer", (0, 21, -1)),
    ("another producer begins just before the end of the sequences", ("NONE", 12)),
    ("its batch over the end", ("NONE", 14)),
    ("its next batch", ("NONE", 17)),
    ("its last sequence", 3),
    ("again its batch over the end", ("NONE", 14)),
    ("a batch of an epoch that is newer than any marker", ("NONE", 19)),
    ("a batch of the older epoch after that", ("INVALID_PRODUCER_EPOCH", -1)),
    ("a batch that is too large", ("MESSAGE_TOO_LARGE", -1)),
    ("a batch without its end", ("INVALID_RECORD", -1)),
    ("a batch of another topic id", ("UNKNOWN_TOPIC_ID", -1)),
    ("a batch of a partition that is not there", ("UNKNOWN_TOPIC_OR_PARTITION", -1)),
    ("the log's end", 21),
]


async def observed(client: Cluster, topic: str) -> list[tuple[str, Any]]:
    """Returns the answers of a cluster."""
    found: list[tuple[str, Any]] = []
    one = await opened(client, f"{topic}.one")
    two = await opened(client, f"{topic}.two")

    async def produce(text: str, data: bytes, **where: Any) -> None:
        found.append((text, await produced(client, topic, data, **where)))

    async def memory(of: FencedCommitter) -> Any:
        return (await client.producer_states(topic, 0))[of.producer_id]

    await produce("an unknown producer begins at 10", stamped(one, 10))
    for sequence in range(12, 22, 2):
        await produce(f"sequence {sequence}", stamped(one, sequence))
    await produce("again the fifth batch from the end", stamped(one, 12))
    await produce("again the sixth batch from the end", stamped(one, 10))
    await produce("again the last batch", stamped(one, 20))
    await produce("a longer batch from a known sequence on", stamped(one, 20, 3))
    await produce("a batch that leaves one sequence out", stamped(one, 23))
    state = await memory(one)
    text = (state.epoch, state.last_sequence, state.transaction_start)
    found.append(("memory of the producer", text))
    begin = "another producer begins just before the end of the sequences"
    await produce(begin, stamped(two, MAX_SEQUENCE - 2))
    await produce("its batch over the end", stamped(two, MAX_SEQUENCE, 3))
    await produce("its next batch", stamped(two, 2))
    found.append(("its last sequence", (await memory(two)).last_sequence))
    await produce("again its batch over the end", stamped(two, MAX_SEQUENCE, 3))

    newer = await opened(client, f"{topic}.one")
    await produce("a batch of an epoch that is newer than any marker", stamped(newer, 0))
    await produce("a batch of the older epoch after that", stamped(one, 22))
    await produce("a batch that is too large", stamped(newer, 2, size=600_000))
    await produce("a batch without its end", stamped(newer, 2)[:-1])
    await produce("a batch of another topic id", stamped(newer, 2), topic_id=OTHER_ID)
    await produce("a batch of a partition that is not there", stamped(newer, 2), partition=7)
    found.append(("the log's end", await client.log_end(topic, 0)))
    return found
