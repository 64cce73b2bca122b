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

from replicator.kafka.client.cluster import GROUP, TRANSACTION
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.transactions import ListTransactionsRequest
from tests.world.contracts.dialogue import Dialogue, stamped

FENCED, NOT_MAPPED = "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"
NOBODY = 987_654
"""Producer id that nobody has."""
TOO_LONG_MS = 2_000_000_000
INVALID_TRANSACTION_TIMEOUT = "error 50"


async def play(talk: Dialogue) -> None:
    transactions = _Transactions(talk)
    one = await talk.open()
    await transactions.offsets(one)
    two = await transactions.taken_over(one)
    await transactions.partitions(one, two)
    await transactions.marker(one, two)


def identity(of: FencedCommitter) -> tuple[str, int, int]:
    return (of.transactional_id, of.producer_id, of.epoch)


async def listed(talk: Dialogue, producer_id: int) -> list[tuple[str, str]]:
    """Returns id and state of each transaction of a producer, as all brokers list them.

    A broker that still loads one of its partitions is asked again.
    """
    answers: list[Any] = []

    async def are_loaded() -> bool:
        request = ListTransactionsRequest([producer_id])
        answers[:] = [await talk.client.send(node, request) for node in talk.client.nodes]
        return not any(it.error_code for it in answers)

    await talk.until(are_loaded)
    rows = [row for answer in answers for row in answer.transaction_states]
    return [(name, state) for name, _, state, *_ in rows]


class _Transactions:
    """Steps of one transactional id and one group."""

    def __init__(self, talk: Dialogue) -> None:
        self._talk = talk
        self._name, self._group = f"{talk.topic}.id", f"{talk.topic}.group"

    async def _ask(self, text: str, expected: str, request: Any) -> None:
        busy = [] if isinstance(request, InitProducerIdRequest) else [Code.CONCURRENT_TRANSACTIONS]
        answer = await self._talk.coordinated(TRANSACTION, self._name, request, *busy)
        self._talk.step(text, expected, answer)

    async def _ask_group(self, text: str, expected: str, producer_id: int, epoch: int) -> None:
        rows = [(self._talk.topic, [(0, 7, "seven")])]
        request = TxnOffsetCommitRequest(self._name, self._group, producer_id, epoch, rows)
        busy = Code.CONCURRENT_TRANSACTIONS
        answer = await self._talk.coordinated(GROUP, self._group, request, busy)
        self._talk.step(text, expected, answer)

    async def offsets(self, one: FencedCommitter) -> None:
        talk, holder = self._talk, (one.producer_id, one.epoch)
        text = "the end of a transaction that did not begin"
        await self._ask(text, "INVALID_TXN_STATE", EndTxnRequest(*identity(one), True))
        text = "offsets of a group that did not join"
        await self._ask_group(text, "INVALID_TXN_STATE", *holder)
        text = "transactions of the producer before the first"
        talk.step(text, [(self._name, "Empty")], await listed(talk, one.producer_id))
        joins = AddOffsetsToTxnRequest(*identity(one), self._group)
        await self._ask("a group joins", "NONE", joins)
        await self._ask("the group joins again", "NONE", joins)
        await self._ask_group("offsets of the group", "NONE", *holder)
        text = "offsets of an older epoch"
        await self._ask_group(text, FENCED, one.producer_id, one.epoch - 1)
        await self._ask_group("offsets of another producer id", NOT_MAPPED, NOBODY, 0)
        talk.step("the offsets before the end", [], await self._committed())
        text = "transactions of the producer"
        talk.step(text, [(self._name, "Ongoing")], await listed(talk, one.producer_id))
        text = "transactions of a producer id that nobody has"
        talk.step(text, [], await listed(talk, NOBODY))

    async def taken_over(self, one: FencedCommitter) -> FencedCommitter:
        """Returns the holder that opens the id amid a transaction."""
        talk = self._talk
        text = "another client opens the id meanwhile"
        await self._ask(text, "CONCURRENT_TRANSACTIONS", InitProducerIdRequest(self._name, 30_000))
        two = await talk.open()
        talk.step("epochs further once it is open", 2, two.epoch - one.epoch)
        talk.step("the offsets after that", [], await self._committed())
        text = "the older holder ends its transaction"
        await self._ask(text, FENCED, EndTxnRequest(*identity(one), True))
        text = "the older holder joins a group"
        await self._ask(text, FENCED, AddOffsetsToTxnRequest(*identity(one), self._group))
        nobody = AddOffsetsToTxnRequest(self._name, NOBODY, 0, self._group)
        await self._ask("a producer id that nobody has", NOT_MAPPED, nobody)
        return two

    async def partitions(self, one: FencedCommitter, two: FencedCommitter) -> None:
        talk = self._talk
        nowhere = AddPartitionsToTxnRequest(*identity(two), [("no-such-topic", [0])])
        await self._ask("a topic that is not there joins", "UNKNOWN_TOPIC_OR_PARTITION", nowhere)
        here = AddPartitionsToTxnRequest(*identity(two), [(talk.topic, [0])])
        await self._ask("a partition joins", "NONE", here)
        data = stamped(two, 0, is_transactional=True)
        answer = await talk.produce(data, transactional_id=self._name)
        talk.step("a transactional batch", ("NONE", 0), answer)
        answer = await talk.produce(stamped(two, 2))
        talk.step("a plain batch of the same producer", ("INVALID_TXN_STATE", -1), answer)
        state = await talk.memory(two)
        talk.step("begin of its transaction", 0, state and state.transaction_start)

    async def marker(self, one: FencedCommitter, two: FencedCommitter) -> None:
        talk = self._talk
        abort, commit = (EndTxnRequest(*identity(two), it) for it in (False, True))
        await self._ask("an abort", "NONE", abort)
        await talk.until_end(3)
        await self._ask("the abort again", "NONE", abort)
        await self._ask("a commit after the abort", "INVALID_TXN_STATE", commit)
        text = "transactions of the producer after the abort"
        aborted = [(self._name, "CompleteAbort")]
        talk.step(text, aborted, await listed(talk, two.producer_id))
        end = await talk.client.log_end(talk.topic, 0)
        talk.step("the log's end after the marker", 3, end)
        state = await talk.memory(two)
        known = state and (state.epoch - one.epoch, state.last_sequence, state.transaction_start)
        talk.step("memory after the marker", (2, 1, -1), known)
        answer = await talk.produce(stamped(two, 2))
        talk.step("a plain batch after the marker", ("NONE", 3), answer)
        request = InitProducerIdRequest(self._name, TOO_LONG_MS)
        await self._ask("a time limit that is too long", INVALID_TRANSACTION_TIMEOUT, request)

    async def _committed(self) -> list[int]:
        found = await self._talk.client.commits(self._group, [(self._talk.topic, [0])])
        return [it.offset for it in found.values() if it.offset >= 0]
