"""Cluster in memory that describes and alters topics as a broker of Kafka does.

Defaults, bounds and answers are those of real brokers of 3.9.1 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Literal
from uuid import UUID

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin, Outcome
from replicator.kafka.admin.admin_error import AdminUnreachable, Refused
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.admin.topic_changes import Action, Alter, Create, Grow

NO_LIMIT = str(2**63 - 1)
KAFKA_43 = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "max.compaction.lag.ms": NO_LIMIT,
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": NO_LIMIT,
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.ms": "604800000",
}
KAFKA_39 = {**KAFKA_43, "message.timestamp.after.max.ms": NO_LIMIT}
LEAST_43 = {
    "delete.retention.ms": 0,
    "file.delete.delay.ms": 0,
    "max.compaction.lag.ms": 1,
    "max.message.bytes": 0,
    "min.cleanable.dirty.ratio": 0,
    "min.compaction.lag.ms": 0,
    "retention.ms": -1,
    "segment.bytes": 1 << 20,
    "segment.ms": 1,
}
LEAST_39 = {**LEAST_43, "segment.bytes": 14}
_IDS = count(1)


class PlayedCluster(Admin):
    """Cluster whose topics a test sets up by their names.

    Args:
        defaults: of its version of Kafka.
        brokers: configs that its brokers set for all topics.
        least: least values that it takes.
    """

    def __init__(
        self,
        name: str,
        defaults: Mapping[str, str] = KAFKA_43,
        brokers: Mapping[str, str] | None = None,
        least: Mapping[str, int] = LEAST_43,
    ) -> None:
        super().__init__(name, KafkaCluster(bootstrap=("127.0.0.1:1",)))
        self.defaults, self.brokers, self.least = dict(defaults), dict(brokers or {}), least
        self.own: dict[str, dict[str, str]] = {}
        self.partitions: dict[str, int] = {}
        self.ends: dict[TopicPartition, int] = {}
        self.applied: list[Action] = []
        self.is_silent = False
        self._ids: dict[str, UUID] = {}

    def make(self, topic: str = "orders", partitions: int = 1, **own: str) -> None:
        """Creates a topic; configs are written with underscores."""
        self.own[topic] = {name.replace("_", "."): value for name, value in own.items()}
        self.partitions[topic] = partitions
        self._ids[topic] = UUID(int=next(_IDS))

    def set(self, topic: str = "orders", **own: str) -> None:
        self.own[topic] |= {name.replace("_", "."): value for name, value in own.items()}

    def unset(self, name: str, topic: str = "orders") -> None:
        self.own[topic].pop(name, None)

    def value(self, name: str, topic: str = "orders") -> str:
        """Returns the value in effect."""
        return {**self.defaults, **self.brokers, **self.own[topic]}[name]

    def cluster_id(self) -> str:
        return self.name

    def topics(self, names: Iterable[str] | None = None) -> list[Topic]:
        if self.is_silent:
            raise AdminUnreachable(self.name, "no answer")
        wanted = self.own if names is None else [name for name in names if name in self.own]
        return [self._described(name) for name in sorted(wanted)]

    def _described(self, name: str) -> Topic:
        own, brokers = self.own[name].keys(), self.brokers.keys()
        configs = Configs(
            {**self.defaults, **self.brokers, **self.own[name]},
            changed=frozenset(own | brokers),
            on_topic=frozenset(own),
            by_default=frozenset(self.defaults.keys() - own - brokers),
        )
        return Topic(name, self._ids[name], self.partitions[name], configs)

    def offsets(
        self, partitions: Collection[tuple[str, int]], which: Literal["earliest", "latest"] | int
    ) -> dict[TopicPartition, int]:
        places = [TopicPartition(*place) for place in partitions]
        return {place: self.ends.get(place, 0) for place in places}

    def apply(self, actions: Sequence[Action]) -> list[Outcome]:
        self.applied += actions
        return [Outcome(action, self._done(action)) for action in actions]

    def _done(self, action: Action) -> Refused | None:
        match action:
            case Grow(topic, to):
                self.partitions[topic] = to
                return None
            case Create(topic, partitions, configs):
                if wrong := self._wrong(dict(configs)):
                    return Refused(self.name, wrong, wrong)
                self.make(topic, partitions)
                self.own[topic] = dict(configs)
            case Alter(topic, configs):
                if wrong := self._wrong({**self.own[topic], **dict(configs)}):
                    return Refused(self.name, wrong, wrong)
                self.own[topic] |= configs
        return None

    def _wrong(self, configs: Mapping[str, str]) -> str | None:
        for name, value in configs.items():
            if name not in self.defaults:
                return f"Unknown topic config name: {name}"
            least = self.least.get(name)
            if least is not None and float(value) < least:
                return (
                    f"Invalid value {value} for configuration {name}: "
                    f"Value must be at least {least}"
                )
        values = {**self.defaults, **self.brokers, **configs}
        low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
        if int(low) > int(high):
            return (
                f"conflict topic config setting min.compaction.lag.ms ({low}) > "
                f"max.compaction.lag.ms ({high})"
            )
        return None
