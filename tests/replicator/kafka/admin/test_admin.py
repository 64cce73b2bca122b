"""Errors of an admin client: of its files, of a cluster that refuses, and their mends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import trustme
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo

from replicator.config.security import Security
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_connection import (
    AdminConnection,
    LogOffset,
    log_offset,
    socket_timeout_ms,
)
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
from replicator.kafka.admin.listening import REFUSAL_SECONDS, check_listening
from tests.addresses import dropping, refusing, silent

# -- Answers without an offset


def test_a_log_of_which_a_broker_tells_no_offset_has_none():
    """It would be taken for a log that was cut."""
    assert log_offset(ListOffsetsResultInfo(OFFSET_INVALID, -1, -1)) is None
    assert log_offset(ListOffsetsResultInfo(7, -1, 3)) == LogOffset(7, 3)
    assert log_offset(ListOffsetsResultInfo(0, -1, -1)) == LogOffset(0, -1)


# -- Unreadable security files are reported before any broker is asked.


@pytest.mark.parametrize("left", [None, b"\xff\xfe"])
def test_a_password_that_cannot_be_read_any_more_is_named(tmp_path, left):
    secret = tmp_path / "secret"
    secret.write_text("before")
    security = {
        "protocol": "sasl_plaintext",
        "mechanism": "PLAIN",
        "username": "sluice",
        "password_file": secret,
    }
    table = {"bootstrap": ["127.0.0.1:1"], "security": security}
    connection = AdminConnection("west regional", KafkaCluster.model_validate(table))
    if left is None:
        secret.unlink()
    else:
        secret.write_bytes(left)
    with pytest.raises(NotLetIn, match="west regional: connecting: .*mend the files"):
        connection.client()


def test_certificates_that_cannot_be_read_any_more_are_named(tmp_path):
    authority = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(authority))
    security = {"protocol": "tls", "ca_file": authority}
    table = {"bootstrap": ["127.0.0.1:1"], "security": security}
    connection = AdminConnection("west regional", KafkaCluster.model_validate(table))
    authority.unlink()
    with pytest.raises(NotLetIn, match="west regional: connecting: "):
        connection.client()


# -- Errors name the cluster, what was tried, and the mend.


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


# -- A cluster that refuses every connection is found out before a client tries it for long.


def test_refused_connections_are_told_with_the_addresses():
    address = refusing()
    with pytest.raises(AdminUnreachable, match=f"{address} .Connection refused.; is it up"):
        check_listening("west regional", KafkaCluster(bootstrap=(address,)))


def test_a_host_name_that_nobody_knows_is_told():
    cluster = KafkaCluster(bootstrap=("kafka.invalid:9092",))
    with pytest.raises(AdminUnreachable, match=r"kafka\.invalid"):
        check_listening("west regional", cluster)


def test_one_address_that_accepts_is_enough():
    with silent() as address:
        check_listening("west", KafkaCluster(bootstrap=(refusing(), address)))


def test_an_address_that_neither_accepts_nor_refuses_is_left_to_the_client():
    with dropping() as address:
        began = time.monotonic()
        check_listening("west", KafkaCluster(bootstrap=(address, refusing())))
        assert time.monotonic() - began >= REFUSAL_SECONDS


# -- Timeouts that operators give are larger or smaller than those that librdkafka takes.


@pytest.mark.parametrize(("seconds", "socket_ms"), [(0.001, 10), (15.0, 15_000), (600.0, 300_000)])
def test_a_client_is_made_with_whichever_timeout(seconds, socket_ms):
    assert socket_timeout_ms(seconds) == socket_ms
    AdminClient({"socket.timeout.ms": socket_timeout_ms(seconds)})
