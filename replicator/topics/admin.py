"""One Kafka cluster asked and changed through its admin interface (confluent_kafka)."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import UUID

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
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

from replicator.config.topology import KafkaCluster
from replicator.topics.admin_error import (
    LOST,
    NOT_LET_IN,
    AdminError,
    Refused,
    UnknownTopic,
    Unreachable,
    kafka_error,
    translated,
)
from replicator.topics.topic_configs import Configs
from replicator.topics.topic_plan import Action, Alter, Create, Grow, Topic

Result = TypeVar("Result")

# Another driver, or an operator, was quicker; the next plan sees it.
ALREADY_DONE = frozenset({KafkaError.TOPIC_ALREADY_EXISTS})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one action; error is None when it is done."""

    action: Action
    error: AdminError | None


class Admin:
    """Connects when first asked. Every call raises AdminError within about timeout_seconds.

    Committed offsets are not read here: librdkafka 2.16's ListConsumerGroupOffsets ends the whole
    process when a group's coordinator has just moved (confluentinc/librdkafka#5040).
    """

    def __init__(self, name: str, cluster: KafkaCluster, timeout_seconds: float = 15.0) -> None:
        """`name` is for people: "west regional"."""
        self.name = name
        self.cluster = cluster
        self.timeout_seconds = timeout_seconds
        self._complaint: KafkaError | None = None
        self._known_client: AdminClient | None = None

    def cluster_id(self) -> str:
        """What the cluster calls itself: two addresses of one cluster show by it."""
        answer: Any = self._client().describe_cluster(request_timeout=self.timeout_seconds)
        return str(self._wait(answer, "describing the cluster").cluster_id)

    def topics(self, names: Iterable[str] | None = None) -> list[Topic]:
        """Descriptions with configs, sorted by name; of all topics unless named.

        Named topics that do not exist are left out, never created.
        """
        client = self._client()
        wanted = sorted(names) if names is not None else self._all_names(client)
        if not wanted:
            return []
        answers = client.describe_topics(
            TopicCollection(wanted), request_timeout=self.timeout_seconds
        )
        described: dict[str, Any] = {}
        for name, answer in answers.items():
            try:
                described[name] = self._wait(answer, f"describing topic {name!r}")
            except UnknownTopic:
                continue
        configs = self._configs(client, described)
        return [
            Topic(
                name=name,
                topic_id=uuid_of(here.topic_id),
                partitions=len(here.partitions),
                configs=configs[name],
                replication_factor=max(len(p.replicas) for p in here.partitions),
                is_internal=here.is_internal,
            )
            for name, here in sorted(described.items())
            if name in configs and here.partitions
        ]

    def apply(self, actions: Sequence[Action]) -> list[Outcome]:
        """Does all of them, in parallel by kind; one that fails keeps no other from being done.

        Raises only Unreachable: what was asked before it may have been done.
        """
        client = self._client()
        asked: list[tuple[Action, Future[Any]]] = []
        for start in (self._create, self._grow, self._alter):
            asked += start(client, actions)
        outcomes = []
        for action, answer in asked:
            try:
                self._wait(answer, describe(action), forgiven=ALREADY_DONE)
                outcomes.append(Outcome(action, None))
            except Unreachable:
                raise
            except AdminError as error:
                outcomes.append(Outcome(action, error))
        return outcomes

    def offsets(
        self, partitions: Collection[tuple[str, int]], which: Literal["earliest", "latest"]
    ) -> dict[tuple[str, int], int]:
        """Log start, or the end of what read_committed consumers may read (last stable offset).

        Partitions without an answer are left out.
        """
        if not partitions:
            return {}
        spec = OffsetSpec.earliest() if which == "earliest" else OffsetSpec.latest()
        answers = self._client().list_offsets(
            {TopicPartition(topic, number): spec for topic, number in partitions},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self.timeout_seconds,
        )
        known: dict[tuple[str, int], int] = {}
        for partition, answer in answers.items():
            try:
                offset = self._wait(answer, f"offsets of {partition.topic}-{partition.partition}")
            except (UnknownTopic, Refused):
                continue
            known[partition.topic, partition.partition] = offset.offset
        return known

    def _client(self) -> AdminClient:
        """The client, once a broker has answered; librdkafka alone would hide why none does."""
        if self._known_client is not None:
            return self._known_client
        client = AdminClient(self._options())
        deadline = time.monotonic() + self.timeout_seconds
        while True:
            left = deadline - time.monotonic()
            try:
                client.list_topics(topic="", timeout=max(0.1, min(1.0, left)))
            except KafkaException as failure:
                error = kafka_error(failure)
                client.poll(0.1)  # calls _complain
                if self._complaint is not None and self._complaint.code() in NOT_LET_IN:
                    error = self._complaint
                if left <= 0 or error.code() not in LOST:
                    raise self._translated(error, "connecting") from None
                continue
            self._known_client = client
            return client

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.cluster.bootstrap_servers,
            "client.id": "sluice-admin",
            "error_cb": self._complain,
            # Its messages come through error_cb, and are shown once, in our words.
            "log_level": 0,
            "socket.timeout.ms": round(self.timeout_seconds * 1000),
            "reconnect.backoff.max.ms": 1000,
            **self.cluster.security.librdkafka_options(),
        }

    def _complain(self, error: KafkaError) -> None:
        # "All brokers down" only repeats what the error before it explained.
        if self._complaint is None or error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._complaint = error

    def _all_names(self, client: AdminClient) -> list[str]:
        try:
            return sorted(client.list_topics(timeout=self.timeout_seconds).topics)
        except KafkaException as failure:
            raise self._translated(kafka_error(failure), "listing topics") from None

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
                entries = self._wait(answer, f"configs of topic {resource.name!r}")
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

    def _wait(
        self, answer: "Future[Result]", doing: str, forgiven: frozenset[int] = frozenset()
    ) -> Any:
        try:
            # librdkafka ends it by its own timeout; this one is for a librdkafka that hangs.
            return answer.result(self.timeout_seconds + 10)
        except KafkaException as failure:
            error = kafka_error(failure)
            if error.code() in forgiven:
                return None
            raise self._translated(error, doing) from None
        except TimeoutError:
            raise Unreachable(self.name, f"{doing}: no answer at all") from None

    def _translated(self, error: KafkaError, doing: str) -> AdminError:
        return translated(error, doing, self.name, self.cluster, self._complaint)


def describe(action: Action) -> str:
    """An action in words, for errors and logs."""
    match action:
        case Create(topic, partitions):
            return f"creating topic {topic!r} with {partitions} partitions"
        case Grow(topic, to):
            return f"growing topic {topic!r} to {to} partitions"
        case Alter(topic, configs):
            return f"setting {', '.join(f'{k}={v}' for k, v in configs)} on topic {topic!r}"


def configs_of(entries: Mapping[str, ConfigEntry]) -> Configs:
    """Kafka's answer as values in effect, and which of them somebody set."""
    known = {name: entry for name, entry in entries.items() if entry.value is not None}
    default = ConfigSource.DEFAULT_CONFIG.value
    return Configs(
        {name: str(entry.value) for name, entry in known.items()},
        frozenset(name for name, entry in known.items() if source_of(entry) != default),
    )


def source_of(entry: ConfigEntry) -> int:
    source = entry.source
    return source.value if isinstance(source, ConfigSource) else int(source)


def uuid_of(topic_id: Any) -> UUID:
    """confluent_kafka's Uuid (two signed halves) as Python's."""
    mask = (1 << 64) - 1
    most = topic_id.get_most_significant_bits() & mask
    return UUID(int=most << 64 | topic_id.get_least_significant_bits() & mask)
