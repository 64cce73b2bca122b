"""Topic plan of a target: the topics to mirror, the actions needed first, and the state of each.

Pure: plan() makes a TopicPlan of the clusters' descriptions and the [topics] settings. Nothing is
ever shrunk or deleted, and nothing undescribed is guessed. Only partitions that exist at both ends
are carried, so the plan is made again once its actions are done.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

import re2

from replicator.config.names import OWN_PREFIX
from replicator.config.settings import TopicSettings, re2_options
from replicator.config.topology import Route
from replicator.kafka.admin.topic import RETENTION, UNLIMITED, Configs, Topic
from replicator.kafka.admin.topic_changes import RECORDS_PER_REQUEST, Action, Alter, Create, Grow
from replicator.mirror.topics.followed_configs import (
    TO_COME,
    Bounds,
    Following,
    WrittenConfigs,
    following,
    written_after,
)
from replicator.mirror.topics.lowerings import Lowerings
from replicator.mirror.topics.topic_configs import (
    ALWAYS,
    AT_CREATION,
    Wanted,
    common_policies,
    to_change,
    wanted,
)


class State(StrEnum):
    """State of a topic; a state in STOPPING keeps the topic from being carried."""

    MIRRORED = "mirrored"
    DENIED = "denied"
    TO_BE_CREATED = "to_be_created"
    COMPACT_MANY_SOURCES = "compact_many_sources"
    LOG_APPEND_TIME = "log_append_time"
    TARGET_HAS_FEWER = "target_has_fewer"
    TARGET_HAS_MORE = "target_has_more"
    RECOMPRESSING = "recompressing"
    TARGET_TAKES_LESS = "target_takes_less"
    TARGET_KEEPS_LESS = "target_keeps_less"
    SET_ON_TARGET = "set_on_target"
    LOWERING_WAITS = "lowering_waits"
    NEAREST_VALUE = "nearest_value"
    SOURCES_DISAGREE = "sources_disagree"


STOPPING = frozenset({State.DENIED, State.COMPACT_MANY_SOURCES, State.LOG_APPEND_TIME})


@dataclass(frozen=True, slots=True)
class Note:
    """State of a topic, with its meaning and how to mend it."""

    state: State
    text: str


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """Status of a source topic, as seen from the target."""

    topic: str
    routes: tuple[Route, ...]
    notes: tuple[Note, ...]

    @property
    def states(self) -> tuple[State, ...]:
        return tuple(note.state for note in self.notes)

    @property
    def is_carried(self) -> bool:
        return not STOPPING & set(self.states)


@dataclass(frozen=True, slots=True, order=True)
class Carried:
    """Topic of a route that can be carried now: partitions 0..partitions-1."""

    route: Route
    topic: str
    partitions: int
    source_topic_id: UUID
    target_topic_id: UUID


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """Actions to take on the target, and the topics that are carried meanwhile."""

    actions: tuple[Action, ...]
    topics: tuple[TopicStatus, ...]
    carried: tuple[Carried, ...]
    unknown: tuple[Route, ...] = ()
    """Routes whose source did not answer; until it does, existing topics keep their synced
    configs."""
    written: Mapping[str, WrittenConfigs] = field(default_factory=dict)
    """Records of what we wrote, by topic, as they must be before the actions are taken."""
    waiting: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Lowered configs by topic: set once what the sources had is mirrored."""

    def status(self, topic: str) -> TopicStatus | None:
        return next((status for status in self.topics if status.topic == topic), None)


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge about a target from earlier rounds; a reader without any sees what would be done.

    Args:
        written: by topic, the configs that we wrote.
        lowerings: tell which lowered configs need not wait for records any more.
        bounds: values that the target takes, by config.
        needs: limit of a batch that the next record of some partition needs, by topic.
    """

    written: Mapping[str, WrittenConfigs] = field(default_factory=dict)
    lowerings: Lowerings = field(default_factory=Lowerings)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    needs: Mapping[str, int] = field(default_factory=dict)


NOTHING_KNOWN = Known()


def plan(
    sources: Mapping[Route, Sequence[Topic] | None],
    target: Sequence[Topic],
    settings: TopicSettings,
    known: Known | None = NOTHING_KNOWN,
) -> TopicPlan:
    """Returns the plan for all routes into one target.

    With a source unknown, its configs cannot be weighed. Lowering a retention to that of the other
    sources could delete its records, so existing topics keep their synced configs, or get more.
    They also keep them while it is not known what was written to them.

    Args:
        sources: None for a source that did not answer.
        known: None while what was written cannot be read.
    """
    there = {topic.name: topic for topic in target}
    unknown = tuple(sorted(route for route, topics in sources.items() if topics is None))
    selected = Selection(settings)
    actions: list[Action] = []
    statuses: list[TopicStatus] = []
    carried: list[Carried] = []
    written: dict[str, WrittenConfigs] = {}
    waiting: dict[str, Mapping[str, str]] = {}
    for name, by_route in by_name(sources).items():
        routes = tuple(by_route)
        if not selected.is_allowed(name):
            note = Note(State.DENIED, "not in allow, or in deny")
            statuses.append(TopicStatus(name, routes, (note,)))
            continue
        view = View(name, by_route, there.get(name), settings, known, is_complete=not unknown)
        status = TopicStatus(name, routes, tuple(view.notes()))
        statuses.append(status)
        # Without the operator's consent nothing is prepared either. A wrong timestamp type needs a
        # manual change.
        if State.COMPACT_MANY_SOURCES not in status.states:
            actions += view.actions()
            if (record := view.written()) is not None:
                written |= {name: record}
            if view.followed_now and view.followed_now.waiting:
                waiting |= {name: view.followed_now.waiting}
        if status.is_carried:
            carried += view.carried()
    return TopicPlan(
        tuple(actions), tuple(statuses), tuple(sorted(carried)), unknown, written, waiting
    )


class Selection:
    """Allow and deny patterns, compiled once; they match a topic's whole name."""

    def __init__(self, settings: TopicSettings) -> None:
        self._allow = [re2.compile(pattern, re2_options()) for pattern in settings.allow]
        self._deny = [re2.compile(pattern, re2_options()) for pattern in settings.deny]

    def is_allowed(self, name: str) -> bool:
        allowed = any(pattern.fullmatch(name) for pattern in self._allow)
        return allowed and not any(pattern.fullmatch(name) for pattern in self._deny)


