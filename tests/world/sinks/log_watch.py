"""Watch over a feed whose partitions get other logs: topics are created again, or logs are cut.

Every name that a log gets is of one log. Whatever is stored names a log in which there is its
record; what is in today's log is stored once, under whichever name, and what a former one had at
most once. It is the part of the checks that does not depend on the feed's store.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeVar

from aggregator.intents.intent import Intent
from aggregator.intents.intent_store import group_of
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import LossKind
from tests.aggregator.verifier.judged import judged
from tests.world.kafka.kafka_cluster import GROUPS
from tests.world.kafka.log_losses import LossCause
from tests.world.kafka.partition import Partition
from tests.world.sinks.feed_checks import FeedChecks
from tests.world.sinks.intent_view import IntentView
from tests.world.sinks.letter_view import Content, RecordPlace
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.seen_logs import SeenLog


class Sent(Protocol):
    """Record as checks expect it.

    Args:
        content: key and value of a record that becomes a dead letter.
    """

    @property
    def content(self) -> Content: ...


W = TypeVar("W", bound=Sent)


class LogWatch(FeedChecks[W]):
    """Part of the checks of one feed; who inherits has those of its store."""

    def __init__(self, *parts: Any) -> None:
        self._floors: dict[TopicPartition, dict[int, int]] = defaultdict(lambda: {0: 0})
        """Number of the log in which a name was used first."""
        self._begins: dict[tuple[TopicPartition, int], int] = {}
        self._reached: dict[tuple[TopicPartition, int], dict[int, int]] = defaultdict(dict)
        """End of what is stored of each log, by name."""
        self._passed: dict[tuple[TopicPartition, int], int] = defaultdict(int)
        super().__init__(*parts)

    def _watch_intents(self) -> None:
        seen, gone = self._intent_seen, self._intent_gone
        IntentView(self._cluster, FEED, seen, gone, self._topic_deleted)

    # -- for who inherits

    def _is_stored(self, place: TopicPartition, log: SeenLog[W], offset: int) -> bool:
        """Returns True if a record is in the store, and is a dead letter if it has to be one."""
        raise NotImplementedError

    def _goes_to(self, record: W, table: str) -> bool:
        """Returns True if a record belongs to what an intent names so."""
        raise NotImplementedError

    # -- names

    def _named_logs(self, place: TopicPartition, incarnation: int, offset: int) -> list[SeenLog[W]]:
        """Returns the logs that a name may be of; none if it has no such offset."""
        floor = self._floors[place].get(incarnation)
        if floor is None or offset < self._begins.get((place, incarnation), 0):
            return []
        return self.source.of[place][floor:]

    def _check_name(
        self, place: TopicPartition, incarnation: int, origin: int, offset: int
    ) -> None:
        """Checks that all that is stored under a name is of one log.

        Args:
            origin: log of what is stored now.
        """
        reached = self._reached[place, incarnation]
        reached[origin] = max(reached.get(origin, 0), offset + 1)
        logs, newest = self.source.of[place], max(reached)
        for older, end in reached.items():
            cut = min((each.cut for each in logs[older + 1 : newest + 1]), default=end)
            if end > cut:
                text = f"{offset} under {incarnation}: a name that records of two logs have (56)"
                self._wrong(place, text)

    def _letters_of(
        self, place: TopicPartition, offset: int, record: W, letters: Mapping[RecordPlace, Any]
    ) -> Iterator[RecordPlace]:
        """Yields the letters of a record, under each name of its log."""
        for name in self._floors[place]:
            letter = RecordPlace(*place, offset, name)
            if letter in letters and self.letters.contents[letter] == record.content:
                yield letter

    # -- intents

    def _topic_deleted(self, topic: str, partition: Partition) -> None:
        for place in self.intents:
            log = self._cluster.internal(GROUPS, group_of(FEED, place))
            if place.topic == topic and partition is log:
                self.rest.gone.add(place)

    def _intent_seen(self, place: TopicPartition, intent: Intent) -> None:
        last = self.intents[place][-1] if self.intents[place] else None
        is_anew = place in self.rest.gone
        is_accepted = (is_anew or last is None or bool(last.parked)) and _is_free(intent)
        today = self.source.today(place)
        if intent.incarnation not in self._floors[place]:
            self._floors[place][intent.incarnation] = today.number
            self._begins[place, intent.incarnation] = intent.log_begin
        self._note(place, intent)
        if intent.parked and not self._explains(place, intent):
            self._wrong(place, f"parked: {intent.parked}")
        if last and is_anew and intent.parked and _log_of(last) != _log_of(intent):
            self._wrong(place, f"{intent} has another log than {last}, which is gone (56)")
        for finding in judged([last, intent]) if last and not is_anew else ():
            self._wrong(place, f"the verifier says: {finding}")
        floor = today.number if is_accepted else self._floors[place][intent.incarnation]
        # A loader that has read nothing behind a cut goes on; another one ends what it had begun.
        faults = [self._fault(place, intent, log) for log in self.source.of[place][floor:]]
        if all(faults):
            self._wrong(place, f"{faults[-1]}: {intent}")

    def _fault(self, place: TopicPartition, intent: Intent, log: SeenLog[W]) -> str:
        """Returns what an intent passes wrongly if it is of a log; empty: nothing."""
        passed = self._passed[place, log.number]
        for offset in log.between(passed, intent.offset):
            if not self._is_stored(place, log, offset):
                return f"{offset} is passed (38): {log.records[offset]}"
            self._passed[place, log.number] = offset + 1
        for table, each in intent.tables.items():
            for offset in log.between(intent.offset, each.begin):
                record = log.records[offset]
                if self._goes_to(record, table) and not self._is_stored(place, log, offset):
                    return f"{offset} is passed by {each} (37): {record}"
        return ""

    def _explains(self, place: TopicPartition, intent: Intent) -> bool:
        """Returns True if a log has lost what an intent is parked for, or the intent was gone."""
        loss = intent.parked
        lost = [it for it in self._cluster.lost if it.place == tuple(place)]
        is_another = any(it.cause is LossCause.RECREATION for it in lost)
        if loss is None or loss.kind is LossKind.INTENT_GONE:
            return self.rest.are_all_away or is_another
        if loss.kind in (LossKind.SOURCE_RECREATED, LossKind.SOURCE_DELETED):
            return is_another
        if loss.kind is LossKind.RETENTION_PASSED:
            return loss.end in {it.end for it in lost if it.cause is LossCause.RETENTION}
        cuts = {it.begin for it in lost if it.cause is LossCause.UNCLEAN_ELECTION}
        return loss.kind is LossKind.SOURCE_TRUNCATED and loss.begin in cuts

    def _passing_differences(self) -> list[str]:
        """Returns a text for each partition that has not passed all of today's log."""
        found = []
        for place, seen in self.intents.items():
            end, intent = self.source.end(place), seen[-1]
            if (intent.offset, bool(intent.parked)) != (end, False):
                found.append(f"{place}: the log ends at {end}: {intent}")
        return found


def _is_free(intent: Intent) -> bool:
    return not intent.parked and intent.custody is Custody.RELEASED


def _log_of(intent: Intent) -> tuple[int, int, int]:
    return intent.incarnation, intent.log_begin, intent.former
