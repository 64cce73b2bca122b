"""An error of ClickHouse becomes one line with a remedy."""

import pytest
from clickhouse_driver.errors import NetworkError, ServerException, SocketTimeoutError

from replicator.clickhouse.errors import ClientSetup, problem

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


@pytest.mark.parametrize(
    "error",
    [
        NetworkError("Connection refused (localhost:1)"),
        SocketTimeoutError("(localhost:1)"),
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError("Unexpected EOF while reading bytes"),
        TimeoutError(),
    ],
)
def test_a_server_that_does_not_answer_is_to_be_checked(error):
    reason, _, remedy = problem(error, SETUP).rpartition("; ")
    assert reason
    assert remedy == "check that it runs, and answers there"


def test_a_remedy_names_the_settings_of_the_client():
    shown = problem(ServerException("Unknown user a", 192), SETUP)
    assert shown == "Unknown user a; correct the user in store_address or store_password_file"