def is_mirrorable(topic: Topic) -> bool:
    """Returns False for Kafka's internal topics and our own, which never travel."""
    return not (topic.is_internal or topic.name.startswith(("__", OWN_PREFIX)))


def by_name(
    sources: Mapping[Route, Sequence[Topic] | None],
) -> dict[str, dict[Route, Topic]]:
    """Returns topic name -> route -> its description there, both sorted."""
    by_route: dict[str, dict[Route, Topic]] = {}
    for route in sorted(sources):
        for topic in sources[route] or ():
            if is_mirrorable(topic):
                by_route.setdefault(topic.name, {})[route] = topic
    return dict(sorted(by_route.items()))


class View:
    """Allowed topic with its sources by route, and the target's topic if there is one yet.

    Args:
        known: None while what was written cannot be read.
        is_complete: False while a source is unknown.
    """

    def __init__(
        self,
        name: str,
        by_route: Mapping[Route, Topic],
        target: Topic | None,
        settings: TopicSettings,
        known: Known | None,
        *,
        is_complete: bool,
    ) -> None:
        self.name, self.by_route, self.target, self.settings = name, by_route, target, settings
        self.partitions = max(topic.partitions for topic in by_route.values())
        is_known, known = known is not None, known or NOTHING_KNOWN
        self.wanted: Wanted = wanted(
            [topic.configs for topic in by_route.values()],
            settings.synced_configs,
            known.needs.get(name, 0),
        )
        record = known.written.get(name)
        ids = {target.topic_id, TO_COME} if target else set()
        self._written = record if record and record.topic_id in ids else None
        self.following = following(
            self.wanted,
            target.configs if target else Configs({}),
            self._written,
            lambda config, value: (
                target is None or known.lowerings.is_released(name, config, value)
            ),
            known.bounds,
        )
        self.followed_now: Following | None = None
        """Changes of configs to make now; None where only the fixed ones are altered."""
        if is_known and (is_complete or target is None):
            self.followed_now = self.following
        elif is_known and target and self._written:
            in_part = self.following.without(target.configs)
            is_new = self._written.topic_id == TO_COME
            self.followed_now = (
                replace(in_part, wanted=self.following.wanted) if is_new else in_part
            )

    def actions(self) -> Iterator[Action]:
        """Yields the actions on the target's topic."""
        if self.target is None:
            configs = {**self._at_creation, **AT_CREATION}
            first = min(self.partitions, RECORDS_PER_REQUEST)
            factor = self.settings.replication_factor
            yield Create(self.name, first, tuple(sorted(configs.items())), factor)
            return
        if self.target.partitions < self.partitions:
            step = self.target.partitions + RECORDS_PER_REQUEST
            yield Grow(self.name, min(self.partitions, step))
        changes = {
            **(self.followed_now.changes if self.followed_now else {}),
            **to_change(ALWAYS, self.target.configs),
        }
        if changes:
            yield Alter(self.name, tuple(sorted(changes.items())))

    @property
    def _at_creation(self) -> Mapping[str, str]:
        return {name: self.following.wanted[name] for name in self.wanted.configs}

    def written(self) -> WrittenConfigs | None:
        """Returns the record of what we wrote to the target's topic, with the changes to come.

        Returns None where it must stay as it is.
        """
        if self.followed_now is None:
            return None
        if self.target is None:
            return WrittenConfigs(TO_COME, {n: (v,) for n, v in self._at_creation.items()})
        topic_id, configs = self.target.topic_id, self.target.configs
        return written_after(self._written, topic_id, configs, self.followed_now)

    def carried(self) -> Iterator[Carried]:
        """Yields the topic of each route with the partitions that exist at both ends."""
        if self.target is None:
            return
        for route, topic in self.by_route.items():
            partitions = min(topic.partitions, self.target.partitions)
            yield Carried(route, self.name, partitions, topic.topic_id, self.target.topic_id)

    def notes(self) -> Iterator[Note]:
        """Yields at least one note; MIRRORED alone when nothing is the matter."""
        found = [*self._from_sources(), *(self._from_target(self.target) if self.target else ())]
        if self.target is None and not any(note.state in STOPPING for note in found):
            found.insert(0, Note(State.TO_BE_CREATED, counted(self.partitions)))
        yield from found or [Note(State.MIRRORED, "")]

    def _from_sources(self) -> Iterator[Note]:
        if self._lacks_consent():
            regions = ", ".join(route.source for route in self.by_route)
            yield Note(
                State.COMPACT_MANY_SOURCES,
                f"compacted and fed by {regions}: equal keys would overwrite each other; "
                "add the topic to topics.compact_many_sources to mirror it all the same",
            )
        if self.wanted.disagreed:
            chosen = ", ".join(shown(c, self.wanted.configs[c]) for c in self.wanted.disagreed)
            yield Note(State.SOURCES_DISAGREE, f"the target gets {chosen}")

    def _lacks_consent(self) -> bool:
        """Returns True for a topic that several sources would compact without consent."""
        if self.name in self.settings.compact_many_sources:
            return False
        ends = [*self.by_route.values(), *([self.target] if self.target else [])]
        return len(self.by_route) > 1 and any("compact" in end.configs.policies for end in ends)

    def _from_target(self, target: Topic) -> Iterator[Note]:
        values = target.configs.values
        if values.get("message.timestamp.type") == "LogAppendTime":
            yield Note(
                State.LOG_APPEND_TIME,
                "the target would replace every timestamp: set message.timestamp.type="
                "CreateTime on its topic",
            )
        if values.get("compression.type", "producer") != "producer":
            yield Note(
                State.RECOMPRESSING,
                f"the target compresses every batch again ({values['compression.type']}) until "
                "compression.type=producer is set on its topic",
            )
        if target.partitions < self.partitions:
            yield Note(
                State.TARGET_HAS_FEWER,
                f"{counted(target.partitions)}, growing to {self.partitions}",
            )
        if target.partitions > self.partitions:
            yield Note(
                State.TARGET_HAS_MORE,
                f"{counted(target.partitions)}, the sources have {self.partitions}: mirrored; the "
                "others stay empty, and a producer at the target would put keys into other "
                "partitions",
            )
        yield from self._limits(target)
        if not self._lacks_consent():
            yield from self._keeps(target)
            yield from self._followed(target)

    def _followed(self, target: Topic) -> Iterator[Note]:
        values, follow = target.configs.values, self.following
        for name, value in follow.by_hand.items():
            yield Note(
                State.SET_ON_TARGET,
                f"{shown(name, values[name])} was set on the target, the sources want "
                f"{shown(name, value)}: it is kept; delete it there, and the sources are followed",
            )
        for name, value in follow.waiting.items():
            yield Note(
                State.LOWERING_WAITS,
                f"{shown(name, values[name])} becomes {shown(name, value)} once the records that "
                "the sources had are mirrored",
            )
        for name, value in follow.nearest.items():
            yield Note(
                State.NEAREST_VALUE,
                f"the target does not take {shown(name, value)} and gets the nearest value",
            )

    def _limits(self, target: Topic) -> Iterator[Note]:
        takes = target.configs.number("max.message.bytes")
        largest = self._largest("max.message.bytes")
        if takes is not None and largest is not None and takes < largest:
            yield Note(
                State.TARGET_TAKES_LESS,
                f"max.message.bytes is {takes} on the target, {largest} at a source: larger "
                "batches are split, and a larger record parks its partition",
            )

    def _keeps(self, target: Topic) -> Iterator[Note]:
        sources = [topic.configs for topic in self.by_route.values()]
        if "compact" in target.configs.policies - common_policies(sources):
            yield Note(
                State.TARGET_KEEPS_LESS,
                "the target is compacted, and not all sources are: it keeps the newest record of "
                "each key, and takes no record without a key",
            )
        for name in RETENTION if "delete" in target.configs.policies else ():
            keeps, longest = target.configs.number(name), self._longest(name)
            if keeps is not None and longest is not None and keeps < longest:
                limit = "unlimited" if longest.is_infinite() else longest
                yield Note(
                    State.TARGET_KEEPS_LESS, f"{name} is {keeps} on the target, {limit} at a source"
                )

    def _longest(self, name: str) -> Decimal | None:
        """Returns the longest retention; that of a source which deletes nothing is unlimited."""
        keeps_all = any("delete" not in it.configs.policies for it in self.by_route.values())
        return UNLIMITED if keeps_all else self._largest(name)

    def _largest(self, name: str) -> Decimal | None:
        sizes = [topic.configs.number(name) for topic in self.by_route.values()]
        return max((size for size in sizes if size is not None), default=None)


def shown(name: str, value: str) -> str:
    """Returns a config for people; an empty value is one."""
    return f"{name}={value}" if value else f'{name}=""'


def counted(partitions: int) -> str:
    """Returns a number of partitions in words."""
    return f"{partitions} partition{'' if partitions == 1 else 's'}"
