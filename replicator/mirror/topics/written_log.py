"""Log of the configs that drivers wrote to a target's topics: a compacted topic of the target.

By it a driver tells its own values from those that somebody set by hand, also after its restart. A
record is written before the change that it tells of, so that it never lacks a value of ours.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from uuid import UUID

from confluent_kafka import Message
from typing_extensions import override

from replicator.config.names import TOPIC_CONFIGS_TOPIC
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.tail.compacted_topic import TIMEOUT_SECONDS, CompactedTopic
from replicator.kafka.tail.topic_tailer import TopicTailer
from replicator.mirror.topics.followed_configs import WrittenConfigs

log = logging.getLogger(__name__)

VERSION = 1


class WrittenLog:
    """Records of written configs, by topic. This one is in memory and forgets at its end."""

    def __init__(self) -> None:
        self._records: dict[str, WrittenConfigs] = {}

    def read(self) -> Mapping[str, WrittenConfigs]:
        """Returns all records. Raises AdminError or LogUnreadable."""
        return dict(self._records)

    def write(self, records: Mapping[str, WrittenConfigs]) -> None:
        """Returns once the records are kept; those of other topics stay.

        Raises AdminError: some may be kept, or none.
        """
        self._records |= records


class WrittenLogTopic(WrittenLog):
    """Records in the topic sluice.topic-configs. Blocking; creates the topic where it is missing.

    It is read once, as only the driver of the region writes there.

    Args:
        admin: client of the target.
    """

    def __init__(self, admin: Admin, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        super().__init__()
        self._admin = admin
        self._is_read = False
        self._timeout_seconds = timeout_seconds
        self._topic = CompactedTopic(
            admin.name, admin.cluster, TOPIC_CONFIGS_TOPIC, timeout_seconds, admin=admin
        )

    @override
    def read(self) -> Mapping[str, WrittenConfigs]:
        if not self._is_read:
            if self._topic.exists:
                tailer = _Tailer(self._admin.name, self._admin.cluster, self._admin)
                self._records = dict(tailer.read(self._timeout_seconds))
            self._is_read = True
        return super().read()

    @override
    def write(self, records: Mapping[str, WrittenConfigs]) -> None:
        pairs = [(topic.encode(), encode(record)) for topic, record in records.items()]
        self._topic.write(pairs, look_with="sluice status")
        super().write(records)


class _Tailer(TopicTailer[tuple[str, WrittenConfigs]]):
    def __init__(self, name: str, cluster: KafkaCluster, admin: Admin) -> None:
        topic = TOPIC_CONFIGS_TOPIC
        super().__init__(name, cluster, topic, topic, self._record, admin=admin)

    def _record(self, message: Message) -> tuple[str, WrittenConfigs] | None:
        key, value = message.key(), message.value()
        if not isinstance(key, bytes) or value is None:
            return None
        try:
            return key.decode(), decode(value)
        except ValueError as error:
            log.warning(
                "event=written-configs-unreadable %s: offset %d: %s; the record is left out",
                self.name,
                message.offset(),
                error,
            )
            return None


def encode(record: WrittenConfigs) -> bytes:
    """Returns the record as JSON."""
    values = {name: list(values) for name, values in sorted(record.values.items())}
    fields = {"version": VERSION, "topic_id": record.topic_id.hex, "values": values}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(value: bytes) -> WrittenConfigs:
    """Returns the record. Raises ValueError for one that is not ours, or of a later version."""
    try:
        fields = json.loads(value)
        if fields["version"] != VERSION:
            raise ValueError(f"version {fields['version']!r} is not known here")
        values = {str(name): tuple(map(str, some)) for name, some in fields["values"].items()}
        return WrittenConfigs(UUID(hex=fields["topic_id"]), values)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
