"""Errors name the cluster, what was tried, and the mend."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from replicator.config.security import Security
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_error import (
    AdminError,
    AdminUnreachable,
    NotAuthorized,
    NotLetIn,
    Outdated,
    Refused,
    UnknownTopic,
    kafka_error,
    translated,
)


def error_of(code: int, complaint: KafkaError | None = None) -> AdminError:
    security = Security.model_construct(
        protocol="sasl_plaintext", username="sluice", password_file=Path("secret")
    )
    cluster = KafkaCluster(bootstrap=("h:1",)).model_copy(update={"security": security})
    return translated(KafkaError(code), "listing topics", "west regional", cluster, complaint)


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (KafkaError._TIMED_OUT, AdminUnreachable, "no answer from h:1"),
        (KafkaError._TRANSPORT, AdminUnreachable, "is it up"),
        (-137, AdminUnreachable, "is it up"),
        (KafkaError._AUTHENTICATION, NotLetIn, "user 'sluice' with the password in secret"),
        (KafkaError._SSL, NotLetIn, "check ca_file"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorized, "sluice may not"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopic, "no such topic"),
        (KafkaError.POLICY_VIOLATION, Refused, "POLICY_VIOLATION"),
        (KafkaError.FENCED_LEADER_EPOCH, Outdated, "FENCED_LEADER_EPOCH"),
        (KafkaError._NOENT, Outdated, "_NOENT"),
    ],
)
def test_each_refusal_names_cluster_action_and_mend(
    code: int, kind: type[AdminError], text: str
) -> None:
    error = error_of(code)
    assert type(error) is kind
    assert str(error).startswith("west regional: listing topics: ")
    assert text in str(error)


def test_the_last_error_of_librdkafka_explains_a_timeout() -> None:
    complaint = KafkaError(KafkaError._RESOLVE, "h: name does not resolve")
    assert "name does not resolve" in str(error_of(KafkaError._TIMED_OUT, complaint))


def test_every_exception_holds_an_error() -> None:
    assert kafka_error(KafkaException(KafkaError(KafkaError._FAIL, "odd"))).str() == "odd"
