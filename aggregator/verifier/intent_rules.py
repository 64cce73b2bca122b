"""Rules of intents: verdicts on the blocks of a feed, its custody, and numbers that only grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from aggregator.intents import verdicts
from aggregator.intents.intent import Intent, UnreadableIntent, decode
from aggregator.verifier.entry_rules import (
    UnreadableRecord,
    custody_findings,
    is_first,
    with_losses,
)
from aggregator.verifier.finding import Finding, Kind, Weight

TEXTS = {
    Kind.BACKWARD: "lies before what was named earlier: records may be loaded twice",
    Kind.OVERLAP: "shares offsets with an earlier block: records may be loaded twice",
    Kind.GAP: "fewer records are accounted for than there are: some may not be loaded",
    Kind.SURPLUS: "more records are accounted for than there are: some may be loaded twice",
}


class IntentRules:
    """Rules of a feed's intents."""

    def decode(self, offset: int, metadata: str) -> Intent:
        try:
            return decode(offset, metadata)
        except UnreadableIntent as error:
            raise UnreadableRecord(str(error)) from error

    def topic_id(self, entry: Intent) -> UUID | None:
        return entry.topic_id

    def reference(self, entry: Intent) -> int | None:
        return entry.reference

    def is_first(self, entry: Intent) -> bool:
        return is_first(entry)

    def within(self, before: Intent | None, entry: Intent) -> Iterator[Finding]:
        # The next holder commits the intent of a forced flush as its own.
        is_again = before is not None and before.up_to == entry.up_to
        found = None if is_again else verdicts.within(entry)
        if found and entry.up_to is not None:
            off = entry.reference + entry.count + entry.holes - entry.up_to
            text = f"{TEXTS[Kind(found.anomaly)]} ({off:+} at the forced flush)"
            yield replace(_finding(found), text=text)

    def between(self, before: Intent, after: Intent) -> Iterator[Finding]:
        yield from with_losses(before, after, self._between(before, after))
        if after.losses > before.losses:
            # The loss of one log was accepted, and none of the next one.
            yield from _mixed_logs(before, after)

    def across_deletion(self, before: Intent, after: Intent) -> Iterator[Finding]:
        for each in _mixed_logs(before, after):
            yield replace(each, weight=Weight.UNKNOWN)

    def _between(self, before: Intent, after: Intent) -> Iterator[Finding]:
        if before.topic_id and after.topic_id and before.topic_id != after.topic_id:
            text = f"topic id {after.topic_id} after {before.topic_id}: offsets are others'"
            yield Finding(Kind.TOPIC, text)
            return
        yield from custody_findings(before, after)
        if is_first(after) and not is_first(before):
            return
        # The count may go back: a loader that reads again leaves out what was compacted away.
        yield from map(_finding, verdicts.between(before, after))


def _mixed_logs(before: Intent, after: Intent) -> Iterator[Finding]:
    """Yields a finding if records of two logs have the same identities."""
    topics = {before.topic_id, after.topic_id}
    if len(topics - {None}) == 2 and after.incarnation == before.incarnation:
        text = (
            f"topic id {after.topic_id} after {before.topic_id} under one incarnation "
            f"({after.incarnation}): records of this log may be taken for stored ones of the former"
        )
        yield Finding(Kind.TOPIC, text)


def _finding(found: verdicts.Finding) -> Finding:
    kind = Kind(found.anomaly)
    return Finding(kind, TEXTS[kind], begin=found.begin, end=found.end, table=found.table)
