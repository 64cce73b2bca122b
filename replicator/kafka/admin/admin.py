"""Admin client of one Kafka cluster (confluent_kafka): topics, configs and log offsets."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
)
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_connection import AdminConnection, LogOffset
from replicator.kafka.admin.admin_error import (
    AdminError,
    AdminUnreachable,
    Refused,
    UnknownTopic,
    kafka_error,
)
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.admin.topic_changes import Action, Alter, Create, Grow, requests

# Another driver, or an operator, was quicker; the next plan sees the result.
ALREADY_DONE = frozenset({KafkaError.TOPIC_ALREADY_EXISTS})

ON_TOPIC = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
BY_DEFAULT = ConfigSource.DEFAULT_CONFIG.value

PartitionOffsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one action; error is None when it is done."""

    action: Action
    error: AdminError | None


class Admin(AdminConnection):
    """Asks a cluster about its topics and logs, and changes its topics.

    Committed offsets are not read here: librdkafka 2.16's ListConsumerGroupOffsets ends the whole
    process when a group's coordinator has just moved (confluentinc/librdkafka#5040).

    Args:
        needs_configs: topics are described with their configs. One of them whose configs may not be
            described then fails the look at all.
    """

    def __init__(
        self,
        name: str,
        cluster: KafkaCluster,
        timeout_seconds: float = 15.0,
        *,
        needs_configs: bool = True,
    ) -> None:
        super().__init__(name, cluster, timeout_seconds)
        self._needs_configs = needs_configs

    def cluster_id(self) -> str:
        """Returns the cluster's id, by which two addresses of one cluster can be recognized."""
        client = self.client()
        answer: Any = client.describe_cluster(request_timeout=self.timeout_seconds)
        return str(self.wait(answer, "describing the cluster").cluster_id)

    def topics(self, names: Iterable[str] | None = None) -> list[Topic]:
        """Returns descriptions with configs, sorted by name; of all topics unless some are named.

        Named topics that do not exist are left out, never created.
        """
        client = self.client()
        wanted = sorted(names) if names is not None else self._all_names(client)
        if not wanted:
            return []
        answers = client.describe_topics(
            TopicCollection(wanted),
            include_authorized_operations=True,
            request_timeout=self.timeout_seconds,
        )
        described: dict[str, Any] = {}
        for name, answer in answers.items():
            try:
                described[name] = self.wait(answer, f"describing topic {name!r}")
            except UnknownTopic:
                continue
        configs = dict.fromkeys(described, Configs({}))
        if self._needs_configs:
            configs = self._configs(client, described)
        return [
            Topic(
                name=name,
                topic_id=uuid_of(here.topic_id),
                partitions=len(here.partitions),
                configs=configs[name],
                is_internal=here.is_internal,
                is_readable=_may_read(here.authorized_operations),
            )
            for name, here in sorted(described.items())
            if name in configs and here.partitions
        ]

    def apply(self, actions: Sequence[Action]) -> list[Outcome]:
        """Does all actions, in as many requests as they need; a failed one keeps no other from
        being done.

        Raises only AdminUnreachable; earlier actions may have been done by then.
        """
        client = self.client()
        outcomes: list[Outcome] = []
        for request in requests(actions):
            answered = self._answered(client, request)
            answers = {it.error.answer if isinstance(it.error, Refused) else "" for it in answered}
            if len(request) > 1 and len(answers) == 1 and "" not in answers:
                # One answer to all may be one to the request, for the sake of one of them.
                answered = [it for action in request for it in self._answered(client, [action])]
            outcomes += answered
        return outcomes

    def _answered(self, client: AdminClient, request: Sequence[Action]) -> list[Outcome]:
        asked: list[tuple[Action, Future[Any]]] = []
        for start in (self._create, self._grow, self._alter):
            asked += start(client, request)
        outcomes = []
        for action, answer in asked:
            try:
                self.wait(answer, describe(action), forgiven=ALREADY_DONE)
                outcomes.append(Outcome(action, None))
            except AdminUnreachable:
                raise
            except AdminError as error:
                outcomes.append(Outcome(action, error))
        return outcomes

    def offsets(
        self, partitions: Collection[tuple[str, int]], which: Literal["earliest", "latest"] | int
    ) -> dict[TopicPartition, int]:
        """Returns an offset of each partition; partitions without an answer are left out.

        Args:
            which: "earliest" is the log start; "latest" is the end of what read_committed consumers
                may read (last stable offset); a number is a time (ms), for the first record of that
                time or later, or -1 where there is none.
        """
        if not partitions:
            return {}
        spec: OffsetSpec
        if isinstance(which, int):
            spec = OffsetSpec.for_timestamp(which)
        else:
            spec = OffsetSpec.earliest() if which == "earliest" else OffsetSpec.latest()
        return {place: told.offset for place, told in self._told(partitions, spec).items()}

    def ends(self, partitions: Collection[tuple[str, int]]) -> dict[TopicPartition, LogOffset]:
        """Returns the end of what read_committed consumers may read of each partition, with the
        leader epoch in which it was told; partitions without an answer are left out."""
        return self._told(partitions, OffsetSpec.latest()) if partitions else {}

    def _told(
        self, partitions: Collection[tuple[str, int]], spec: OffsetSpec
    ) -> dict[TopicPartition, LogOffset]:
        answers = self.list_offsets(
            {KafkaTopicPartition(topic, number): spec for topic, number in partitions},
            IsolationLevel.READ_COMMITTED,
        )
        return {
            TopicPartition(each.topic, each.partition): answer
            for each, answer in answers.items()
            if isinstance(answer, LogOffset)
        }

    def _all_names(self, client: AdminClient) -> list[str]:
        try:
            return sorted(client.list_topics(timeout=self.timeout_seconds).topics)
        except KafkaException as failure:
            raise self.translated(kafka_error(failure), "listing topics") from None

    def _configs(self, client: AdminClient, names: Collection[str]) -> dict[str, Configs]:
        if not names:
            return {}
        answers = client.describe_configs(
            [ConfigResource(ResourceType.TOPIC, name) for name in names],
            request_timeout=self.timeout_seconds,
        )
        configs: dict[str, Configs] = {}
        for resource, answer in answers.items():
            try:
                entries = self.wait(answer, f"configs of topic {resource.name!r}")
            except UnknownTopic:
                continue
            configs[resource.name] = configs_of(entries)
        return configs

    def _create(
        self, client: AdminClient, actions: Iterable[Action]
    ) -> list[tuple[Action, Future[Any]]]:
        made = {action.topic: action for action in actions if isinstance(action, Create)}
        new = [
            NewTopic(
                action.topic,
                num_partitions=action.partitions,
                replication_factor=action.replication_factor,
                config=dict(action.configs),
            )
            for action in made.values()
        ]
        return self._ask(made, client.create_topics, new)

    def _grow(
        self, client: AdminClient, actions: Iterable[Action]
    ) -> list[tuple[Action, Future[Any]]]:
        grown = {action.topic: action for action in actions if isinstance(action, Grow)}
        new = [NewPartitions(action.topic, action.to) for action in grown.values()]
        return self._ask(grown, client.create_partitions, new)

    def _alter(
        self, client: AdminClient, actions: Iterable[Action]
    ) -> list[tuple[Action, Future[Any]]]:
        altered = {action.topic: action for action in actions if isinstance(action, Alter)}
        new = [
            ConfigResource(
                ResourceType.TOPIC,
                action.topic,
                incremental_configs=[
                    ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                    for name, value in action.configs
                ],
            )
            for action in altered.values()
        ]
        return self._ask(altered, client.incremental_alter_configs, new)

    def _ask(
        self,
        actions: Mapping[str, Action],
        request: Callable[..., Mapping[Any, Future[Any]]],
        items: list[Any],
    ) -> list[tuple[Action, Future[Any]]]:
        if not items:
            return []
        answers = request(items, request_timeout=self.timeout_seconds)
        return [(actions[getattr(key, "name", key)], answer) for key, answer in answers.items()]


