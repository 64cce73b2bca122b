"""Errors of ClickHouse, and servers that do not answer: each is one line with a remedy."""

import pytest
from clickhouse_driver.errors import ServerException

from replicator.clickhouse.errors import ClientSetup, problem
from replicator.clickhouse.server import ClickHouse
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.clickhouse.lost_connections import LOST_CONNECTIONS

# -- A server that does not answer is named with its address, a remedy, and the effect.


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


# -- An error of ClickHouse becomes one line with a remedy.

SETUP = ClientSetup("store_address", "store_password_file", rights="SELECT and DROP TABLE")


@pytest.mark.parametrize(
    ("code", "text", "reason", "remedy"),
    [
        (81, "Database sluice doesn't exist", "Database sluice doesn't exist", "create the data"),
        (193, "Wrong password for user a", "Wrong password for user a", "_password_file"),
        (
            516,
            "a: Authentication failed: password is incorrect.\n\nIf you use ClickHouse Cloud, go",
            "a: Authentication failed: password is incorrect",
            "_password_file",
        ),
        (
            497,
            "a: Not enough privileges. To execute",
            "a: Not enough privileges",
            "grant the user SELECT and DROP TABLE on its database",
        ),
        (243, "Cannot reserve 1.00 MiB, not enough space", "Cannot reserve 1.00 MiB", "own log"),
    ],
)
@pytest.mark.parametrize("stack", ["", ". Stack trace:\n\n0. /lib/libclickhouse.so(f()+0x1) [0x7]"])
def test_an_error_of_a_server_is_shown_without_its_stack(code, text, reason, remedy, stack):
    shown = problem(ServerException(f"DB::Exception: {text}{stack}", code), SETUP)
    assert shown.startswith(reason)
    assert remedy in shown.rpartition("; ")[2]
    assert "\n" not in shown and "Stack" not in shown and "DB::" not in shown


@pytest.mark.parametrize("error", LOST_CONNECTIONS)
def test_a_server_that_does_not_answer_is_to_be_checked(error):
    reason, _, remedy = problem(error, SETUP).rpartition("; ")
    assert reason
    assert remedy == "check that it runs, and answers there"


def test_a_remedy_names_the_settings_of_the_client():
    shown = problem(ServerException("Unknown user a", 192), SETUP)
    assert shown == "Unknown user a; correct the user in store_address or store_password_file"
