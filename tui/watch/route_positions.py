"""Positions of a route: ledger entries and log ends, so paired that lag is never shown too small.

An end that was read before the entry tells too small a lag, or none where records came meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from balancer.plan import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Route
from replicator.mirror.ledger.entries import Entries
from tui.watch.question import NO_ANSWER, Answer, Answers
from tui.watch.route_questions import (
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
        self._whole = self._shown = NO_ANSWER

    def read(self, answers: Answers) -> Positions:
        """Returns the positions by the last answers, of the topic on screen as it was read last."""
        ends = answers.answer(ends_key(ClusterName.regional(self._route.source)))
        self._whole = settled(answers.answer(ledger_key(self._route)), ends, self._whole)
        shown_ends = newer(answers.answer(focused_ends_key(self._route)), ends)
        shown = self._shown_entries(answers, ends, shown_ends)
        return Positions(
            entries=_with_topic(self._whole.value, shown),
            ends=_with_ends(ends.value, shown_ends),
            are_ends_older=_is_after(self._whole, ends),
        )

    def _shown_entries(
        self, answers: Answers, ends: Answer, shown_ends: FocusedTopic | None
    ) -> FocusedTopic | None:
        """Returns the entries of the topic on screen, where they and its ends are newer."""
        found = answers.answer(focused_ledger_key(self._route))
        topic = _topic(found)
        if shown_ends is not None and shown_ends.topic == topic:
            ends = answers.answer(focused_ends_key(self._route))
        self._shown = settled(found, ends, self._shown if _topic(self._shown) == topic else found)
        return None if _is_after(self._shown, ends) else newer(self._shown, self._whole)


def settled(entries: Answer, ends: Answer, before: Answer) -> Answer:
    """Returns the entries that the ends can be compared with.

    Args:
        before: entries that were settled on before.
    """
    is_comparable = not _is_after(entries, ends)
    if is_comparable or ends.problem is not None or before.asked_at is None:
        return entries
    return before


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
    return Entries(
        {**found.read, **shown.entries.read},
        {**unreadable, **shown.entries.unreadable},
        found.adopted,
    )


def _with_ends(
    found: Mapping[TopicPartition, int] | None, shown: FocusedTopic | None
) -> Mapping[TopicPartition, int] | None:
    if found is None or shown is None or shown.ends is None:
        return found
    return {**found, **shown.ends}
