"""Addresses of stores without passwords, and credentials that nothing shows."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.config.store_credentials import (
    CredentialsFile,
    StoreCredentials,
    read_credentials,
)

# -- Credentials of stores are read from files, and are shown by nothing.

SOUND = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = a%b=c#d\n"


def written(directory: Path, text: str) -> Path:
    path = directory / "store"
    path.write_text(text)
    return path


def test_the_keys_of_the_default_section_are_read(tmp_path: Path) -> None:
    other = "[other]\naws_access_key_id = other\naws_session_token = other\n"
    assert read_credentials(written(tmp_path, other + SOUND)) == StoreCredentials(
        aws_access_key_id="AKIA", aws_secret_access_key="a%b=c#d"
    )
    found = read_credentials(written(tmp_path, SOUND + "aws_session_token = t\nregion = x\n"))
    assert found.aws_session_token == "t"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no aws_access_key_id in a section \\[default\\]"),
        (SOUND.replace("default", "other"), "has no aws_access_key_id"),
        ("[default]\naws_access_key_id = AKIA", "has no aws_secret_access_key"),
        ("[default]\naws_access_key_id = AKIA\naws_secret_access_key =", "has no aws_secret"),
        ("aws_secret_access_key = sesame", "not in the form of an INI file"),
        ("[default]\nsesame\n", "not in the form of an INI file"),
        (SOUND + "aws_secret_access_key = sesame\n", "not in the form of an INI file"),
    ],
)
def test_a_file_without_keys_is_refused_and_not_quoted(
    tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(ValidationError, match=reason) as refused:
        TypeAdapter(CredentialsFile).validate_python(written(tmp_path, text))
    assert "sesame" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not in the form of an INI file"):
        read_credentials(path)


def test_a_path_is_relative_to_the_configuration(tmp_path: Path) -> None:
    written(tmp_path, SOUND)
    adapter = TypeAdapter(CredentialsFile)
    context = {"directory": tmp_path}
    assert adapter.validate_python("store", context=context) == tmp_path / "store"
    with pytest.raises(ValidationError, match="no such file"):
        adapter.validate_python("nowhere", context=context)


def test_the_text_form_shows_no_key(tmp_path: Path) -> None:
    found = read_credentials(written(tmp_path, SOUND))
    assert repr(found) == "StoreCredentials()"


# -- ClickHouse addresses name all that it takes to find a database, but never a password.


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("clickhouse://h", "clickhouse://default@h:9000/default"),
        ("clickhouse://h/", "clickhouse://default@h:9000/default"),
        ("clickhouses://h", "clickhouses://default@h:9440/default"),
        ("clickhouse://me@h-1.west:9100/of_mine", "clickhouse://me@h-1.west:9100/of_mine"),
        ("clickhouse://[::1]:9100/mine", "clickhouse://default@[::1]:9100/mine"),
    ],
)
def test_omitted_parts_have_defaults(text: str, whole: str) -> None:
    address = ClickHouseAddress.parse(text)
    assert str(address) == whole
    assert ClickHouseAddress.parse(whole) == address


@pytest.mark.parametrize(
    "text",
    [
        "clickhouse://me:sesame@h",
        "clickhouse://:sesame@h",
        "clickhouse://me:se/sa?m#e@h:9000/mine",
        "clickhouse://h/mine?password=sesame",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="put it into a password_file") as refused:
        ClickHouseAddress.parse(text)
    assert "sesame" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["", "h:9000", "http://h:8123", "clickhouse://", "clickhouse://h:http", "clickhouse://h/a/b"],
)
def test_an_invalid_address_is_answered_with_the_form_of_a_valid_one(text: str) -> None:
    with pytest.raises(ValueError, match="clickhouse://user@host:9000/database"):
        ClickHouseAddress.parse(text)


@pytest.mark.parametrize("port", ["0", "65536"])
def test_an_invalid_port_is_refused(port: str) -> None:
    with pytest.raises(ValueError, match="1 to 65535"):
        ClickHouseAddress.parse(f"clickhouse://h:{port}")
