"""Consumer whose group may move between regions without reading any record twice.

A move writes the group's vector as the metadata of its offsets, and every commit carries it on. See
docs/resume.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, load
from replicator.groups.resume.assigned_partition import HELD_MAX, AssignedPartition
from replicator.groups.resume.awaited_runs import AwaitedRuns
from replicator.groups.resume.commits import Commits
from replicator.groups.resume.consumer_assignment import ConsumerAssignment, StoredVectors
from replicator.groups.resume.deliveries import Deliveries
from replicator.groups.resume.message_fetcher import MessageFetcher, UnknownRuns
from replicator.groups.resume.runs_reader import AggregateLogs, RunsReader

WAIT_SECONDS_MAX = 1.0

Rebalanced = Callable[["ResumingConsumer", list[KafkaTopicPartition]], None]
AUTO_COMMIT_INTERVAL_MS = 5000
"""Default of librdkafka."""


class ResumingConsumer:
    """Consumer of confluent_kafka for a region's aggregate, for groups that move between regions.

    Args:
        config: confluent_kafka's. bootstrap.servers and security are the aggregate's unless given.
            With enable.auto.commit (default: true, false with vectors) poll() commits what earlier
            calls returned.
        region: where this application runs.
        appliance: the configuration, or its file.
        with_vector: every message has its progress(), to be stored with its effects.
        stored_vectors: returns the stored vectors, and is called whenever partitions are assigned.
            For a partition that it returns, its vector is the truth, and not the commit. Implies
            with_vector.
        untold: action for a record whose run stays unknown for patience_seconds: raise RunsUntold,
            or hand the record out although it may have been read before.
        patience_seconds: how long to wait for runs, and for the coordinator's answer.
        held_max: number of waiting records above which no more of a partition is fetched.

    Raises ConfigMistakes, UnknownRegion, ValueError or KafkaException.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        region: str,
        appliance: Appliance | str | Path = "appliance.toml",
        with_vector: bool = False,
        stored_vectors: StoredVectors | None = None,
        untold: UnknownRuns = "wait",
        patience_seconds: float = 120.0,
        held_max: int = HELD_MAX,
    ) -> None:
        if not isinstance(appliance, Appliance):
            appliance = load(appliance)
        here = appliance.region(region)
        routes = appliance.routes_into(region)
        self._is_tracking = with_vector or stored_vectors is not None
        settings = consumer_settings(config, here.aggregate, is_tracking=self._is_tracking)
        self._commit_seconds = settings.commit_seconds
        self._commit_at = time.monotonic() + (self._commit_seconds or 0)
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self._commits = Commits(self._assigned, settings.on_commit)
        self._errors = CallbackErrors()
        self._consumer = Consumer({**settings.options, "on_commit": self._on_commit})
        self._assignment = ConsumerAssignment(
            self._consumer,
            self._assigned,
            stored_vectors,
            regions=[route.source for route in routes],
            is_tracking=self._is_tracking,
            is_incremental=settings.is_incremental,
            patience_seconds=patience_seconds,
            held_max=held_max,
        )
        self._on_assign: Rebalanced | None = None
        self._runs = AwaitedRuns(RunsReader(here, routes, AggregateLogs(here)))
        self._deliveries: Deliveries[AssignedPartition, Message] = Deliveries()
        self._fetcher = MessageFetcher(
            self._consumer,
            self._assigned,
            self._assignment,
            self._deliveries,
            self._runs,
            routes=(route.name for route in routes),
            untold=untold,
        )
        self._is_closed = False

    def __enter__(self) -> ResumingConsumer:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if error_type is not None:
            self._deliveries.take_back()
        self.close()

    def close(self) -> None:
        """Commits what was handed out, if auto commit is on, and leaves the group."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._commit_seconds is not None:
                self._commits.commit_before_leaving(self._consumer, self._assigned.values())
            self._consumer.close()
        finally:
            self._runs.close()
        self._errors.raise_first()

    # Reading

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Rebalanced | None = None,
        on_revoke: Rebalanced | None = None,
        on_lost: Rebalanced | None = None,
    ) -> None:
        """Subscribes as Consumer.subscribe() does.

        In on_revoke the partitions' messages may still be committed. on_assign is called once it is
        known where the group stands in them. poll() raises what a callback raises.
        """
        self._on_assign = on_assign

        def assigned(_: Consumer, partitions: list[KafkaTopicPartition]) -> None:
            with self._errors.kept():
                self._notify_assigned(self._assignment.take(partitions))

        def revoked(_: Consumer, partitions: list[KafkaTopicPartition]) -> None:
            with self._errors.kept():
                if on_revoke:
                    on_revoke(self, partitions)
            with self._errors.kept():
                if self._commit_seconds is not None:
                    self._commits.commit_before_leaving(self._consumer, self._assigned.values())
            self._drop(partitions)

        def lost(_: Consumer, partitions: list[KafkaTopicPartition]) -> None:
            self._drop(partitions)
            with self._errors.kept():
                if callback := on_lost or on_revoke:
                    callback(self, partitions)

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=revoked, on_lost=lost)

    def poll(self, timeout: float | None = None) -> Message | None:
        """Returns the next message that the group has not read, or None when none came in time.

        An error is returned as Consumer.poll() returns it. Raises RunsUntold, KafkaException, and
        errors of callbacks and stored_vectors. Until the start of a partition is known, every call
        raises again.
        """
        self._deliveries.begin_call()
        now = time.monotonic()
        if self._commit_seconds is not None and now >= self._commit_at:
            self._commit_at = now + self._commit_seconds
            self.commit()
        message = self._deliveries.next()
        if message is not None:
            return message
        deadline = now + timeout if timeout is not None and timeout >= 0 else float("inf")
        while True:
            self._fetch(max(0.0, min(WAIT_SECONDS_MAX, deadline - time.monotonic())))
            message = self._deliveries.next()
            if message is not None or time.monotonic() >= deadline:
                return message

    def consume(self, num_messages: int = 1, timeout: float | None = None) -> list[Message]:
        """Returns up to num_messages messages.

        Unlike Consumer.consume() it returns as soon as there is one.
        """
        first = self.poll(timeout)
        messages = [] if first is None else [first]
        while messages and len(messages) < num_messages:
            message = self._deliveries.next()
            if message is None:
                break
            messages.append(message)
        return messages

    def __iter__(self) -> Iterator[Message]:
        """Yields messages without an end.

        Raises RunsUntold, and KafkaException for a message that is an error.
        """
        while not self._is_closed:
            message = self.poll()
            if message is None:
                continue
            error = message.error()
            if error is None:
                yield message
            elif error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)

    def assignment(self) -> list[KafkaTopicPartition]:
        return self._consumer.assignment()

    def held(self) -> dict[TopicPartition, int]:
        """Returns, for each assigned partition, how many of its records wait for runs."""
        return {partition: each.records.held for partition, each in self._assigned.items()}

    def consumer_group_metadata(self) -> Any:
        """Returns the group metadata that send_offsets_to_transaction() takes beside offsets()."""
        return self._consumer.consumer_group_metadata()

    # Progress

    def progress(self, message: Message) -> dict[str, int]:
        """Returns the vector after a message, to be stored together with its effects.

        The vector has, for each source region, the first offset that was not read. Needs
        with_vector, and a message of a partition that is still assigned.
        """
        assigned, offset = self._commits.after(message)
        self._need_vectors()
        return assigned.records.vector(offset)

    def vectors(self) -> dict[TopicPartition, dict[str, int]]:
        """Returns, for each partition that handed out anything, the vector after all of it."""
        self._need_vectors()
        return {
            partition: assigned.records.vector(assigned.position)
            for partition, assigned in self._assigned.items()
            if assigned.position is not None
        }

    def offsets(self, message: Message | None = None) -> list[KafkaTopicPartition]:
        """Returns what commit() would commit: offsets with their vectors as metadata."""
        if message is not None:
            return [self._commits.behind(message)]
        return self._commits.due(self._assigned.values())

    def commit(
        self, message: Message | None = None, *, asynchronous: bool = True
    ) -> list[KafkaTopicPartition] | None:
        """Commits everything up to a message, or everything that was handed out, with vectors.

        Returns what was committed, None if asynchronous. Raises KafkaException.
        """
        positions = self.offsets(message)
        if message is None:
            self._deliveries.begin_call()
        else:
            self._deliveries.settle(*self._commits.after(message))
        if positions and asynchronous:
            self._consumer.commit(offsets=positions, asynchronous=True)
        elif positions:
            return self._commits.commit(self._consumer, positions)
        return None

    # Internals

    def _notify_assigned(self, taken: list[KafkaTopicPartition]) -> None:
        if self._on_assign:
            self._on_assign(self, taken)

    def _drop(self, partitions: Iterable[KafkaTopicPartition]) -> None:
        with self._errors.kept():
            self._deliveries.drop(self._assignment.drop(partitions))

    def _on_commit(self, error: KafkaError | None, positions: list[KafkaTopicPartition]) -> None:
        with self._errors.kept():
            self._commits.on_commit(error, positions)

    def _fetch(self, wait_seconds: float) -> None:
        with self._errors.kept():
            if taken := self._assignment.retry():
                self._notify_assigned(taken)
        self._fetcher.fetch(wait_seconds)
        self._errors.raise_first()

    def _need_vectors(self) -> None:
        if not self._is_tracking:
            raise ValueError("vectors are tracked only with with_vector or stored_vectors")


class CallbackErrors:
    """First error of the callbacks, kept until it is raised."""

    def __init__(self) -> None:
        self._first: BaseException | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keeps an error that is raised within, for the next raise_first()."""
        try:
            yield
        except BaseException as error:
            self._first = self._first or error

    def raise_first(self) -> None:
        """Raises the first error that was kept, if there is one."""
        first, self._first = self._first, None
        if first is not None:
            raise first


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Configuration of confluent_kafka's Consumer, taken apart.

    Args:
        options: for the inner Consumer, which never commits by itself.
        commit_seconds: how often the helper commits what was handed out; None: it does not.
        is_incremental: True if partitions are assigned and revoked one by one.
        on_commit: the application's own callback.
    """

    options: dict[str, Any]
    commit_seconds: float | None
    is_incremental: bool
    on_commit: Any = None


def consumer_settings(
    config: Mapping[str, Any], aggregate: KafkaCluster, *, is_tracking: bool
) -> ConsumerSettings:
    """Returns the settings. Address and security default to the aggregate's.

    Raises ValueError where group.id is missing, or auto commit is combined with tracked vectors.
    """
    options: dict[str, Any] = {
        "bootstrap.servers": aggregate.bootstrap_servers,
        **aggregate.security.librdkafka_options(),
        **config,
    }
    if not options.get("group.id"):
        raise ValueError("group.id is missing")
    commits_itself = _flag(options.pop("enable.auto.commit", not is_tracking))
    if commits_itself and is_tracking:
        raise ValueError(
            "enable.auto.commit must be off with vectors: commit after the vectors are stored"
        )
    interval_ms = int(options.pop("auto.commit.interval.ms", AUTO_COMMIT_INTERVAL_MS))
    options.pop("enable.auto.offset.store", None)
    on_commit = options.pop("on_commit", None)
    strategy = str(options.get("partition.assignment.strategy", ""))
    return ConsumerSettings(
        options | {"enable.auto.commit": False, "enable.auto.offset.store": False},
        interval_ms / 1000 if commits_itself else None,
        options.get("group.protocol") == "consumer" or "cooperative" in strategy,
        on_commit,
    )


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "t")
