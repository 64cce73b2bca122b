"""A server that does not answer is named with its address, a remedy, and the effect."""

import pytest

from replicator.clickhouse.errors import ClientSetup
from replicator.clickhouse.server import ClickHouse
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable


def server() -> ClickHouse:
    address = ClickHouseAddress.parse("clickhouse://ann@127.0.0.1:1/events")
    setup = ClientSetup("store.address", "store.password_file")
    return ClickHouse(address, setup, "counting goes on", password="sesame")


def test_a_server_that_is_away_is_named_without_the_password():
    away = server()
    with pytest.raises(StoreUnreachable) as caught, away.connected() as client:
        client.execute("SELECT 1")
    shown = str(caught.value)
    assert shown.startswith(f"ClickHouse at {away.address}: ")
    assert shown.endswith("; check that it runs, and answers there; counting goes on")
    assert "sesame" not in shown + repr(away)


def test_an_error_of_the_caller_passes_through():
    with pytest.raises(ValueError, match="mine"), server().connected():
        raise ValueError("mine")
