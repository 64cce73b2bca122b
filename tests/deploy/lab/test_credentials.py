"""Certificates and passwords of the lab, and the configuration that names them."""

import ssl
from pathlib import Path

import pytest

from deploy.lab.credentials import PASSWORD, Credentials


def test_an_open_cluster_needs_no_files(tmp_path):
    Credentials(directory=tmp_path / "none").write()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ({"protocol": "tls"}, {"protocol", "ca_file"}),
        (
            {"protocol": "tls", "client_certificates": True},
            {"protocol", "ca_file", "certificate_file", "key_file"},
        ),
        (
            {"protocol": "sasl_plaintext"},
            {"protocol", "mechanism", "username", "password_file"},
        ),
        (
            {"protocol": "sasl_tls", "mechanism": "SCRAM-SHA-256"},
            {"protocol", "ca_file", "mechanism", "username", "password_file"},
        ),
    ],
)
def test_every_file_that_the_configuration_names_is_there(tmp_path, options, keys):
    credentials = Credentials(directory=tmp_path, **options)
    credentials.write()
    table = credentials.security_table()
    assert set(table) == keys
    assert all(Path(value).exists() for key, value in table.items() if key.endswith("_file"))


def test_certificates_satisfy_a_python_client_and_keys_are_in_the_form_kafka_reads(tmp_path):
    Credentials(directory=tmp_path, protocol="tls", client_certificates=True).write()
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    assert b"BEGIN PRIVATE KEY" in (tmp_path / "broker.pem").read_bytes()


def test_scram_secrets_go_into_the_metadata_and_plain_ones_into_the_broker(tmp_path):
    scram = Credentials(directory=tmp_path, protocol="sasl_plaintext", mechanism="SCRAM-SHA-512")
    plain = Credentials(directory=tmp_path, protocol="sasl_plaintext")
    assert PASSWORD in scram.format_options()[1]
    assert plain.format_options() == []
    jaas = "listener.name.client.plain.sasl.jaas.config"
    assert PASSWORD in plain.broker_properties("CLIENT")[jaas]
