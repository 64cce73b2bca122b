"""Notices in one region's Redis, for readers and for the writer of each process. Never the truth.

sluice:conditions:<region>    expiring values (expiring_values.py): the conditions of one finder
sluice:daemons:<region>       expiring values: cards
sluice:events:<region>        stream, the newest EVENTS_KEPT or some more: field `event`, JSON
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from replicator.notices import condition
from replicator.notices.condition import Condition
from replicator.notices.daemon_card import DaemonCard
from replicator.notices.event import Event
from replicator.runtime import expiring_values
from replicator.runtime.redis_store import RedisStore
from replicator.runtime.report_once import ReportOnce
from replicator.runtime.store_errors import reached

log = logging.getLogger(__name__)

EXPIRE_MS = 30_000
EVENTS_KEPT = 10_000
NEWEST = "newest"
MEANWHILE = "daemons go on without it"


class NoticeStore(RedisStore):
    """Notices of one region. Blocking; every method raises StoreUnreachable."""

    def __init__(self, url: str, region: str, *, timeout_seconds: float = 5.0) -> None:
        super().__init__(url, timeout_seconds=timeout_seconds)
        self._conditions = f"sluice:conditions:{region}"
        self._daemons = f"sluice:daemons:{region}"
        self._events = f"sluice:events:{region}"
        self._reports = ReportOnce()

    def conditions(self) -> list[Condition]:
        """Returns all conditions that hold, the oldest first.

        Those of a finder of another version that cannot be read are left out, and logged.
        """
        (texts,) = self._read([self._conditions])
        return self._parsed_conditions(texts)

    def daemons(self) -> list[DaemonCard]:
        """Returns the cards of all daemons that run, by role."""
        (texts,) = self._read([self._daemons])
        return self._parsed_cards(texts)

    def notices(self) -> tuple[list[Condition], list[DaemonCard]]:
        """Returns conditions and cards, read together."""
        conditions, cards = self._read([self._conditions, self._daemons])
        return self._parsed_conditions(conditions), self._parsed_cards(cards)

    def events(self, count: int, after: str = NEWEST) -> list[tuple[str, Event]]:
        """Returns events with their ids, the oldest first.

        Args:
            count: number of events at most.
            after: id of the last event that is known; NEWEST: the last `count` events.
        """
        with reached(self.name, MEANWHILE):
            found: Any = (
                self._redis.xrevrange(self._events, count=count)
                if after == NEWEST
                else self._redis.xrange(self._events, min=f"({after}", count=count)
            )
        return list(_events(found[::-1] if after == NEWEST else found))

    def write(
        self,
        *,
        cards: Iterable[DaemonCard] = (),
        conditions: Mapping[str, Sequence[Condition]] | None = None,
        ended: Iterable[str] = (),
        events: Iterable[Event] = (),
    ) -> None:
        """Writes all of it in one round trip.

        Args:
            conditions: by finder; a finder without any has its former ones withdrawn.
            ended: daemons whose cards are withdrawn.
        """
        with reached(self.name, MEANWHILE), self._redis.pipeline(transaction=False) as pipeline:
            for card in cards:
                text = card.to_json()
                expiring_values.put(pipeline, self._daemons, card.who, text, EXPIRE_MS)
            for who, found in (conditions or {}).items():
                if found:
                    text = condition.to_json(found)
                    expiring_values.put(pipeline, self._conditions, who, text, EXPIRE_MS)
                else:
                    expiring_values.withdraw(pipeline, self._conditions, who)
            for who in ended:
                expiring_values.withdraw(pipeline, self._daemons, who)
            for event in events:
                pipeline.xadd(
                    self._events, {"event": event.to_json()}, maxlen=EVENTS_KEPT, approximate=True
                )
            pipeline.execute()

    def _read(self, indexes: Sequence[str]) -> list[dict[str, bytes]]:
        with reached(self.name, MEANWHILE):
            return expiring_values.read(self._redis, indexes)

    def _parsed_conditions(self, texts: Mapping[str, bytes]) -> list[Condition]:
        found = self._parsed(self._conditions, texts, condition.from_json)
        return sorted(
            (each for some in found for each in some), key=lambda it: (it.since_ms, it.subject[:4])
        )

    def _parsed_cards(self, texts: Mapping[str, bytes]) -> list[DaemonCard]:
        found = self._parsed(self._daemons, texts, DaemonCard.from_json)
        return sorted(found, key=lambda card: (card.role, card.since_ms))

    def _parsed(self, index: str, texts: Mapping[str, bytes], parse: Any) -> list[Any]:
        found = []
        for who, text in texts.items():
            try:
                found.append(parse(text))
            except ValueError as error:
                if self._reports.is_news((index, who), str(error)):
                    log.warning("event=notice-unreadable %s %s: %s", index, who, error)
        return found


def _events(found: Iterable[tuple[bytes, dict[bytes, bytes]]]) -> Iterator[tuple[str, Event]]:
    for event_id, values in found:
        try:
            yield event_id.decode(), Event.from_json(values[b"event"])
        except (ValueError, KeyError) as error:
            log.warning("event=notice-unreadable %s: %s", event_id.decode(), error)
