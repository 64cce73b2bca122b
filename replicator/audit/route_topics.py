"""Topics of routes: those that are mirrored, and the reasons why others are not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from balancer.topic_partition import TopicPartition
from replicator.config.settings import TopicSettings
from replicator.config.topology import Route
from replicator.kafka.admin.topic import Topic
from replicator.mirror.topics.topic_plan import STOPPING, by_name, plan

KNOWN_MAX = 10


class NotMirrored(Exception):
    """None of the routes mirrors a requested topic. Request one that is mirrored."""


@dataclass(frozen=True, slots=True, order=True)
class RouteTopic:
    """Topic on one route.

    Args:
        partitions: of the source.
        mirrored: how many of them the target has.
        source_topic: its id, in hex.
        target_topic: its id, in hex; None: the target has no such topic.
        compacts: True if the target's cleaner may remove records.
    """

    route: Route
    topic: str
    partitions: int
    mirrored: int
    source_topic: str
    target_topic: str | None
    compacts: bool

    @property
    def topic_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(self.topic, number) for number in range(self.partitions)]


@dataclass(frozen=True, slots=True)
class TargetTopics:
    """Topics of the routes into one target.

    Args:
        found: of all its routes, as any of them may have records in a partition.
        stopped: by source topic, why it is not mirrored.
    """

    found: tuple[RouteTopic, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)


def target_topics(
    sources: Mapping[Route, Sequence[Topic] | None],
    target: Sequence[Topic],
    settings: TopicSettings,
) -> TargetTopics:
    """Returns the topics that follow from the clusters' descriptions and the [topics] settings."""
    in_target = {topic.name: topic for topic in target}
    found, stopped = [], {}
    in_sources = by_name(sources)
    for status in plan(sources, target, settings).topics:
        if not status.is_carried:
            notes = (note for note in status.notes if note.state in STOPPING)
            stopped[status.topic] = "; ".join(f"{note.state}: {note.text}" for note in notes)
            continue
        mirror = in_target.get(status.topic)
        for route, topic in in_sources[status.topic].items():
            found.append(
                RouteTopic(
                    route,
                    topic.name,
                    topic.partitions,
                    min(topic.partitions, mirror.partitions) if mirror else 0,
                    topic.topic_id.hex,
                    mirror.topic_id.hex if mirror else None,
                    mirror is not None and "compact" in mirror.configs.policies,
                )
            )
    return TargetTopics(tuple(sorted(found)), stopped)


def chosen(
    every: Iterable[TargetTopics],
    routes: Collection[Route],
    topics: Collection[str],
    *,
    is_all_known: bool,
) -> list[RouteTopic]:
    """Returns the topics of these routes, limited to named topics if there are any.

    Args:
        is_all_known: True if all clusters have answered. Otherwise it is not known what is not
            mirrored.

    Raises NotMirrored.
    """
    every = list(every)
    own = [each for some in every for each in some.found if each.route in routes]
    known = sorted({each.topic for each in own})
    for topic in sorted(topics):
        if topic in known or not is_all_known:
            continue
        stopped = [some.stopped[topic] for some in every if topic in some.stopped]
        names = ", ".join(sorted(route.name for route in routes))
        if stopped:
            raise NotMirrored(f"topic {topic!r} is not mirrored on {names}: {stopped[0]}")
        raise NotMirrored(f"no topic {topic!r} is mirrored on {names}; known: {some_of(known)}")
    return [each for each in own if not topics or each.topic in topics]


def some_of(names: Sequence[str]) -> str:
    if not names:
        return "none"
    rest = len(names) - KNOWN_MAX
    return ", ".join(names[:KNOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
