"""ClickHouse addresses name all that it takes to find a database, but never a password."""

import pytest

from replicator.config.clickhouse_address import ClickHouseAddress


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
