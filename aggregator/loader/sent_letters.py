"""Sent letters: dead letters that are in their topic, and that no intent counts.

A marker of the intents of a transaction may be left out while that of its dead letters is written
(KAFKA-20734). If its loader then dies, its successor finds the intent of before, and makes the same
letters again. So an intent says from where on its topic of dead letters may have such ones, and a
loader looks for them before it sends the first ones of a partition (decision 0084).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aggregator.formats.record_fields import split
from aggregator.intents.intent import Intent
from aggregator.loader.dead_letters import letter_place, record_digest
from balancer.topic_partition import TopicPartition
from replicator.batches.batch import (
    BrokenBatch,
    ControlKind,
    Header,
    control_kind,
    header_at,
)
from replicator.batches.committed_records import laid_out
from replicator.batches.records import opened
from replicator.batches.varints import BrokenVarints
from replicator.kafka.client.cluster import Answered, Cluster, Forbidden
from replicator.kafka.protocol.error_codes import Code
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

FETCH_BYTES = 4 << 20
MISSING = frozenset({Code.UNKNOWN_TOPIC_OR_PARTITION, Code.UNKNOWN_TOPIC_ID})
"""Codes for a topic that was deleted, or created anew, while it was read."""
Intents = Mapping[TopicPartition, Intent]


class SentLetter(NamedTuple):
    """Letter that is in its topic.

    Args:
        offset: of its record.
        digest: of its record, by `record_digest`.
    """

    offset: int
    digest: bytes


@dataclass
class LetterSearch:
    """Search of one partition of a topic of dead letters, batch after batch.

    Args:
        intents: of the partitions whose letters are looked for.
    """

    intents: Intents
    found: dict[TopicPartition, set[SentLetter]] = field(init=False)
    """Letters that are committed, and whose records the intent of their partition neither passes
    nor names."""
    _undecided: dict[int, list[tuple[TopicPartition, SentLetter]]] = field(
        init=False, default_factory=dict
    )
    """Such letters of transactions without a marker so far, by producer id."""

    def __post_init__(self) -> None:
        self.found = {place: set() for place in self.intents}

    def take(self, batch: memoryview) -> None:
        """Takes the next batch of the log. Raises BrokenBatch."""
        header = header_at(batch)
        if not header.is_control:
            self._undecided.setdefault(header.producer_id, []).extend(self._uncounted(batch))
            return
        decided = self._undecided.pop(header.producer_id, ())
        if control_kind(batch) is ControlKind.COMMIT:
            for place, letter in decided:
                self.found[place].add(letter)

    def _uncounted(self, batch: memoryview) -> list[tuple[TopicPartition, SentLetter]]:
        records = split(opened(batch, [0]))
        uncounted: list[tuple[TopicPartition, SentLetter]] = []
        for at, letter_at in enumerate(records.offset.tolist()):
            try:
                headers = records.headers_at(at)
                letter = letter_place(headers)
            except BrokenVarints:
                continue
            intent = self.intents.get(letter.partition) if letter else None
            if letter is None or intent is None or letter_at < (intent.letters_at or 0):
                continue
            is_of_log = letter.incarnation == intent.incarnation_at(letter.offset)
            if is_of_log and letter.offset >= intent.range_of(letter.table).end:
                digest = record_digest(records.key_at(at), records.value_at(at), headers)
                uncounted.append((letter.partition, SentLetter(letter.offset, digest)))
        return uncounted


@dataclass(frozen=True, slots=True)
class Sight:
    """Sight of one partition of a topic of dead letters.

    Args:
        end: of its log, when it was read.
        sent: letters that no intent counts, by partition; only of those whose intents say where to
            look.
    """

    end: int
    sent: Mapping[TopicPartition, set[SentLetter]]


@dataclass(frozen=True, slots=True)
class SentLetters:
    """Letters of a feed in one cluster."""

    cluster: Cluster
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)

    async def look(self, place: TopicPartition, intents: Intents) -> Sight | None:
        """Returns the letters of some partitions that are there already; None if their topic is
        missing, or may not be read: then letters of a lost commit are sent again.

        Transactions that are not committed are read, too: those of others would hide what is behind
        them. Former holders of the intents have to be fenced, so that their transactions have all
        markers that they will ever have.

        Args:
            place: partition of the topic of dead letters.
        """
        self.cluster.watch([place.topic])
        if self.cluster.topic(place.topic) is None:
            await self.cluster.refresh()
        if self.cluster.topic(place.topic) is None:
            return None
        try:
            end = await self.cluster.log_end(*place)
            # The topic may have been created anew.
            search = LetterSearch(
                {
                    partition: intent
                    for partition, intent in intents.items()
                    if intent.letters_at is not None and intent.letters_at <= end
                }
            )
            await self._read(place, search, end)
        except (Forbidden, BrokenBatch) as error:
            # Each commit with letters looks again.
            if self._reports.is_news(place, str(error)):
                log.warning(
                    "event=letters-not-read %s %s-%d: letters of a commit that was lost may be "
                    "there twice: %s",
                    self.cluster.name,
                    *place,
                    error,
                )
            return None
        except Answered as answer:
            if MISSING.isdisjoint(answer.codes):
                raise
            return None
        return Sight(end, search.found)

    async def _read(self, place: TopicPartition, search: LetterSearch, end: int) -> None:
        position = min((it.letters_at or 0 for it in search.intents.values()), default=end)
        size = FETCH_BYTES
        while position < end:
            try:
                fetched = await self.cluster.fetch(*place, position, size, read_committed=False)
            except Answered as answer:
                if Code.OFFSET_OUT_OF_RANGE not in answer.codes:
                    raise
                begin = await self.cluster.log_start(*place)
                if begin <= position:
                    return  # the log was cut
                position = begin
                continue
            records, batches, broken = laid_out(memoryview(fetched.records))
            for start in batches.starts:
                header: Header = header_at(records, start)
                if header.next_offset > position:
                    search.take(records[start : start + header.size])
                    position = header.next_offset
            if broken:
                raise broken
            if not batches.starts and batches.cut_bytes <= size:
                # The log may have been cut here: the rest is gone.
                end = min(end, await self.cluster.log_end(*place))
            size = max(size, batches.cut_bytes)
