"""Security settings: complete, readable, with secrets never in the file itself."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from pydantic import ValidationError

from replicator.config.security import Security


@pytest.fixture
def files(tmp_path: Path) -> Path:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate = authority.issue_cert("client.example")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "client.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "client.key")
    (tmp_path / "password").write_text("open sesame \nsecond line\n")
    (tmp_path / "empty").write_text("\n")
    return tmp_path


def checked(directory: Path, **table: Any) -> Security:
    return Security.model_validate(table, context={"directory": directory})


def test_plaintext_is_the_default() -> None:
    assert Security().aiokafka_options() == {"security_protocol": "PLAINTEXT"}
    assert Security().librdkafka_options() == {"security.protocol": "PLAINTEXT"}


def test_both_clients_are_given_the_same_secrets(files: Path) -> None:
    security = checked(
        files,
        protocol="sasl_tls",
        ca_file="ca.pem",
        certificate_file="client.pem",
        key_file="client.key",
        mechanism="SCRAM-SHA-512",
        username="sluice",
        password_file="password",
    )
    aio = security.aiokafka_options()
    context = aio.pop("ssl_context")
    assert isinstance(context, ssl.SSLContext)
    assert context.check_hostname
    assert aio == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "sluice",
        "sasl_plain_password": "open sesame ",
    }
    assert security.librdkafka_options() == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(files / "ca.pem"),
        "ssl.certificate.location": str(files / "client.pem"),
        "ssl.key.location": str(files / "client.key"),
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "sluice",
        "sasl.password": "open sesame ",
    }


def test_a_changed_password_is_read_again(files: Path) -> None:
    security = checked(
        files,
        protocol="sasl_plaintext",
        mechanism="PLAIN",
        username="sluice",
        password_file="password",
    )
    (files / "password").write_text("new")
    assert security.password() == "new"


def test_the_password_is_not_shown_when_the_settings_are(files: Path) -> None:
    table = {"mechanism": "PLAIN", "username": "u", "password_file": "password"}
    assert "sesame" not in repr(checked(files, protocol="sasl_plaintext", **table))


@pytest.mark.parametrize(
    ("table", "keys"),
    [
        ({"protocol": "sasl_tls"}, {"mechanism", "username", "password_file"}),
        (
            {"protocol": "sasl_plaintext", "mechanism": "PLAIN", "password_file": "password"},
            {"username"},
        ),
        ({"username": "u"}, {"username"}),
        (
            {
                "protocol": "sasl_tls",
                "mechanism": "PLAIN",
                "username": "",
                "password_file": "password",
            },
            {"username"},
        ),
        ({"ca_file": "ca.pem"}, {"ca_file"}),
        ({"protocol": "tls", "certificate_file": "client.pem"}, {"key_file"}),
        ({"protocol": "tls", "key_file": "client.key"}, {"certificate_file"}),
    ],
)
def test_each_missing_or_meaningless_key_is_named(
    files: Path, table: dict[str, str], keys: set[str]
) -> None:
    with pytest.raises(ValidationError) as refused:
        checked(files, **table)
    (error,) = refused.value.errors()
    assert {key for key, _ in error["ctx"]["error"].found} == keys


def test_a_cluster_may_be_trusted_by_a_file_of_its_own(files: Path) -> None:
    assert checked(files, protocol="tls", ca_file="ca.pem").ca_file == files / "ca.pem"


@pytest.mark.parametrize(
    ("key", "file", "text"),
    [
        ("password_file", "none", "no such file"),
        ("password_file", ".", "not a file"),
        ("password_file", "empty", "the file is empty"),
        ("password_file", "x" * 300, "cannot be looked at"),
    ],
)
def test_an_unusable_secret_is_refused(files: Path, key: str, file: str, text: str) -> None:
    table: dict[str, Any] = {"mechanism": "PLAIN", "username": "u", key: file}
    with pytest.raises(ValidationError, match=text):
        checked(files, protocol="sasl_plaintext", **table)


def test_files_that_are_not_pem_are_refused(files: Path) -> None:
    with pytest.raises(ValidationError, match="ca_file: holds no PEM certificate"):
        checked(files, protocol="tls", ca_file="password")
    with pytest.raises(ValidationError, match="not a PEM certificate with its key"):
        checked(files, protocol="tls", certificate_file="client.pem", key_file="ca.pem")


def test_a_password_in_the_file_itself_is_an_unknown_key() -> None:
    with pytest.raises(ValidationError, match="password"):
        Security.model_validate({"password": "sesame"})
