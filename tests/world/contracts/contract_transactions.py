"""Contract of transactions: what their coordinators answer, in and out of order."""

from __future__ import annotations

from typing import Any

from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from replicator.kafka.client.cluster import GROUP, TRANSACTION, Cluster
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code, named
from tests.world.contracts.contract import opened, produced, stamped, until_end

EXPECTED = [
    ("the end of a transaction that did not begin", "INVALID_TXN_STATE"),
    ("offsets of a group that did not join", "INVALID_TXN_STATE"),
    ("a group joins", "NONE"),
    ("the group joins again", "NONE"),
    ("offsets of the group", "NONE"),
    ("offsets of an older epoch", "INVALID_PRODUCER_EPOCH"),
    ("offsets of another producer id", "INVALID_PRODUCER_ID_MAPPING"),
    ("the offsets before the end", []),
    ("another client opens the id meanwhile", "CONCURRENT_TRANSACTIONS"),
    ("epochs further once it is open", 2),
    ("the offsets after that", []),
    ("the older holder ends its transaction", "INVALID_PRODUCER_EPOCH"),
    ("the older holder joins a group", "INVALID_PRODUCER_EPOCH"),
    ("a producer id that nobody has", "INVALID_PRODUCER_ID_MAPPING"),
    ("a topic that is not there joins", "UNKNOWN_TOPIC_OR_PARTITION"),
    ("a partition joins", "NONE"),
    ("a transactional batch", ("NONE", 0)),
    ("a plain batch of the same producer", ("INVALID_TXN_STATE", -1)),
    ("begin of its transaction", 0),
    ("an abort", "NONE"),
    ("the abort again", "NONE"),
    ("a commit after the abort", "INVALID_TXN_STATE"),
    ("the log's end after the marker", 3),
    ("memory after the marker", (2, 1, -1)),
    ("a plain batch after the marker", ("NONE", 3)),
    ("a time limit that is too long", "error 50"),
]


async def observed(client: Cluster, topic: str) -> list[tuple[str, Any]]:
    """Returns the answers of a cluster."""
    found: list[tuple[str, Any]] = []
    name, group = f"{topic}.id", f"{topic}.group"
    one = await opened(client, name)

    def identity(of: FencedCommitter) -> tuple[str, int, int]:
        return (name, of.producer_id, of.epoch)

    def offsets(producer_id: int, epoch: int) -> TxnOffsetCommitRequest:
        rows = [(topic, [(0, 7, "seven")])]
        return TxnOffsetCommitRequest(name, group, producer_id, epoch, rows)

    async def ask(text: str, request: Any, *, kind: int = TRANSACTION) -> None:
        key = name if kind == TRANSACTION else group
        found.append((text, await _code(client, kind, key, request)))

    await ask("the end of a transaction that did not begin", EndTxnRequest(*identity(one), True))
    text = "offsets of a group that did not join"
    await ask(text, offsets(one.producer_id, one.epoch), kind=GROUP)
    await ask("a group joins", AddOffsetsToTxnRequest(*identity(one), group))
    await ask("the group joins again", AddOffsetsToTxnRequest(*identity(one), group))
    await ask("offsets of the group", offsets(one.producer_id, one.epoch), kind=GROUP)
    await ask("offsets of an older epoch", offsets(one.producer_id, one.epoch - 1), kind=GROUP)
    await ask("offsets of another producer id", offsets(987_654, 0), kind=GROUP)
    found.append(("the offsets before the end", await _committed(client, group, topic)))
    await ask("another client opens the id meanwhile", InitProducerIdRequest(name, 30_000))
    two = await opened(client, name)
    found.append(("epochs further once it is open", two.epoch - one.epoch))
    found.append(("the offsets after that", await _committed(client, group, topic)))
    await ask("the older holder ends its transaction", EndTxnRequest(*identity(one), True))
    await ask("the older holder joins a group", AddOffsetsToTxnRequest(*identity(one), group))
    nobody = (name, 987_654, 0)
    await ask("a producer id that nobody has", AddOffsetsToTxnRequest(*nobody, group))
    nowhere = AddPartitionsToTxnRequest(*identity(two), [("no-such-topic", [0])])
    await ask("a topic that is not there joins", nowhere)
    await ask("a partition joins", AddPartitionsToTxnRequest(*identity(two), [(topic, [0])]))

    async def produce(text: str, sequence: int, *, is_transactional: bool) -> None:
        data = stamped(two, sequence, is_transactional=is_transactional)
        transactional_id = name if is_transactional else None
        sent = produced(client, topic, data, transactional_id=transactional_id)
        found.append((text, await sent))

    await produce("a transactional batch", 0, is_transactional=True)
    await produce("a plain batch of the same producer", 2, is_transactional=False)
    state = (await client.producer_states(topic, 0))[two.producer_id]
    found.append(("begin of its transaction", state.transaction_start))
    await ask("an abort", EndTxnRequest(*identity(two), False))
    await until_end(client, topic, 3)
    await ask("the abort again", EndTxnRequest(*identity(two), False))
    await ask("a commit after the abort", EndTxnRequest(*identity(two), True))
    found.append(("the log's end after the marker", await client.log_end(topic, 0)))
    state = (await client.producer_states(topic, 0))[two.producer_id]
    text = (state.epoch - one.epoch, state.last_sequence, state.transaction_start)
    found.append(("memory after the marker", text))
    await produce("a plain batch after the marker", 2, is_transactional=False)
    await ask("a time limit that is too long", InitProducerIdRequest(name, 2_000_000_000))
    return found


async def _code(client: Cluster, kind: int, key: str, request: Any) -> str:
    """Returns the error of a request, which is asked again while its coordinator is only busy."""
    busy = {Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE, Code.NOT_COORDINATOR}
    if not isinstance(request, InitProducerIdRequest):
        busy.add(Code.CONCURRENT_TRANSACTIONS)
    found: list[int] = []

    def codes(answer: Any) -> list[int]:
        errors = getattr(answer, "errors", None)
        found.append(errors[0][1][0][1] if errors else answer.error_code)
        return [found[-1]] if found[-1] in busy else []

    await client.ask_coordinator(kind, key, request, codes)
    return named(found[-1])


async def _committed(client: Cluster, group: str, topic: str) -> list[int]:
    found = await client.commits(group, [(topic, [0])])
    return [it.offset for it in found.values() if it.offset >= 0]
