"""Unreadable security files are reported before any broker is asked."""

import pytest
import trustme

from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin_connection import AdminConnection
from replicator.kafka.admin.admin_error import NotLetIn


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
