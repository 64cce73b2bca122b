"""Conditions of one route, found by partition, topic and carrier, with their reasons in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Route
from replicator.notices.condition import Condition, Kind
from tui.facts.health import Health, Judged
from tui.facts.moments import since_text
from tui.facts.route_facts import Place


class Effect(Enum):
    """Effect of a condition on a route that it is about."""

    WAITS = auto()
    """The partition, topic or route that the condition names waits."""
    NOTHING_NEW = auto()
    """Nothing new of the topic or route is carried; what is carried already goes on."""
    CARRIER = auto()
    """The partitions of one carrier wait."""
    NOT_ADOPTED = auto()
    """The partitions of the topic from the named one on wait for their first entries."""
    PAUSED = auto()
    """An operator has paused the topic or partition."""
    PARKED = auto()
    """The partition is parked."""


EFFECTS: Mapping[str, Effect] = {
    Kind.SOURCE_SILENT: Effect.NOTHING_NEW,
    Kind.TOPICS_UNKNOWN: Effect.NOTHING_NEW,
    Kind.TOPIC_REFUSED: Effect.NOTHING_NEW,
    Kind.NOT_ADOPTED: Effect.NOT_ADOPTED,
    Kind.PAUSED: Effect.PAUSED,
    Kind.CARRIER_WAITS: Effect.CARRIER,
    Kind.CARRIER_FAILED: Effect.CARRIER,
    Kind.WAITING: Effect.WAITS,
    Kind.REFUSED: Effect.WAITS,
    Kind.PARKED: Effect.PARKED,
    # These name a feed, and are about no route.
    Kind.LOADER_WAITS: Effect.WAITS,
    Kind.LOADER_FAILED: Effect.WAITS,
    Kind.FEED_REFUSED: Effect.WAITS,
    Kind.STORE_UNCONDITIONAL: Effect.WAITS,
    Kind.TABLE_REFUSED: Effect.WAITS,
    Kind.COLUMNS_NOT_LOADED: Effect.WAITS,
    Kind.UPSERT_FAILED: Effect.WAITS,
    Kind.UPSERT_LANE_STOPPED: Effect.WAITS,
    Kind.UPSERT_ENDS_LOST: Effect.WAITS,
    Kind.UPSERT_NOT_DROPPED: Effect.WAITS,
    Kind.SETTLING_FAILS: Effect.WAITS,
}
"""Effect of each kind of condition. A kind of a later version waits."""


@dataclass(slots=True)
class RouteConditions:
    """Conditions that concern a route. Texts are for people.

    Args:
        whole: what holds for all of the route.
        new: reason why nothing new is carried; "" when there is none.
        topics, partitions: reasons why they wait.
        new_topics: reasons why nothing new of a topic is carried.
        not_adopted: by topic, the first partition and the reason.
        carriers: by number; None: a carrier of another version does not say it.
        parked: by partition, the reason alone.
    """

    whole: list[Judged] = field(default_factory=list)
    new: str = ""
    topics: dict[str, str] = field(default_factory=dict)
    new_topics: dict[str, str] = field(default_factory=dict)
    partitions: dict[Place, str] = field(default_factory=dict)
    not_adopted: dict[str, tuple[int, str]] = field(default_factory=dict)
    carriers: dict[int | None, str] = field(default_factory=dict)
    parked: dict[Place, str] = field(default_factory=dict)
    paused_topics: dict[str, str] = field(default_factory=dict)
    paused_partitions: dict[Place, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True when nothing keeps any partition from going on, except that it is parked."""
        whole = self.new or self.topics or self.new_topics or self.paused_topics
        some = self.partitions or self.not_adopted or self.carriers or self.paused_partitions
        return not (whole or some)

    def paused(self, place: Place) -> str | None:
        """Returns who paused a partition and why; None when nobody did."""
        return self.paused_topics.get(place[0]) or self.paused_partitions.get(place)

    def waits(
        self, place: Place, *, carrier: int | None, is_known: bool, is_begun: bool
    ) -> str | None:
        """Returns why a partition waits; None when no condition says so.

        Args:
            carrier: that has it, or had it last; None: not known.
            is_known: its lag is known, and fresh.
            is_begun: records of it were carried before.
        """
        topic, number = place
        found = self.partitions.get(place) or self.topics.get(topic)
        if found is None and self.carriers:
            silent = carrier is None and not is_known
            found = self.carriers.get(carrier)
            found = found or (next(iter(self.carriers.values())) if silent else None)
        if found is None and not is_begun and topic in self.not_adopted:
            first, text = self.not_adopted[topic]
            found = text if number >= first else None
        if found is None and not is_known:
            found = self.new_topics.get(topic) or self.new or None
        return found


def route_conditions(route: Route, conditions: Iterable[Condition], now: float) -> RouteConditions:
    """Returns the conditions of a route.

    Args:
        conditions: of its target region.
        now: Unix seconds.
    """
    found = RouteConditions()
    for each in conditions:
        if not each.feed and each.route in ("", route.name):
            _add(found, route, each, now)
    return found


def _add(found: RouteConditions, route: Route, each: Condition, now: float) -> None:
    clusters = ("", ClusterName.regional(route.source), ClusterName.aggregate(route.target))
    if each.cluster not in clusters:
        return
    text = condition_text(each, now)
    place = None if each.partition is None else (each.topic, each.partition)
    effect = EFFECTS.get(each.kind, Effect.WAITS)
    match effect:
        case Effect.PAUSED if place is not None:
            found.paused_partitions[place] = text
        case Effect.PAUSED:
            found.paused_topics[each.topic] = f"{text}, topic"
        case Effect.PARKED:
            if place is not None:
                found.parked[place] = each.text
        case Effect.NOT_ADOPTED:
            found.not_adopted[each.topic] = (each.partition or 0, text)
        case Effect.CARRIER:
            verb = "waits" if each.kind == Kind.CARRIER_WAITS else "has failed"
            found.carriers[each.carrier] = f"{each.who} {verb}: {text}"
        case Effect.WAITS | Effect.NOTHING_NEW if place is not None:
            found.partitions[place] = f"waits: {text}"
        case Effect.WAITS if each.topic:
            found.topics[each.topic] = text
        case Effect.NOTHING_NEW if each.topic:
            found.new_topics[each.topic] = text
        case Effect.WAITS | Effect.NOTHING_NEW:
            found.whole.append(Judged(Health.WAITS, text))
            found.new = found.new or text
        case _:
            assert_never(effect)


def condition_text(condition: Condition, now: float) -> str:
    """Returns the text of a condition with the time since when it holds."""
    since = f"since {since_text(condition.since_ms / 1000, now)}"
    if condition.kind == Kind.SOURCE_SILENT:
        return f"{condition.cluster} does not answer {since}: {condition.text}"
    if condition.kind == Kind.TOPICS_UNKNOWN:
        return f"topics are not known {since}: {condition.text}"
    if condition.kind == Kind.NOT_ADOPTED:
        return f'not adopted {since}: {condition.text}; see "Adding a route"'
    return f"{condition.text}, {since}"
