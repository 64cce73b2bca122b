"""Checks at each step of a feed, as far as they do not depend on its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aggregator.intents.intent import Intent
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.replicator.batches.source_batches import Record
from tests.world.checks.wrong import Wrong
from tests.world.sinks.intent_view import IntentView
from tests.world.sinks.letter_view import LetterView, RecordPlace
from tests.world.sinks.loaded_feed import FEED, LoadedFeed
from tests.world.sinks.resting import RestView
from tests.world.sinks.seen_logs import SeenLogs
from tests.world.virtual_loop import VirtualLoop

W = TypeVar("W")


class FeedChecks(Generic[W]):
    """Checks of one feed.

    Args:
        wanted: returns the destination of a record of a partition.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        feeding: LoadedFeed,
        wanted: Callable[[TopicPartition, Record], W],
    ) -> None:
        self._loop, self._cluster = loop, feeding.cluster
        self.source = SeenLogs(feeding.cluster, feeding.places, wanted)
        self.letters = LetterView(feeding.cluster, FEED, self._letter_again)
        self.intents: dict[TopicPartition, list[Intent]] = {it: [] for it in feeding.places}
        self.armed: Callable[[Intent], object] | None = None
        """Called once with the next intent of a loader that names what may not be stored yet."""
        self.rest = RestView()

    def _watch_intents(self) -> None:
        """Begins to see intents, once all else is ready."""
        IntentView(self._cluster, FEED, self._intent_seen, self._intent_gone)

    def _wrong(self, place: tuple[str, int], text: str) -> None:
        self._loop.fail(Wrong(f"{place[0]}-{place[1]}: {text}"))

    def _letter_again(self, place: RecordPlace) -> None:
        if place in self.rest.sent_again:
            self.letters.committed[place] = 1
            return
        self._wrong(place[:2], f"{place.offset} is a dead letter twice (42)")

    def _intent_gone(self, place: TopicPartition) -> None:
        if place not in self.intents:
            return  # an offset by which a fence has confirmed its coordinator
        self.rest.gone.add(place)
        if not self.rest.are_all_away:
            self._wrong(place, "its intent expires beside a driver that looks (55)")

    def _intent_seen(self, place: TopicPartition, intent: Intent) -> None:
        raise NotImplementedError

    def _note(self, place: TopicPartition, intent: Intent) -> None:
        """Notes an intent, with what it names, and calls what waits for one."""
        self.rest.gone.discard(place)
        self.intents[place].append(intent)
        self._note_named(place, intent)
        if self.armed is not None and intent.blocks and intent.custody is Custody.HELD:
            armed, self.armed = self.armed, None
            armed(intent)

    def _note_named(self, place: TopicPartition, intent: Intent) -> None:
        """Notes the blocks or objects that an intent names."""
        raise NotImplementedError
