"""Positions of a route: ledger entries and log ends, so paired that lag is never shown too small.

An end that was read before the entry tells too small a lag, or none where records came meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Route
from replicator.mirror.ledger.ledger_reader import Entries
from tui.facts.watch.question import NO_ANSWER, Answer, Answers
from tui.facts.watch.route_questions import (
    FocusedTopic,
    ends_key,
    focused_ends_key,
    focused_ledger_key,
    ledger_key,
)


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions at one time; None: never read.

    Args:
        are_ends_older: the ends were read before the entries, and no earlier entries are known.
    """

    entries: Entries | None
    ends: Mapping[TopicPartition, int] | None
    are_ends_older: bool


class RoutePositions:
    """Positions of one route from one look to the next.

    Both are read again and again, independently. Until there are ends that are newer than the last
    entries, the entries before those count. When the ends cannot be read any more, the last entries
    count, and tell no lag.
    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._whole, self._shown = _Settling(), _Settling()
        self._shown_topic = ""

    def read(self, answers: Answers) -> Positions:
        """Returns the positions by the last answers, of the topic on screen as it was read last."""
        ends = answers.answer(ends_key(ClusterName.regional(self._route.source)))
        whole = self._whole.settled(answers.answer(ledger_key(self._route)), ends)
        shown_ends = newer(answers.answer(focused_ends_key(self._route)), ends)
        shown = self._shown_entries(answers, ends, shown_ends, whole)
        return Positions(
            entries=_with_topic(whole.value, shown),
            ends=_with_ends(ends.value, shown_ends),
            are_ends_older=_is_after(whole, ends),
        )

    def _shown_entries(
        self, answers: Answers, ends: Answer, shown_ends: FocusedTopic | None, whole: Answer
    ) -> FocusedTopic | None:
        """Returns the entries of the topic on screen, where they and its ends are newer."""
        found = answers.answer(focused_ledger_key(self._route))
        topic = _topic(found)
        if shown_ends is not None and shown_ends.topic == topic:
            ends = answers.answer(focused_ends_key(self._route))
        if topic != self._shown_topic:
            self._shown, self._shown_topic = _Settling(), topic
        shown = self._shown.settled(found, ends)
        return None if _is_after(shown, ends) else newer(shown, whole)


class _Settling:
    """Entries that were read, until ends that were read after them tell which can be compared.

    Entries may always come a moment after the ends. So all that are newer than the last ends are
    kept until newer ends come.
    """

    def __init__(self) -> None:
        self._settled = NO_ANSWER
        self._newer: list[Answer] = []

    def settled(self, entries: Answer, ends: Answer) -> Answer:
        """Returns the newest entries that the ends can be compared with.

        These are the last ones, if no entries can be compared yet or the ends cannot be read.
        """
        if not self._newer or self._newer[-1].asked_at != entries.asked_at:
            self._newer.append(entries)
        if ends.problem is not None or self._settled.asked_at is None:
            self._settled, self._newer = entries, []
        while self._newer and not _is_after(self._newer[0], ends):
            self._settled = self._newer.pop(0)
        return self._settled


def newer(shown: Answer, whole: Answer) -> FocusedTopic | None:
    """Returns the topic on screen where it was read after everything else."""
    found: FocusedTopic | None = shown.value
    return found if (shown.asked_at or 0.0) > (whole.asked_at or 0.0) else None


def _is_after(entries: Answer, ends: Answer) -> bool:
    if entries.asked_at is None or ends.asked_at is None:
        return False
    return entries.asked_at > ends.asked_at


def _topic(shown: Answer) -> str:
    found: FocusedTopic | None = shown.value
    return found.topic if found is not None else ""


def _with_topic(found: Entries | None, shown: FocusedTopic | None) -> Entries | None:
    if found is None or shown is None or shown.entries is None:
        return found
    unreadable = {
        place: why for place, why in found.unreadable.items() if place.topic != shown.topic
    }
    adopted = {topic: count for topic, count in found.adopted.items() if topic != shown.topic}
    return Entries(
        {**found.read, **shown.entries.read},
        {**unreadable, **shown.entries.unreadable},
        {**adopted, **shown.entries.adopted},
    )


def _with_ends(
    found: Mapping[TopicPartition, int] | None, shown: FocusedTopic | None
) -> Mapping[TopicPartition, int] | None:
    if found is None or shown is None or shown.ends is None:
        return found
    return {**found, **shown.ends}
