"""Rules of the replicator's ledger: offsets, sequences, epochs and custody of one route's entries.

An entry does not tell which source offsets hold no record. A source offset that passes over such
offsets is therefore not judged here; `sluice audit` reads both logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from aggregator.verifier.entry_rules import (
    UnreadableRecord,
    custody_findings,
    is_first,
    turned_back,
    with_losses,
)
from aggregator.verifier.finding import Finding, Kind
from replicator.kafka.client.custody import Custody
from replicator.mirror.ledger.entry import SEQUENCE_MASK, Entry, UnreadableEntry, decode

HALF_CIRCLE = 1 << 30


class LedgerRules:
    """Rules of a route's ledger entries."""

    def decode(self, offset: int, metadata: str) -> Entry:
        try:
            return decode(offset, metadata)
        except UnreadableEntry as error:
            raise UnreadableRecord(str(error)) from error

    def topic_id(self, entry: Entry) -> UUID | None:
        return entry.target_topic

    def reference(self, entry: Entry) -> int | None:
        return None

    def is_first(self, entry: Entry) -> bool:
        return is_first(entry)

    def within(self, before: Entry | None, entry: Entry) -> Iterator[Finding]:
        return iter(())

    def across_deletion(self, before: Entry, after: Entry) -> Iterator[Finding]:
        return iter(())

    def between(self, before: Entry, after: Entry) -> Iterator[Finding]:
        yield from with_losses(before, after, self._between(before, after))

    def _between(self, before: Entry, after: Entry) -> Iterator[Finding]:
        yield from custody_findings(before, after)
        if is_first(after) and not is_first(before):
            return
        if _differ(before.source_topic, after.source_topic):
            text = f"source topic id {after.source_topic} after {before.source_topic}"
            yield Finding(Kind.TOPIC, text)
        elif before.custody is not Custody.VIRGIN:
            # A carrier that did not get the answer to a commit may name offsets without a record
            # again, now as a gap.
            yield from turned_back("source offset", before.source_offset, after.after(0))
            if _is_same_producer(before, after):
                yield from _sequences(before, after)
        if _differ(before.target_topic, after.target_topic):
            text = f"target topic id {after.target_topic} after {before.target_topic}"
            yield Finding(Kind.TOPIC, text)
        else:
            yield from turned_back("target offset", before.target_offset, after.target_offset)


def _sequences(before: Entry, after: Entry) -> Iterator[Finding]:
    """Yields what is wrong with the sequences between two entries of one producer and epoch.

    The gaps of an entry cover every record that is sent before the next entry. So the sequences
    tell up to which source offset at least that entry has to reach.
    """
    count = (after.sequence - before.sequence) & SEQUENCE_MASK
    if count >= HALF_CIRCLE:
        yield Finding(Kind.SEQUENCE, f"sequence {after.sequence} after {before.sequence}")
        return
    if not count:
        return
    end = before.spans(count - 1, 1)[0].source_offset + 1
    if after.source_offset < end:
        text = f"{count} records were sent, which reach behind the source offset"
        yield Finding(Kind.SEQUENCE, text, begin=after.source_offset, end=end)


def _is_same_producer(before: Entry, after: Entry) -> bool:
    return (before.producer_id, before.epoch) == (after.producer_id, after.epoch)


def _differ(before: UUID | None, after: UUID | None) -> bool:
    return before is not None and after is not None and before != after
