"""Writes that a broker takes only in part raise WriteUnknown."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import KafkaError

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail import compacted_topic
from replicator.kafka.tail.compacted_topic import CompactedTopic, WriteUnknown

REFUSED = KafkaError.TOPIC_AUTHORIZATION_FAILED
LOST = KafkaError._MSG_TIMED_OUT
RECORDS = [(b"a", b"1"), (b"b", None)]


class ScriptedProducer:
    """Producer that answers each record with the next code; 0: delivered."""

    def __init__(self, codes: Sequence[int]) -> None:
        self._codes = list(codes)

    def produce(self, topic, *, key, value, on_delivery):
        code = self._codes.pop(0)
        on_delivery(KafkaError(code) if code else None, None)

    def flush(self, timeout):
        return 0


def write(monkeypatch: pytest.MonkeyPatch, codes: Sequence[int]) -> None:
    cluster = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    topic = CompactedTopic("east", cluster, "kept")
    monkeypatch.setattr(topic, "make", lambda: None)
    monkeypatch.setattr(compacted_topic, "Producer", lambda _: ScriptedProducer(codes))
    topic.write(RECORDS, look_with="sluice show")


def test_all_that_was_refused_changed_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AdminError) as raised:
        write(monkeypatch, [REFUSED, REFUSED])
    assert not isinstance(raised.value, WriteUnknown)


@pytest.mark.parametrize("codes", [[0, REFUSED], [REFUSED, 0], [LOST, REFUSED], [LOST, 0]])
def test_what_may_be_written_in_part_is_unknown(
    monkeypatch: pytest.MonkeyPatch, codes: list[int]
) -> None:
    with pytest.raises(WriteUnknown):
        write(monkeypatch, codes)


def test_all_delivered_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    write(monkeypatch, [0, 0])
