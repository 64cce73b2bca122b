"""Security settings for both Kafka clients, librdkafka's admin and the carriers' own."""

import asyncio
from pathlib import Path

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError, AdminUnreachable
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Cluster
from tests.live.conftest import ClusterMaker, TopicMaker


async def opened(settings: KafkaCluster, topic: str) -> bool:
    """Returns True when a carrier's client sees the topic."""
    cluster = Cluster("sealed", settings, request_timeout_ms=5000)
    try:
        await cluster.open([topic])
        return cluster.topic(topic) is not None
    finally:
        await cluster.close()
        # TLS connections close in the background, and the loop ends with this test.
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(
    ("security", "mechanism", "client_certificates"),
    [
        ("sasl_plaintext", "PLAIN", False),
        ("sasl_tls", "SCRAM-SHA-256", False),
        ("sasl_tls", "SCRAM-SHA-512", True),
        ("tls", "PLAIN", True),
    ],
)
def test_both_clients_are_let_in(
    make_cluster: ClusterMaker,
    make_topic: TopicMaker,
    security: str,
    mechanism: str,
    client_certificates: bool,
) -> None:
    lab = make_cluster(
        "sealed", security=security, mechanism=mechanism, client_certificates=client_certificates
    )
    topic = make_topic(lab)
    settings = KafkaCluster.model_validate(lab.topology_table())
    assert [here.name for here in Admin("sealed", settings).topics([topic])] == [topic]
    assert asyncio.run(opened(settings, topic))


def test_without_its_certificate_no_client_is_let_in(
    make_cluster: ClusterMaker, make_topic: TopicMaker, tmp_path: Path
) -> None:
    lab = make_cluster("sealed", security="tls", client_certificates=True)
    topic = make_topic(lab)
    table = lab.topology_table()
    table["security"] = {"protocol": "tls", "ca_file": str(lab.credentials.directory / "ca.pem")}
    settings = KafkaCluster.model_validate(table)
    with pytest.raises(AdminUnreachable):
        Admin("sealed", settings, timeout_seconds=3).topics()
    with pytest.raises(Unreachable, match="sealed"):
        asyncio.run(opened(settings, topic))


def test_a_password_that_was_changed_lets_in_who_had_connected_with_the_one_before(
    make_cluster: ClusterMaker, make_topic: TopicMaker, tmp_path: Path
) -> None:
    lab = make_cluster("sealed", security="sasl_plaintext", mechanism="SCRAM-SHA-256")
    topic = make_topic(lab)
    secret = tmp_path / "secret"
    set_password(lab, secret, "before")
    security = {
        "protocol": "sasl_plaintext",
        "mechanism": "SCRAM-SHA-256",
        "username": "rotated",
        "password_file": secret,
    }
    settings = KafkaCluster.model_validate(lab.topology_table() | {"security": security})
    admin = Admin("sealed", settings, timeout_seconds=3)

    def is_let_in() -> bool:
        try:
            return [here.name for here in admin.topics([topic])] == [topic]
        except AdminError:
            return False

    assert until(is_let_in, 30)
    set_password(lab, secret, "after")
    lab.restart()  # which closes the authenticated connection
    lab.wait_ready()
    assert until(is_let_in, 60)


def set_password(lab: LabCluster, secret: Path, password: str) -> None:
    """Sets the password of a separate user; the lab's brokers authenticate with another one."""
    change = UserScramCredentialUpsertion(
        "rotated", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), password.encode()
    )
    admin = lab.admin()  # referenced until it has answered
    admin.alter_user_scram_credentials([change])["rotated"].result(30)
    secret.write_text(password)