def describe(action: Action) -> str:
    """Returns an action in words, for errors and logs."""
    match action:
        case Create(topic, partitions):
            return f"creating topic {topic!r} with {partitions} partitions"
        case Grow(topic, to):
            return f"growing topic {topic!r} to {to} partitions"
        case Alter(topic, configs):
            return f"setting {', '.join(f'{k}={v}' for k, v in configs)} on topic {topic!r}"


def configs_of(entries: Mapping[str, ConfigEntry]) -> Configs:
    """Returns Kafka's answer as values in effect, with the names of those that somebody set."""
    known = {name: entry for name, entry in entries.items() if entry.value is not None}
    sources = {name: source_of(entry) for name, entry in known.items()}
    on_topic = frozenset(n for n, source in sources.items() if source == ON_TOPIC)
    by_default = frozenset(n for n, source in sources.items() if source == BY_DEFAULT)
    return Configs(
        values={name: str(entry.value) for name, entry in known.items()},
        changed=frozenset(sources) - by_default,
        on_topic=on_topic,
        by_default=by_default,
    )


def source_of(entry: ConfigEntry) -> int:
    """Returns the number of an entry's ConfigSource, which confluent_kafka gives in either form."""
    source = entry.source
    return source.value if isinstance(source, ConfigSource) else int(source)


def uuid_of(topic_id: Any) -> UUID:
    """Converts confluent_kafka's Uuid (two signed halves) to Python's."""
    mask = (1 << 64) - 1
    most = topic_id.get_most_significant_bits() & mask
    return UUID(int=most << 64 | topic_id.get_least_significant_bits() & mask)


def _may_read(allowed: Collection[AclOperation] | None) -> bool:
    """Returns True if a user with these rights on a topic may read its records."""
    return allowed is None or AclOperation.READ in allowed
