"""Writes that a broker takes only in part raise WriteUnknown."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from confluent_kafka import KafkaError, KafkaException

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import AdminError, NotAuthorized
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.tail.compacted_topic import CompactedTopic, WriteUnknown

REFUSED = KafkaError.TOPIC_AUTHORIZATION_FAILED
LOST = KafkaError._MSG_TIMED_OUT
RECORDS = [(b"a", b"1"), (b"b", None)]


class ScriptedProducer:
    """Producer that answers each record with the next code; 0: delivered.

    Args:
        fatal: raised at the end.
    """

    def __init__(self, codes: Sequence[int], fatal: Exception | None = None) -> None:
        self._codes, self._fatal = list(codes), fatal

    def produce(self, topic, *, key, value, on_delivery):
        code = self._codes.pop(0)
        on_delivery(KafkaError(code) if code else None, None)

    def flush(self, timeout):
        if self._fatal is not None:
            raise self._fatal
        return 0


class AdminOfCompacted:
    """Admin client of a cluster on which every topic exists and is compacted."""

    name = "east"

    def topics(self, names):
        compacted = Configs({"cleanup.policy": "compact"})
        return [Topic(name, UUID(int=1), 1, compacted) for name in names]


def write(codes: Sequence[int], fatal: Exception | None = None) -> None:
    def opened(_):
        return ScriptedProducer(codes, fatal)

    cluster = KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]})
    topic = CompactedTopic(
        "east",
        cluster,
        "kept",
        admin=AdminOfCompacted(),
        open_producer=opened,
    )
    topic.write(RECORDS, look_with="sluice show")


def test_refused_records_changed_nothing() -> None:
    with pytest.raises(AdminError) as raised:
        write([REFUSED, REFUSED])
    assert not isinstance(raised.value, WriteUnknown)


@pytest.mark.parametrize("codes", [[0, REFUSED], [REFUSED, 0], [LOST, REFUSED], [LOST, 0]])
def test_a_write_of_which_a_part_may_have_landed_is_unknown(codes: list[int]) -> None:
    with pytest.raises(WriteUnknown):
        write(codes)


def test_delivered_records_are_written() -> None:
    write([0, 0])


def wrapped(inside: Exception) -> SystemError:
    """Returns an error as Python makes it of one that a callback leaves behind."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = inside
    return error


def fatal(code: int) -> KafkaException:
    return KafkaException(KafkaError(code, "fatal", True))


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_right_that_the_producer_lacks_is_named(is_wrapped: bool) -> None:
    error = fatal(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(NotAuthorized, match="may not"):
        write([REFUSED, REFUSED], wrapped(error) if is_wrapped else error)


def test_any_other_end_of_the_producer_leaves_the_result_unknown() -> None:
    with pytest.raises(WriteUnknown, match="fatal"):
        write([REFUSED, REFUSED], fatal(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER))


def test_a_fault_of_ours_is_raised_as_it_is() -> None:
    with pytest.raises(SystemError):
        write([0, 0], SystemError("a fault"))
