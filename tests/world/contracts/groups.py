"""Contract of groups and topics: committed offsets with their metadata, and Metadata itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)

from replicator.kafka.client.cluster import GROUP
from replicator.kafka.protocol.error_codes import Code, named
from replicator.kafka.protocol.group_offsets import (
    Commits,
    GroupOffsets,
    GroupOffsetsRequest,
    PendingOffsetsRequest,
)
from replicator.kafka.protocol.metadata import MetadataRequest
from tests.world.contracts.dialogue import BUSY, Dialogue
from tests.world.contracts.transactions import identity

METADATA_MAX = 4096
"""Kafka's default of offset.metadata.max.bytes."""
LONGEST, TOO_LONG = "m" * METADATA_MAX, "m" * (METADATA_MAX + 1)
ELSEWHERE = "__consumer_offsets"
"""Topic that is always there, for a second row."""
NOTHING = (-1, "", 0)


async def play(talk: Dialogue) -> None:
    await _ask_for_topics(talk)
    groups = _Groups(talk)
    await groups.before()
    await groups.in_a_transaction()
    await groups.plain()


async def _ask_for_topics(talk: Dialogue) -> None:
    answer = await talk.client.send(talk.leader, MetadataRequest([talk.topic, "no-such-topic"]))
    codes = {row[1]: named(row[0]) for row in answer.topics}
    text = "metadata of a topic, and of one that is not there"
    expected = {talk.topic: "NONE", "no-such-topic": "UNKNOWN_TOPIC_OR_PARTITION"}
    talk.step(text, expected, codes)
    (topic_id, rows), *_ = [(row[2], row[4]) for row in answer.topics if row[1] == talk.topic]
    (code, number, leader, epoch, replicas, in_sync, offline, *_), *_ = rows
    talk.step("id of the topic", talk.id, topic_id)
    found = (named(code), number, leader, epoch, offline)
    talk.step("its partition", ("NONE", 0, talk.leader, talk.epoch, []), found)
    talk.step("its replicas are in sync", sorted(replicas), sorted(in_sync))


class _Groups:
    """Steps of one group, which has no members."""

    def __init__(self, talk: Dialogue) -> None:
        self._talk, self._group = talk, f"{talk.topic}.group"

    async def before(self) -> None:
        text = "offsets of a group that has none"
        self._talk.step(text, NOTHING, await self._committed())
        text = "all offsets of a group that has none"
        self._talk.step(text, GroupOffsets(0, {}), await self._all())

    async def in_a_transaction(self) -> None:
        talk = self._talk
        holder = await talk.open()
        joins = AddOffsetsToTxnRequest(*identity(holder), self._group)
        talk.step("the group joins", "NONE", await talk.transaction(holder.transactional_id, joins))
        rows = [(talk.topic, [(0, 7, TOO_LONG)]), (ELSEWHERE, [(0, 8, LONGEST)])]
        name, producer_id, epoch = identity(holder)
        request = TxnOffsetCommitRequest(name, self._group, producer_id, epoch, rows)
        codes = await self._codes(request, lambda answer: answer.errors)
        text = "offsets in a transaction, one with metadata that are too long"
        talk.step(text, {talk.topic: "OFFSET_METADATA_TOO_LARGE", ELSEWHERE: "NONE"}, codes)
        text = "a pending offset, and a refused one, where stable ones are asked for"
        unstable = {(ELSEWHERE, 0): int(Code.UNSTABLE_OFFSET_COMMIT)}
        talk.step(text, (unstable, {talk.topic: [], ELSEWHERE: []}), await self._stable())
        commit = EndTxnRequest(*identity(holder), True)
        talk.step("the commit", "NONE", await talk.transaction(name, commit))

        async def is_shown() -> bool:
            return await self._committed(ELSEWHERE) != NOTHING

        await talk.until(is_shown)
        text = "the offset with the longest metadata"
        talk.step(text, (8, LONGEST, 0), await self._committed(ELSEWHERE))
        talk.step("the refused offset", NOTHING, await self._committed())
        text = "both, where stable ones are asked for"
        talk.step(text, ({}, {talk.topic: [], ELSEWHERE: [(0, 8)]}), await self._stable())

    async def plain(self) -> None:
        talk = self._talk
        rows = [(talk.topic, [(0, 9, "nine")]), (ELSEWHERE, [(0, 10, TOO_LONG)])]
        request = OffsetCommitRequest(self._group, -1, "", -1, rows)
        codes = await self._codes(request, lambda answer: answer.topics)
        text = "offsets of a group without members, one with metadata that are too long"
        talk.step(text, {talk.topic: "NONE", ELSEWHERE: "OFFSET_METADATA_TOO_LARGE"}, codes)
        talk.step("the plain offset", (9, "nine", 0), await self._committed())
        text = "the offset of the transaction, still"
        talk.step(text, (8, LONGEST, 0), await self._committed(ELSEWHERE))
        text = "all offsets of the group"
        every = {talk.topic: [(0, 9)], ELSEWHERE: [(0, 8)]}
        talk.step(text, GroupOffsets(0, every), await self._all())

    async def _codes(self, request: Any, rows: Any) -> dict[str, str]:
        """Returns the error of each topic's only row."""

        def busy(answer: Any) -> list[int]:
            again = BUSY | {Code.CONCURRENT_TRANSACTIONS}
            return [row[0][1] for _, row in rows(answer) if row[0][1] in again]

        answer = await self._talk.client.ask_coordinator(GROUP, self._group, request, busy)
        return {topic: named(row[0][1]) for topic, row in rows(answer)}

    async def _committed(self, topic: str = "") -> tuple[int, str, int]:
        """Returns offset, metadata and error."""
        request = OffsetFetchRequest(self._group, [(topic or self._talk.topic, [0])])
        ask = self._talk.client.ask_coordinator
        answer = await ask(GROUP, self._group, request, lambda it: [it.error_code])
        _, offset, metadata, code = answer.topics[0][1][0]
        return offset, metadata, code

    async def _stable(self) -> tuple[Mapping[tuple[str, int], int], Commits]:
        """Returns error codes and offsets of both partitions, as requests for stable ones get
        them."""
        rows = [(self._talk.topic, [0]), (ELSEWHERE, [0])]
        found = await self._answered(PendingOffsetsRequest(self._group, rows))
        return found.refused, found.commits

    async def _all(self) -> GroupOffsets:
        return await self._answered(GroupOffsetsRequest([self._group]))

    async def _answered(self, request: Any) -> GroupOffsets:
        def codes(answer: Any) -> list[int]:
            return [it.code for it in answer.groups.values()]

        ask = self._talk.client.ask_coordinator
        answer = await ask(GROUP, self._group, request, codes)
        found: GroupOffsets = answer.groups[self._group]
        return found
